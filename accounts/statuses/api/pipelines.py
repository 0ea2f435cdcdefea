"""Pipelines of deals in the Account API."""

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.hosts.api import TypedViewSet
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from accounts.statuses.pipelines import Pipeline
from core.api.fields import IntegerField
from core.api.lists import Listing
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, WireSerializer
from core.api.unique_names import UniqueNameField
from core.db.ordering import MAX_POSITION
from core.db.transactions import in_transaction
from core.errors import FieldError


class PipelineSerializer(ResourceSerializer):
    model = Pipeline

    name = UniqueNameField(lambda account: account.pipelines.all(), required=True)
    position = IntegerField(min_value=-MAX_POSITION, max_value=MAX_POSITION)

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Leave out a null position."""
        return {name: value for name, value in values.items() if value is not None}


class DeletionSerializer(WireSerializer):
    """The parameters of a deletion."""

    # The pipeline to which the statuses with deals move.
    move_to_id = IntegerField(min_value=1)


class PipelineViewSet(TypedViewSet, Listing, ResourceViewSet):
    model = Pipeline
    serializer_class = PipelineSerializer
    permission_classes = [IsAdminOrTeamReadOnly]
    ordering = ("position", "id")

    def get_queryset(self) -> QuerySet[Pipeline]:
        return self.account.pipelines.all()

    def destroy(self, request: Request, id: int) -> HttpResponse:
        parameters = DeletionSerializer(data=self.parameters.dict())

        def act() -> None:
            # Lock all pipelines. Otherwise two concurrent requests could delete the last two.
            pipelines = {pipeline.id: pipeline for pipeline in self.account.pipelines.order_by("id").locked()}
            if id not in pipelines:
                raise Http404
            pipeline = pipelines.pop(id)
            target_id = parameters.read().get("move_to_id")
            if target_id is not None and target_id not in pipelines:
                raise FieldError("move_to_id", _("can't be found"), "missing")
            pipeline.erase(move_to=None if target_id is None else pipelines[target_id])

        in_transaction(act)
        return Response("ok")

    def perform_update(self, serializer: ResourceSerializer) -> None:
        serializer.instance.write(serializer.values)
