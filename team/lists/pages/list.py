"""The lists of clients, contacts, deals, tasks and contact lists.

The URL of a list holds its filters, its order and its columns, or the id of a saved view that has them (`team.lists.saved_views`).
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.http import HttpResponse, QueryDict
from django.urls import reverse
from django.utils import formats
from django.utils.dateparse import parse_date
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy, ngettext, pgettext
from django.utils.translation import gettext as _

from accounts.statuses.models import pipeline_name, status_name
from core.api.routing import path_with_id
from core.db.time_limit import TooSlow
from core.pages.base import redirect
from core.pages.errors import field_message
from core.pages.formatting import number_text
from core.pages.number_fields import answered_text
from core.rows.declared import FieldType
from core.rows.values import ValuesRow
from crm.fields.catalogue import Field, grouped
from crm.fields.conditions import ME, OPERATORS, Condition, Operator, find_field, parameter_name
from team.fields.cells import Cell, cells_of, value_in
from team.fields.names import LINKS, Names, people_of
from team.lists.declarations import LISTS
from team.lists.pages.base import RecordsPage
from team.lists.queries import ACTIONS, MAX_COUNT, ListQuery
from team.lists.saved_views import MAX_NAME_LENGTH, SavedView, read_list, views_of
from team.lists.stage_history import LABELS as HISTORY_LABELS
from team.menu.pages import TeamRequest
from team.summaries.models import SUM_NAMES

# The number of saved views that have tabs. A page lists all of them.
MAX_TABS = 6
# The choice of the form for the parameter `__empty=false`.
FILLED = "filled"
INACTIVE = "inactive_days"
DEFAULT_INACTIVE_DAYS = 30
# Fields whose values people do not type: other pages link to lists with them.
NOT_TYPED = (FieldType.CLIENT, FieldType.CONTACT, FieldType.DEAL)


def operator_label(field: Field, operator: str) -> str:
    labels: dict[str, str] = {
        Operator.IS: _("is"),
        Operator.NOT: _("is not"),
        Operator.CONTAINS: _("contains"),
        Operator.AFTER: _("is more than") if field.is_amount else _("is after"),
        Operator.BEFORE: _("is less than") if field.is_amount else _("is before"),
        Operator.EMPTY: _("is empty"),
        FILLED: _("is not empty"),
    }
    return labels[operator]


@dataclass(frozen=True)
class Chip:
    """A filter in use, with the query string of the list without it."""

    label: str
    remove: str


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


@dataclass(frozen=True)
class FilterForm:
    """The form that adds a filter on one field."""

    name: str
    label: str | Promise
    operators: list[tuple[str, str]]
    # The values to choose from; None for an input.
    choices: list[tuple[str, str]] | None
    input_type: str
    operator: str = ""
    value: str = ""
    error: str = ""
    # True for a number in the format of the active language.
    is_number: bool = False


class RecordListPage(RecordsPage):
    template_name = "team/lists/list.html"
    query_class = ListQuery
    # The saved views of the list that the user sees.
    views: list[SavedView]

    def get(self, request: TeamRequest) -> HttpResponse:
        account, user, resource = request.account, request.user, self.declaration.resource
        self.views = views = views_of(resource, account=account, user=user)
        query = read_list(resource, request.GET, self.query_class, account=account, user=user, views=views)
        return self.add_filter(query) if "field" in request.GET else self.show(query)

    def show(self, query: ListQuery, filter_form: FilterForm | None = None) -> HttpResponse:
        page = self.read_page()
        is_too_slow = False
        try:
            ids, count = query.find(page)
        except TooSlow:
            ids, count, is_too_slow = [], None, True
        status = 422 if query.errors or (filter_form and filter_form.error) else 200
        names, rows = self.rows(query, ids[: page.size])
        adding = filter_form or self.asked_filter(query) or self.filter_form(query, self.request.GET.get("add", ""))
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
            chips=self.chips(query, names),
            columns=self.columns(query),
            groups=list(grouped(query.fields)),
            shown={self.declaration.name_field, *(field.name for field in query.shown_fields)},
            filter_groups=self.filter_groups(query),
            filter_form=adding,
            orders=self.orders(query),
            contact_list_id=query.special.get("contact_list_id"),
            bulk_actions=ACTIONS.get(self.declaration.resource, []),
            shortcuts=self.shortcuts(),
            clear=query.link([("columns", ",".join(query.columns)), ("sort", query.sort)]),
        )

    def shortcuts(self) -> list[tuple[tuple[str, ...], str]]:
        """Return the keys of `team/lists/list.js` with their effects."""
        keys = [(("j", "k"), _("Next and previous entry")), (("Enter",), _("Open the entry"))]
        if self.declaration.resource in ACTIONS:
            keys.append((("x",), _("Select the entry")))
        if self.declaration.is_editable:
            keys += [(("←", "→"), _("Previous and next value of the entry")), (("e",), _("Change the value"))]
        return keys

    # The rows

    def rows(self, query: ListQuery, ids: list[int]) -> tuple[Names, list[ListRow]]:
        """Return the names of linked rows, and the rows with these ids, in order."""
        # The labels are translated once, not in each cell.
        fields = [replace(field, label=str(field.label)) for field in query.shown_fields]
        declaration = self.declaration
        columns = {"id", declaration.name_field, *declaration.further_columns, *(field.column for field in fields)}
        found = query.values(ids, columns)
        rows = [found[id] for id in ids if id in found]
        links = [(field.type, value_in(row, field)) for row in rows for field in fields if field.type in LINKS]
        names = Names.read(self.request.account, self.request.user, links + query.links)
        return names, [
            ListRow(
                row["id"],
                row[declaration.name_field],
                self.path_of(row),
                cells_of(row, fields, names, self.request.account.currency, edit_route=declaration.edit_route),
            )
            for row in rows
        ]

    def path_of(self, row: ValuesRow) -> str:
        """Return the path of the page of a row."""
        return path_with_id(self.declaration.row_route, row["id"])

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

    def chips(self, query: ListQuery, names: Names) -> list[Chip]:
        chips = [
            Chip(self.condition_label(condition, names), query.query_string_without(condition))
            for condition in query.conditions
        ]
        return chips + [
            Chip(self.special_label(name, value), query.query_string(**{name: ""}))
            for name, value in query.special.items()
        ]

    def special_label(self, name: str, value: Any) -> str:
        account = self.request.account
        match name:
            case "mine":
                return _("Mine")
            case "no_task":
                return _("No task planned")
            case "inactive_days":
                return ngettext("No activity for %(n)d day", "No activity for %(n)d days", value) % {"n": value}
            case "contact_list_id":
                named = account.contact_lists.live().filter(id=value).values_list("name", flat=True)
                return _("In the contact list “%(name)s”") % {"name": named.first() or value}
            case "post_id":
                titled = account.posts.live().without_tasks().filter(id=value).values_list("title", flat=True)
                return _("Behind the suggestion “%(name)s”") % {"name": titled.first() or value}
            case "outcome":
                return {"open": _("Open deals"), "won": _("Won deals"), "lost": _("Lost deals")}[value]
            case "pipeline_id":
                pipeline = account.pipelines.filter(id=value).first()
                return _("In the pipeline “%(name)s”") % {"name": pipeline_name(pipeline) if pipeline else value}
        status = account.statuses.filter(id=value.status_id).first()
        return _("%(stage)s: %(result)s, %(first)s to %(last)s") % {
            "stage": status_name(status) if status else value.status_id,
            "result": HISTORY_LABELS[value.result],
            "first": formats.date_format(value.first, "SHORT_DATE_FORMAT"),
            "last": formats.date_format(value.end - timedelta(days=1), "SHORT_DATE_FORMAT"),
        }

    def condition_label(self, condition: Condition, names: Names) -> str:
        if condition.operator == Operator.EMPTY:
            return f"{condition.field.label} {operator_label(condition.field, Operator.EMPTY if condition.value else FILLED)}"
        value = value_text(condition)
        if condition.field.type in LINKS:
            value = _("me") if condition.text == ME else names.get_name(condition.field.type, condition.value)
        elif condition.field.type == FieldType.BOOLEAN:
            return f"{condition.field.label}: {_('yes') if condition.value else _('no')}"
        return f"{condition.field.label} {operator_label(condition.field, condition.operator)} {value}"

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
            if field.name in self.declaration.orders and not is_hidden:
                sort = query.query_string(sort=f"-{field.name}" if current == field.name else field.name)
                if current.removeprefix("-") == field.name:
                    direction = "descending" if current.startswith("-") else "ascending"
            columns.append(ListColumn(field, sort, direction))
        return columns

    def orders(self, query: ListQuery) -> list[tuple[str, str | Promise, bool]]:
        """Return the value, the label and whether it is selected, of each order."""
        current = self.current_order(query)
        hidden = SUM_NAMES if self.request.user.access.is_limited else ()
        by_rank = [("", _("Best matches first"), not current)] if query.q else []
        return by_rank + [
            (value, label, value == current)
            for value, label in self.declaration.orders.items()
            if label and value.removeprefix("-") not in hidden
        ]

    # The form that adds a filter

    def filter_groups(self, query: ListQuery) -> list[tuple[str | Promise, list[tuple[str | Promise, str]]]]:
        """Return the headings of the groups of fields, each with the labels and the query strings that show the form of a field."""
        special: list[tuple[str | Promise, str]] = []
        if self.declaration.has_responsible:
            special.append((_("Mine"), query.query_string(mine="true")))
        if self.declaration.has_tasks:
            special.append((_("No task planned"), query.query_string(no_task="true")))
        special.append((_("No activity for some time"), query.query_string(add=INACTIVE)))
        groups: list[tuple[str | Promise, list[tuple[str | Promise, str]]]] = [(_("Activity"), special)]
        for label, fields in grouped(query.fields):
            typed = [field for field in fields if field.type not in NOT_TYPED]
            groups.append((label, [(field.label, query.query_string(add=field.name)) for field in typed]))
        return groups

    def filter_form(
        self, query: ListQuery, name: str, *, operator: str = "", value: str = "", error: str = ""
    ) -> FilterForm | None:
        """Return the form for a field, or None if there is no such field."""
        if name == INACTIVE:
            label = gettext_lazy("No activity for how many days?")
            return FilterForm(name, label, [], None, "number", "", value or str(DEFAULT_INACTIVE_DAYS), error)
        field = next((candidate for candidate in query.fields if candidate.name == name), None)
        if field is None or field.type in NOT_TYPED:
            return None
        operators: list[str] = list(OPERATORS[field.type])
        if Operator.EMPTY in operators:
            operators.append(FILLED)
        labels = [(str(operator), operator_label(field, operator)) for operator in operators]
        input_type = "date" if field.type in (FieldType.DATE, FieldType.TIME) else "text"
        choices, is_number = self.choices(field), field.is_amount
        return FilterForm(name, field.label, labels, choices, input_type, operator, value, error, is_number)

    def asked_filter(self, query: ListQuery) -> FilterForm | None:
        """Return the form with the question about a number in the address that has two readings, or None."""
        error = next((error for error in query.errors if error.code == "ambiguous"), None)
        found = find_field(error.field, {field.name: field for field in query.fields}) if error else None
        if error is None or found is None:
            return None
        query.errors.remove(error)
        field, operator = found
        value = self.request.GET.get(error.field, "").strip()
        return self.filter_form(query, field.name, operator=operator, value=value, error=field_message(error))

    def choices(self, field: Field) -> list[tuple[str, str]] | None:
        account = self.request.account
        if field.type == FieldType.USER:
            return [(ME, _("Me")), *((str(id), name) for id, name in people_of(account))]
        if field.type == FieldType.STATUS:
            statuses = account.statuses_of_kind(self.declaration.resource)
            return [(str(status.id), status_name(status)) for status in statuses]
        if field.type == FieldType.BOOLEAN:
            return [("true", _("Yes")), ("false", _("No"))]
        if field.type in (FieldType.CHOICE, FieldType.CHOICES):
            return [(choice, choice) for choice in field.choices]
        return None

    def add_filter(self, query: ListQuery) -> HttpResponse:
        """Redirect to the list with the filter of the submitted form, or show the form again with an error."""
        values = self.request.GET
        name, operator = (values.get(key, "").strip() for key in ("field", "operator"))
        value = (answered_text(values, "value") or "").strip()
        if name == INACTIVE:
            parameter, value = INACTIVE, value or str(DEFAULT_INACTIVE_DAYS)
        else:
            field = next((candidate for candidate in query.fields if candidate.name == name), None)
            if field is None:
                return redirect(self.request.path + query.query_string())
            if operator in (Operator.EMPTY, FILLED):
                value = "true" if operator == Operator.EMPTY else "false"
            operator = Operator.EMPTY if operator == FILLED else operator
            if operator not in OPERATORS[field.type]:
                operator = OPERATORS[field.type][0]
            parameter = parameter_name(field, Operator(operator))
        account, user, language = self.request.account, self.request.user, get_language()
        parameters = QueryDict(urlencode({parameter: value}))
        checked = self.query_class.read(self.declaration, parameters, account=account, user=user, language=language)
        errors = [error.text.capitalize() for error in checked.errors] if value else [_("Can't be blank")]
        if errors:
            return self.show(query, self.filter_form(query, name, operator=operator, value=value, error=errors[0]))
        # The number of a condition has a form with one meaning in every language.
        value = checked.conditions[0].text if checked.conditions else value
        # A list has several conditions on a field, but one number of days.
        replaced = {name for name, _text in query.parameters() if name == parameter == INACTIVE}
        pairs = [pair for pair in query.parameters() if pair != (parameter, value) and pair[0] not in replaced]
        return redirect(self.request.path + query.link([*pairs, (parameter, value)]))


def count_text(count: int | None) -> str:
    if count is None:
        return ""
    return _("more than 1,000") if count > MAX_COUNT else ngettext("%(n)d entry", "%(n)d entries", count) % {"n": count}


def value_text(condition: Condition) -> str:
    """Return the value of a condition in the format of the active language."""
    if condition.field.is_amount:
        return number_text(condition.value[0])
    if condition.field.type in (FieldType.DATE, FieldType.TIME) and (day := parse_date(condition.text)):
        return formats.date_format(day, "SHORT_DATE_FORMAT")
    return condition.text


class ContactListsPage(RecordListPage):
    declaration = LISTS["contact_list"]

    def path_of(self, row: ValuesRow) -> str:
        return reverse("team-contacts", query={"contact_list_id": row["id"]})


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
