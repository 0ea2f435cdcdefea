"""The resources of the pages that join clients, deals, tasks and suggestions."""

from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id
from team.mailings.models import Message

RESOURCES = (
    Resource(
        "message",
        Message,
        "team.mailings.api.MessageViewSet",
        label=_("Message"),
        plural_label=_("Messages"),
        icon="megaphone",
        collection="messages",
        samples={
            "message": lambda request: newest_id(request.account.customer_messages.all().accessible_to(request.user))
        },
    ),
)
