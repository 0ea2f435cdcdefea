"""The registration of statuses and pipelines (`core.rooms`)."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.layout.navigation import is_admin
from accounts.statuses.models import Status
from accounts.statuses.pipelines import Pipeline
from core.pages.navigation import MenuEntry, register
from core.registry import Resource, newest_id, registry

registry.register(
    Resource(
        "status",
        Status,
        "accounts.statuses.api.statuses.StatusViewSet",
        label=_("Status"),
        plural_label=_("Statuses"),
        icon="list-checks",
        collection="statuses",
        samples={"status": lambda request: newest_id(request.account.statuses.all())},
    ),
    Resource(
        "pipeline",
        Pipeline,
        "accounts.statuses.api.pipelines.PipelineViewSet",
        label=_("Pipeline"),
        plural_label=_("Pipelines"),
        icon="git-branch",
        collection="pipelines",
        samples={"pipeline": lambda request: newest_id(request.account.pipelines.all())},
    ),
)
register(
    "settings",
    MenuEntry("statuses", _("Statuses"), "accounts-statuses", "list-checks", order=60, is_shown=is_admin),
    MenuEntry("pipelines", pgettext_lazy("menu", "Deals"), "accounts-deals", "handshake", order=61, is_shown=is_admin),
)
