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
from workspace.tasks import all_tasks

# The orders of the lists, ascending and descending, with the labels of those that the form for small screens offers. Each has an index.
ORDERS: dict[str, str | Promise] = {
    "name": _("Name, A to Z"),
    "-name": _("Name, Z to A"),
    "-created_at": _("Newest first"),
    "created_at": _("Oldest first"),
    "-updated_at": _("Last changed first"),
    "updated_at": _("Last changed last"),
    "id": "",
    "-id": "",
}
TASK_ORDERS: dict[str, str | Promise] = {
    "scheduled_at": _("Due first"),
    "-scheduled_at": _("Due last"),
    "-completed_at": _("Last completed first"),
    "completed_at": _("Last completed last"),
    **{order: label for order, label in ORDERS.items() if not order.endswith("name")},
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
    # The field that is the link to the page of a row, in the first column.
    name_field: str = "name"
    orders: Mapping[str, str | Promise] = field(default_factory=lambda: ORDERS)
    default_order: str = "-created_at"
    # Columns that the cells of other columns show.
    further_columns: tuple[str, ...] = ()
    # True if the fields of a row can be edited in the cells of the list.
    is_editable: bool = False
    # The columns of rows that link to the rows, by the related name on the account.
    activity: Mapping[str, str] = field(default_factory=dict)
    rows_of: Callable[[Account, User], QuerySet[Any]] = lambda account, user: account.users.none()

    def fields(self, account: Account) -> list[Field]:
        """Return the fields of the rows, with those that the account defines."""
        return list(OWN_FIELDS[self.resource]) if self.resource in OWN_FIELDS else fields_of(account, self.resource)

    @property
    def edit_route(self) -> str:
        """The route of the form for one field of a row; "" if the rows can't be edited in the list."""
        return f"{self.row_route}-edit" if self.is_editable else ""

    @property
    def has_responsible(self) -> bool:
        return any(each.name == "responsible_id" for each in self._builtin)

    @property
    def has_tasks(self) -> bool:
        """True if tasks link to the rows."""
        return "posts" in self.activity

    @property
    def _builtin(self) -> tuple[Field, ...]:
        return OWN_FIELDS.get(self.resource) or builtin_fields(self.resource)

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

TASK_FIELDS = (
    Field("title", _("Title"), FieldType.TEXT, "task", required=True, in_lists=True),
    Field("scheduled_at", _("Due"), FieldType.TIME, "task", in_lists=True),
    Field("responsible_id", _("Responsible"), FieldType.USER, "task", in_lists=True),
    Field("client_id", _("Client"), FieldType.CLIENT, "task", in_lists=True),
    Field("contact_id", _("Contact"), FieldType.CONTACT, "task"),
    Field("deal_id", _("Deal"), FieldType.DEAL, "task", in_lists=True),
    Field("closed", _("Done"), FieldType.BOOLEAN, "task", in_lists=True),
    Field("completed_at", _("Completed"), FieldType.TIME, "task", read_only=True),
    Field("remind_at", _("Reminder"), FieldType.TIME, "task"),
    Field("priority", _("Priority"), FieldType.NUMBER, "task"),
    Field("tags", _("Tags"), FieldType.TAGS, "task"),
    Field("content", _("Description"), FieldType.LONG_TEXT, "task"),
    Field("user_id", _("Created by"), FieldType.USER, read_only=True),
    Field("created_at", _("Created"), FieldType.TIME, read_only=True),
    Field("updated_at", _("Changed"), FieldType.TIME, read_only=True),
)
# The fields of the lists whose rows are not in the field catalogue.
OWN_FIELDS = {"contact_list": CONTACT_LIST_FIELDS, "task": TASK_FIELDS}

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
            is_editable=True,
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
            is_editable=True,
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
            is_editable=True,
            further_columns=("currency",),
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
        RecordList(
            "task",
            "tasks",
            _("Tasks"),
            "list-checks",
            "workspace-tasks-list",
            "workspace-task",
            nothing=_("There are no tasks yet."),
            name_field="title",
            orders=TASK_ORDERS,
            default_order="scheduled_at",
            rows_of=all_tasks,
        ),
    )
}
