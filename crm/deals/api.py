"""Deals in the Account API (JSON)."""

from collections.abc import Mapping
from typing import cast

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.api import DefinedFieldsField, DefinedFieldsSerializer
from accounts.hosts.api import APIRequest
from accounts.statuses.models import Status
from accounts.tags.api import TagFilter
from core.api import fields
from core.api.additional_fields import CUSTOM_FIELDS
from core.api.filters import QueryDateTimeField, WireFilter, link_filter
from core.api.serializers import ResourceSerializer, declared_fields, format_time
from core.errors import ConcurrentUpdate, FieldErrors
from core.openapi.fields import WireFieldExtension
from core.openapi.operations import RESPONSES
from core.openapi.values import ID, TIME, JSONSchema, array_of, object_of, or_null
from crm.clients.api import BulkClientLookup, ClientLookup
from crm.clients.models import Client
from crm.deals.models import ORDERS, Deal, DealQuerySet, DealStage
from crm.resources.api.fields import (
    DerivedName,
    ExternalIdPairsFilter,
    ExternalIds,
    ExternallyIdentifiedFilters,
    is_try_update,
)
from crm.resources.api.views import ExternallyIdentifiedViewSet, describe_operations
from crm.resources.models import ExternallyIdentified


class NestedExternalIds(ExternalIds):
    """The external ids of a nested client.

    Their holder is the nested client itself, so the holders are not checked. If another client takes a pair meanwhile, the write fails.
    """

    def check_holders(self, set_pairs: dict[str, str], row: ExternallyIdentified | None) -> None:
        pass


class GuestName(DerivedName):
    """The name of a nested client: "Guest", in the account's language, if no name can be derived."""

    def _derive(self) -> str:
        with translation.override(self.context["account"].language):
            return super()._derive() or gettext("Guest")


class NestedClientSerializer(ResourceSerializer):
    """A client inside a deal. If an existing client holds one of the external ids, it is used, whatever the other fields say.

    With `try_update`, the only client with the e-mail is used too (see `links_by_email`).
    """

    model = Client
    is_derived = False

    name = GuestName()
    email = fields.TextField()
    note = fields.TextField()
    external_ids = NestedExternalIds(Client)
    try_update = fields.BooleanField(write_only=True)

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        values.pop("try_update", None)
        return values


def links_by_email(data: Mapping[str, object], account: Account) -> bool:
    """Return whether a nested client without a known external id is linked to the only client with its e-mail.

    `try_update` says so, or the account if the nested client has none.
    """
    return account.link_guests_by_email if data.get("try_update") is None else is_try_update(data)


class NestedClient(fields.WireField):
    """The field `client` of a deal."""

    default_error_messages = {
        "object": _("must be an object"),
        "several": _("has external ids of different clients ({ids})"),
        "both": _("can't be given together with client_id"),
    }

    def to_internal_value(self, data: object) -> tuple[Client, dict[str, object]] | None:
        """Return the existing or new client, and the values to assign to it."""
        data = fields.to_object(data)
        if not isinstance(data, dict):
            self.fail("object")
        if str(self.parent.initial_data.get("client_id") or "").strip():
            if not data:
                return None
            self.fail("both")
        lookup, deal = self.context["lookup"], cast(ResourceSerializer, self.parent)
        pairs = ExternalIds.valid_pairs(data.get("external_ids"))
        held = lookup.holders(Client, pairs)
        try:
            lookup.check_accessible(Client, held)
        except FieldErrors as caught:
            raise FieldErrors(error.move_into("external_ids") for error in caught.errors) from None
        holders = sorted(set(held.values()))
        if len(holders) > 1:
            self.fail("several", ids=", ".join(str(lookup.label_of(id)) for id in holders))
        if not holders and links_by_email(data, self.context["account"]):
            guest = lookup.only_client_with_email(data.get("email"))
            if guest is not None and guest.may_have(pairs):
                deal.ignored += [f"client.external_ids.{key}" for key in pairs]
                return guest, {}
        if not holders:
            client = lookup.new(Client)
            serializer = NestedClientSerializer(data=data, context=self.context)
        else:
            client = lookup.client(holders[0])
            if client is None:
                raise ConcurrentUpdate(f"Client {holders[0]} was moved to the trash by another request")
            # Only external ids with new keys are added to the client. The rest of the input is ignored and not validated.
            others = {key: value for key, value in data["external_ids"].items() if key not in client.external_ids}
            serializer = NestedClientSerializer(
                client, data={"external_ids": others}, partial=True, context=self.context
            )
            kept = [key for key, value in client.external_ids.items() if pairs.get(key, value) != value]
            deal.ignored += [f"client.external_ids.{key}" for key in kept]
        serializer.read()
        deal.ignored += [f"client.{name}" for name in serializer.ignored]
        return client, serializer.values


class DealSerializer(DefinedFieldsSerializer):
    model = Deal
    resource = "deal"
    typed = CUSTOM_FIELDS

    client = NestedClient(write_only=True, after="client_id")
    try_update = fields.BooleanField(write_only=True, after="client")
    external_ids = ExternalIds(Deal, after="try_update")
    tags = fields.TagsField(after="expected_close_date")
    additional_fields = DefinedFieldsField(CUSTOM_FIELDS, after="tags")
    creator_id = fields.IntegerField(read_only=True, after="additional_fields")
    updater_id = fields.IntegerField(read_only=True, after="creator_id")

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Leave out a null currency, because a deal always has one, and `try_update`, which the nested client has."""
        values.pop("try_update", None)
        if "currency" in values and values["currency"] is None:
            del values["currency"]
        return super().validate(values)


class StatusesFilter(WireFilter):
    """A filter for the deals whose status has a value in a column of its own, such as the outcome."""

    def filter(self, rows: QuerySet[Model], value: object) -> QuerySet[Model]:
        if value is None:
            return rows
        statuses = self.parent.account.deal_statuses()
        ids = [status.id for status in statuses if getattr(status, cast(str, self.field_name)) == value]
        return cast(DealQuerySet, rows).in_statuses(ids) if ids else rows.none()


class DealFilters(ExternallyIdentifiedFilters):
    tag = TagFilter()
    external_ids = ExternalIdPairsFilter(Deal)
    client_id = link_filter()
    status_id = link_filter()
    responsible_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()
    contact_id = link_filter()
    outcome = StatusesFilter(fields.ChoiceField(Status.Outcome.values))
    pipeline_id = StatusesFilter(fields.IntegerField())
    closed_at__after = WireFilter(QueryDateTimeField(), field_name="closed_at", lookup_expr="gte")
    closed_at__before = WireFilter(QueryDateTimeField(), field_name="closed_at", lookup_expr="lt")
    expected_close_date__after = WireFilter(fields.DateField(), field_name="expected_close_date", lookup_expr="gte")
    expected_close_date__before = WireFilter(fields.DateField(), field_name="expected_close_date", lookup_expr="lt")


class DealViewSet(ExternallyIdentifiedViewSet):
    areas = ("deals",)
    body_keys = ("try_update",)
    model = Deal
    lookup_class = ClientLookup
    bulk_lookup_class = BulkClientLookup
    serializer_class = DealSerializer
    filterset_class = DealFilters
    order_expressions = ExternallyIdentifiedViewSet.order_expressions | ORDERS

    def get_queryset(self) -> DealQuerySet:
        rows: DealQuerySet = self.account.deals.live().limited_to(self.access)
        return rows

    def lock_bulk(
        self, lookup: BulkClientLookup, bodies: list[dict[str, object]], nested_clients: list[dict[str, object]]
    ) -> None:
        lookup.look_up_holders(Deal, bodies)
        lookup.look_up_holders(Client, nested_clients)
        lookup.lock_clients(self.account.clients.live().limited_to(self.access), nested_clients)
        lookup.lock_guests([body for body in nested_clients if links_by_email(body, self.account)])

    def complete(self, given: object, row: object = None) -> object:
        """Return the input with the `try_update` that is in the deal or beside it in the nested client, which may have its own."""
        if not isinstance(given, dict):
            return given
        options = {name: self.body[name] for name in self.body_keys if name in self.body}
        given = {**options, **given}
        client = fields.to_object(given.get("client"))
        if not isinstance(client, dict) or "try_update" not in given:
            return given
        return {**given, "client": {"try_update": given["try_update"], **client}}

    def stages(self, request: APIRequest, id: int) -> HttpResponse:
        """Return the stages of a deal, oldest first."""
        deal = self.get_object()
        self.read_page()
        rows = self.paginate_queryset(self.account.deal_stages.filter(deal_id=deal.id).order_by("number"))
        return self.get_paginated_response([self.represent_stage(row) for row in rows])

    def represent_stage(self, row: DealStage) -> dict[str, object]:
        return {
            "status_id": row.status_id,
            "entered_at": format_time(row.entered_at, self.account.zone),
            "left_at": format_time(row.left_at, self.account.zone),
            "user_id": row.user_id,
        }


# The OpenAPI document


class NestedClientExtension(WireFieldExtension):
    target_class = NestedClient

    def request_schema(self) -> JSONSchema:
        properties = {
            name: WireFieldExtension.find_for(field).map_serializer_field(None, "request")
            for name, field in declared_fields(NestedClientSerializer).items()
            if not field.read_only
        }
        return {"type": "object", "properties": properties, "additionalProperties": True}


describe_operations("deal")
RESPONSES["list_stages"] = array_of(
    object_of(status_id=or_null(ID), entered_at=TIME, left_at=or_null(TIME), user_id=ID)
)
