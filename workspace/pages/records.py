"""The pages of a client, a contact and a deal: its fields, edited in place, and what belongs to it.

Each page takes a fixed number of statements. The names of users, statuses and clients are read with the rows that show them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import JSONObject
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.default_names import status_name
from accounts.models import Account, Status
from accounts.pages.settings import parse_id
from core.db.text import replace_non_xml
from core.error_responses import error_response
from core.pages.base import redirect, referring_path, safe_path
from core.search.queries import MAX_QUERY_LENGTH, search, search_transaction
from crm.base import Resource
from crm.fields import Field, FieldType, builtin_fields, fields_of, grouped
from workspace.lists.cells import href_of, read_cell
from workspace.lists.declarations import LISTS
from workspace.names import name_of_row, name_of_user
from workspace.pages import timeline
from workspace.pages.base import WorkspacePage
from workspace.pages.composing import Composer, EqualsAny
from workspace.pages.editing import LINKS, FieldEdit, FieldForm, display, editable_field
from workspace.pages.merges import MERGE_ROUTES, annotate_merges, merge_of_trashed, merges_of
from workspace.pages.stages import stages_of
from workspace.pages.summaries import summary_of
from workspace.pages.user_links import UserLinksMixin
from workspace.requests import TeamRequest
from workspace.summaries import with_stored_values

# The number of rows that a panel shows, before a link to the list.
PANEL_SIZE = 5


@dataclass(frozen=True)
class Kind:
    """A kind of record with a page of its own."""

    resource: str
    section: str
    # The routes of the page, of the form for one field, and of the list.
    route: str
    edit_route: str
    list_route: str
    rows: Callable[[Account], QuerySet]
    in_trash: str | Promise


CLIENT = Kind(
    "client",
    "clients",
    "workspace-client",
    "workspace-client-edit",
    "workspace-clients",
    lambda account: account.clients.all(),
    gettext_lazy("This client is in the trash."),
)
CONTACT = Kind(
    "contact",
    "contacts",
    "workspace-contact",
    "workspace-contact-edit",
    "workspace-contacts",
    lambda account: account.contacts.all(),
    gettext_lazy("This contact is in the trash."),
)
DEAL = Kind(
    "deal",
    "deals",
    "workspace-deal",
    "workspace-deal-edit",
    "workspace-deals",
    lambda account: account.deals.all(),
    gettext_lazy("This deal is in the trash."),
)


def name_column(column: str) -> str:
    """Return the annotation with the name of the row whose id is in a column."""
    return column.removesuffix("_id") + "_name"


def status_of_row() -> Subquery:
    """Return the status of the row as a JSON object. `as_status` makes it a `Status`."""
    statuses = Status.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("status_id"))
    columns = {name: name for name in ("kind", "code", "name", "color", "closed")}
    return Subquery(statuses.values(found=JSONObject(**columns))[:1])


def as_status(values: dict[str, Any] | None) -> Status | None:
    return Status(**values) if values else None


@dataclass(frozen=True)
class Fact:
    """A field of a record, with its value as the page shows it."""

    field: Field
    text: str
    href: str = ""
    # The path of the form that changes the value; empty for a read-only field.
    edit_path: str = ""

    @property
    def is_long(self) -> bool:
        return self.field.type == FieldType.LONG_TEXT


class RecordPage(Composer):
    """The base of the pages of one record. A record in the trash has only its name and, for those who may, a button to restore it."""

    template_name = "workspace/record.html"
    kind: Kind
    # The method for each value of `do`.
    actions: dict[str, str] = {"trash": "trash", "restore": "restore", "compose": "compose", "tick": "complete_task"}

    @property
    def section(self) -> str:  # type: ignore[override]  # derived from the kind
        return self.kind.section

    def rows(self) -> QuerySet:
        """Return the records that the user may access, including those in the trash."""
        rows: QuerySet = self.kind.rows(self.request.account).accessible_to(self.request.user)  # type: ignore[attr-defined]
        return rows

    def find(self, id: int) -> Resource:
        rows = with_stored_values(
            self.rows().filter(id=id), self.kind.resource, self.request.account, self.request.user
        )
        row: Resource | None = self.annotated(rows).first()
        if row is None:
            raise Http404
        return row

    def annotated(self, rows: QuerySet) -> QuerySet:
        """Add the names of the users whose ids the record has."""
        columns = [field.name for field in builtin_fields(self.kind.resource) if field.type == FieldType.USER]
        return rows.annotate(**{name_column(column): name_of_user(column) for column in (*columns, "trashed_by_id")})

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row = self.find(id)
        if row.trashed_at is not None:
            merge = merge_of_trashed(self.request, row)
            return self.render(
                "workspace/record_in_trash.html",
                kind=self.kind,
                row=row,
                merge=merge,
                may_restore=merge is None and self.may_restore(row),
            )
        return self.show(row)

    def show(self, row: Resource, *, http_status: int = 200, **context: Any) -> HttpResponse:
        fields = fields_of(self.request.account, self.kind.resource)
        facts = facts_of(row, self.kind, fields)
        page = self.read_page(per_page=timeline.PAGE_SIZE)
        values = {
            "kind": self.kind,
            "row": row,
            "summary": summary_of(row),
            "status": as_status(getattr(row, "status_data", None)),
            "groups": [
                (label, [fact for fact in facts if fact.field in fields])
                for label, fields in grouped(shown_fields(facts))
            ],
            "empty": [fact for fact in facts if not fact.text and fact.edit_path],
            "timeline": timeline.timeline_section(self.request, self.kind.resource, row.id, fields, page),
            **self.panels(row),
        }
        return self.render(http_status=http_status, **values | context)

    def panels(self, row: Resource) -> dict[str, Any]:
        """Return the rows that belong to the record, and the form for more of them, for the template."""
        return {"composer": self.composer(), "tasks": tasks_of(self.request, self.kind.resource, row.id)}

    def may_restore(self, row: Resource) -> bool:
        """Return whether the user may restore the record: an admin, or the user who moved it to the trash."""
        return self.request.user.is_admin or row.trashed_by_id == self.request.user.id

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        act = self.actions.get(request.POST.get("do", ""))
        return error_response(request, 400) if act is None else getattr(self, act)(id)

    def lock(self, id: int) -> Resource:
        """Return the record, locked until the transaction ends."""
        row: Resource | None = self.rows().locked().filter(id=id).first()  # type: ignore[attr-defined]
        if row is None:
            raise Http404
        return row

    def trash(self, id: int) -> HttpResponse:
        def act() -> None:
            row = self.lock(id)
            if row.trashed_at is None:
                row.trash(by=self.request.user)

        self.perform(act)
        return redirect(self.kind.route, id)

    def restore(self, id: int) -> HttpResponse:
        def act() -> bool:
            row = self.lock(id)
            if row.trashed_at is not None:
                if not self.may_restore(row):
                    return False
                row.restore()
            return True

        allowed: list[bool] = []
        if self.perform(lambda: allowed.append(act())) and allowed[-1]:
            messages.success(self.request, _("It is restored."))
        elif allowed and not allowed[-1]:
            return error_response(self.request, 403)
        return redirect(self.kind.route, id)

    def complete_task(self, id: int) -> HttpResponse:
        """Close a task, whatever it belongs to now."""
        task_id = parse_id(self.request.POST.get("task"))
        tasks = self.request.account.posts.live().filter(category_id=None, id=task_id or 0)

        def act() -> None:
            task = tasks.accessible_to(self.request.user).locked().first()
            if task is None:
                raise Http404
            if not task.closed:
                task.write({"closed": True}, by=self.request.user)

        self.perform(act, success_message=_("The task is completed."))
        return redirect(self.kind.route, id)


def shown_fields(facts: list[Fact]) -> list[Field]:
    """Return the fields that the groups of the page show: those with a value, and always the most important ones."""
    return [fact.field for fact in facts if fact.text and fact.field.name not in HEADER_FIELDS]


# The header shows these fields.
HEADER_FIELDS = {"name", "creator_id", "created_at", "updater_id", "updated_at"}


def facts_of(row: Resource, kind: Kind, fields: list[Field]) -> list[Fact]:
    return [fact_of(row, kind, field) for field in fields]


def fact_of(row: Resource, kind: Kind, field: Field) -> Fact:
    """Return a field of an annotated row. It takes no statement."""
    value = field.value_of(row)
    if field.type == FieldType.STATUS:
        status = as_status(getattr(row, "status_data", None))
        text = status_label(status)
    elif field.type in LINKS:
        # The annotations of the page have the names of linked rows.
        text = getattr(row, name_column(field.name), None) or ""
    elif field.name == "do_not_contact" and not value:
        # Like an empty field: only the exception is shown.
        text = ""
    else:
        text = display(field, value, row.account, None)
    edit_path = "" if field.read_only else reverse(kind.edit_route, args=[row.id], query={"field": field.name})
    # The row of a link without a name is in the trash, or the user may not access it.
    return Fact(field, text, href_of(field, value) if text else "", edit_path)


def status_label(status: Status | None) -> str:
    return status_name(status) if status else ""


class CustomerPage(UserLinksMixin, RecordPage):
    """The base of the pages of clients and contacts: suggestions, votes and users belong to them."""

    actions = {**RecordPage.actions, "vote": "vote"} | UserLinksMixin.link_actions

    def annotated(self, rows: QuerySet) -> QuerySet:
        return annotate_merges(super().annotated(rows), self.kind.resource, self.request.user)

    def panels(self, row: Any) -> dict[str, Any]:
        vote_q = replace_non_xml(self.request.GET.get("vote_q", ""))[:MAX_QUERY_LENGTH].strip()
        user_links = self.user_links_context(self.link, row.id)
        return {
            **super().panels(row),
            **user_links,
            "feedback": feedback_of(
                self.request, {self.link: row.id}, user_ids=user_links["linked_users"].confirmed_ids
            ),
            "external_ids": external_ids_of(row),
            "merges": merges_of(row),
            "merge_path": reverse(MERGE_ROUTES[self.kind.resource], args=[row.id]),
            "vote_q": vote_q,
            "suggestions": find_suggestions(self.request, vote_q) if vote_q else [],
        }

    def find_live(self, id: int) -> Resource:
        row = self.find(id)
        if row.trashed_at is not None:
            raise Http404
        return row

    def vote(self, id: int) -> HttpResponse:
        """Cast the vote of the customer for a suggestion."""
        row, user = self.find_live(id), self.request.user
        post_id = parse_id(self.request.POST.get("post"))

        def act() -> None:
            post = self.request.account.posts.listed_for(user).locked().filter(id=post_id or 0).first()
            if post is None:
                raise Http404
            post.cast_proxy_vote(by=user, **{self.link: row.id})

        self.perform(act, success_message=_("The vote of %(name)s counts.") % {"name": str(row)})
        return redirect(self.kind.route, id)


class ClientPage(CustomerPage):
    """A client, with its deals, contacts, tasks, suggestions and votes."""

    kind = CLIENT

    def annotated(self, rows: QuerySet) -> QuerySet:
        contacts = self.request.account.contacts.live().accessible_to(self.request.user)
        return (
            super()
            .annotated(rows)
            .annotate(status_data=status_of_row(), contact_name=name_of_row(contacts, "contact_id"))
        )

    def panels(self, row: Resource) -> dict[str, Any]:
        return {
            **super().panels(row),
            "deals": deals_of(self.request, client_id=row.id),
            "contacts": contacts_of(self.request, row.id),
        }


class ContactPage(CustomerPage):
    """A contact, with its client, deals, tasks, suggestions and votes."""

    kind = CONTACT

    def annotated(self, rows: QuerySet) -> QuerySet:
        clients = self.request.account.clients.live().accessible_to(self.request.user)
        return super().annotated(rows).annotate(client_name=name_of_row(clients, "client_id"))

    def panels(self, row: Resource) -> dict[str, Any]:
        return {**super().panels(row), "deals": deals_of(self.request, contact_id=row.id)}


class DealPage(RecordPage):
    """A deal, with the path of its stages and its client. `workspace.pages.board` moves it."""

    kind = DEAL

    def annotated(self, rows: QuerySet) -> QuerySet:
        account, user = self.request.account, self.request.user
        return (
            super()
            .annotated(rows)
            .annotate(
                status_data=status_of_row(),
                client_name=name_of_row(account.clients.live().accessible_to(user), "client_id"),
                contact_name=name_of_row(account.contacts.live().accessible_to(user), "contact_id"),
            )
        )

    def panels(self, row: Any) -> dict[str, Any]:
        return {
            **super().panels(row),
            **stages_of(self.request, row),
            "external_ids": external_ids_of(row),
        }


# The links of the rows that belong to a record, by its resource.
OWNED_LINKS = {"client": ("contact_id", "deal_id"), "contact": ("deal_id",), "deal": ()}

# Panels. Each takes one statement, and reads one row more than it shows, which tells whether there are more.


@dataclass(frozen=True)
class Panel:
    """The first rows of a list, and whether there are more."""

    rows: list[Any]
    has_more: bool

    def __bool__(self) -> bool:
        return bool(self.rows)


def panel(rows: QuerySet) -> Panel:
    found = list(rows[: PANEL_SIZE + 1])
    return Panel(found[:PANEL_SIZE], len(found) > PANEL_SIZE)


def deals_of(request: TeamRequest, **filters: int) -> Panel:
    """Return the newest deals."""
    deals = request.account.deals.live().accessible_to(request.user).filter(**filters)
    found = panel(
        deals.annotate(status_data=status_of_row())
        .order_by("-id")
        .values("id", "name", "price", "currency", "status_data")
    )
    return Panel([{**deal, "status": as_status(deal["status_data"])} for deal in found.rows], found.has_more)


def contacts_of(request: TeamRequest, client_id: int) -> Panel:
    contacts = request.account.contacts.live().accessible_to(request.user).filter(client_id=client_id)
    return panel(contacts.order_by("id").values("id", "name", "position", "email", "phone"))


def tasks_of(request: TeamRequest, resource: str, id: int) -> Panel:
    """Return the open tasks of a record, and those of its contacts and deals, which `next_task_at` counts too. Those due first are first."""
    account, link = request.account, f"{resource}_id"
    rows = {"contact_id": account.contacts.live(), "deal_id": account.deals.live()}
    condition = Q(**{link: id})
    for column in OWNED_LINKS[resource]:
        # PostgreSQL estimates an array as few ids, and uses the index of each link.
        condition |= Q(EqualsAny(column, ArraySubquery(rows[column].filter(**{link: id}).values("id"))))
    tasks = account.posts.live().filter(condition, category_id=None, closed=False).accessible_to(request.user)
    tasks = tasks.annotate(responsible=name_of_user("responsible_id"))
    return panel(
        tasks.order_by(F("scheduled_at").asc(nulls_last=True), "id").values(
            "id", "title", "scheduled_at", "responsible", "task_kind"
        )
    )


def feedback_of(request: TeamRequest, link: dict[str, int], *, user_ids: list[int]) -> Panel:
    """Return the suggestions of the customer, and those that the customer voted for, newest first.

    They are those that the team wrote or voted for in the customer's place, and those of the linked users.
    """
    account, posts, limit = request.account, request.account.posts.listed_for(request.user), PANEL_SIZE + 1
    columns = ("id", "title", "votes_cache", "status_data", "created_at", "is_vote")
    written = [posts.filter(**link)]
    votes: list[QuerySet] = [account.proxy_votes.filter(**link).order_by("-id")]
    if user_ids:
        written.append(posts.filter(user_id__in=user_ids))
        votes.append(account.votes.filter(user_id__in=user_ids).order_by("-created_at", "-post_id"))
    voted = [posts.filter(id__in=rows.values("post_id")[:limit]) for rows in votes]
    queries = [
        rows.annotate(status_data=status_of_row(), is_vote=Value(is_vote)).order_by("-id").values(*columns)[:limit]
        for is_vote, querysets in ((False, written), (True, voted))
        for rows in querysets
    ]
    found = list(queries[0].union(*queries[1:], all=True).order_by("-id", "is_vote"))
    # Of a suggestion that the customer both wrote and voted for, the first row says that they wrote it.
    unique = {row["id"]: {**row, "status": as_status(row["status_data"])} for row in reversed(found)}
    rows = sorted(unique.values(), key=lambda row: -row["id"])
    return Panel(rows[:PANEL_SIZE], len(rows) > PANEL_SIZE)


def find_suggestions(request: TeamRequest, q: str) -> list[tuple[int, str]]:
    """Return the ids and titles of the suggestions that match a text."""
    posts = request.account.posts.listed_for(request.user)
    with search_transaction(request.account.id, q) as query:
        ids = search(posts, query, enough=PANEL_SIZE)[:PANEL_SIZE]
        titles = dict(posts.filter(id__in=ids).values_list("id", "title"))
    return [(id, titles[id]) for id in ids if id in titles]


def external_ids_of(row: Any) -> list[tuple[str, str, str]]:
    """Return the external ids: key, value, and the address to which it links.

    A value that is a URL links to itself. The address of the row in the other system (`url`) belongs to the first external id.
    """
    found = []
    url = href_of(Field("url", "", FieldType.LINK), getattr(row, "url", None))
    for key, value in sorted(row.external_ids.items()):
        own = value if value.lower().startswith(("http://", "https://")) else ""
        found.append((key, value, own or url))
        url = url if own else ""
    return found


# Editing in place


class EditFieldPage(WorkspacePage):
    """The form for one field of a record.

    For htmx, the response is the field alone: the form, or the value after it was saved. With the parameter `cell`, the field is the cell
    of a list. Without JavaScript, the form is a page of its own, which returns to the page with the link (`next`).
    """

    template_name = "workspace/edit_field.html"
    record_class: type[RecordPage]

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.record_page = self.record_class(request=request)
        return super().dispatch(request, *args, **kwargs)

    @property
    def section(self) -> str:  # type: ignore[override]  # derived from the kind
        return self.record_class.kind.section

    @property
    def is_cell(self) -> bool:
        return bool(self.request.htmx) and "cell" in self.request.GET

    def find(self, id: int) -> tuple[Resource, Field]:
        """Return the record and the field that the parameter `field` names."""
        row = self.record_page.find(id)
        field = editable_field(self.request.account, self.record_class.kind.resource, self.request.GET.get("field", ""))
        if field is None or row.trashed_at is not None:
            raise Http404
        return row, field

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row, field = self.find(id)
        if request.htmx and "cancel" in request.GET:
            return self.show_value(row.id, field)
        q = replace_non_xml(request.GET.get("q", ""))[:MAX_QUERY_LENGTH].strip()
        form = FieldForm(field, request.account, request.user, row, q=q)
        return self.show_form(row, field, form, q=q)

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        row, field = self.find(id)
        q = replace_non_xml(request.POST.get("q", ""))[:MAX_QUERY_LENGTH].strip()
        if request.POST.get("do") == "find":
            return self.show_form(row, field, FieldForm(field, request.account, request.user, row, q=q), q=q)
        edit = FieldEdit(request.account, request.user, row, field, request.POST)
        rows = self.record_page.rows().live().filter(id=id)  # type: ignore[attr-defined]
        if not edit.save(rows):
            return self.show_form(row, field, edit.form, q=q, conflict=edit)
        if not rows.exists():
            return self.leave(row, reverse(self.record_class.kind.list_route))
        if request.htmx:
            return self.show_value(id, field)
        messages.success(request, _("%(field)s is saved.") % {"field": field.label})
        return redirect(self.back(row))

    def back(self, row: Resource) -> str:
        """Return the path of the page with the link to the form: the list, or the page of the record."""
        record = reverse(self.record_class.kind.route, args=[row.id])
        if self.request.method == "POST":
            return safe_path(self.request, self.request.POST.get("next"), record)
        path = referring_path(self.request, record)
        return record if path.startswith(f"{record}/") else path

    def show_form(
        self, row: Resource, field: Field, form: FieldForm, *, q: str = "", conflict: FieldEdit | None = None
    ) -> HttpResponse:
        status = 422 if form.is_bound else 200
        is_conflict = conflict is not None and conflict.conflicting is not None
        cell = {"cell": 1} if self.is_cell else {}
        template = "workspace/field_form.html" if self.request.htmx else self.template_name
        return self.render(
            "workspace/cell_form.html" if self.is_cell else template,
            http_status=status,
            kind=self.record_class.kind,
            row=row,
            field=field,
            form=form,
            q=q,
            conflict=conflict if is_conflict else None,
            edit_path=reverse(self.record_class.kind.edit_route, args=[row.id], query={"field": field.name, **cell}),
            searches=field.type == FieldType.CLIENT,
            back=self.back(row),
        )

    def show_value(self, id: int, field: Field) -> HttpResponse:
        kind = self.record_class.kind
        if not self.is_cell:
            fact = fact_of(self.record_page.find(id), kind, field)
            return self.render("workspace/fact.html", fact=fact, focused=True)
        cell = read_cell(LISTS[kind.resource], self.request.account, self.request.user, id, field)
        if cell is None:
            raise Http404
        return self.render("workspace/cell.html", cell=cell, focused=True)


class EditClientPage(EditFieldPage):
    record_class = ClientPage


class EditContactPage(EditFieldPage):
    record_class = ContactPage


class EditDealPage(EditFieldPage):
    record_class = DealPage
