"""The filters of the CRM's lists."""

import re
from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.db.models import Exists, OuterRef, QuerySet

from accounts.api.tags import TagFilter
from accounts.models import Status
from core.api.fields import ChoiceField, DateField, IntegerField, TextField, WireField
from core.api.filters import ListFilters, QueryDateTimeField, WireFilter, link_filter
from core.db.trimmed import fold_email, trim
from crm.api.conditions import ConditionFilters
from crm.api.fields import EXTERNAL_ID, ExternalIds
from crm.deals import DealQuerySet
from crm.external_ids import MAX_EXTERNAL_IDS, ExternallyIdentified
from crm.models import Client, Contact, ContactListMembership, Deal

PARAMETER = re.compile(r"external_ids\[(.*)\]", re.DOTALL)


def external_ids_in(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs of the parameters `external_ids[key]=value`."""
    return {match[1]: trim(parameters[name]) for name in parameters if (match := PARAMETER.fullmatch(name))}


class _ExternalIdsWidget(forms.Widget):
    def value_from_datadict(self, data: Any, files: Any, name: str) -> dict[str, str]:
        return external_ids_in(data)


class ExternalIdPairs(WireField):
    """The external ids in the query of a URL."""

    default_error_messages = {
        "pair": "must be external_ids[key]=value: a key of 1-64 letters, digits, _, . and -, a value of 1-255 characters",
        "too_many": ExternalIds.default_error_messages["too_many"],
    }

    def to_internal_value(self, data: dict[str, str]) -> dict[str, str]:
        if any(not ExternalIds.is_valid_pair(key, value) for key, value in data.items()):
            self.fail("pair")
        if len(data) > MAX_EXTERNAL_IDS:
            self.fail("too_many", most=MAX_EXTERNAL_IDS)
        return data


class ExternalIdPairsFilter(WireFilter):
    """The filter `external_ids[key]=value`: the row that holds all of the given pairs."""

    widget = _ExternalIdsWidget

    def __init__(self, model: type[ExternallyIdentified]):
        super().__init__(ExternalIdPairs())
        self.model = model

    def filter(self, rows: QuerySet, pairs: dict[str, str] | None) -> QuerySet:
        if not pairs:
            return rows
        holder_id = self.model.holder_of_all(self.parent.account.id, pairs)
        return rows.none() if holder_id is None else rows.filter(id=holder_id)


class LookupText(TextField):
    """A text to look up. A blank text does not filter."""

    blank_is_null = True


class ExternalIdFieldFilter(WireFilter):
    """The filter `external_id=value`: the client whose field `external_id` has this value."""

    def __init__(self) -> None:
        super().__init__(LookupText())

    def filter(self, rows: QuerySet, value: str | None) -> QuerySet:
        if value is None:
            return rows
        holder_id = Client.holder_of_all(self.parent.account.id, {EXTERNAL_ID: trim(value)})
        return rows.none() if holder_id is None else rows.filter(id=holder_id)


class EmailFilter(WireFilter):
    """A filter for the rows with the given e-mail address, ignoring case."""

    def __init__(self) -> None:
        super().__init__(LookupText())

    def filter(self, rows: QuerySet, value: str | None) -> QuerySet:
        return rows if value is None else rows.filter(email_key=fold_email(value))


class ContactListFilter(WireFilter):
    """A filter for the contacts of a contact list."""

    def __init__(self) -> None:
        super().__init__(IntegerField())

    def filter(self, rows: QuerySet, list_id: int | None) -> QuerySet:
        if list_id is None or not self.parent.account.contact_lists.live().filter(id=list_id).exists():
            return rows if list_id is None else rows.none()
        memberships = ContactListMembership.objects.filter(account_id=OuterRef("account_id"), contact_list_id=list_id)
        return rows.filter(Exists(memberships.filter(contact_id=OuterRef("id"))))


class ExternalIdsListFilters(ConditionFilters):
    """The filters of a list whose rows have external ids."""

    @classmethod
    def parameters(cls) -> list[str]:
        return [f"{name}[key]" if name == "external_ids" else name for name in super().parameters()]


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


class ContactFilters(ExternalIdsListFilters):
    tag = TagFilter()
    external_ids = ExternalIdPairsFilter(Contact)
    email = EmailFilter()
    client_id = link_filter()
    contact_list_id = ContactListFilter()
    responsible_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()


class ContactListFilters(ListFilters):
    creator_id = link_filter()
    updater_id = link_filter()


class StatusesFilter(WireFilter):
    """A filter for the deals whose status has a value in a column of its own, such as the outcome."""

    def filter(self, rows: QuerySet, value: Any) -> QuerySet:
        if value is None:
            return rows
        statuses = self.parent.account.deal_statuses()
        ids = [each.id for each in statuses if getattr(each, cast(str, self.field_name)) == value]
        return cast(DealQuerySet, rows).in_statuses(ids) if ids else rows.none()


class DealFilters(ExternalIdsListFilters):
    tag = TagFilter()
    external_ids = ExternalIdPairsFilter(Deal)
    client_id = link_filter()
    status_id = link_filter()
    responsible_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()
    contact_id = link_filter()
    outcome = StatusesFilter(ChoiceField(Status.Outcome.values))
    pipeline_id = StatusesFilter(IntegerField())
    closed_at__after = WireFilter(QueryDateTimeField(), field_name="closed_at", lookup_expr="gte")
    closed_at__before = WireFilter(QueryDateTimeField(), field_name="closed_at", lookup_expr="lt")
    expected_close_date__after = WireFilter(DateField(), field_name="expected_close_date", lookup_expr="gte")
    expected_close_date__before = WireFilter(DateField(), field_name="expected_close_date", lookup_expr="lt")
