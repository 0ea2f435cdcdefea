"""The registration of links of users (`core.rooms`)."""

from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.users.models import User, email_changed, user_joined
from core.changes.followers import register_follower
from core.registry import Resource, newest_id, registry
from crm.user_links.models import UserLink, UserLinkFollower, propose_links, unlinked_members

registry.register(
    Resource(
        "user_link",
        UserLink,
        "crm.user_links.api.UserLinkViewSet",
        label=_("Link of a user"),
        plural_label=_("Links of users"),
        icon="link",
        collection="user_links",
        samples={
            "user_link": lambda request: newest_id(request.account.user_links.limited_to(request.user.access)),
            "user": lambda request: newest_id(unlinked_members(request.account)),
        },
    )
)
register_follower(UserLinkFollower())


@receiver([user_joined, email_changed])
def propose_links_of(*, user: User, **_options: object) -> None:
    """Propose a link to the customer with the e-mail of a user."""
    if not user.is_team:
        propose_links(user.account, {user.email_key: user.id})
