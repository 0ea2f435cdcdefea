from django.utils.translation import gettext_lazy as _

from core import rooms


class ForumConfig(rooms.Room):
    name = "forum"
    subjects = (
        "forums",
        "activities",
        "categories",
        "texts",
        "lists",
        "previews",
        "votes",
        "follows",
        "comments",
        "posts",
        "team_tools",
        "customers",
        "saved_replies",
        "answers",
        "content_reports",
        "notifications",
        "inbox",
        "blocking",
        "erasure",
        "xml",
    )
    field_labels = {
        "addresses": _("e-mails and domains"),
        "approved": _("approved"),
        "category": _("category"),
        "comment": _("comment"),
        "content": _("content"),
        "created_at": _("time of creation"),
        "duplicate_from": _("duplicate from"),
        "forum": _("forum"),
        "helpful": _("mark “helpful”"),
        "internal": _("internal comment"),
        "parent": _("comment that is replied to"),
        "pinned": _("pin"),
        "post": _("post"),
        "report": _("report"),
        "response": _("official response"),
        "publish_at": _("time of publication"),
        "segment": _("segment"),
        "target_is_quarter": _("quarter of the target day"),
        "target_on": _("target day"),
        "task_kind": _("task kind"),
        "title": _("title"),
        "repeat_unit": _("repetition"),
        "scheduled_at": _("due time"),
    }
