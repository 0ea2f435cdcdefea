from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from core import rooms

if TYPE_CHECKING:
    from accounts.account.models import Account
    from accounts.hosts.models import Host
    from accounts.users.models import User


class ForumConfig(rooms.Room):
    name = "forum"
    field_labels = {
        "addresses": _("e-mails and domains"),
        "approved": _("approved"),
        "category": _("category"),
        "comment": _("comment"),
        "content": _("content"),
        "duplicate_from": _("duplicate from"),
        "forum": _("forum"),
        "internal": _("internal comment"),
        "post": _("post"),
        "report": _("report"),
        "segment": _("segment"),
        "task_kind": _("task kind"),
        "title": _("title"),
    }

    def ready(self) -> None:
        super().ready()
        from accounts.account_creation.creation import account_created
        from accounts.hosts.sites import sites
        from accounts.mentions.parsing import register_reader
        from accounts.roles.models import block_ended
        from accounts.users.models import user_joined
        from core.changes.followers import register_follower
        from core.registry import registry
        from forum.blocking.blocking import restore_texts
        from forum.forums.models import Forum
        from forum.notifications import (
            emails,  # noqa: F401, register their jobs
            reminders,  # noqa: F401, register their jobs
        )
        from forum.notifications.follower import NotificationFollower
        from forum.pages.navigation import register_entries
        from forum.resources import RESOURCES, newest_notification
        from forum.texts.markdown import text_with_mentions

        registry.register(*RESOURCES)
        registry.register_sample("notifications", "notification", newest_notification)
        register_entries()
        register_reader(text_with_mentions)
        sites.register(at_host=Forum.objects.at_host, get=Forum.objects.with_account, all_of=Forum.objects.with_hosts)
        account_created.connect(create_default_forum)
        block_ended.connect(restore_texts)
        user_joined.connect(join_forums)
        user_joined.connect(announce_sign_up)
        register_follower(NotificationFollower())


def create_default_forum(sender: type, account: "Account", host: "Host", **kwargs: Any) -> None:
    """Create the default forum of a new account (`account_created`)."""
    from forum.forums.models import Forum

    Forum.objects.create_default(account, host)


def join_forums(sender: type, user: "User", site_ids: Sequence[int] = (), **kwargs: Any) -> None:
    """Make a new user a member of the forums to which the user was invited (`user_joined`)."""
    from forum.forums.membership import ForumMember

    if site_ids and not user.is_team:
        ForumMember.objects.add(user.account, site_ids, [user.id])


def announce_sign_up(sender: type, user: "User", **kwargs: Any) -> None:
    """Notify the team of a new user (`user_joined`). The change feed has no users, so its follower cannot do this."""
    from forum.activities.models import Activity
    from forum.notifications.recipients import notify

    activity = Activity.objects.create(
        account_id=user.account_id, kind=Activity.Kind.SIGN_UP, user_id=user.id, announced=True
    )
    notify(activity, None, user.account)
