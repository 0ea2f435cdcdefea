"""The lists of the team's pages: their rows, columns, orders and special filters. The fields come from `accounts.fields.catalogue`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from django.db.models import Model, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.account.models import Account
from accounts.fields.catalogue import Field, builtin_fields, defined_fields, fields_of
from accounts.users.models import User
from core.rows.declared import FieldType
from forum.lists.pages.base import KIND_NAMES
from forum.lists.queries import LISTED
from team.conditions.relations import DEAL_FILTERS, RELATIONS, Relation
from team.summaries.models import LAST_ACTIVITY, NEXT_TASK, SUMS
from team.tasks.queries import all_tasks

# The orders of the lists that have an index, ascending and descending, with the labels of those that the form for small screens offers.
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
SUGGESTION_ORDERS = {order: label for order, label in ORDERS.items() if not order.endswith("name")}
TIME_ORDERS: dict[str, str | Promise] = {
    **ORDERS,
    "-last_activity_at": _("Last activity first"),
    "last_activity_at": _("Last activity last"),
    "next_task_at": _("Next task first"),
    "-next_task_at": "",
}
DEAL_ORDERS: dict[str, str | Promise] = {
    **TIME_ORDERS,
    "-price": _("Largest amount first"),
    "price": "",
    "expected_close_date": _("Closing first"),
    "-expected_close_date": "",
}
CLIENT_ORDERS: dict[str, str | Promise] = {
    **TIME_ORDERS,
    "-open_sum": _("Largest open deals first"),
    "open_sum": "",
    "-won_sum": _("Largest won deals first"),
    "won_sum": "",
}


@dataclass(frozen=True, kw_only=True)
class RecordList:
    # The resource, as in the registry.
    resource: str
    label: str | Promise
    icon: str
    nothing: str | Promise
    # The label of the form for a new row.
    new_label: str | Promise
    # What the page of a row in the trash says.
    in_trash: str | Promise = ""
    # The field that is the link to the page of a row, in the first column.
    name_field: str = "name"
    orders: Mapping[str, str | Promise] = field(default_factory=lambda: ORDERS)
    default_order: str = "-created_at"
    # Columns that the cells of other columns show.
    further_columns: tuple[str, ...] = ()
    # The fields that the summaries of the rows store.
    stored: tuple[Field, ...] = ()
    # The fields that only filters have.
    filters: tuple[Field, ...] = ()
    # The orders whose index is one of `PostSortKey`.
    sort_keys: tuple[str, ...] = ()
    # The route of the page of a row, if it is not one of this room.
    route_of_row: str = ""
    # The choices of the fields of the type `choice`.
    choices: Mapping[str, Sequence[tuple[str, str | Promise]]] = field(default_factory=dict)
    rows_of: Callable[[Account, User], QuerySet[Model]]

    def fields(self, account: Account) -> list[Field]:
        """Return the fields of the rows, with those that summaries store and those that the account defines."""
        if self.resource in OWN_FIELDS:
            return [*OWN_FIELDS[self.resource], *defined_fields(account, self.resource)]
        return [*fields_of(account, self.resource), *self.stored]

    @property
    def relations(self) -> tuple[Relation, ...]:
        return RELATIONS.get(self.resource, ())

    @property
    def collection(self) -> str:
        """The related name of the rows on the account."""
        return f"{self.resource}s"

    @property
    def route(self) -> str:
        # The route `team-tasks` is that of the tasks in groups by time.
        return "team-tasks-list" if self.resource == "task" else f"team-{self.resource.replace('_', '-')}s"

    @property
    def row_route(self) -> str:
        return self.route_of_row or f"team-{self.resource.replace('_', '-')}"

    @property
    def new_route(self) -> str:
        return f"{self.row_route}-new"

    @property
    def form_route(self) -> str:
        """The route of the form for a row that has no page with its fields. The page of a contact list is its form."""
        return self.row_route if self.resource == "contact_list" else f"{self.row_route}-edit"

    @property
    def status_kind(self) -> str:
        """The kind of the statuses of the rows."""
        return "post" if self.resource == "suggestion" else self.resource

    @property
    def layout_route(self) -> str:
        return f"team-{self.resource.replace('_', '-')}-layout"

    @property
    def is_editable(self) -> bool:
        """True if the fields of a row can be edited in the cells of the list."""
        return self.resource not in OWN_FIELDS

    @property
    def edit_route(self) -> str:
        """The route of the form for one field of a row; "" if the rows can't be edited in the list."""
        return f"{self.row_route}-edit" if self.is_editable else ""

    @property
    def has_responsible(self) -> bool:
        builtin = OWN_FIELDS.get(self.resource) or builtin_fields(self.resource)
        return any(field.name == "responsible_id" for field in builtin)

    @property
    def has_tasks(self) -> bool:
        """True if tasks link to the rows."""
        return NEXT_TASK in self.stored


CONTACT_LIST_FIELDS = (
    Field("name", _("Name"), FieldType.TEXT, "contact", required=True, in_lists=True),
    Field("contacts_count", _("Contacts"), FieldType.NUMBER, read_only=True, in_lists=True),
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
SUGGESTION_FIELDS = (
    Field("title", _("Title"), FieldType.TEXT, "suggestion", in_lists=True),
    Field("votes_cache", _("Votes"), FieldType.NUMBER, "suggestion", read_only=True, in_lists=True),
    Field("comments_cache", _("Comments"), FieldType.NUMBER, "suggestion", read_only=True, in_lists=True),
    Field("status_id", _("Status"), FieldType.STATUS, "suggestion", in_lists=True),
    Field("closed", _("Closed"), FieldType.BOOLEAN, "suggestion"),
    Field("kind", _("Kind"), FieldType.CHOICE, "suggestion"),
    Field("category_id", _("Category"), FieldType.CATEGORY, "suggestion", in_lists=True),
    Field("forum_id", _("Forum"), FieldType.FORUM, "suggestion"),
    Field("tags", _("Tags"), FieldType.TAGS, "suggestion", in_lists=True),
    Field("content", _("Text"), FieldType.LONG_TEXT, "suggestion"),
    Field("response", _("Official response"), FieldType.LONG_TEXT, "suggestion"),
    Field("approved", _("Approved"), FieldType.BOOLEAN, "suggestion"),
    Field("private", _("Private"), FieldType.BOOLEAN, "suggestion"),
    Field("responsible_id", _("Responsible"), FieldType.USER, "suggestion", in_lists=True),
    Field("user_id", _("Author"), FieldType.USER, "suggestion", read_only=True),
    Field("client_id", _("Client"), FieldType.CLIENT, "suggestion"),
    Field("contact_id", _("Contact"), FieldType.CONTACT, "suggestion"),
    Field("response_user_id", _("Author of the official response"), FieldType.USER, "suggestion", read_only=True),
    Field("answered_at", _("Answered"), FieldType.TIME, "suggestion", read_only=True),
    Field("created_at", _("Created"), FieldType.TIME, read_only=True, in_lists=True),
    Field("updated_at", _("Changed"), FieldType.TIME, read_only=True),
)
# The fields of the lists whose rows are not in the field catalogue.
OWN_FIELDS = {"contact_list": CONTACT_LIST_FIELDS, "task": TASK_FIELDS, "suggestion": SUGGESTION_FIELDS}

LISTS: dict[str, RecordList] = {
    declaration.resource: declaration
    for declaration in (
        RecordList(
            resource="client",
            label=_("Clients"),
            icon="building-2",
            nothing=_("There are no clients yet."),
            new_label=_("New client"),
            in_trash=_("This client is in the trash."),
            orders=CLIENT_ORDERS,
            stored=(LAST_ACTIVITY, NEXT_TASK, *SUMS),
            rows_of=lambda account, user: account.clients.live().accessible_to(user),
        ),
        RecordList(
            resource="contact",
            label=_("Contacts"),
            icon="contact",
            nothing=_("There are no contacts yet."),
            new_label=_("New contact"),
            in_trash=_("This contact is in the trash."),
            orders=TIME_ORDERS,
            stored=(LAST_ACTIVITY, NEXT_TASK),
            rows_of=lambda account, user: account.contacts.live().accessible_to(user),
        ),
        RecordList(
            resource="deal",
            label=pgettext_lazy("menu", "Deals"),
            icon="handshake",
            nothing=_("There are no deals yet."),
            new_label=_("New deal"),
            in_trash=_("This deal is in the trash."),
            further_columns=("currency", "closed_at"),
            filters=DEAL_FILTERS,
            orders=DEAL_ORDERS,
            stored=(LAST_ACTIVITY, NEXT_TASK),
            rows_of=lambda account, user: account.deals.live().accessible_to(user),
        ),
        RecordList(
            resource="contact_list",
            label=_("Contact lists"),
            icon="list",
            nothing=_("There are no contact lists yet."),
            new_label=_("New contact list"),
            rows_of=lambda account, user: account.contact_lists.live().with_counts(user.access),
        ),
        RecordList(
            resource="task",
            label=_("Tasks"),
            icon="list-checks",
            nothing=_("There are no tasks yet."),
            new_label=_("New task"),
            name_field="title",
            further_columns=("closed",),
            orders=TASK_ORDERS,
            default_order="scheduled_at",
            sort_keys=("updated_at",),
            rows_of=all_tasks,
        ),
        RecordList(
            resource="suggestion",
            label=_("Suggestions"),
            icon="lightbulb",
            nothing=_("There are no suggestions yet."),
            new_label=_("New suggestion"),
            name_field="title",
            orders=SUGGESTION_ORDERS,
            sort_keys=("updated_at",),
            route_of_row="forum-post",
            choices={"kind": [(kind, cast(Promise, label)) for kind, label in KIND_NAMES.items()]},
            rows_of=lambda account, user: account.posts.filter(LISTED),
        ),
    )
}
