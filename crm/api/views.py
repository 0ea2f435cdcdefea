"""The views of clients, contacts, contact lists and deals in the Account API (JSON)."""

from typing import Any

from django.http import HttpResponse

from core.api.errors import envelope
from core.api.fields import MISSING, BooleanField
from core.api.lists import Listing
from core.api.resources import ResourceViewSet
from core.api.views import NOT_SETTABLE, REPEATED, nest_errors, not_settable_errors
from core.db.transactions import in_transaction
from core.errors import ConcurrentUpdate, FieldError, FieldErrors
from crm.api.fields import ExternalIds, with_external_id
from crm.api.filters import (
    ClientFilters,
    ContactFilters,
    ContactListFilters,
    DealFilters,
    ExternalIdPairs,
    pairs_of,
)
from crm.api.lookup import Ahead, Lookup
from crm.api.serializers import ClientSerializer, ContactListSerializer, ContactSerializer, DealSerializer
from crm.external_ids import MOST
from crm.models import Client, Contact, ContactList, Deal


class CRMViewSet(Listing, ResourceViewSet):
    """The base of the views of clients, contacts, contact lists and deals.

    A create is optimistic: the first attempt does not look up whether the external ids of the new row are free, because the
    insert fails if they are not. If it fails, or if the input has any other error, the second attempt looks them up, so that the
    answer names all errors.
    """

    model: type
    # Whether the next attempt is the first one.
    optimistic = True
    lookup: Lookup

    def context(self):
        """Return the context of one attempt; only the first one is optimistic."""
        self.lookup, self.optimistic = Lookup(self.account, optimistic=self.optimistic), False
        return {**super().context(), "lookup": self.lookup}

    def check(self, **serializers):
        try:
            return super().check(**serializers)
        except FieldErrors:
            if self.lookup.skipped_lookup:
                raise ConcurrentUpdate("What was not looked up may be wrong too") from None
            raise

    def create_row(self, values):
        row = self.model(account=self.account)
        row.write(values, by=self.request.user, single_statement=self.lookup.optimistic)
        return row

    def update_row(self, row, values):
        row.write(values, by=self.request.user)


class BulkViewSet(CRMViewSet):
    """The base of views with bulk creates: up to a thousand items in one request, each as if it were sent alone, in their order.

    What the items name is looked up for all of them at once. Each is then validated in turn, and the valid ones are written
    together, in one transaction. Errors name an item by its position, counted from 0.
    """

    MOST_AT_ONCE = 1000

    def bulk(self, request) -> HttpResponse:
        items, all_or_nothing = self.read_items(), self.read_atomic()
        ignored = [name for name in self.body if name not in {*self.common_keys, f"{self.key}s", *self.body_keys}]
        if ignored and self.strict:
            raise FieldErrors(FieldError(name, NOT_SETTABLE) for name in ignored)
        results, ignored_in_items = in_transaction(lambda: self.write_many(items, all_or_nothing))
        pending = [name for result in results for name in result.get("pending_links", [])]
        return self.answer(
            results, ignored=list(dict.fromkeys(ignored + ignored_in_items)), pending=list(dict.fromkeys(pending))
        )

    def read_items(self) -> list[Any]:
        items = self.body.get(f"{self.key}s")
        if items is None:
            raise FieldError(f"{self.key}s", MISSING, "required")
        if not isinstance(items, list):
            kind = self.model._meta.verbose_name_plural
            raise FieldError(f"{self.key}s", "must be a list of {kind}", "list", {"kind": kind})
        if len(items) > self.MOST_AT_ONCE:
            message = "are too many (maximum is {most})"
            raise FieldError(f"{self.key}s", message, "too_many", {"most": self.MOST_AT_ONCE})
        return [self.complete(item) for item in items]

    def read_atomic(self) -> bool:
        given = self.request.headers.get("X-Atomic", "false")
        try:
            # What is not ASCII comes as nothing.
            return BooleanField(allow_null=False).run_validation(given)
        except FieldErrors:
            raise FieldError("x_atomic", "is not true or false", "boolean") from None

    @property
    def request_options(self):
        return [*super().request_options, *(["atomic"] if self.action == "bulk" and self.read_atomic() else [])]

    def write_many(self, items: list[Any], all_or_nothing: bool) -> tuple[list[dict], list[str]]:
        """The result of each item, and the names of fields that were ignored. Raises FieldErrors if all or nothing."""
        context = {**self.context(), **self.look_ahead([item for item in items if isinstance(item, dict)])}
        outcomes, errors, ignored, pending = [], {}, [], {}
        for position, given in enumerate(items):
            try:
                row = self.find_existing_ahead(given, context["lookup"])
                serializer = self.serializer(given, row, context)
                ignored += self.check_one(serializer)
            except FieldErrors as caught:
                errors[position] = caught.errors
                outcomes.append((422, None))
                continue
            outcomes.append((201, context["lookup"].new(self.model)) if row is None else (200, row))
            if serializer.pending_links:
                pending[position] = {"pending_links": serializer.pending_links}
            item = position if all_or_nothing else None
            context["lookup"].assign(outcomes[-1][1], serializer.values, by=self.request.user, item=item)
        if errors and all_or_nothing:
            items = [error.within(str(position)) for position, found in errors.items() for error in found]
            raise FieldErrors(error.within(f"{self.key}s") for error in items)
        self.model.flush(list({row.id: row for _, row in outcomes if row is not None}.values()))
        results = [
            {"status": status, self.key: self.represent(row), **pending.get(position, {})}
            if row is not None
            else {"status": status, **envelope(status, errors=errors[position])}
            for position, (status, row) in enumerate(outcomes)
        ]
        return results, ignored

    def check_one(self, serializer) -> list[str]:
        """Return the names that are ignored. Raises FieldErrors with all errors at once."""
        errors = nest_errors(serializer.find_errors(), self.key)
        if serializer.ignored and self.strict:
            errors += not_settable_errors(serializer.ignored, errors)
        if errors:
            raise FieldErrors(errors)
        return serializer.ignored

    def look_ahead(self, bodies: list[dict]) -> dict[str, Any]:
        """What the fields look things up by, for all of the bodies."""
        nested = [body["client"] for body in bodies if isinstance(body.get("client"), dict)]
        ahead = Ahead(self.account, most_new=len(bodies) + len(nested))
        ahead.look_up(self.serializer_class._declared_fields, bodies)
        self.lock_ahead(ahead, bodies, nested)
        return {"lookup": ahead, "existing_ids": ahead.found}

    def lock_ahead(self, ahead: Ahead, bodies: list[dict], nested: list[dict]) -> None:
        """Look up, and lock where they may change, the holders of external ids that the bodies name."""

    def find_existing_ahead(self, given: Any, ahead: Ahead):
        """As `find_existing`, for one item of many."""
        return


class ExternallyIdentifiedViewSet(BulkViewSet):
    def upsert(self, request) -> HttpResponse:
        """Change the one that has the external ids of the query; where there is none, make one that has them."""
        pairs = self.read_pairs()

        def find():
            row = self.model.holding(self.rows(), self.account.id, pairs)
            others = [] if row is None else sorted(pairs.items() - row.external_ids.items())
            if others:
                # Else a second key would quietly move from one to another.
                message, holder = "{key} {value} does not belong to {holder}", f"{self.key} {row.id}"
                raise FieldErrors(
                    FieldError("external_ids", message, "other", {"key": key, "value": value, "holder": holder})
                    for key, value in others
                )
            return row

        def read(row):
            given = self.complete(self.body.get(self.key), row)
            return given if row is not None else self.identified(given, pairs)

        return self.write(find, read)

    def known_ids(self):
        """Asked for by external ids alone, as most applications do, it is their one holder."""
        parameters = {name: values for name, values in self.parameters.lists() if name not in self.common_keys}
        pairs = pairs_of(self.parameters)
        if not 0 < len(pairs) == len(parameters) <= MOST or any(len(values) > 1 for values in parameters.values()):
            return None
        if not all(ExternalIds.fits(key, value) for key, value in pairs.items()):
            return None
        return self.model.having_all(self.account.id, pairs)

    def read_pairs(self) -> dict[str, str]:
        parameters = self.request.query_params
        pairs = pairs_of(parameters)
        names = [f"external_ids[{key}]" for key in pairs]
        if repeated := [name for name in names if len(parameters.getlist(name)) > 1]:
            raise FieldErrors(FieldError(name, REPEATED) for name in repeated)
        try:
            ExternalIdPairs().run_validation(pairs)
        except FieldErrors as caught:
            raise FieldErrors(error.within("external_ids") for error in caught.errors) from None
        if not pairs:
            raise FieldError("external_ids", MISSING, "required")
        return pairs

    def identified(self, given: Any, pairs: dict[str, str]) -> Any:
        """What is given for a new one, with the external ids that it is to be found by."""
        if not isinstance(given, dict):
            return given
        own = {} if given.get("external_ids") is None else given["external_ids"]
        if not isinstance(own, dict):
            # It is refused with all else that is wrong.
            return given
        others = [key for key in pairs if key in own and str(own[key]) != pairs[key]]
        if others:
            raise FieldErrors(
                FieldError(
                    "external_ids", "{key} is {value} in the address", "other", {"key": key, "value": pairs[key]}
                )
                for key in others
            )
        return {**given, "external_ids": {**own, **pairs}}


class ClientViewSet(ExternallyIdentifiedViewSet):
    key = "client"
    route = "crm-json-client"
    body_keys = ("try_update",)
    model = Client
    serializer_class = ClientSerializer
    filters = ClientFilters

    @staticmethod
    def listed_of(account):
        return account.clients.live()

    @classmethod
    def rows_of(cls, account):
        return cls.listed_of(account).with_counts(account)

    def complete(self, given, row=None):
        """`try_update` may stand beside the client as well as in it, and `external_id` is one of its external ids."""
        if not isinstance(given, dict):
            return given
        beside = {name: self.body[name] for name in self.body_keys if name in self.body}
        return with_external_id({**beside, **given}, row.external_ids if row is not None else {})

    def may_mean_another(self, given: Any) -> bool:
        """With `try_update`, a create means the client that has one of the external ids, or else the e-mail."""
        try:
            return isinstance(given, dict) and bool(BooleanField().run_validation(given.get("try_update")))
        except FieldErrors:
            # It is refused with all else that is wrong.
            return False

    def find_existing(self, given):
        if not self.may_mean_another(given):
            return None
        return self.rows().find_existing(
            self.account.id, email=given.get("email"), external_ids=ExternalIds.readable(given.get("external_ids"))
        )

    def lock_ahead(self, ahead, bodies, nested):
        ahead.look_up_holders(Client, bodies)
        ahead.lock_clients(self.rows(), [body for body in bodies if self.may_mean_another(body)], by_email=True)

    def find_existing_ahead(self, given, ahead):
        if not self.may_mean_another(given):
            return None
        return ahead.find_existing(
            email=given.get("email"), external_ids=ExternalIds.readable(given.get("external_ids"))
        )


class ContactViewSet(BulkViewSet):
    key = "contact"
    route = "crm-json-contact"
    model = Contact
    serializer_class = ContactSerializer
    filters = ContactFilters

    @staticmethod
    def listed_of(account):
        return account.contacts.live()

    @classmethod
    def rows_of(cls, account):
        return cls.listed_of(account).with_list_ids()


class ContactListViewSet(CRMViewSet):
    key = "contact_list"
    route = "crm-json-contact-list"
    model = ContactList
    serializer_class = ContactListSerializer
    filters = ContactListFilters

    @staticmethod
    def listed_of(account):
        return account.contact_lists.live()

    @classmethod
    def rows_of(cls, account):
        return cls.listed_of(account).with_counts()


class DealViewSet(ExternallyIdentifiedViewSet):
    key = "deal"
    route = "crm-json-deal"
    model = Deal
    serializer_class = DealSerializer
    filters = DealFilters

    @staticmethod
    def listed_of(account):
        return account.deals.live()

    def lock_ahead(self, ahead, bodies, nested):
        ahead.look_up_holders(Deal, bodies)
        ahead.look_up_holders(Client, nested)
        ahead.lock_clients(self.account.clients.live(), nested)
