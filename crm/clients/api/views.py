"""Clients in the Account API (JSON)."""

from typing import Any

from django.db.models import Model, QuerySet

from accounts.tags.api import TagFilter
from core.api.additional_fields import CUSTOM_FIELDS, AnyScalarField, FieldTypes
from core.api.fields import (
    BooleanField,
    DateField,
    DateTimeField,
    DecimalField,
    IntegerField,
    TagsField,
    TextField,
    to_object,
)
from core.api.filters import WireFilter, link_filter
from core.rows.trimmed import is_blank, trim
from crm.clients.api.lookup import BulkClientLookup
from crm.clients.models import Client, ClientQuerySet
from crm.fields.api.values import DefinedFieldsField, DefinedFieldsSerializer
from crm.fields.models import EXTERNAL_ID
from crm.resources.api.fields import DerivedName, ExternalIds, is_try_update
from crm.resources.api.filters import EmailFilter, ExternalIdPairsFilter, ExternalIdsListFilters, LookupText
from crm.resources.api.views import ExternallyIdentifiedViewSet
from crm.resources.external_ids import normalize_value

CLIENT_FIELDS: FieldTypes = {
    **CUSTOM_FIELDS,
    EXTERNAL_ID: TextField,
    "token": TextField,
    "paid_from": DateField,
    "paid_to": DateField,
    "paid_total": DecimalField,
    "payment_to_kind": TextField,
    "bank_account_id": IntegerField,
    "category_id": IntegerField,
    "department_id": IntegerField,
    "project_id": IntegerField,
    "position": AnyScalarField,
    "sensitive_data": BooleanField,
    "appendixes_count": IntegerField,
    "avatar_file_name": TextField,
    "avatar_content_type": TextField,
    "avatar_file_size": IntegerField,
    "avatar_updated_at": DateTimeField,
}


class ClientSerializer(DefinedFieldsSerializer):
    model = Client
    resource = "client"
    typed = CLIENT_FIELDS

    name = DerivedName()
    external_ids = ExternalIds(Client, after="note")
    tags = TagsField(after="description")
    additional_fields = DefinedFieldsField(CLIENT_FIELDS)
    try_update = BooleanField(write_only=True)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)
    contacts_count = IntegerField(read_only=True)
    posts_count = IntegerField(read_only=True)
    deals_count = IntegerField(read_only=True)
    last_activity = DateTimeField(read_only=True)

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        values.pop("try_update", None)
        return super().validate(values)

    @classmethod
    def additional_fields_of(cls, data: dict[str, Any]) -> dict[str, object]:
        """Return the additional fields with the `external_id`, which is stored as an external id only (see `merge_external_id`)."""
        fields, external_ids = super().additional_fields_of(data), data["external_ids"]
        return {**fields, EXTERNAL_ID: external_ids[EXTERNAL_ID]} if EXTERNAL_ID in external_ids else fields


def merge_external_id(data: dict[str, Any], external_ids: dict[str, str]) -> dict[str, object]:
    """Return the input for a client with its `external_id` moved into `external_ids`.

    Responses show the value in three places: as a field, as an additional field and as an external id. If an application sends the whole
    resource back, it may have changed the value in one of the three places. The changed value is the one that differs from the stored
    `external_ids`.
    """
    own, additional = to_object(data.get("external_ids")), to_object(data.get("additional_fields"))
    values = [
        source[EXTERNAL_ID] for source in (data, additional) if isinstance(source, dict) and EXTERNAL_ID in source
    ]
    if not values or not (own is None or isinstance(own, dict)):
        return data
    # A blank field removes the external id, but a blank value in `external_ids` would be refused.
    values = [None if isinstance(value, str) and is_blank(value) else value for value in values]
    if own and EXTERNAL_ID in own:
        values.append(own[EXTERNAL_ID])
    stored = external_ids.get(EXTERNAL_ID)
    value = next(
        (value for value in values if (value if value is None else normalize_value(value)) != stored), values[0]
    )
    data = {**data, "external_ids": {**(own or {}), EXTERNAL_ID: value}}
    data.pop(EXTERNAL_ID, None)
    if isinstance(additional, dict):
        data["additional_fields"] = {key: value for key, value in additional.items() if key != EXTERNAL_ID}
    return data


class ExternalIdFieldFilter(WireFilter):
    """The filter `external_id=value`: the client whose field `external_id` has this value."""

    def __init__(self) -> None:
        super().__init__(LookupText())

    def filter(self, rows: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        if value is None:
            return rows
        holder_id = Client.holder_of_all(self.parent.account.id, {EXTERNAL_ID: trim(value)})
        return rows.none() if holder_id is None else rows.filter(id=holder_id)


class ClientFilters(ExternalIdsListFilters):
    tag = TagFilter()
    external_ids = ExternalIdPairsFilter(Client)
    external_id = ExternalIdFieldFilter()
    email = EmailFilter()
    status_id = link_filter()
    responsible_id = link_filter()
    contact_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()


class ClientViewSet(ExternallyIdentifiedViewSet):
    body_keys = ("try_update",)
    model = Client
    bulk_lookup_class = BulkClientLookup
    serializer_class = ClientSerializer
    filterset_class = ClientFilters

    def get_list_queryset(self) -> ClientQuerySet:
        rows: ClientQuerySet = self.account.clients.live().limited_to(self.access)
        return rows

    def get_queryset(self) -> ClientQuerySet:
        return self.get_list_queryset().with_counts(self.account, self.access)

    def complete(self, given: Any, row: Any = None) -> object:
        """Return the input with the `try_update` that is beside the client in the body, and with `external_id` among the external ids."""
        if not isinstance(given, dict):
            return given
        options = {name: self.body[name] for name in self.body_keys if name in self.body}
        return merge_external_id({**options, **given}, row.external_ids if row is not None else {})

    def find_existing(self, given: Any) -> Client | None:
        if not is_try_update(given):
            return None
        return self.get_queryset().find_existing(
            self.account.id,
            email=given.get("email"),
            external_ids=ExternalIds.valid_pairs(given.get("external_ids")),
            access=self.access,
        )

    def lock_bulk(
        self, lookup: BulkClientLookup, bodies: list[dict[str, object]], nested_clients: list[dict[str, object]]
    ) -> None:
        lookup.look_up_holders(Client, bodies)
        lookup.lock_clients(self.get_queryset(), [body for body in bodies if is_try_update(body)], by_email=True)

    def find_existing_in_bulk(self, given: Any, lookup: BulkClientLookup) -> Client | None:
        if not is_try_update(given):
            return None
        return lookup.find_existing(
            email=given.get("email"), external_ids=ExternalIds.valid_pairs(given.get("external_ids"))
        )
