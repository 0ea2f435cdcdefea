"""The resources that this app registers."""

from django.utils.translation import gettext_lazy as _

from accounts.models import Status
from core.registry import Resource, newest_id

RESOURCES = (
    Resource(
        "status",
        Status,
        "accounts.api.statuses.StatusViewSet",
        label=_("Status"),
        plural_label=_("Statuses"),
        icon="list-checks",
        collection="statuses",
        samples={"status": lambda request: newest_id(request.account.statuses.all())},
    ),
)
