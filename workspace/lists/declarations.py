"""The lists of the team's pages: their rows, columns, orders and special filters. The fields come from `crm.fields`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Account, Status, User
from crm.fields import Field, FieldType, builtin_fields, fields_of

# The orders of every list. Each has an index.
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
    # The columns of rows that link to the rows, by the related name on the account.
    activity: Mapping[str, str] = field(default_factory=dict)
    rows_of: Callable[[Account, User], QuerySet[Any]] = lambda account, user: account.users.none()

    def fields(self, account: Account) -> list[Field]:
        """Return the fields of the rows, with those that the account defines."""
        return list(CONTACT_LIST_FIELDS) if self.resource == "contact_list" else fields_of(account, self.resource)

    @property
    def has_responsible(self) -> bool:
        return any(each.name == "responsible_id" for each in self._builtin)

    @property
    def has_tasks(self) -> bool:
        """True if tasks link to the rows."""
        return "posts" in self.activity

    @property
    def _builtin(self) -> tuple[Field, ...]:
        return CONTACT_LIST_FIELDS if self.resource == "contact_list" else builtin_fields(self.resource)

    def without_activity_since(self, rows: QuerySet[Any], account: Account, moment: Any) -> QuerySet[Any]:
        """Return the rows that did not change since then, nor did any row that links to them."""
        rows = rows.filter(updated_at__lt=moment)
        for name, link in self.activity.items():
            changed = getattr(account, name).live().filter(**{link: OuterRef("id")}, updated_at__gte=moment)
            rows = rows.filter(~Exists(changed))
        return rows

    def without_tasks(self, rows: QuerySet[Any], account: Account) -> QuerySet[Any]:
        """Return the rows to which no open task links."""
        tasks = account.posts.live().filter(
            ~Q(task_kind="feedback"), closed=False, **{self.activity["posts"]: OuterRef("id")}
        )
        return rows.filter(~Exists(tasks))


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
            activity={"contacts": "client_id", "deals": "client_id", "posts": "client_id"},
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
            activity={"posts": "contact_id"},
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
