"""The resources that this app registers."""

from django.utils.translation import gettext_lazy as _

from accounts.access.models import Group
from accounts.statuses.models import Status
from accounts.statuses.pipelines import Pipeline
from core.registry import Resource, newest_id

RESOURCES = (
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
    Resource(
        "group",
        Group,
        "accounts.access.api.GroupViewSet",
        label=_("Group"),
        plural_label=_("Groups"),
        icon="users",
        collection="groups",
        samples={"group": lambda request: newest_id(request.account.user_groups.all())},
    ),
)
