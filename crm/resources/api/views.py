"""The bases of the views of clients, contacts, contact lists and deals in the Account API (JSON)."""

from typing import Any, cast

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api import APIRequest
from core.api.fields import MISSING, BooleanField, to_list, to_object
from core.api.lists import Listing
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields
from core.api.views import NOT_SETTABLE, REPEATED, nest_errors, not_settable_errors
from core.db.transactions import in_transaction
from core.errors import ConcurrentUpdate, FieldError, FieldErrors
from core.http.errors import envelope
from core.rows.trash import TrashableQuerySet
from crm.fields.api.conditions import ConditionListing
from crm.resources.api.fields import ExternalIds
from crm.resources.api.filters import ExternalIdPairs, external_ids_in
from crm.resources.api.lookup import BulkLookup, Lookup
from crm.resources.external_ids import MAX_EXTERNAL_IDS, ExternallyIdentified, normalize_value
from crm.resources.models import CRMResource


class CRMViewSet(Listing, ResourceViewSet):
    """The base of the views of clients, contacts, contact lists and deals.

    A create is optimistic: the first attempt does not look up whether the external ids of the new row are free, because the
    insert fails if they are not. If the insert fails, or if the input has any other error, the second attempt looks them up, so that
    the response names all errors.
    """

    account: Account
    request: APIRequest

    model: type[CRMResource]
    # True until the first attempt of the request begins.
    optimistic = True
    lookup_class: type[Lookup] = Lookup
    lookup: Lookup

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
    bulk_lookup_class: type[BulkLookup] = BulkLookup

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

    def look_up_bulk(self, bodies: list[dict[str, object]]) -> BulkLookup:
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
    """The base of the views of resources with external ids."""

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
        pairs = external_ids_in(self.parameters)
        if not 0 < len(pairs) == len(parameters) <= MAX_EXTERNAL_IDS or any(
            len(values) > 1 for values in parameters.values()
        ):
            return None
        if not all(ExternalIds.is_valid_pair(key, value) for key, value in pairs.items()):
            return None
        holder_id = self.model.holder_of_all(self.account.id, pairs)
        return [] if holder_id is None else [holder_id]

    def read_pairs(self) -> dict[str, str]:
        parameters = self.request.query_params
        pairs = external_ids_in(parameters)
        names = [f"external_ids[{key}]" for key in pairs]
        if repeated := [name for name in names if len(parameters.getlist(name)) > 1]:
            raise FieldErrors(FieldError(name, REPEATED) for name in repeated)
        try:
            ExternalIdPairs().run_validation(pairs)
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
