"""Clients, and the search for similar customers, in the Account API (JSON)."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.fields.api import DefinedFieldsField, DefinedFieldsSerializer, DefinedTextField
from accounts.fields.models import EXTERNAL_ID
from accounts.hosts.api import APIRequest
from accounts.roles.permissions import IsTeam
from accounts.tags.api import TagFilter
from accounts.users.models import User
from core.api import fields
from core.api.additional_fields import CUSTOM_FIELDS, AnyScalarField, FieldTypes
from core.api.filters import WireFilter, link_filter
from core.api.serializers import WireSerializer, declared_fields
from core.api.views import JSONViewSet
from core.errors import ConcurrentUpdate, FieldErrors
from core.openapi.operations import LIMITS, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.schema import field_parameters
from core.openapi.values import NAME, ROW_ID, array_of, object_of, one_of, or_null
from core.rows.access import Access
from core.rows.trimmed import is_blank, trim
from crm.clients.models import Client, ClientQuerySet, email_key
from crm.clients.similar import MAX_SHOWN, SimilarityReason, find_similar
from crm.resources.api.erasure import ErasableViewSet, describe_erasure
from crm.resources.api.fields import (
    BulkLookup,
    DerivedName,
    EmailFilter,
    ExternalIdPairsFilter,
    ExternalIds,
    ExternallyIdentifiedFilters,
    Lookup,
    is_try_update,
)
from crm.resources.api.views import NAMES, describe_operations
from crm.resources.models import CRMResource, normalize_value


class ClientLookup(Lookup):
    """A lookup in the database for one client or deal."""

    def client(self, id: int) -> Client | None:
        """Lock and return the client. Return None if the client is in the trash."""
        return self.account.clients.live().limited_to(self.access).locked().filter(id=id).first()

    def only_client_with_email(self, email: object) -> Client | None:
        """Lock and return the client with the e-mail, or None if there is none or more than one."""
        return self.account.clients.live().limited_to(self.access).lock_only_by_email(self.account.id, email)


class BulkClientLookup(BulkLookup):
    """A lookup for the items of a bulk request with clients, or with deals and their nested clients."""

    def __init__(self, account: Account, access: Access, *, max_new: int):
        super().__init__(account, access, max_new=max_new)
        # By `email_key`: the oldest client with the e-mail, and the clients that had the e-mail before an item changed their e-mail.
        self._oldest_by_email: dict[str, int] = {}
        self._former_holders: dict[str, set[int]] = defaultdict(set)
        # By `email_key`: the ids of the clients to which nested clients may be linked.
        self._guests: dict[str, list[int]] = {}
        # The e-mails whose oldest client has another e-mail now. The next oldest client is looked up when an item needs it.
        self._stale_emails: set[str] = set()

    def lock_clients(
        self, rows: ClientQuerySet, bodies: Collection[dict[str, object]], *, by_email: bool = False
    ) -> None:
        """Lock the clients that hold an external id of the bodies. With `by_email`, also lock the oldest client with each e-mail.

        Call `look_up_holders` first. Raise ConcurrentUpdate if a client changed between its lookup and its lock.
        """
        self._clients, holders = rows, self._holders[Client]
        pairs = [pair for body in bodies for pair in ExternalIds.valid_pairs(body.get("external_ids")).items()]
        holder_ids = {
            pair: holders[pair] for pair in pairs if pair in holders and holders[pair] not in self._hidden_ids
        }
        if by_email and (keys := {key for body in bodies if (key := email_key(body.get("email")))}):
            self._oldest_by_email = rows.oldest_by_email(self.account.id, keys)
        ids = {*holder_ids.values(), *self._oldest_by_email.values()}
        locked = {row.id: row for row in rows.locked().filter(id__in=ids).order_by("id")} if ids else {}
        if (
            locked.keys() != ids
            or any(pair not in locked[id].held_pairs for pair, id in holder_ids.items())
            or any(locked[id].email_key != key for key, id in self._oldest_by_email.items())
        ):
            raise ConcurrentUpdate("Another request changed a client that this request names")
        self._rows |= locked

    def lock_guests(self, bodies: Collection[dict[str, object]]) -> None:
        """Lock the only client with each e-mail of the bodies. Raise ConcurrentUpdate if a client changed before it was locked."""
        keys = {key for body in bodies if (key := email_key(body.get("email")))}
        if not keys:
            return
        rows = self.account.clients.live().limited_to(self.access)
        self._guests = rows.ids_by_email(self.account.id, keys)
        only_ids = {ids[0]: key for key, ids in self._guests.items() if len(ids) == 1 and ids[0] not in self._rows}
        locked = {row.id: row for row in rows.locked().filter(id__in=only_ids).order_by("id")} if only_ids else {}
        if locked.keys() != only_ids.keys() or any(row.email_key != only_ids[id] for id, row in locked.items()):
            raise ConcurrentUpdate("Another request changed a client that this request names")
        self._rows |= locked

    def only_client_with_email(self, email: object) -> Client | None:
        ids = self._guests.get(email_key(email) or "", [])
        return self._rows[ids[0]] if len(ids) == 1 else None

    def find_existing(self, *, email: object, external_ids: dict[str, str]) -> Client | None:
        """Return the client as `ClientQuerySet.find_existing` does. Call `lock_clients` first."""
        holders = self.holders(Client, external_ids)
        if errors := Client.hidden_errors(holders, self._hidden_ids):
            raise FieldErrors(error.move_into("external_ids") for error in errors)
        holder_id = Client.single_holder(holders.values(), self.label_of)
        if holder_id is None and (key := email_key(email)):
            if key in self._stale_emails:
                self._stale_emails.discard(key)
                others = self._clients.locked().filter(email_key=key).exclude(id__in=self._former_holders[key])
                other = others.order_by("id").first()
                if other is not None:
                    self._rows.setdefault(other.id, other)
                    self._oldest_by_email[key] = min(other.id, self._oldest_by_email.get(key, other.id))
            row = self._rows.get(self._oldest_by_email.get(key, 0))
            return row if row is not None and row.may_have(external_ids) else None
        return None if holder_id is None else self._rows.get(holder_id)

    def client(self, id: int) -> Client | None:
        return self._rows.get(id)

    def assign(self, row: CRMResource, values: dict[str, Any], *, by: User, item: int | None = None) -> None:
        """Assign the values of an item to its row, and those of a nested client to the client."""
        rows = [row, *(client for client, _ in filter(None, [values.get("client")]))]
        before = [email_key(getattr(row, "email", None)) for row in rows]
        self.assign_all(rows, lambda: row.assign(values, by=by), item=item)
        for changed, old_key in zip(rows, before, strict=True):
            if isinstance(changed, Client) and (new_key := email_key(changed.email)) != old_key:
                if old_key:
                    self._former_holders[old_key].add(changed.id)
                if old_key and self._oldest_by_email.get(old_key) == changed.id:
                    del self._oldest_by_email[old_key]
                    self._stale_emails.add(old_key)
                if new_key:
                    self._guests.setdefault(new_key, []).append(changed.id)
                    self._oldest_by_email[new_key] = min(changed.id, self._oldest_by_email.get(new_key, changed.id))


CLIENT_FIELDS: FieldTypes = {
    **CUSTOM_FIELDS,
    EXTERNAL_ID: fields.TextField,
    "token": fields.TextField,
    "paid_from": fields.DateField,
    "paid_to": fields.DateField,
    "paid_total": fields.DecimalField,
    "payment_to_kind": fields.TextField,
    "bank_account_id": fields.IntegerField,
    "category_id": fields.IntegerField,
    "department_id": fields.IntegerField,
    "project_id": fields.IntegerField,
    "position": AnyScalarField,
    "sensitive_data": fields.BooleanField,
    "appendixes_count": fields.IntegerField,
    "avatar_file_name": fields.TextField,
    "avatar_content_type": fields.TextField,
    "avatar_file_size": fields.IntegerField,
    "avatar_updated_at": fields.DateTimeField,
}


class ClientSerializer(DefinedFieldsSerializer):
    model = Client
    resource = "client"
    typed = CLIENT_FIELDS

    name = DerivedName()
    external_ids = ExternalIds(Client, after="note")
    tags = fields.TagsField(after="description")
    additional_fields = DefinedFieldsField(CLIENT_FIELDS)
    try_update = fields.BooleanField(write_only=True)
    creator_id = fields.IntegerField(read_only=True)
    updater_id = fields.IntegerField(read_only=True)
    contacts_count = fields.IntegerField(read_only=True)
    posts_count = fields.IntegerField(read_only=True)
    deals_count = fields.IntegerField(read_only=True)
    last_activity = fields.DateTimeField(read_only=True)

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        values.pop("try_update", None)
        return super().validate(values)

    @classmethod
    def additional_fields_of(cls, data: dict[str, Any]) -> dict[str, object]:
        """Return the additional fields with the `external_id`, which is stored as an external id only (see `merge_external_id`)."""
        values, external_ids = super().additional_fields_of(data), data["external_ids"]
        return {**values, EXTERNAL_ID: external_ids[EXTERNAL_ID]} if EXTERNAL_ID in external_ids else values


def merge_external_id(data: dict[str, Any], external_ids: dict[str, str]) -> dict[str, object]:
    """Return the input for a client with its `external_id` moved into `external_ids`.

    Responses show the value in three places: as a field, as an additional field and as an external id. If an application sends the whole
    resource back, it may have changed the value in one of the three places. The changed value is the one that differs from the stored
    `external_ids`.
    """
    own, additional = fields.to_object(data.get("external_ids")), fields.to_object(data.get("additional_fields"))
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
        super().__init__(DefinedTextField())

    def filter(self, rows: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        if value is None:
            return rows
        holder_id = Client.holder_of_all(self.parent.account.id, {EXTERNAL_ID: trim(value)})
        return rows.none() if holder_id is None else rows.filter(id=holder_id)


class ClientFilters(ExternallyIdentifiedFilters):
    tag = TagFilter()
    external_ids = ExternalIdPairsFilter(Client)
    external_id = ExternalIdFieldFilter()
    email = EmailFilter()
    status_id = link_filter()
    responsible_id = link_filter()
    contact_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()


class ClientViewSet(ErasableViewSet):
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


class SimilarSerializer(WireSerializer):
    name = fields.TextField()
    email = fields.TextField()
    tax_no = fields.TextField()


class SimilarViewSet(JSONViewSet):
    areas = ("clients",)
    account: Account
    request: APIRequest

    permission_classes = [IsTeam]

    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return the similar rows, the strongest reason first. Nothing is similar to a request without values."""
        parameter_errors = self.ignore_parameters(("name", "email", "tax_no"))
        serializer = SimilarSerializer(data=self.parameters.dict())
        errors = {error.field: error for error in serializer.find_errors()} | parameter_errors
        if errors:
            raise FieldErrors(errors.values())
        values = {name: value for name, value in serializer.values.items() if value}
        found = find_similar(self.account, request.user, **values)
        names = ("id", "name", "email", "reason")
        return Response([{"resource": row.kind, **{name: getattr(row, name) for name in names}} for row in found])


# The OpenAPI document

LIMITS["MAX_SIMILAR"] = 2 * MAX_SHOWN
SHAPES[ClientSerializer] = Shape(rules={"required": None, "anyOf": NAMES})
describe_operations("client")
describe_erasure("client")
SIMILAR = object_of(
    resource=one_of(["client", "contact"]), id=ROW_ID, name=NAME, email=or_null(NAME), reason=one_of(SimilarityReason)
)
QUERY_PARAMETERS["find_similar"] = field_parameters(declared_fields(SimilarSerializer))
RESPONSES["find_similar"] = array_of(SIMILAR, maxItems=2 * MAX_SHOWN)
