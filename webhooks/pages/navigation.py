"""The menu entry of this app."""

from django.utils.translation import gettext_lazy as _

from core.pages.navigation import Entry, register
from core.requests import PageRequest
from webhooks.models import Endpoint


def may_manage(request: PageRequest) -> bool:
    return request.user is not None and Endpoint.may_be_managed_by(request.user)


def register_entries() -> None:
    register(
        "settings", Entry("webhooks", _("Webhooks"), "webhooks-webhooks", "webhook", order=65, is_shown=may_manage)
    )
