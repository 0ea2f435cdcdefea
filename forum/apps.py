from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from accounts.account import Account
    from accounts.hosts import Host


class ForumConfig(AppConfig):
    name = "forum"
    field_labels = {
        "category": _("category"),
        "comment": _("comment"),
        "content": _("content"),
        "duplicate_from": _("duplicate from"),
        "forum": _("forum"),
        "internal": _("internal comment"),
        "post": _("post"),
        "task_kind": _("task kind"),
        "title": _("title"),
    }

    def ready(self) -> None:
        from accounts.signals import account_created
        from accounts.sites import sites
        from core.changes.followers import register_follower
        from core.registry import registry
        from forum.models import Forum
        from forum.notifications.follower import NotificationFollower
        from forum.pages.navigation import register_entries
        from forum.resources import RESOURCES, newest_notification

        registry.register(*RESOURCES)
        registry.register_sample("notifications", "notification", newest_notification)
        register_entries()
        sites.register(at_host=Forum.objects.at_host, get=Forum.objects.with_account)
        account_created.connect(create_default_forum)
        register_follower(NotificationFollower())


def create_default_forum(sender: type, account: "Account", host: "Host", **kwargs: Any) -> None:
    """Create the default forum of a new account (`account_created`)."""
    from forum.models import Forum

    Forum.objects.create_default(account, host)
