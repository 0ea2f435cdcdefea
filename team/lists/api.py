"""Saved views in the Account API (JSON)."""

from decimal import Decimal
from typing import Any, cast

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.account.exchange_rates import ConvertedSum
from accounts.hosts.api import APIRequest
from accounts.roles.permissions import IsTeam
from core.api.fields import BooleanField, ChoiceField, IntegerField, TextField
from core.api.filters import ListFilters, WireFilter
from core.api.lists import ConditionListing, Paged
from core.api.serializers import ResourceSerializer
from core.db.ordering import MAX_POSITION
from core.db.time_limit import TooSlow
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.openapi.operations import LIMITS, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.values import NAME, NUMBER, array_of, object_of, one_of
from core.registry import registry
from core.rows.declared import FieldType
from team.list_queries.sums import ColumnSum, read_sums
from team.lists.saved_views import MAX_SHARED_VIEWS, MAX_VIEWS_OF_USER, SavedView, SavedViewQuerySet, read_api_list
from team.menu.api import TeamViewSet


class SavedViewSerializer(ResourceSerializer):
    """A saved view. `SavedView.write` checks the name, the query and the numbers of views."""

    model = SavedView

    resource = ChoiceField(SavedView.Target.values, required=True)
    name = TextField(required=True)
    query = TextField()
    shared = BooleanField()
    owner_id = IntegerField(read_only=True)
    position = IntegerField(min_value=-MAX_POSITION, max_value=MAX_POSITION)

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Leave out nulls, except for the query, where null means a list without filters."""
        values = {name: value for name, value in values.items() if value is not None or name == "query"}
        if "query" in values:
            values["query"] = values["query"] or ""
        if self.instance is not None and values.get("resource", self.instance.resource) != self.instance.resource:
            raise FieldError("resource", _("can't be changed"), "fixed")
        return values


class MayChangeView(IsTeam):
    """Read access for the team. The owner of a view may change it, and an admin if the view is shared."""

    def has_object_permission(self, request: Request, view: APIView, obj: SavedView) -> bool:
        self.message = "Only the owner of a view may do this, and an admin if the view is shared"
        return request.method in SAFE_METHODS or obj.may_be_changed_by(cast(APIRequest, request).user)


class TargetField(ChoiceField):
    def to_internal_value(self, data: object) -> str:
        return super().to_internal_value(str(data).strip())


class SavedViewFilters(ListFilters):
    # The list is neither searched nor read by time.
    q = updated_since = None  # type: ignore[assignment]  # removes the filters of the base class
    resource = WireFilter(TargetField(SavedView.Target.values))


class SavedViewViewSet(TeamViewSet, Paged):
    """The views that the user owns, and those that are shared with the team. Others do not exist for the user."""

    areas = ("clients", "deals")
    serializer_class = SavedViewSerializer
    filterset_class = SavedViewFilters
    permission_classes = [MayChangeView]

    def get_queryset(self) -> SavedViewQuerySet:
        rows: SavedViewQuerySet = self.account.saved_views.visible_to(self.request.user).in_order()
        return rows

    def create(self, request: APIRequest) -> HttpResponse:
        row = in_transaction(lambda: self.write(SavedView(account=self.account, owner_id=request.user.id)))
        location = self.base_url + reverse("team-json-view", args=[row.id])
        return Response(self.represent(row), status=201, headers={"Location": location})

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(self.represent(self.get_object()))

    def update(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(self.represent(in_transaction(lambda: self.write(self.get_object(locked=True)))))

    def write(self, row: SavedView) -> SavedView:
        """Validate the body, and write and return the view."""
        existing = None if row._state.adding else row
        serializer = self.get_serializer(existing, data=self.body.get("view"), partial=existing is not None)
        self.check(view=serializer)
        row.write(serializer.values, by=self.request.user)
        return row

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.get_object(locked=True).erase())
        return Response("ok")


class SumsViewSet(TeamViewSet):
    """The sums of the amounts in a list, with its conditions."""

    # The resource of the route: "client" or "deal".
    resource = ""

    def needed_areas(self, *, writes: bool) -> list[str]:
        return [f"{self.resource}s"]

    def retrieve(self, request: APIRequest) -> HttpResponse:
        parameters = self.parameters.copy()
        for name in self.common_keys & parameters.keys():
            del parameters[name]
        query = read_api_list(self.resource, parameters, self.account, request.user)
        self.check_scopes(query.related_areas)
        unknown = [error.field for error in query.errors if error.code == "unknown"]
        known = [name for name in parameters if name not in unknown]
        # A condition may have several values.
        repeated = self.ignore_parameters(known)
        errors = [repeated[name] for name in ("sort", "view") if name in repeated]
        if errors := errors + [error for error in query.errors if error.code != "unknown"]:
            raise FieldErrors(errors)
        fields = [field for field in query.fields if field.type == FieldType.MONEY]
        try:
            sums = read_sums(query, fields)
        except TooSlow:
            viewset = cast(type[ConditionListing], registry[self.resource].viewset)
            raise viewset.too_slow("sums") from None
        return Response({name: self.represent(found) for name, found in sums.items()})

    def represent(self, row: ColumnSum) -> dict[str, Any]:
        converted = row.converted or ConvertedSum(sum((amount for _currency, amount in row.amounts), Decimal(0)))
        return {
            "amounts": [{"currency": currency, "sum": amount} for currency, amount in row.amounts],
            "converted": {
                "currency": self.account.currency,
                "sum": round(converted.sum, 2),
                "missing": converted.missing,
            },
        }


# The OpenAPI document, as far as views and serializers do not tell it
LIMITS |= {"MAX_VIEWS_OF_USER": MAX_VIEWS_OF_USER, "MAX_SHARED_VIEWS": MAX_SHARED_VIEWS}

SHAPES[SavedViewSerializer] = Shape(SavedView, computed=frozenset({"position"}))
QUERY_PARAMETERS["list_views"] = {"resource": one_of(SavedView.Target.values)}

SUM = object_of(
    amounts=array_of(object_of(currency=NAME, sum=NUMBER)),
    converted=object_of(currency=NAME, sum=NUMBER, missing=array_of(NAME)),
)
for _resource in ("clients", "deals"):
    RESPONSES[f"read_sums_of_{_resource}"] = {"type": "object", "additionalProperties": SUM}
