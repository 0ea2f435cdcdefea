from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ForumConfig(AppConfig):
    name = "forum"
    field_labels = {
        "category": _("category"),
        "comment": _("comment"),
        "content": _("content"),
        "duplicate_from": _("duplicate from"),
        "forum": _("forum"),
        "post": _("post"),
        "task_kind": _("task kind"),
        "title": _("title"),
    }
