"""The form for all fields of a client, a contact or a deal.

The form carries a digest of each value that was shown. Only the fields that the user has changed are written. If somebody else has
changed such a field in the meantime, nothing is written: the form is shown again and names the other value, and sending it again replaces it.
"""

import hashlib
import json
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.fields.catalogue import Field, fields_of, grouped
from accounts.users.models import User
from core.errors import Conflict, FieldError, FieldErrors
from core.pages.base import redirect
from core.rows.declared import FieldType
from crm.clients.mistypings import doubts_of
from crm.resources.api.views import write_row
from crm.resources.models import CRMResource
from team.fields.forms import NO_CHOICE, converted_value, currency_of, display, encode, initial_value, submitted_value
from team.lists.pages.base import RecordsPage
from team.menu.pages import TeamRequest, search_text
from team.records.pages.create import RecordForm
from team.records.pages.record import RecordPage

# The field of the form with the digests of the values that were shown.
SHOWN = "shown"
MAX_SHOWN_LENGTH = 20_000
CHANGED = gettext_lazy("was changed to “{value}” in the meantime. Save again to use your value.")
CHANGED_BY = gettext_lazy("was changed to “{value}” by {name} in the meantime. Save again to use your value.")


def digest_of(field: Field, value: object) -> str:
    return hashlib.sha256(f"{field.name}={encode(value)}".encode()).hexdigest()[:16]


class RecordEditForm(RecordForm):
    """All fields of a row. A value that does not fit its field, or that the user may not see, is left out: it stays."""

    def __init__(self, *args: Any, row: CRMResource, fields: list[Field], **kwargs: Any) -> None:
        super().__init__(*args, row=row, fields=fields, auto_id="edit-%s", **kwargs)
        self.edited = [field for field in fields if fits(self.fields[field.name], field, field.value_of(row))]
        for field in fields:
            if field not in self.edited:
                del self.fields[field.name]
        self.numbers = [name for name in self.numbers if name in self.fields]
        shown = json.dumps({field.name: digest_of(field, field.value_of(row)) for field in self.edited})
        self.fields[SHOWN] = forms.CharField(
            required=False, max_length=MAX_SHOWN_LENGTH, widget=forms.HiddenInput, initial=shown
        )
        if not self.is_bound:
            # Values that are stored already are not asked about.
            values = {name: self.initial.get(name) for name in ("email", "tax_no")}
            self.asked = tuple(f"{name}={values[name]}" for name, _question in doubts_of(values, row.account))

    def clean_shown(self) -> dict[str, str]:
        try:
            shown = json.loads(self.cleaned_data[SHOWN] or "{}")
        except ValueError:
            shown = {}
        return shown if isinstance(shown, dict) else {}

    @property
    def groups(self) -> list[tuple[object, list[forms.BoundField]]]:
        return [(label, [self[field.name] for field in fields]) for label, fields in grouped(self.edited)]

    def changes(self, row: Any, user: User) -> dict[str, object]:
        """Return the values that the user has changed. The row must be locked. Raise FieldErrors if somebody else has changed one of them."""
        account = row.account
        shown: dict[str, str] = dict(self.cleaned_data[SHOWN])
        values: dict[str, object] = {}
        conflicts: dict[str, str] = {}
        for field in self.edited:
            value, stored = self.value_of(field), field.value_of(row)
            entered, before = digest_of(field, converted_value(field, value)), digest_of(field, stored)
            # Both users may have entered the same value.
            if entered in (shown.get(field.name), before):
                continue
            if before != shown.get(field.name):
                conflicts[field.name] = display(field, stored, account, user, currency=currency_of(field, row, account))
                shown[field.name] = before
            values[field.name] = value
        if conflicts:
            # Nobody is known to have changed a post.
            updater = account.users.filter(id=getattr(row, "updater_id", None))
            name = updater.values_list("name", flat=True).first() or ""
            # Sending the form again replaces the other values.
            self.replace_data(SHOWN, json.dumps(shown))
            raise FieldErrors(
                FieldError(
                    field_name,
                    CHANGED_BY if name else CHANGED,
                    "conflict",
                    {"name": name, "value": text or NO_CHOICE},
                )
                for field_name, text in conflicts.items()
            )
        return values

    def value_of(self, field: Field) -> object:
        """Return the value that was entered, as the API takes it. Amounts are texts already."""
        value = self.cleaned_data.get(field.name)
        return (value or "") if field.is_amount else submitted_value(field, "" if value is None else value)


def fits(made: forms.Field, field: Field, value: Any) -> bool:
    """Return whether a form can show a value, and sends it back as it is."""
    if value in (None, "", []):
        return True
    if isinstance(made, forms.ChoiceField):
        choices = {str(choice) for choice, _label in cast(list[tuple[Any, Any]], made.choices)}
        values = value if isinstance(value, list) else [initial_value(field, value)]
        return choices.issuperset(map(str, values))
    kinds = {FieldType.DATE: "date", FieldType.TAGS: "list"}
    expected = kinds.get(field.type)
    return expected is None or type(value).__name__ == expected


class EditRecordPage(RecordsPage):
    template_name = "team/records/edit.html"
    record_class: type[RecordPage] = None  # type: ignore[assignment]  # set by each route

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.record_page, self.declaration = self.record_class(request=request), self.record_class.declaration
        return super().dispatch(request, *args, **kwargs)

    def find(self, id: int) -> CRMResource:
        row = self.record_page.find(id)
        if row.trashed_at is not None:
            raise Http404
        return row

    def form(self, row: CRMResource, *sent: Any, q: str = "", **initial: object) -> RecordEditForm:
        fields = [field for field in fields_of(self.request.account, self.declaration.resource) if not field.read_only]
        values = {field.name: initial_value(field, field.value_of(row)) for field in fields} | initial
        return RecordEditForm(*sent, row=row, fields=fields, user=self.request.user, initial=values, q=q)

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.show(row, self.form(row))

    def show(self, row: CRMResource, form: RecordEditForm, *, q: str = "") -> HttpResponse:
        return self.render_form(form, row=row, q=q)

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        row, q, sent = self.find(id), search_text(request.POST), request.POST
        if sent.get("do") == "find":
            names = self.form(row).fields
            values = {
                name: sent.getlist(name) if isinstance(field, forms.MultipleChoiceField) else sent[name]
                for name, field in names.items()
                if name in sent
            }
            return self.show(row, self.form(row, q=q, **values), q=q)
        form, rows = self.form(row, sent, q=q), self.accessible_records().live().filter(id=id)
        if not form.is_valid() or not self.submit_form(form, lambda: self.write(form, rows)):
            return self.show(row, form, q=q)
        if not rows.exists():
            return self.leave(row, reverse(self.declaration.route))
        messages.success(request, _("%(name)s is saved.") % {"name": rows[0].name})
        return redirect(self.declaration.row_route, id)

    def write(self, form: RecordEditForm, rows: Any) -> None:
        """Write the fields that the user has changed. Raise FieldErrors if somebody else has changed one of them."""
        row: CRMResource | None = rows.locked().first()
        if row is None:
            raise Conflict(_("It was deleted in the meantime, or you may no longer see it."))
        if values := form.changes(row, self.request.user):
            write_row(row, values, by=self.request.user)
