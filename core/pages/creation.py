"""Forms that create a row, once for each form that was shown.

`{{ form_key() }}` writes a random key into a form. `create_once` stores the key with the row that the form creates:

- The same form with the same values, for example after a double click, leads to the same row.
- The same form with other values, for example after *Back* and a correction, is a conflict. The page of the conflict shows the row and
  the values, and the user chooses whether to change the row or to add another one.
- Two forms create two rows, even with equal values.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property
from http import HTTPStatus
from typing import Any, Generic, TypeVar, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from core.db.tenancy import TenantModel
from core.http.idempotency import KeyedForm, new_form_key
from core.pages.base import EarlyResponse, Page
from core.pages.formatting import date_text, time_text
from core.tenants import TenantUser

RowT = TypeVar("RowT", bound=TenantModel)

FORM_KEY, SAVED_VERSION = "form_key", "saved_version"
# Fields of a request that are no values of its form.
NOT_VALUES = ("csrfmiddlewaretoken", FORM_KEY, SAVED_VERSION)


def form_key_of(request: HttpRequest) -> str:
    """Return the key for the forms of the page: the one that was sent, if a form is shown again, or a new one."""
    sent: str = getattr(request, FORM_KEY, None) or request.POST.get(FORM_KEY, "")
    return sent or new_form_key()


@dataclass(frozen=True)
class Creation(Generic[RowT]):
    """How a form creates a row, and what becomes of the row if the form is sent again with other values."""

    create: Callable[[], RowT]
    # The rows that exist, locked. If the row that the form has created is gone, the form creates another one.
    rows: QuerySet[RowT]
    # The address of the row.
    path: Callable[[RowT], str]
    # Return the values of the row for the form, or the form with them.
    saved: Callable[[RowT], Mapping[str, object]]
    # Write the values of the form to the row. None if they can't be changed any more, such as those of an e-mail that was sent.
    change: Callable[[RowT], object] | None = None
    # Choices beside the fields of the form: labels, each with its text for the row and for what was sent.
    choices: Callable[[RowT], Sequence[tuple[str, str, str]]] = lambda row: ()
    # Whether the user may see the row, which may belong to somebody else by now. Other values create another row then.
    is_visible: Callable[[RowT], bool] = lambda row: True


class SentBeforeError(Exception):
    """The form has created a row before, with other values."""

    def __init__(self, row: Any) -> None:
        super().__init__(row)
        self.row = row


class CreatingPage(Page):
    """A page with a form that creates a row."""

    @cached_property
    def keyed_form(self) -> KeyedForm:
        """The key of the form that was sent. It is valid for one form of one page: for the route with its parameters."""
        match, user = self.request.resolver_match, cast(TenantUser, self.request.user)
        name = f"{match.view_name} {sorted(match.kwargs.items())}" if match else self.request.path
        return KeyedForm(user, name, self.request.POST.get(FORM_KEY, ""))

    def created_row_id(self, values: Mapping[str, object] | None = None) -> int | None:
        """Return the id of the row that the form has created before: with these values if they are given, else with any."""
        stored = self.keyed_form.stored
        if stored is None or (values is not None and bytes(stored.fingerprint) != digest_of(values)):
            return None
        return int(stored.headers["id"])

    def create_once(
        self,
        form: forms.BaseForm,
        creation: Creation[RowT],
        values: Mapping[str, object] | None = None,
        further: Mapping[str, object] = {},
    ) -> RowT | None:
        """Create the row of a form in a transaction, and return it, or the row that the form has created before.

        Return None if the form has errors. Raise EarlyResponse if the form was sent before with other values. The values are those of
        the form, or `values`, and `further` ones.
        """
        if not form.is_valid():
            return None
        values = {**(form.cleaned_data if values is None else values), **further}
        rows: list[RowT] = []

        def act() -> None:
            self.keyed_form.lock()
            stored = self.keyed_form.stored
            row = creation.rows.filter(id=stored.headers["id"]).first() if stored is not None else None
            is_same = stored is not None and bytes(stored.fingerprint) == digest_of(values)
            if row is None or not (is_same or creation.is_visible(row)):
                row = creation.create()
                self.keyed_form.store(row.id, digest_of(values))
            elif not is_same:
                if creation.change is None or self.request.POST.get(SAVED_VERSION) != version_of(creation, row):
                    raise SentBeforeError(row)
                creation.change(row)
                self.keyed_form.store(row.id, digest_of(values))
            rows.append(row)

        try:
            if not self.submit_form(form, act):
                return None
        except SentBeforeError as caught:
            raise EarlyResponse(self.show_sent_before(form, creation, caught.row)) from None
        # The next form in the response is another one.
        setattr(self.request, FORM_KEY, new_form_key())
        return rows[-1]

    def show_sent_before(self, form: forms.BaseForm, creation: Creation[RowT], row: RowT) -> HttpResponse:
        """Show the row, what was sent, and the choice between them."""
        saved = creation.saved(row)
        hidden = {*NOT_VALUES, *(name for name, field in form.fields.items() if is_secret(field))}
        lines = [
            (field.label, text_of(field.field, saved.get(field.name)), text_of(field.field, field.value()))
            for field in form.visible_fields()
            if field.name not in hidden
        ]
        lines += creation.choices(row)
        return self.render(
            "core/pages/sent_before_part.html" if self.request.htmx else "core/pages/sent_before.html",
            http_status=HTTPStatus.CONFLICT,
            page_template=settings.PAGE_TEMPLATE,
            lines=[line for line in lines if line[1] or line[2]],
            path=creation.path(row),
            may_change=creation.change is not None,
            sent_key=self.request.POST.get(FORM_KEY, ""),
            new_key=new_form_key(),
            version=version_of(creation, row),
            sent=[
                (name, value) for name, values in self.request.POST.lists() if name not in hidden for value in values
            ],
        )


def is_secret(field: forms.Field) -> bool:
    """Return whether a page must not show what was entered: a password or a code."""
    return isinstance(field.widget, forms.PasswordInput) or field.widget.attrs.get("autocomplete") == "one-time-code"


def digest_of(values: Mapping[str, object]) -> bytes:
    """Return the SHA-256 of the values of a form."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).digest()


def version_of(creation: Creation[RowT], row: RowT) -> str:
    """Return a digest of the row as the page of a conflict shows it."""
    return digest_of({"saved": creation.saved(row), "choices": [line[:2] for line in creation.choices(row)]}).hex()


def text_of(field: forms.Field, value: object) -> str:
    """Return a value of a form field as a text."""
    if isinstance(field, forms.BooleanField):
        return _("Yes") if field.to_python(value) else _("No")
    names = {str(key): str(name) for key, name in getattr(field, "choices", ())}
    if names:
        values = value if isinstance(value, list | tuple) else [value]
        return ", ".join(names.get(str(value), str(value)) for value in values if value not in (None, ""))
    try:
        value = field.to_python(", ".join(map(str, value)) if isinstance(value, list) else value)
    except ValidationError:
        return str(value)
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, date):
        return date_text(value)
    if isinstance(value, time):
        return value.strftime("%H:%M")
    return "" if value is None else str(value)
