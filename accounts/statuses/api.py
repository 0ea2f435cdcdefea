"""Statuses of posts, deals and clients, and pipelines of deals, in the Account API."""

from decimal import Decimal
from typing import Any, cast

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api import SettingsViewSet
from accounts.statuses.models import Pipeline, Status
from core.api.fields import BooleanField, ChoiceField, IntegerField, RelatedField, TextField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.api.serializers import ResourceSerializer, UniqueNameField, WireSerializer
from core.db.ordering import MAX_POSITION
from core.db.text import is_xml_text
from core.db.transactions import transactional
from core.errors import FieldError, FieldErrors
from core.openapi.operations import QUERY_PARAMETERS, SHAPES, Shape
from core.openapi.values import ID_PARAMETER
from core.rows.trimmed import name_key

# The fields that only statuses of deals have.
OF_DEALS = ("outcome", "probability", "pipeline_id", "rot_days")


class StatusSerializer(ResourceSerializer):
    model = Status

    code = TextField(required=True)
    name = TextField(required=True)
    kind = ChoiceField(Status.Kind.values)
    color = TextField()
    position = IntegerField(min_value=-MAX_POSITION, max_value=MAX_POSITION)
    closed = BooleanField()
    on_roadmap = BooleanField()
    outcome = ChoiceField(Status.Outcome.values)
    probability = IntegerField(min_value=0, max_value=100)
    pipeline_id = RelatedField("pipelines")
    rot_days = IntegerField(min_value=1, max_value=Status.MAX_ROT_DAYS)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Apply the rules that involve several fields. A null is ignored, except for `color` and `rot_days`, which it empties."""
        values = {name: value for name, value in values.items() if value is not None or name in ("color", "rot_days")}
        row = self.instance
        kind = row.kind if row else values.setdefault("kind", Status.Kind.POST)
        if values.get("kind", kind) != kind:
            raise FieldError("kind", _("can't be changed"), "fixed")
        others = self.context["account"].statuses.filter(kind=kind).exclude(id=row.id if row else None)
        if kind != Status.Kind.POST and values.get("on_roadmap"):
            raise FieldError("on_roadmap", _("can only be set for posts"), "kind")
        if kind != Status.Kind.DEAL and (wrong := [name for name in OF_DEALS if values.get(name) is not None]):
            raise FieldErrors(FieldError(name, _("can only be set for deals"), "kind") for name in wrong)
        rivals = {"code": others, "name": others}
        if kind == Status.Kind.DEAL and not {"name", "pipeline_id"}.isdisjoint(values):
            # Statuses of different pipelines may have the same name.
            rivals["name"] = others.filter(pipeline_id=values.get("pipeline_id") or self.current_pipeline_id())
            if row:
                values.setdefault("name", row.name)
        taken = [
            name
            for name in ("code", "name")
            if name in values and rivals[name].filter(**{f"{name}_key": name_key(values[name])}).exists()
        ]
        if taken:
            raise FieldErrors(FieldError(name, _("is already taken"), "taken") for name in taken)
        return values

    def current_pipeline_id(self) -> int | None:
        """Return the id of the pipeline of the status: the first pipeline for a new status."""
        if self.instance:
            return cast(int, self.instance.pipeline_id)
        return cast(Account, self.context["account"]).default_pipeline_id()


class StatusFilters(ListFilters):
    kind = WireFilter(ChoiceField(Status.Kind.values))
    pipeline_id = link_filter()


class StatusViewSet(SettingsViewSet):
    """CRUD of statuses. A POST with an existing code and kind is an update, because shops send their whole list every time."""

    model = Status
    serializer_class = StatusSerializer
    filterset_class = StatusFilters
    ordering = ("kind", "position", "id")

    def get_queryset(self) -> QuerySet[Status]:
        return self.account.statuses.all()

    def find_existing(self, given: object) -> Status | None:
        code, kind = (given.get(name) for name in ("code", "kind")) if isinstance(given, dict) else (None, None)
        if isinstance(code, bool) or not isinstance(code, str | int | Decimal) or not is_xml_text(str(code)):
            return None
        kind = kind if isinstance(kind, str) and kind.strip() else Status.Kind.POST
        if not is_xml_text(kind):
            return None
        return self.account.statuses.locked().filter(code_key=name_key(str(code)), kind=kind).first()

    @transactional
    def destroy(self, request: Request, id: int) -> HttpResponse:
        # Lock all statuses. Otherwise two concurrent requests could delete the last two statuses for posts, and `erase` keeps one.
        statuses = {status.id: status for status in self.account.statuses.order_by("id").locked()}
        if id not in statuses:
            raise Http404
        statuses[id].erase()
        return Response("ok")


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


class PipelineViewSet(SettingsViewSet):
    model = Pipeline
    serializer_class = PipelineSerializer
    ordering = ("position", "id")

    def get_queryset(self) -> QuerySet[Pipeline]:
        return self.account.pipelines.all()

    @transactional
    def destroy(self, request: Request, id: int) -> HttpResponse:
        # Lock all pipelines. Otherwise two concurrent requests could delete the last two.
        pipelines = {pipeline.id: pipeline for pipeline in self.account.pipelines.order_by("id").locked()}
        if id not in pipelines:
            raise Http404
        pipeline = pipelines.pop(id)
        target_id = DeletionSerializer(data=self.parameters.dict()).read().get("move_to_id")
        if target_id is not None and target_id not in pipelines:
            raise FieldError("move_to_id", _("can't be found"), "missing")
        pipeline.erase(move_to=None if target_id is None else pipelines[target_id])
        return Response("ok")


# The schemas of the OpenAPI document, as far as views and serializers do not tell them

SHAPES[PipelineSerializer] = SHAPES[StatusSerializer] = Shape(computed=frozenset({"position"}))

MOVE_TO = "The pipeline to which the statuses with deals move. The other statuses are deleted."
QUERY_PARAMETERS["delete_pipeline"] = {"move_to_id": {**ID_PARAMETER, "description": MOVE_TO}}
