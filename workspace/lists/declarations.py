"""The lists of the team's pages: their rows, columns, orders and special filters. The fields come from `crm.fields`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Account, Status, User
from crm.fields import Field, FieldType, builtin_fields, fields_of
from workspace.summaries import with_summary

# The fields that summaries store (`workspace.summaries`). Each is an order of the list, which has an index.
LAST_ACTIVITY = Field("last_activity_at", _("Last activity"), FieldType.TIME, read_only=True, in_lists=True)
NEXT_TASK = Field("next_task_at", _("Next task"), FieldType.TIME, read_only=True)
# Filters and orders use the sums in the currency of the account. Cells show those in all currencies.
SUMS = (
    Field("open_sum", _("Open deals"), FieldType.MONEY, read_only=True, in_lists=True),
    Field("won_sum", _("Won deals"), FieldType.MONEY, read_only=True),
)
SUM_NAMES = tuple(each.name for each in SUMS)

# The further orders of every list. Each has an index.
ORDERS: dict[str, str | Promise] = {
    "name": _("Name"),
    "created_at": _("Created"),
    "updated_at": _("Changed"),
    "id": _("Number"),
}


@dataclass(frozen=True)
class RecordList:
    """A list of one kind of records."""

    # The resource, as in the registry, and the related name on the account.
    resource: str
    collection: str
    label: str | Promise
    icon: str
    # The routes of the list, and of a row.
    route: str
    row_route: str = ""
    nothing: str | Promise = ""
    # The kind of the statuses of the rows.
    status_kind: str = ""
    # The fields that the summaries of the rows store.
    stored: tuple[Field, ...] = ()
    rows_of: Callable[[Account, User], QuerySet[Any]] = lambda account, user: account.users.none()

    def fields(self, account: Account) -> list[Field]:
        """Return the fields of the rows, with those that summaries store and those that the account defines."""
        if self.resource == "contact_list":
            return list(CONTACT_LIST_FIELDS)
        return [*fields_of(account, self.resource), *self.stored]

    @property
    def orders(self) -> Mapping[str, str | Promise]:
        """The columns by which the list can be ordered, with their labels."""
        return {**ORDERS, **{each.name: each.label for each in self.stored}}

    def list_rows(self, account: Account, user: User) -> QuerySet[Any]:
        """Return the rows of the list with the stored fields.

        PostgreSQL leaves out the join if a statement uses none of these fields.
        """
        return with_summary(self.rows_of(account, user), *(each.name for each in self.stored))

    @property
    def has_responsible(self) -> bool:
        return any(each.name == "responsible_id" for each in self._builtin)

    @property
    def has_tasks(self) -> bool:
        """True if tasks link to the rows."""
        return NEXT_TASK in self.stored

    @property
    def _builtin(self) -> tuple[Field, ...]:
        return CONTACT_LIST_FIELDS if self.resource == "contact_list" else builtin_fields(self.resource)

    def without_activity_since(self, rows: QuerySet[Any], moment: Any) -> QuerySet[Any]:
        """Return the rows that did not change since then, nor did any row that belongs to them."""
        return rows.filter(**{f"{LAST_ACTIVITY.name if self.stored else 'updated_at'}__lt": moment})


CONTACT_LIST_FIELDS = (
    Field("name", _("Name"), FieldType.TEXT, "contact", required=True, in_lists=True),
    Field("creator_id", _("Created by"), FieldType.USER, read_only=True, in_lists=True),
    Field("created_at", _("Created"), FieldType.TIME, read_only=True, in_lists=True),
    Field("updated_at", _("Changed"), FieldType.TIME, read_only=True),
)

LISTS: dict[str, RecordList] = {
    each.resource: each
    for each in (
        RecordList(
            "client",
            "clients",
            _("Clients"),
            "building-2",
            "workspace-clients",
            "workspace-client",
            nothing=_("There are no clients yet."),
            status_kind=Status.Kind.CLIENT,
            stored=(LAST_ACTIVITY, NEXT_TASK, *SUMS),
            rows_of=lambda account, user: account.clients.live().accessible_to(user),
        ),
        RecordList(
            "contact",
            "contacts",
            _("Contacts"),
            "contact",
            "workspace-contacts",
            "workspace-contact",
            nothing=_("There are no contacts yet."),
            stored=(LAST_ACTIVITY, NEXT_TASK),
            rows_of=lambda account, user: account.contacts.live().accessible_to(user),
        ),
        RecordList(
            "deal",
            "deals",
            pgettext_lazy("menu", "Deals"),
            "handshake",
            "workspace-deals",
            "workspace-deal",
            nothing=_("There are no deals yet."),
            status_kind=Status.Kind.DEAL,
            stored=(LAST_ACTIVITY, NEXT_TASK),
            rows_of=lambda account, user: account.deals.live().accessible_to(user),
        ),
        RecordList(
            "contact_list",
            "contact_lists",
            _("Contact lists"),
            "list",
            "workspace-contact-lists",
            nothing=_("There are no contact lists yet."),
            rows_of=lambda account, user: account.contact_lists.live(),
        ),
    )
}
