"""The registration of clients (`core.rooms`)."""

from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id, registry
from crm.clients.models import Client

registry.register(
    Resource(
        "client",
        Client,
        "crm.clients.api.views.ClientViewSet",
        label=_("Client"),
        plural_label=_("Clients"),
        icon="building-2",
        collection="clients",
        is_customer=True,
        samples={"client": lambda request: newest_id(request.account.clients.live().accessible_to(request.user))},
    )
)
