"""Generation B: clients, contacts, contact lists and deals."""

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from accounts.api.lists import Listing
from accounts.api.resources import ResourceViewSet
from accounts.fields import MISSING, Boolean
from crm.api.fields import ExternalIds
from crm.api.filters import (
    ClientFilters,
    ContactFilters,
    ContactListFilters,
    DealFilters,
    ExternalIdPairs,
    pairs_of,
)
from crm.api.serializers import ClientSerializer, ContactListSerializer, ContactSerializer, DealSerializer
from crm.models import Client, Contact, ContactList, Deal


class CRMViewSet(Listing, ResourceViewSet):
    model: type

    def make(self, values):
        row = self.model(account=self.account)
        row.write(values, by=self.request.user)
        return row

    def change(self, row, values):
        row.write(values, by=self.request.user)


class ExternallyIdentifiedViewSet(CRMViewSet):
    def upsert(self, request) -> Response:
        """Change the one that has the external ids of the query; where there is none, make one that has them."""
        pairs = self.read_pairs()

        def which():
            row = self.model.holding(self.rows(), self.account.id, pairs)
            others = [] if row is None else sorted(pairs.items() - row.external_ids.items())
            if others:
                # Else a second key would quietly move from one to another.
                rules = [f"{key} {value} does not belong to {self.key} {row.id}" for key, value in others]
                raise ValidationError({"external_ids": rules})
            return row

        def content(row):
            given = self.body(self.key)
            return given if row is not None else self.identified(given, pairs)

        return self.write(which, content)

    def read_pairs(self) -> dict[str, str]:
        pairs = pairs_of(self.request.query_params)
        try:
            ExternalIdPairs().run_validation(pairs)
        except ValidationError as error:
            raise ValidationError({"external_ids": error.detail}) from None
        if not pairs:
            raise ValidationError({"external_ids": [MISSING]})
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
            raise ValidationError({"external_ids": [f"{key} is {pairs[key]} in the address" for key in others]})
        return {**given, "external_ids": {**own, **pairs}}


class ClientViewSet(ExternallyIdentifiedViewSet):
    key = "client"
    body_keys = ("try_update",)
    model = Client
    serializer_class = ClientSerializer
    filters = ClientFilters

    def listed(self):
        return self.account.clients.live()

    def rows(self):
        return self.listed().with_counts(self.account)

    def content(self, row) -> Any:
        """`try_update` may stand beside the client as well as in it."""
        given = super().content(row)
        beside = {name: self.given[name] for name in self.body_keys if name in self.given}
        return {**beside, **given} if isinstance(given, dict) else given

    def meant(self, given: Any) -> Client | None:
        """With `try_update`: the client that has one of the external ids, or else the e-mail."""
        given = self.content(None)
        try:
            if not isinstance(given, dict) or not Boolean().run_validation(given.get("try_update")):
                return None
        except ValidationError:
            # It is refused with all else that is wrong.
            return None
        return self.rows().meant_by(
            self.account.id, email=given.get("email"), external_ids=ExternalIds.readable(given.get("external_ids"))
        )


class ContactViewSet(CRMViewSet):
    key = "contact"
    model = Contact
    serializer_class = ContactSerializer
    filters = ContactFilters

    def listed(self):
        return self.account.contacts.live()

    def rows(self):
        return self.listed().with_list_ids()


class ContactListViewSet(CRMViewSet):
    key = "contact_list"
    model = ContactList
    serializer_class = ContactListSerializer
    filters = ContactListFilters

    def listed(self):
        return self.account.contact_lists.live()

    def rows(self):
        return self.listed().with_counts()


class DealViewSet(ExternallyIdentifiedViewSet):
    key = "deal"
    model = Deal
    serializer_class = DealSerializer
    filters = DealFilters

    def listed(self):
        return self.account.deals.live()

    def make(self, values):
        return super().make({**values, "currency": values.get("currency") or self.account.currency})

    def change(self, row, values):
        if values.get("currency", True) is None:
            values["currency"] = self.account.currency
        super().change(row, values)
