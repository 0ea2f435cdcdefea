from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from accounts.statuses import Status
    from accounts.users import User


class CrmConfig(AppConfig):
    name = "crm"
    field_labels = {
        "client": _("client"),
        "additional_fields": _("additional fields"),
        "choices": _("choices"),
        "contact": _("contact"),
        "duration": _("duration"),
        "note": _("note"),
        "noted_at": _("time of the note"),
        "field_definition": _("field"),
        "key": _("key"),
        "label": _("label"),
        "state": _("state"),
        "type": _("type"),
        "user_link": _("link of a user"),
    }

    def ready(self) -> None:
        from accounts.statuses import outcome_changed
        from accounts.users import email_changed, user_joined
        from core.changes.followers import register_follower
        from core.registry import registry
        from crm import deal_jobs, user_link_jobs  # noqa: F401
        from crm.deals import register_derivations
        from crm.resources import RESOURCES
        from crm.user_links import UserLinkFollower

        registry.register(*RESOURCES)
        register_derivations()
        register_follower(UserLinkFollower())
        outcome_changed.connect(update_deals)
        user_joined.connect(propose_links_of)
        email_changed.connect(propose_links_of)


def update_deals(*, status: "Status", **_options: object) -> None:
    """Update the deals in a status after its outcome has changed."""
    from crm.deal_jobs import update_closed_at

    update_closed_at.defer(account_id=status.account_id, status_id=status.id)


def propose_links_of(*, user: "User", **_options: object) -> None:
    """Propose a link to the customer with the e-mail of a user (`user_joined`, `email_changed`)."""
    from crm.user_links import propose_links

    if not user.is_team:
        propose_links(user.account, {user.email_key: user.id})
