"""The registration of messages to customers (`core.rooms`)."""

from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id, registry
from team.mailings import sending  # noqa: F401, registers its jobs
from team.mailings.models import Message
from team.timeline.models import register_kind

registry.register(
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
    )
)
register_kind("message", _("Message sent"), "megaphone", "suggestions")
register_kind("unsubscribed", _("Unsubscribed from messages"), "bell-off", "changes")
