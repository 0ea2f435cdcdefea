from collections.abc import Sequence

from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.account_creation.creation import account_created
from accounts.audit import actions as audit
from accounts.hosts.addresses import sites
from accounts.hosts.models import Host
from accounts.hosts.requests import is_admin
from accounts.users.models import User, user_joined
from core.pages.navigation import MenuEntry, register
from core.registry import newest_id, registry
from forum.forums.membership import ForumMember
from forum.forums.models import Forum

registry.register_sample("forums", "forum", lambda request: newest_id(request.account.forums.all()))
audit.register("forum", _("Forum"), *audit.CRUD, "addresses_changed", "members_added", "members_removed")
audit.register("category", _("Category"), *audit.CRUD, "moved")
forums = Forum.objects
sites.register(find_at_host=forums.find_at_host, get=forums.with_account, list_all=forums.with_hosts)
register(
    "settings", MenuEntry("forums", _("Forums"), "forum-settings-forums", "megaphone", order=40, is_shown=is_admin)
)


@receiver(account_created)
def create_default_forum(*, account: Account, host: Host, **_options: object) -> None:
    Forum.objects.create_default(account, host)


@receiver(user_joined)
def join_forums(*, user: User, site_ids: Sequence[int] = (), **_options: object) -> None:
    """Make a new user a member of the forums to which the user was invited."""
    if site_ids and not user.is_team:
        ForumMember.objects.add(user.account, site_ids, [user.id])
