"""The pages of bulk changes: the value and the question before a change, its progress and undo."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db.models import F
from django.forms import BaseForm
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.account.models import Account
from accounts.fields.catalogue import Field, fields_of, grouped
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.statuses.models import status_name
from accounts.users.models import User
from core.db.time_limit import TooSlow
from core.error_responses import error_response
from core.errors import FieldErrors
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.errors import field_message
from core.pages.formatting import number_text
from core.registry import registry
from team.batches.models import BatchQuerySet, RowResult
from team.bulk.actions import RESOURCES, Action, SetFields, settable_fields
from team.bulk.models import MAX_ROWS, BulkChange, actions_of
from team.exports.pages import EXPORT, export_selected
from team.fields.forms import NO_CHOICE, converted_value, display, form_field, submitted_value
from team.fields.names import people_of
from team.list_queries.declarations import LISTS
from team.list_queries.queries import ListQuery
from team.list_queries.selection import count_selected, selected_ids
from team.menu.pages import TeamPage, TeamRequest
from team.merges.models import MODELS
from team.merges.pages import MERGE, merge_path

# The maximum number of rows that are selected one by one: those of the longest page.
MAX_SELECTED = 100
# The maximum number of contact lists to choose from.
MAX_LISTS = 500
# The choice that empties a field. A form without a choice is an error, so that nobody empties a field by mistake.
NO_VALUE = "none"
# The id of the part of the page of a change that htmx refreshes.
PROGRESS = "progress"


def rows_text(resource: str, number: int) -> str:
    """Return a number of rows in words, such as "5,000 clients"."""
    texts = {
        "client": ngettext("%(n)s client", "%(n)s clients", number),
        "contact": ngettext("%(n)s contact", "%(n)s contacts", number),
        "deal": ngettext("%(n)s deal", "%(n)s deals", number),
    }
    return texts[resource] % {"n": number_text(number)}


class ValueForm(Form):
    """The value of an action. It has the one field of the action, or none."""

    responsible_id = forms.ChoiceField(label=gettext_lazy("Responsible"))
    status_id = forms.ChoiceField(label=gettext_lazy("Status"))
    tags = forms.CharField(
        label=gettext_lazy("Tags"), max_length=2000, help_text=gettext_lazy("Separate several with commas.")
    )
    contact_list_id = forms.ChoiceField(label=gettext_lazy("Contact list"))

    def __init__(self, data: Mapping[str, object] | None, action: Action, choices: list[tuple[str, str]]) -> None:
        super().__init__(data, auto_id="value-%s")
        self.fields = {name: field for name, field in self.fields.items() if name == action.field}
        if isinstance(self.fields.get(action.field), forms.ChoiceField):
            self.set_choices(action.field, choices)

    def text(self, name: str) -> str:
        """Return the valid value as people read it."""
        value: str = self.cleaned_data[name]
        choices = getattr(self.fields[name], "choices", ())
        return str(dict(choices).get(value, value))


class FieldValueForm(Form):
    """The value of one field of the rows, after the field was chosen. Its values are those of the action `set_fields`."""

    name = forms.ChoiceField(label=gettext_lazy("Field"))

    def __init__(
        self, data: Mapping[str, Any] | None, account: Account, user: User, resource: str, *, chosen: str
    ) -> None:
        super().__init__(data, auto_id="value-%s", initial={"name": chosen})
        self.account, self.user = account, user
        self.choosable = {field.name: field for field in settable_fields(account, resource)}
        self.chosen = self.choosable.get(chosen)
        choices = [
            (str(label), [(field.name, field.label) for field in fields])
            for label, fields in grouped(self.choosable.values())
        ]
        self.set_choices("name", [("", _("Choose a field")), *choices])
        if self.chosen is not None:
            self.fields["name"].widget = forms.HiddenInput()
            row: Any = registry[resource].model(account=account)
            self.fields["value"] = form_field(self.chosen, account, user, row)
            self.fields["value"].required = False

    @property
    def values(self) -> dict[str, object]:
        field = cast(Field, self.chosen)
        return {field.name: submitted_value(field, self.cleaned_data["value"])}

    def text(self, name: str) -> str:
        """Return the valid value as people read it."""
        return value_of_field(cast(Field, self.chosen), self.values, self.account, self.user)


def value_of_field(field: Field, values: Mapping[str, object], account: Account, user: User) -> str:
    """Return the label of a field and a value as the API takes it, for people."""
    value = values[field.name]
    # A program may have sent another notation.
    with contextlib.suppress(ValueError, ArithmeticError, AttributeError):
        value = converted_value(field, value)
    return f"{field.label}: {display(field, value, account, user) or NO_CHOICE}"


@dataclass
class BulkSelection:
    """The selected rows of a list: ids, or all rows that match its query."""

    resource: str
    query: ListQuery
    ids: list[int]
    is_all: bool
    number: int = 0

    @property
    def list_path(self) -> str:
        return reverse(self.query.declaration.route) + self.query.query_string()

    @property
    def query_text(self) -> str:
        return self.query.query_string().removeprefix("?")


class NewBulkChangePage(CreatingPage, TeamPage):
    """The form between the selection in a list and the change: its value, and a question if many rows are selected."""

    template_name = "team/bulk/new.html"
    http_method_names = ["post"]

    def post(self, request: TeamRequest) -> HttpResponse:
        selection = self.read_selection()
        if selection is None:
            return error_response(request, 400)
        key = request.POST.get("action", "")
        action = actions_of(selection.resource).get(key)
        # If the form was sent before, its rows may no longer match the query.
        if action is not None and (id := self.created_row_id(self.form_values(selection, action))):
            return redirect("team-bulk-change", id)
        if (problem := self.problem_of(selection)) is not None:
            messages.error(request, problem)
            return redirect(selection.list_path)
        if key == EXPORT and selection.is_all:
            return redirect("team-exports", query={"resource": selection.resource, "query": selection.query_text})
        if key == EXPORT:
            return export_selected(request, selection.query, selection.ids)
        if key == MERGE and selection.resource in MODELS:
            return self.merge(selection)
        if action is None:
            messages.error(request, _("Choose what to do with the selected entries."))
            return redirect(selection.list_path)
        return self.show_or_apply(selection, action)

    def read_selection(self) -> BulkSelection | None:
        data, user = self.request.POST, self.request.user
        resource = data.get("resource", "")
        if resource not in RESOURCES:
            return None
        parameters = QueryDict(data.get("query", "")[:4000].removeprefix("?"))
        query = ListQuery.read(LISTS[resource], parameters, account=self.request.account, user=user)
        ids = [id for text in data.getlist("id")[:MAX_SELECTED] if (id := parse_id(text)) is not None]
        is_all = data.get("all") == "1"
        return BulkSelection(resource, query, list(dict.fromkeys(ids)), is_all)

    def problem_of(self, selection: BulkSelection) -> str | None:
        """Count the rows of the selection. Return why they can't be changed, or None."""
        if not selection.is_all:
            selection.number = len(selection.ids)
            return None if selection.ids else _("Select at least one entry.")
        if selection.query.errors:
            # Without the filter that can't be read, more rows would be changed than the user has in mind.
            return _("A filter of this list can't be read. Remove it before you change all entries.")
        if self.request.POST.get("action") == EXPORT:
            return None
        try:
            selection.number = count_selected(selection.query, limit=MAX_ROWS)
        except TooSlow:
            return _("This takes too long, because too many entries would have to be compared.")
        if not selection.number:
            return _("Nothing matches these filters.")
        if selection.number <= MAX_ROWS:
            return None
        return _("At most %(n)s entries are possible at a time. Add a filter.") % {"n": number_text(MAX_ROWS)}

    def merge(self, selection: BulkSelection) -> HttpResponse:
        if selection.is_all or len(selection.ids) != 2:
            messages.error(self.request, _("Select exactly two entries to merge."))
            return redirect(selection.list_path)
        kept_id, merged_id = selection.ids
        return redirect(merge_path(selection.resource, kept_id, query={"with": merged_id}))

    def form(self, selection: BulkSelection, action: Action) -> ValueForm | FieldValueForm:
        post = self.request.POST
        is_sent = post.get("do") == "apply"
        if isinstance(action, SetFields):
            chosen, account, user = post.get("name", ""), self.request.account, self.request.user
            form = FieldValueForm(None, account, user, selection.resource, chosen=chosen)
            if not is_sent or form.chosen is None:
                return form
            return FieldValueForm(post, account, user, selection.resource, chosen=chosen)
        return ValueForm(post if is_sent else None, action, self.choices(selection, action))

    def add_errors(self, form: BaseForm, caught: FieldErrors) -> None:
        """Add the errors of a chosen field to its value."""
        if "value" not in form.fields:
            super().add_errors(form, caught)
            return
        for error in caught.errors:
            form.add_error("value", field_message(error))

    def show_or_apply(self, selection: BulkSelection, action: Action) -> HttpResponse:
        form = self.form(selection, action)
        is_sent = form.is_bound
        context: dict[str, Any] = {"selection": selection, "action": action, "form": form}
        if not is_sent or not form.is_valid():
            return self.show(**context)
        shown = self.request.POST.get("number", "")
        if selection.is_all and shown != str(selection.number):
            return self.show(**context, has_changed=True)
        if selection.number > BulkChange.PART_SIZE and self.request.POST.get("confirmed") != "1":
            value = form.text(action.field) if action.field else ""
            rows = rows_text(selection.resource, selection.number)
            return self.show(**context, question=str(action.question) % {"rows": rows, "value": value})
        return self.apply(selection, action, form, context)

    def form_values(self, selection: BulkSelection, action: Action) -> dict[str, object]:
        """Return the values that identify the form together with its key."""
        post = self.request.POST
        return {
            "resource": selection.resource,
            "action": action.key,
            "ids": [] if selection.is_all else selection.ids,
            "query": selection.query_text if selection.is_all else "",
            "value": self.request.POST.get(action.field, ""),
            **({"name": post.get("name", ""), "values": post.getlist("value")} if "name" in post else {}),
        }

    def apply(
        self, selection: BulkSelection, action: Action, form: ValueForm | FieldValueForm, context: dict[str, Any]
    ) -> HttpResponse:
        """Start the change, once for each form, and redirect to its page."""
        try:
            ids = list(selected_ids(selection.query, limit=MAX_ROWS)) if selection.is_all else selection.ids
        except TooSlow:
            messages.error(self.request, _("This takes too long, because too many entries would have to be compared."))
            return redirect(selection.list_path)

        data: dict[str, Any] = (
            {"fields": form.values}
            if isinstance(form, FieldValueForm)
            else {name: None if value == NO_VALUE else value for name, value in form.cleaned_data.items()}
        )

        def start() -> BulkChange:
            return BulkChange.start(
                self.request.account,
                by=self.request.user,
                resource=selection.resource,
                action=action.key,
                data=data,
                ids=ids,
                query=selection.query_text,
            )

        creation = Creation(
            create=start,
            rows=self.request.account.bulk_changes.all(),
            path=lambda change: reverse("team-bulk-change", args=[change.id]),
            saved=lambda change: {action.field: change.value} if action.field else {},
            choices=lambda change: [(_("Entries"), number_text(change.total), number_text(selection.number))],
        )
        change = self.create_once(form, creation, self.form_values(selection, action))
        return redirect("team-bulk-change", change.id) if change else self.show(**context)

    def show(
        self, *, selection: BulkSelection, action: Action, form: ValueForm | FieldValueForm, **context: Any
    ) -> HttpResponse:
        is_changed = bool(context.get("has_changed"))
        status = 409 if is_changed else 422 if form.is_bound and form.errors else 200
        return self.render(
            http_status=status,
            section=selection.query.declaration.collection,
            selection=selection,
            action=action,
            form=form,
            chooses_field=isinstance(form, FieldValueForm) and form.chosen is None,
            rows=rows_text(selection.resource, selection.number),
            names=self.names(selection),
            **context,
        )

    def names(self, selection: BulkSelection) -> list[str]:
        """Return the names of the first rows that were selected one by one."""
        if selection.is_all:
            return []
        rows = selection.query.list_rows.filter(id__in=selection.ids[:10])
        names = dict(rows.values_list("id", "name"))
        return [names[id] for id in selection.ids[:10] if id in names]

    def choices(self, selection: BulkSelection, action: Action) -> list[tuple[str, str]]:
        account = self.request.account
        if action.field == "responsible_id":
            people = [(str(id), name) for id, name in people_of(account)]
            return [("", _("Choose a person")), (NO_VALUE, _("Nobody")), *people]
        if action.field == "status_id":
            statuses = account.statuses_of_kind(selection.resource)
            named = [(str(status.id), status_name(status)) for status in statuses]
            return [("", _("Choose a status")), (NO_VALUE, _("No status")), *named]
        if action.field == "contact_list_id":
            lists = account.contact_lists.live().order_by("name", "id").values_list("id", "name")
            return [("", _("Choose a contact list")), *((str(id), name) for id, name in lists[:MAX_LISTS])]
        return []


def visible_changes(request: TeamRequest) -> BatchQuerySet:
    rows: BatchQuerySet = request.account.bulk_changes.all()
    return rows.visible_to(request.user)


class BulkChangesPage(TeamPage):
    template_name = "team/bulk/changes.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        page = self.read_page()
        found = visible_changes(request).annotate(author_name=F("author__name")).order_by("-id")[page.start : page.stop]
        changes = list(found)
        shown = [(change, title_of(change)) for change in changes[: page.size]]
        return self.render(changes=shown, page=page, more=len(changes) > page.size)


def title_of(change: BulkChange) -> str:
    return f"{change.known_action.label}: {rows_text(change.resource, change.total)}"


class BulkChangePage(TeamPage):
    """A bulk change: its progress, what it left alone, cancel and undo. While it runs, the page is refreshed."""

    template_name = "team/bulk/change.html"

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        change = get_object_or_404(visible_changes(request).annotate(author_name=F("author__name")), id=id)
        change.account = request.account
        declaration = change.declaration
        return self.render(
            "team/bulk/progress.html" if self.fills(PROGRESS) else None,
            section=declaration.collection,
            change=change,
            title=title_of(change),
            value=self.value_text(change),
            rows=rows_text(change.resource, change.changed),
            row_route=declaration.row_route,
            left_alone=[row | {"label": RowResult.LABELS[row["result"]]} for row in change.left_alone(request.user)],
            left_alone_number=change.skipped + change.kept,
            list_path=reverse(declaration.route, query=QueryDict(change.query)) if change.query else "",
            whole_list_path=reverse(declaration.route),
            now=timezone.now(),
        )

    def value_text(self, change: BulkChange) -> str:
        """Return the value of the change as people read it."""
        account, value, field = self.request.account, change.value, change.known_action.field
        if field == "fields":
            values = cast(dict[str, object], value)
            known = [each for each in fields_of(account, change.resource) if each.name in values]
            return "; ".join(value_of_field(each, values, account, self.request.user) for each in known)
        if value is None:
            return _("Nobody") if field == "responsible_id" else _("No status") if field == "status_id" else ""
        if field == "responsible_id":
            found = account.users.filter(id=value).values_list("name", "login").first()
            return (found[0] or found[1]) if found else str(value)
        if field == "status_id":
            status = account.statuses.filter(id=value).first()
            return status_name(status) if status else str(value)
        if field == "contact_list_id":
            return account.contact_lists.filter(id=value).values_list("name", flat=True).first() or str(value)
        return ", ".join(value)

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        actions: dict[str, Callable[[BulkChange], None]] = {
            "undo": lambda change: change.undo(by=request.user),
            "cancel": BulkChange.cancel,
        }
        action = actions.get(request.POST.get("do", ""))
        if action is None:
            return error_response(request, 400)

        def act() -> None:
            change = get_object_or_404(visible_changes(request).locked(), id=id)
            change.account = request.account
            action(change)

        self.perform(act)
        return redirect("team-bulk-change", id)
