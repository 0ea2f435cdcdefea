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

    def ready(self) -> None:
        from accounts.signals import account_created
        from accounts.sites import sites
        from core.registry import registry
        from forum.models import Forum
        from forum.pages.navigation import register_entries
        from forum.resources import RESOURCES

        registry.register(*RESOURCES)
        register_entries()
        sites.register(at_host=Forum.objects.at_host, get=Forum.objects.with_account)
        account_created.connect(open_first_forum)


def open_first_forum(sender, account, host, **kwargs) -> None:
    from forum.models import Forum

    Forum.objects.open_first(account, host)
