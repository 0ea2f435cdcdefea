"""The lists of clients, contacts, deals, tasks and contact lists.

The URL of a list holds its filters, its order and its columns, or the id of a saved view that has them (`team.lists.saved_views`).
"""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from accounts.fields.catalogue import Field, grouped
from accounts.hosts.requests import PageRequest
from accounts.layout.settings import parse_id
from core.api.lists import SORT_LIMIT, TOO_MANY_TO_SORT, TooManyToSort
from core.api.paging import ListPage
from core.api.routing import path_with_id
from core.db.time_limit import TooSlow
from core.errors import FieldError
from core.pages.base import no_content, redirect
from core.pages.formatting import number_text
from core.pages.paging import page_numbers
from core.rows.values import ValuesRow
from crm.contacts.models import ContactListMembership
from team.fields.cells import MAX_CELL_LENGTH, Cell, cells_of, value_in
from team.fields.names import LINKS, Names
from team.list_queries.declarations import LISTS
from team.list_queries.layouts import MAX_COLUMNS, PAGE_SIZES, ListLayout, move_column, read_widths
from team.list_queries.queries import MAX_COUNT, ListQuery
from team.list_queries.selection import ACTIONS
from team.list_queries.sums import ColumnSum, add_up, read_sums, summed_fields
from team.lists.pages.base import RecordsPage
from team.lists.pages.filters import FilteredPage, FilterForm
from team.lists.saved_views import MAX_NAME_LENGTH, SavedView, read_list, views_of
from team.menu.pages import TeamRequest
from team.summaries.models import SUM_NAMES

# The number of saved views that have tabs. A page lists all of them.
MAX_TABS = 6


# The element that shows one row beside the list, the most characters of its values, and the contacts of a contact list there.
PEEK, MAX_PEEK_LENGTH, MAX_PEEK_CONTACTS = "peek-content", 2_000, 20
# The most digits of the position of a row in a list.
MAX_POSITION_DIGITS = 7


def query_of_list(query: ListQuery) -> str:
    """Return the parameter of the page of a row that names the list from which it was opened, or "" for the whole list."""
    text = query.query_string(columns="").removeprefix("?")
    return f"&{urlencode({'list': text})}" if text else ""


def query_of_row(query: ListQuery, position: int) -> str:
    return f"?at={position}{query_of_list(query)}"


@dataclass(frozen=True)
class ListColumn:
    field: Field
    # The query string of the list in the order of this column; empty if the list can't have this order.
    sort: str = ""
    # "ascending" or "descending" if the list is in the order of this column.
    direction: str = ""


@dataclass(frozen=True)
class ListRow:
    id: int
    name: str
    path: str
    cells: list[Cell]


class RecordListPage(FilteredPage):
    template_name = "team/lists/list.html"
    # The saved views of the list that the user sees.
    views: list[SavedView]
    layout: ListLayout

    def get(self, request: TeamRequest) -> HttpResponse:
        account, user, resource = request.account, request.user, self.declaration.resource
        self.views = views = views_of(resource, account=account, user=user)
        query = read_list(resource, request.GET, self.query_class, account=account, user=user, views=views)
        self.layout = ListLayout.read(user, resource)
        query.remembered_columns = self.layout.columns
        if self.fills(PEEK):
            return self.peek(query, parse_id(request.GET.get("peek")) or 0)
        if "at" in request.GET and self.declaration.is_editable:
            return self.open_row(query, request.GET["at"])
        return self.add_filter(query) if "field" in request.GET else self.show(query)

    def open_row(self, query: ListQuery, text: str) -> HttpResponse:
        """Return a redirect to the row at a position of the list, which is the next or the previous one of another row."""
        position = int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_POSITION_DIGITS else None
        try:
            id = None if position is None else query.id_at(position)
        except (TooSlow, TooManyToSort):
            id = None
        if id is None:
            messages.info(self.request, _("The list has no more entries."))
            return redirect(reverse(self.declaration.route) + query.query_string())
        return redirect(path_with_id(self.declaration.row_route, id) + query_of_row(query, position or 0))

    def peek(self, query: ListQuery, id: int) -> HttpResponse:
        """Return a row with all its fields, for the panel beside the list. The fields of a record are on its page."""
        query.columns = [field.name for field in query.fields]
        _names, rows = self.rows(query, [id], start=0, max_length=MAX_PEEK_LENGTH)
        if not rows:
            raise Http404
        return self.render("team/lists/peek.html", row=rows[0], contacts=self.contacts(id))

    def contacts(self, id: int) -> list[tuple[int, str]]:
        """Return the ids and the names of the contacts that the panel of a row shows."""
        return []

    def show(self, query: ListQuery, filter_form: FilterForm | None = None) -> HttpResponse:
        if self.request.htmx and "sums" in self.request.GET:
            return self.render("team/lists/sums.html", columns=self.columns(query), **self.sums_context(query, None))
        page = (
            self.read_page(per_page=self.layout.page_size) if "per_page" not in self.request.GET else self.read_page()
        )
        is_too_slow = False
        try:
            ids, count, sums = self.find(query, page)
        except TooSlow:
            ids, count, sums, is_too_slow = [], None, None, True
        status = 422 if query.errors or (filter_form and filter_form.error) else 200
        names, rows = self.rows(query, ids[: page.size], start=page.start)
        return self.render(
            http_status=status,
            query=query,
            hidden=query.hidden,
            page=page,
            rows=rows,
            more=len(ids) > page.size,
            count=count_text(count),
            is_too_slow=is_too_slow,
            errors=[(error.field, error.text) for error in query.errors],
            tabs=self.tabs(query),
            **self.view_context(query),
            **self.filter_context(query, names, filter_form),
            **self.sums_context(query, count, sums),
            columns=self.columns(query),
            groups=self.hidden_fields(query),
            shown_fields=query.shown_fields,
            layout=self.layout,
            page_sizes=PAGE_SIZES,
            page_numbers=page_numbers(
                page, count if count is not None and count <= MAX_COUNT else None, more=len(ids) > page.size
            ),
            orders=self.orders(query),
            contact_list_id=query.special.get("contact_list_id"),
            bulk_actions=ACTIONS.get(self.declaration.resource, []),
            shortcuts=self.shortcuts(),
            clear=query.link([("columns", ",".join(query.columns)), ("sort", query.sort)]),
        )

    @staticmethod
    def find(query: ListQuery, page: ListPage) -> tuple[list[int], int | None, dict[str, ColumnSum] | None]:
        """Return the ids of the page, the number of rows, and the sums of a list that is not long.

        A list that is too long for its order has the default one, and an error.
        """
        sums: dict[str, ColumnSum] | None = None

        def read_sums_of_short_list(count: int) -> None:
            nonlocal sums
            if (fields := summed_fields(query)) and 0 < count <= MAX_COUNT:
                sums = add_up(query, fields, query.found_ids)

        try:
            ids, count = query.find(page, read_sums_of_short_list)
        except TooManyToSort:
            query.errors.append(FieldError("sort", TOO_MANY_TO_SORT, "too_many", {"most": number_text(SORT_LIMIT)}))
            query.sort = ""
            ids, count = query.find(page, read_sums_of_short_list)
        return ids, count, sums

    def shortcuts(self) -> list[tuple[tuple[str, ...], str]]:
        """Return the keys of `team/lists/list.js` with their effects."""
        keys = [(("j", "k"), _("Next and previous entry")), (("Enter",), _("Open the entry"))]
        if self.declaration.resource in ACTIONS:
            keys.append((("x",), _("Select the entry")))
            keys.append((("b",), _("Go to the changes of the selected entries")))
        keys.append((("p",), _("Quick view")))
        if self.declaration.is_editable:
            keys += [(("←", "→"), _("Previous and next value of the entry")), (("e",), _("Change the value"))]
        return keys

    # The rows

    def rows(
        self, query: ListQuery, ids: list[int], *, start: int, max_length: int = MAX_CELL_LENGTH
    ) -> tuple[Names, list[ListRow]]:
        """Return the names of linked rows, and the rows with these ids, in order."""
        # The labels are translated once, not in each cell.
        fields = [replace(field, label=str(field.label)) for field in query.shown_fields]
        declaration = self.declaration
        columns = {"id", declaration.name_field, *declaration.further_columns, *(field.column for field in fields)}
        found = query.values(ids, columns)
        rows = [found[id] for id in ids if id in found]
        positions = {id: start + number for number, id in enumerate(ids)}
        of_list = query_of_list(query)
        links = [(field.type, value_in(row, field)) for row in rows for field in fields if field.type in LINKS]
        names = Names.read(self.request.account, self.request.user, links + query.links)
        currency, edit_route = self.request.account.currency, declaration.edit_route
        shown = []
        for row in rows:
            cells = cells_of(row, fields, names, currency, edit_route=edit_route, max_length=max_length)
            for cell in cells:
                if cell.field.name in declaration.choices:
                    cell.text = str(dict(declaration.choices[cell.field.name]).get(cell.text, cell.text))
            at = f"?at={positions[row['id']]}{of_list}" if declaration.is_editable else ""
            shown.append(ListRow(row["id"], row[declaration.name_field], self.path_of(row) + at, cells))
        return names, shown

    def path_of(self, row: ValuesRow) -> str:
        """Return the path of the page of a row."""
        return path_with_id(self.declaration.row_route, row["id"])

    def sums_context(
        self, query: ListQuery, count: int | None, sums: dict[str, ColumnSum] | None = None
    ) -> dict[str, Any]:
        """Return the sums, or the query string with which the page or its script reads those of a long list."""
        fields = summed_fields(query)
        if sums is not None or not fields or count == 0:
            return {"sums": sums}
        if "sums" not in self.request.GET:
            return {"sums": None, "sums_query": query.query_string(sums="1")}
        try:
            return {"sums": read_sums(query, fields)}
        except TooSlow:
            return {"sums": None, "sums_are_too_slow": True}

    # The parts of the page

    def tabs(self, query: ListQuery) -> list[tuple[str, str, bool]]:
        """Return the label, the query string and whether it is the current one, of each standard view and of the first saved views."""
        current = urlencode([pair for pair in query.parameters() if pair[0] != "columns"])
        views = self.standard_views()
        tabs = [(label, f"?{text}", query.view_id is None and text == current) for label, text in views]
        return tabs + self.tabs_of_views(query)

    def tabs_of_views(self, query: ListQuery) -> list[tuple[str, str, bool]]:
        """Return the same of the first saved views, and of the current one."""
        shown = [view for n, view in enumerate(self.views) if n < MAX_TABS or view.id == query.view_id]
        return [(view.name, f"?view={view.id}", view.id == query.view_id) for view in shown]

    def standard_views(self) -> list[tuple[str, str]]:
        """Return the labels and the query strings of the views that every list has."""
        views = [(_("All"), "")]
        if self.declaration.has_responsible:
            views.append((_("Mine"), urlencode({"mine": "true"})))
        views.append((_("Recently changed"), urlencode({"sort": "-updated_at"})))
        if self.declaration.has_tasks:
            views.append((_("No task planned"), urlencode({"no_task": "true"})))
        return views

    def view_context(self, query: ListQuery) -> dict[str, Any]:
        """Return what the template shows of saved views: the current one, and whether the list can be saved."""
        view = next((view for view in self.views if view.id == query.view_id), None)
        current, saved = query.normal_form, view.query if view is not None else ""
        standard = [urlencode(sorted(parse_qsl(text))) for _label, text in self.standard_views()]
        return {
            "view": view,
            "view_query": current,
            "is_changed": view is not None and current != saved,
            "may_change_view": view is not None and view.may_be_changed_by(self.request.user),
            "may_save_view": current != saved and (view is not None or current not in standard),
            "has_views": bool(self.views),
            "has_more_views": len(self.views) > MAX_TABS,
            "max_view_name": MAX_NAME_LENGTH,
        }

    def current_order(self, query: ListQuery) -> str:
        """Return the order of the list; "" for a search by rank."""
        return query.sort or ("" if query.q else self.declaration.default_order)

    def columns(self, query: ListQuery) -> list[ListColumn]:
        current = self.current_order(query)
        by_name = {field.name: field for field in query.fields}
        columns = []
        for field in [by_name[self.declaration.name_field], *query.shown_fields]:
            is_hidden = field.name in SUM_NAMES and self.request.user.access.is_limited
            sort = direction = ""
            if not is_hidden:
                sort = query.query_string(sort=f"-{field.name}" if current == field.name else field.name)
                if current.removeprefix("-") == field.name:
                    direction = "descending" if current.startswith("-") else "ascending"
            columns.append(ListColumn(field, sort, direction))
        return columns

    @staticmethod
    def hidden_fields(query: ListQuery) -> list[tuple[str | Promise, list[Field]]]:
        """Return the headings of groups with the fields that have no column."""
        shown = {query.declaration.name_field, *(field.name for field in query.shown_fields)}
        return list(grouped(field for field in query.fields if field.name not in shown))

    def orders(self, query: ListQuery) -> list[tuple[str, str | Promise, bool]]:
        """Return the value, the label and whether it is selected, of each order."""
        current = self.current_order(query)
        hidden = SUM_NAMES if self.request.user.access.is_limited else ()
        by_rank = [("", _("Best matches first"), not current)] if query.q else []
        orders = [
            (value, label, value == current)
            for value, label in self.declaration.orders.items()
            if label and value.removeprefix("-") not in hidden
        ]
        by_name = {field.name: field.label for field in query.fields}
        for field in query.shown_fields:
            if field.name not in self.declaration.orders:
                orders += [
                    (f"{sign}{field.name}", f"{by_name[field.name]} {arrow}", f"{sign}{field.name}" == current)
                    for sign, arrow in (("", "↑"), ("-", "↓"))
                ]
        return by_rank + orders


def count_text(count: int | None) -> str:
    if count is None:
        return ""
    return _("more than 1,000") if count > MAX_COUNT else ngettext("%(n)d entry", "%(n)d entries", count) % {"n": count}


class ListLayoutPage(RecordsPage):
    """Changes of the columns of a list, of their widths, and of the number of rows, by forms of the list."""

    http_method_names = ["post"]

    def post(self, request: TeamRequest) -> HttpResponse:
        declaration, resource, data = self.declaration, self.declaration.resource, request.POST
        parameters = QueryDict(data.get("query", "")[:4000].removeprefix("?"))
        views = views_of(resource, account=request.account, user=request.user)
        query = read_list(resource, parameters, account=request.account, user=request.user, views=views)
        layout = ListLayout.read(request.user, resource)
        query.remembered_columns = layout.columns
        names = {field.name for field in query.fields}
        if "rows" in data:
            if (size := parse_id(data["rows"])) in PAGE_SIZES:
                replace(layout, page_size=size).write(request.user, resource)
        elif data.get("do") == "widths":
            widths = layout.widths | read_widths(data, names)
            replace(layout, widths=widths).write(request.user, resource)
            return no_content()
        else:
            columns = [name for name in dict.fromkeys(data.getlist("columns")) if name in names][:MAX_COLUMNS]
            for button, step in (("left", -1), ("right", 1)):
                columns = move_column(columns, data.get(button, ""), step)
            if query.columns:
                # The columns belong to the address, or to a saved view, which can be saved again.
                query.columns = [declaration.name_field, *columns]
            else:
                replace(layout, columns=columns).write(request.user, resource)
        return redirect(reverse(declaration.route) + query.query_string())


class ContactListsPage(RecordListPage):
    declaration = LISTS["contact_list"]

    def path_of(self, row: ValuesRow) -> str:
        return reverse("team-contacts", query={"contact_list_id": row["id"]})

    def contacts(self, id: int) -> list[tuple[int, str]]:
        members = ContactListMembership.objects.filter(account_id=self.request.account.id, contact_list_id=id)
        rows = self.request.account.contacts.live().accessible_to(self.request.user)
        found = rows.filter(id__in=members.values("contact_id")).order_by("id").values_list("id", "name")
        return list(found[:MAX_PEEK_CONTACTS])


class TaskListPage(RecordListPage):
    """All tasks in a table, beside the groups and the calendar."""

    declaration = LISTS["task"]

    def standard_views(self) -> list[tuple[str, str]]:
        return [
            (pgettext("tasks", "Open"), urlencode({"closed": "false"})),
            (_("Mine"), urlencode({"closed": "false", "mine": "true"})),
            (pgettext("tasks", "Done"), urlencode({"closed": "true", "sort": "-completed_at"})),
            (_("All"), ""),
        ]


class SuggestionListPage(RecordListPage):
    """The suggestions of all forums in a table, with the filters, columns and views of the team's lists."""

    declaration = LISTS["suggestion"]

    def standard_views(self) -> list[tuple[str, str]]:
        return [
            (pgettext("suggestions", "Open"), urlencode({"closed": "false"})),
            (_("Mine"), urlencode({"closed": "false", "mine": "true"})),
            (_("Waiting for an answer"), urlencode({"closed": "false", "answered_at__empty": "true"})),
            (pgettext("suggestions", "Closed"), urlencode({"closed": "true", "sort": "-updated_at"})),
            (_("All"), ""),
        ]


def render_table_link(request: PageRequest, parameters: dict[str, object]) -> SafeString | str:
    """Return the link from the page with suggestions to their table."""
    if request.user is None or not request.user.is_team or request.address.domain:
        return ""
    path = reverse("team-suggestions", query={"closed": "false", "forum_id": str(parameters["forum_id"])})
    return format_html('<a class="button quiet" href="{}">{}</a>', path, _("Table"))
