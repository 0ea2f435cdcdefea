"""The bases of the views of clients, contacts, contact lists and deals in the Account API (JSON), and writes by pages and imports."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.fields.catalogue import defined_name
from accounts.hosts.api import APIRequest
from accounts.tags.api import TAGS
from accounts.users.models import User
from core.api.fields import MAX_NAME_LENGTH, MISSING, BooleanField, to_list, to_object
from core.api.lists import ConditionListing, Listing
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields
from core.api.views import NOT_SETTABLE, REPEATED, nest_errors, not_settable_errors
from core.db.transactions import in_transaction
from core.errors import ConcurrentUpdate, FieldError, FieldErrors
from core.http.errors import envelope
from core.openapi.fields import NOT_BLANK, XML_TEXT, TextExtension, describe_field
from core.openapi.operations import API_TOKEN, BODIES, QUERY_PARAMETERS, RESPONSES, error_schema
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import NAME, JSONSchema, array_of, object_of, required_fields
from core.registry import registry
from core.rows.trash import TrashableQuerySet
from crm.resources.api import fields
from crm.resources.models import MAX_EXTERNAL_IDS, CRMResource, ExternallyIdentified, normalize_value

RowT = TypeVar("RowT", bound=CRMResource)


class CRMViewSet(Listing, ResourceViewSet):
    """The base of the views of clients, contacts, contact lists and deals.

    A create is optimistic: the first attempt does not look up whether the external ids of the new row are free, because the
    insert fails if they are not. If the insert fails, or if the input has any other error, the second attempt looks them up, so that
    the response names all errors.
    """

    areas = ("clients",)
    account: Account
    request: APIRequest

    model: type[CRMResource]
    # True until the first attempt of the request begins.
    optimistic = True
    lookup_class: type[fields.Lookup] = fields.Lookup
    lookup: fields.Lookup

    def get_serializer_context(self) -> dict[str, object]:
        """Return the context of one attempt. Only the first attempt is optimistic."""
        self.lookup = self.lookup_class(self.account, self.access, optimistic=self.optimistic)
        self.optimistic = False
        return {**super().get_serializer_context(), "lookup": self.lookup}

    def check(self, **serializers_by_key: ResourceSerializer) -> None:
        try:
            super().check(**serializers_by_key)
        except FieldErrors:
            if self.lookup.skipped_lookup:
                raise ConcurrentUpdate("The first attempt did not look up the external ids of the new row") from None
            raise

    def perform_create(self, serializer: ResourceSerializer) -> None:
        row = serializer.instance = self.model(account=self.account)
        row.write(serializer.values, by=self.request.user)


class BulkViewSet(CRMViewSet):
    """The base of views with bulk creates: a request with many items, each processed as if it were sent alone, in their order.

    `BulkLookup` reads the rows that the items name. The items are validated one after another, and the valid items are written together
    in one transaction. Errors name an item by its position, counted from 0.
    """

    MAX_BULK_ITEMS = 1000
    bulk_lookup_class: type[fields.BulkLookup] = fields.BulkLookup

    def bulk(self, request: APIRequest) -> HttpResponse:
        items, all_or_nothing = self.read_items(), self.read_atomic()
        ignored = [name for name in self.body if name not in {*self.common_keys, f"{self.key}s", *self.body_keys}]
        if ignored and self.strict:
            raise FieldErrors(FieldError(name, NOT_SETTABLE) for name in ignored)
        headers: dict[str, str] = {}
        results, ignored_in_items = in_transaction(lambda: self.write_items(items, all_or_nothing, headers))
        pending = [name for result in results for name in result.get("pending_links", [])]
        self.ignored_fields = list(dict.fromkeys(ignored + ignored_in_items))
        self.pending_links = list(dict.fromkeys(pending))
        return Response(results, headers=headers)

    def read_items(self) -> list[object]:
        items = to_list(self.body.get(f"{self.key}s"))
        if items is None:
            raise FieldError(f"{self.key}s", MISSING, "required")
        if not isinstance(items, list):
            kind = self.model._meta.verbose_name_plural
            raise FieldError(f"{self.key}s", "must be a list of {kind}", "list", {"kind": kind})
        if len(items) > self.MAX_BULK_ITEMS:
            message = "are too many (maximum is {most})"
            raise FieldError(f"{self.key}s", message, "too_many", {"most": self.MAX_BULK_ITEMS})
        return [self.complete(to_object(item)) for item in items]

    def read_atomic(self) -> bool:
        value = self.request.headers.get("X-Atomic", "false")
        try:
            result: bool = BooleanField(allow_null=False).run_validation(value)
            return result
        except FieldErrors:
            raise FieldError("x_atomic", "is not true or false", "boolean") from None

    @property
    def request_options(self) -> list[str]:
        return [*super().request_options, *(["atomic"] if self.action == "bulk" and self.read_atomic() else [])]

    def write_items(
        self, items: list[object], all_or_nothing: bool, headers: dict[str, str]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the result of each item, and the names of ignored fields. With `all_or_nothing`, any error raises FieldErrors.

        Add the headers of the response to `headers`.
        """
        lookup = self.look_up_bulk([item for item in items if isinstance(item, dict)])
        context = {**self.get_serializer_context(), "lookup": lookup, "existing_ids": lookup.existing_ids}
        outcomes: list[tuple[int, CRMResource | None]] = []
        errors: dict[int, list[FieldError]] = {}
        pending: dict[int, dict[str, list[str]]] = {}
        ignored: list[str] = []
        for position, data in enumerate(items):
            try:
                row = self.find_existing_in_bulk(data, lookup)
                serializer = self.get_serializer(row, data=data, partial=row is not None, context=context)
                ignored += self.check_item(serializer)
            except FieldErrors as caught:
                errors[position] = caught.errors
                outcomes.append((422, None))
                continue
            status, row = (201, lookup.new(self.model)) if row is None else (200, row)
            outcomes.append((status, row))
            if serializer.pending_links:
                pending[position] = {"pending_links": serializer.pending_links}
            item = position if all_or_nothing else None
            lookup.assign(row, serializer.values, by=self.request.user, item=item)
        if errors and all_or_nothing:
            item_errors = [error.move_into(str(position)) for position, listed in errors.items() for error in listed]
            raise FieldErrors(error.move_into(f"{self.key}s") for error in item_errors)
        rows = list({row.id: row for _, row in outcomes if row is not None}.values())
        self.model.flush(rows)
        for row in rows:
            headers |= self.handover_header(row)
        results = [
            {"status": status, self.key: self.represent(row), **pending.get(position, {})}
            if row is not None
            else {"status": status, **envelope(status, errors=errors[position])}
            for position, (status, row) in enumerate(outcomes)
        ]
        return results, ignored

    def check_item(self, serializer: ResourceSerializer) -> list[str]:
        """Validate an item and return the names of ignored fields. Raise FieldErrors with all errors."""
        errors = nest_errors(serializer.find_errors(), self.key)
        if serializer.ignored and self.strict:
            errors += not_settable_errors(serializer.ignored, errors)
        if errors:
            raise FieldErrors(errors)
        return serializer.ignored

    def look_up_bulk(self, bodies: list[dict[str, object]]) -> fields.BulkLookup:
        """Return the lookup with all rows that the bodies name."""
        nested = [client for body in bodies if isinstance(client := to_object(body.get("client")), dict)]
        lookup = self.bulk_lookup_class(self.account, self.access, max_new=len(bodies) + len(nested))
        lookup.look_up_links(declared_fields(self.serializer_class), bodies)
        self.lock_bulk(lookup, bodies, nested)
        return lookup

    def lock_bulk(self, lookup: Any, bodies: list[dict[str, object]], nested_clients: list[dict[str, object]]) -> None:
        """Look up the holders of the external ids in the bodies, and lock the rows that may change."""

    def find_existing_in_bulk(self, given: object, lookup: Any) -> CRMResource | None:
        """Return the row as `find_existing` does, for an item of a bulk request."""
        return None


class ExternallyIdentifiedViewSet(ConditionListing, BulkViewSet):
    """The base of the views of resources with external ids. Their lists have conditions on fields."""

    model: type[ExternallyIdentified]

    def upsert(self, request: APIRequest) -> HttpResponse:
        """Update the row that has the external ids of the query, or create a row with them."""
        pairs = self.read_pairs()

        def find() -> ExternallyIdentified | None:
            row = self.model.lock_holder(
                cast(TrashableQuerySet[Any], self.get_queryset()), self.account.id, pairs, self.access
            )
            if row is None:
                return None
            if others := sorted(pairs.items() - row.held_pairs):
                # Without this error, the external id would move from another row to this row unnoticed.
                message, holder = "{key} {value} does not belong to {holder}", f"{self.key} {row.id}"
                raise FieldErrors(
                    FieldError("external_ids", message, "other", {"key": key, "value": value, "holder": holder})
                    for key, value in others
                )
            return row

        def read(row: ExternallyIdentified | None) -> object:
            given = self.read_content(row)
            return given if row is not None else self.add_external_ids(given, pairs)

        return self.write(find, read)

    def ids_from_parameters(self) -> list[int] | None:
        """Return a list of at most one id, of the holder, if external ids are the only parameters. Otherwise return None."""
        parameters = {name: values for name, values in self.parameters.lists() if name not in self.common_keys}
        pairs = fields.external_ids_in(self.parameters)
        if not 0 < len(pairs) == len(parameters) <= MAX_EXTERNAL_IDS or any(
            len(values) > 1 for values in parameters.values()
        ):
            return None
        if not all(fields.ExternalIds.is_valid_pair(key, value) for key, value in pairs.items()):
            return None
        holder_id = self.model.holder_of_all(self.account.id, pairs)
        return [] if holder_id is None else [holder_id]

    def read_pairs(self) -> dict[str, str]:
        parameters = self.request.query_params
        pairs = fields.external_ids_in(parameters)
        names = [f"external_ids[{key}]" for key in pairs]
        if repeated := [name for name in names if len(parameters.getlist(name)) > 1]:
            raise FieldErrors(FieldError(name, REPEATED) for name in repeated)
        try:
            fields.ExternalIdPairs().run_validation(pairs)
        except FieldErrors as caught:
            raise FieldErrors(error.move_into("external_ids") for error in caught.errors) from None
        if not pairs:
            raise FieldError("external_ids", MISSING, "required")
        return pairs

    def add_external_ids(self, given: object, pairs: dict[str, str]) -> object:
        """Return the input for a new row with the external ids of the query."""
        if not isinstance(given, dict):
            return given
        own = {} if given.get("external_ids") is None else to_object(given["external_ids"])
        if not isinstance(own, dict):
            # The serializer refuses these external ids, together with all other errors.
            return given
        others = [key for key in pairs if key in own and normalize_value(own[key]) != pairs[key]]
        if others:
            raise FieldErrors(
                FieldError(
                    "external_ids", "{key} is {value} in the address", "other", {"key": key, "value": pairs[key]}
                )
                for key in others
            )
        return {**given, "external_ids": {**own, **pairs}}


# The OpenAPI document

VALUE = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH}
EXTERNAL_IDS = {
    "type": "object",
    "propertyNames": {"pattern": f"^{fields.ExternalIds.KEY.pattern}$"},
    "additionalProperties": VALUE,
}
EXTERNAL_ID_PAIRS = {**EXTERNAL_IDS, "additionalProperties": {**VALUE, **NOT_BLANK}, "maxProperties": MAX_EXTERNAL_IDS}
GIVEN_VALUE = {**VALUE, "type": ["string", "number", "null"], **NOT_BLANK}
describe_field(
    fields.ExternalIds, request={**EXTERNAL_ID_PAIRS, "additionalProperties": GIVEN_VALUE}, response=EXTERNAL_IDS
)
describe_field(fields.ExternalIdPairs, request=EXTERNAL_ID_PAIRS)


class DerivedNameExtension(TextExtension):
    """The schema of a name. A blank name is derived from other fields."""

    target_class = fields.DerivedName

    def request_schema(self) -> JSONSchema:
        return {"type": ["string", "number", "null"], "maxLength": self.target.max_length, **XML_TEXT}


# A rule between fields: a name, or a field that the name is derived from.
NAMES = required_fields(("name", "first_name", "last_name", "email"), {"type": ["string", "number"], **NOT_BLANK})


def describe_operations(key: str) -> None:
    """Add the schemas of the operations of a resource with external ids, tags and bulk creates."""
    QUERY_PARAMETERS[f"put_{key}_by_external_id"] = {"external_ids": {**EXTERNAL_ID_PAIRS, "minProperties": 1}}
    RESPONSES[f"list_{key}_tags"] = TAGS
    BODIES[f"create_{key}s"], RESPONSES[f"create_{key}s"] = bulk_body, bulk_response


def bulk_body(schema: JSONOperationSchema) -> JSONSchema:
    """Return the schema of a bulk create. An item may be any JSON value, because each item has a result of its own."""
    view = cast(BulkViewSet, schema.view)
    items = {"anyOf": [schema.input_component(view.serializer_class), {}]}
    properties: JSONSchema = {"api_token": API_TOKEN, f"{view.key}s": array_of(items, maxItems=view.MAX_BULK_ITEMS)}
    properties |= {name: {"description": "Allowed here as in each item."} for name in view.body_keys}
    return {"type": "object", "properties": properties, "required": [f"{view.key}s"], "additionalProperties": True}


def bulk_response(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of the results of a bulk create."""
    row = schema.output_component(schema.view.serializer_class)
    written = object_of({"status": {"enum": [201, 200]}, schema.view.key: row})
    pending = {**array_of(NAME), "description": "As in the header X-Pending-Links, for this item."}
    written["properties"] = {**written["properties"], "pending_links": pending}
    return array_of({"anyOf": [written, error_schema(422, status={"const": 422})]})


# Writes by pages and imports, with the same validation as in the JSON API


def write_row(row: RowT, data: Mapping[str, object], *, by: User) -> RowT:
    """Validate the data, and create the row, which is a new instance of its account, or update it.

    Call this function in a transaction. To update, the caller must have locked the row. `data` has the values by the names of
    `accounts.fields.catalogue`, such as `email` or `additional_fields[size]`. Raise FieldErrors. The errors of defined fields have the same names.
    """
    try:
        values = read_values(row, data, by=by, is_new=row._state.adding)
    except FieldErrors as caught:
        raise FieldErrors(map(name_defined_field, caught.errors)) from None
    row.write(values, by=by)
    return row


def read_values(row: CRMResource, data: Mapping[str, object], *, by: User, is_new: bool) -> dict[str, object]:
    """Return the valid values for a row, as the JSON API reads them. Raise FieldErrors. With `is_new`, required fields must be there."""
    viewset = cast(type[CRMViewSet], registry.find_by_model(type(row)).viewset)
    context = {"account": row.account, "access": by.access, "lookup": viewset.lookup_class(row.account, by.access)}
    serializer = viewset.serializer_class(
        None if is_new else row, data=nested(data), partial=not is_new, context=context
    )
    return serializer.read()


def name_defined_field(error: FieldError) -> FieldError:
    """Return the error with the name of the defined field that it is about."""
    params = error.params or {}
    inner = params.get("error")
    if error.field == "additional_fields" and "key" in params and isinstance(inner, FieldError):
        return FieldError(defined_name(str(params["key"])), inner.message, inner.code, inner.params)
    return error


def nested(data: Mapping[str, object]) -> dict[str, object]:
    """Return the data with the values of `additional_fields[key]` in an object, as the JSON API takes them."""
    keys = {name: key_in(name) for name in data}
    values = {name: value for name, value in data.items() if keys[name] is None}
    additional = {key: data[name] for name, key in keys.items() if key is not None}
    return {**values, "additional_fields": additional} if additional else values


def key_in(name: str) -> str | None:
    """Return the key in a name such as `additional_fields[size]`, or None for another name."""
    return (
        name[len("additional_fields[") : -1] if name.startswith("additional_fields[") and name.endswith("]") else None
    )
