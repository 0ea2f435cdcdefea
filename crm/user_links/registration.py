"""The registration of links of users (`core.rooms`)."""

from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.erasure.personal_data import CUSTOMERS, linked_to, register
from accounts.users.models import User, email_changed, user_joined
from core.changes.followers import register_follower
from core.registry import newest_id
from crm.user_links.models import UserLink, UserLinkFollower, propose_links, unlinked_members

UserLink.api_resource.samples["user"] = lambda request: newest_id(unlinked_members(request.account))
register_follower(UserLinkFollower())


@receiver([user_joined, email_changed])
def propose_links_of(*, user: User, **_options: object) -> None:
    """Propose a link to the customer with the e-mail of a user."""
    if not user.is_team:
        propose_links(user.account, {user.email_key: user.id})


register("user_links", _("Links of users"), lambda user: user.account.user_links.filter(user_id=user.id))
register(
    "user_links", _("Links of users"), lambda row: row.account.user_links.filter(linked_to(row)), subjects=CUSTOMERS
)
