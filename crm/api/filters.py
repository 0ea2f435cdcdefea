"""What the CRM's lists may be narrowed by."""

import re

from django import forms
from django.db.models import Exists, OuterRef

from accounts.api.filters import TagFilter
from core.api.fields import IntegerField, TextField, WireField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.db.tenancy import fold
from crm.api.fields import EXTERNAL_ID, ExternalIds
from crm.external_ids import MOST
from crm.models import Client, ContactListMembership, Deal

PARAMETER = re.compile(r"external_ids\[(.*)\]", re.DOTALL)


def pairs_of(parameters) -> dict[str, str]:
    """The pairs of `external_ids[key]=value` in a query."""
    return {match[1]: parameters[name] for name in parameters if (match := PARAMETER.fullmatch(name))}


class _Pairs(forms.Widget):
    def value_from_datadict(self, data, files, name):
        return pairs_of(data)


class ExternalIdPairs(WireField):
    default_error_messages = {
        "pair": "must be external_ids[key]=value: a key of 1-64 letters, digits, _, . and -, a value of 1-255 characters",
        "too_many": ExternalIds.default_error_messages["too_many"],
    }

    def to_internal_value(self, data: dict[str, str]) -> dict[str, str]:
        if any(not ExternalIds.fits(key, value) for key, value in data.items()):
            self.fail("pair")
        if len(data) > MOST:
            self.fail("too_many", most=MOST)
        return data


class ExternalIdFilter(WireFilter):
    """The one row that has all of the external ids."""

    widget = _Pairs

    def __init__(self, model: type[Client] | type[Deal]):
        super().__init__(ExternalIdPairs())
        self.model = model

    def filter(self, rows, pairs):
        if not pairs:
            return rows
        ids = self.model.having_all(self.parent.account.id, pairs)
        return rows.filter(id=ids[0]) if ids else rows.none()


class LookupText(TextField):
    """A text to look up; blank means none."""

    blank_is_null = True


class ExternalIdFieldFilter(WireFilter):
    """The one client with this `external_id`."""

    def __init__(self):
        super().__init__(LookupText())

    def filter(self, rows, value):
        if value is None:
            return rows
        ids = Client.having_all(self.parent.account.id, {EXTERNAL_ID: value})
        return rows.filter(id=ids[0]) if ids else rows.none()


class EmailFilter(WireFilter):
    """The rows with an e-mail, without regard to case."""

    def __init__(self):
        super().__init__(LookupText())

    def filter(self, rows, value):
        return rows if value is None else rows.filter(email_key=fold(value))


class ContactListFilter(WireFilter):
    """The contacts that are in a contact list."""

    def __init__(self):
        super().__init__(IntegerField())

    def filter(self, rows, list_id):
        if list_id is None or not self.parent.account.contact_lists.live().filter(id=list_id).exists():
            return rows if list_id is None else rows.none()
        places = ContactListMembership.objects.filter(account_id=OuterRef("account_id"), contact_list_id=list_id)
        return rows.filter(Exists(places.filter(contact_id=OuterRef("id"))))


class ExternallyIdentifiedFilters(ListFilters):
    @classmethod
    def parameters(cls) -> list[str]:
        return [f"{name}[key]" if name == "external_ids" else name for name in super().parameters()]


class ClientFilters(ExternallyIdentifiedFilters):
    tag = TagFilter()
    external_ids = ExternalIdFilter(Client)
    external_id = ExternalIdFieldFilter()
    email = EmailFilter()
    status_id = link_filter()
    responsible_id = link_filter()
    contact_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()


class ContactFilters(ListFilters):
    tag = TagFilter()
    email = EmailFilter()
    client_id = link_filter()
    contact_list_id = ContactListFilter()
    responsible_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()


class ContactListFilters(ListFilters):
    creator_id = link_filter()
    updater_id = link_filter()


class DealFilters(ExternallyIdentifiedFilters):
    tag = TagFilter()
    external_ids = ExternalIdFilter(Deal)
    client_id = link_filter()
    status_id = link_filter()
    responsible_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()
