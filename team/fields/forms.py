"""Editing one field of a client, contact or deal in place: on the page of the record, and in the cells of lists.

A form carries the value that was shown (`shown`). If the stored value differs from it when the form is submitted, nothing is written:
the form is shown again with both values, and submitting it again replaces the other value. `write_row` validates as the JSON API does.

    field = editable_field(request.account, "client", "city")
    edit = FieldEdit(request.account, request.user, client, field, request.POST)
    if edit.save(request.account.clients.live().accessible_to(request.user).filter(id=client.id)): …

Afterwards `edit.row` is the row as it is stored. `edit.form` has the errors, and `edit.conflicting` the value of somebody else.
`EditFieldPage` (`team.records.pages.record`) does this for a record, and for a cell of a list.
"""

import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, Q, QuerySet
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.fields.catalogue import REASON_NAMES, Field, fields_of
from accounts.layout.forms import Form, LongSelect
from accounts.statuses.models import Status, reason_text, status_name, stored_reason
from accounts.users.models import User
from core.db.text import replace_non_xml
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldErrors
from core.numbers import CURRENCIES, TypedNumber
from core.pages.errors import error_sentence, field_message
from core.pages.formatting import amount_text, date_text, number_text, time_text
from core.pages.number_fields import TypedNumberField
from core.rows.declared import FieldType
from core.search.queries import MAX_QUERY_LENGTH, search, search_transaction
from crm.clients.mistypings import doubts_of
from crm.clients.models import Client
from crm.deals.models import Deal
from crm.resources.api.views import write_row
from crm.resources.models import CRMResource
from team.fields.names import LINKS, people_of

# The maximum numbers of contacts to choose from, and of clients that a search finds.
MAX_CHOICES, MAX_FOUND = 50, 10

# The label of the choice that empties a field.
NO_CHOICE = "\N{EN DASH}"


def encode(value: object) -> str:
    """Return the text that stands for a value in `shown`. Equal values have equal texts, and so have null and a blank text."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        value = format(Decimal(str(value)).normalize(), "f")
    if isinstance(value, list):
        value = sorted(value)
    if value in ("", []):
        value = None
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


def name_of(field: Field, id: int, account: Account, user: User) -> str:
    """Return the name of the row that a link names, or "" if the user may not access the row."""
    if field.type == FieldType.STATUS:
        status = account.statuses.filter(id=id).first()
        return status_name(status) if status else ""
    if field.type == FieldType.USER:
        rows: QuerySet[Model] = account.users.all()
    else:
        rows = getattr(account, f"{field.type}s").live().accessible_to(user)
    return str(rows.filter(id=id).values_list("name", flat=True).first() or "")


def display(field: Field, value: Any, account: Account, user: User | None = None, *, currency: str = "") -> str:
    """Return a value as a text for people. For a link to another row it takes a statement, and needs the user who reads it.

    `currency` is the currency of an amount, if it is not that of the account.
    """
    if value is None or value in ("", []):
        return ""
    if field.type in LINKS:
        return "" if user is None else name_of(field, value, account, user)
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, date):
        return date_text(value)
    if isinstance(value, int | float | Decimal):
        return amount_text(value, currency or account.currency) if field.type == FieldType.MONEY else number_text(value)
    return reason_text(value) if field.name in REASON_NAMES else str(value)


def currency_of(field: Field, row: CRMResource, account: Account) -> str:
    """Return the currency of an amount: the price of a deal has its own, and other amounts have the currency of the account."""
    return row.currency if field.name == "price" and isinstance(row, Deal) and row.currency else account.currency


def form_field(field: Field, account: Account, user: User, row: CRMResource, *, q: str = "") -> forms.Field:
    """Return the field of a form for a field of the catalogue. Links to other rows take statements for the choices.

    The choices of a client are the present one, and the clients that a search for `q` finds.
    """
    options: dict[str, Any] = {"label": field.label, "required": field.required}
    match field.type:
        case FieldType.LONG_TEXT:
            return forms.CharField(widget=forms.Textarea(attrs={"rows": 5}), strip=False, **options)
        case FieldType.DATE:
            return forms.CharField(widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), **options)
        case FieldType.NUMBER:
            return TypedNumberField(**options)
        case FieldType.MONEY:
            currency = currency_of(field, row, account)
            return TypedNumberField(currency=currency, has_own_currency=field.name == "price", **options)
        case FieldType.BOOLEAN:
            answers = [("true", gettext_lazy("Yes")), ("false", gettext_lazy("No"))]
            return forms.ChoiceField(choices=[("", NO_CHOICE), *answers], **options)
        case FieldType.CHOICE:
            return forms.ChoiceField(
                choices=[("", NO_CHOICE), *((choice, choice) for choice in field.choices)], **options
            )
        case FieldType.CHOICES:
            pairs = [(choice, choice) for choice in field.choices]
            return forms.MultipleChoiceField(choices=pairs, widget=forms.CheckboxSelectMultiple, **options)
        case FieldType.CURRENCY:
            codes = [(code, code) for code in sorted(CURRENCIES)]
            return forms.ChoiceField(choices=codes, widget=LongSelect, **options)
        case FieldType.CLIENT:
            clients = [*client_choices(account, user, row, q), ("", gettext_lazy("No client"))]
            return forms.ChoiceField(choices=clients, widget=forms.RadioSelect, **options)
        case FieldType.USER | FieldType.STATUS | FieldType.CONTACT:
            return forms.ChoiceField(choices=[("", NO_CHOICE), *link_choices(field, account, user, row)], **options)
        case FieldType.TAGS:
            help_text = gettext_lazy("Separate several tags by commas.")
            return forms.CharField(help_text=help_text, **options)
    # The API checks the format of e-mails, numbers and links, as far as it has one.
    return forms.CharField(widget=forms.TextInput(attrs=INPUT_MODES.get(field.type, {})), **options)


INPUT_MODES: dict[FieldType, dict[str, str]] = {
    FieldType.EMAIL: {"inputmode": "email", "autocapitalize": "none"},
    FieldType.PHONE: {"inputmode": "tel"},
    FieldType.LINK: {"inputmode": "url", "autocapitalize": "none"},
}


def link_choices(field: Field, account: Account, user: User, row: CRMResource) -> list[tuple[int, str]]:
    """Return the ids and names of the rows that a link may name: statuses, users of the team, or contacts of the client."""
    value = field.value_of(row)
    if field.type == FieldType.STATUS:
        if not isinstance(row, Deal):
            return [(status.id, status_name(status)) for status in account.statuses_of_kind(Status.Kind.CLIENT)]
        # The form that moves a deal offers the statuses of other pipelines.
        none, *statuses = account.deal_statuses()
        current = next((status for status in statuses if status.id == value), none)
        return [(status.id, status_name(status)) for status in statuses if status.pipeline_id == current.pipeline_id]
    if field.type == FieldType.USER:
        people = people_of(account)
        if value is None or value in dict(people):
            return people
        return [*people, (value, name_of(field, value, account, user))]
    client_id = row.id if isinstance(row, Client) else getattr(row, "client_id", None)
    contacts = account.contacts.live().accessible_to(user).filter(Q(client_id=client_id or 0) | Q(id=value or 0))
    return list(contacts.order_by("id").values_list("id", "name")[:MAX_CHOICES])


def client_choices(account: Account, user: User, row: CRMResource, q: str) -> list[tuple[int, str]]:
    """Return the ids and names of the client of the row, and of the clients that a search finds."""
    client_id: int | None = getattr(row, "client_id", None)
    own = account.clients.live().accessible_to(user).filter(id=client_id).values_list("id", "name") if client_id else ()
    found = [(client.id, client.name) for client in find_clients(account, user, q, enough=MAX_FOUND)]
    return list(dict([*own, *found]).items())


def find_clients(account: Account, user: User, q: str, *, enough: int) -> list[Client]:
    """Return the clients that match the text and that the user may access, with their names and e-mails, the best matches first.

    Similar words are not searched, because this may run after every key press.
    """
    q = replace_non_xml(q).strip()[:MAX_QUERY_LENGTH]
    if not q:
        return []
    clients = account.clients.live().accessible_to(user)
    with search_transaction(account.id, q) as query:
        ids = search(clients, query, enough=enough, fuzzy=False)[:enough]
        rows = {row.id: row for row in clients.filter(id__in=ids).only("account_id", "id", "name", "email")}
    return [rows[id] for id in ids if id in rows]


def initial_value(field: Field, value: Any) -> object:
    """Return the value of the form for a stored value."""
    if field.type == FieldType.TAGS:
        return ", ".join(value or [])
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal | float):
        return number_text(value, is_grouped=False)
    return reason_text(value) if value and field.name in REASON_NAMES else value


class AskingForm(Form):
    """A form that asks about values which are probably mistyped (`crm.clients.mistypings`). A form that is sent again with them saves them.

    The form contains the values that it has asked about, in `asked`.
    """

    # The values in question, by the name of the field.
    asked: tuple[str, ...] = ()

    def ask(self, values: Mapping[str, object], account: Account, country: str | None, *, field: str = "") -> None:
        """Add a question for each doubtful value to its field, or to `field`, unless the user has been asked about the value."""
        answered = forms.MultipleHiddenInput().value_from_datadict(self.data, MultiValueDict(), "asked") or []
        for name, question in doubts_of(values, account, country):
            value = f"{name}={values[name]}"
            self.asked = (*self.asked, value)
            if value not in answered:
                self.add_error(field or name, str(question))


class FieldForm(AskingForm):
    """The form for the value of one field. Its only visible field is `value`."""

    shown = forms.CharField(required=False, widget=forms.HiddenInput, strip=False)

    def __init__(
        self,
        field: Field,
        account: Account,
        user: User,
        row: CRMResource,
        data: Mapping[str, object] | None = None,
        *,
        q: str = "",
    ) -> None:
        value = field.value_of(row)
        # A list may have forms for several rows.
        auto_id = f"edit-{field.column}-{row.id}-%s"
        super().__init__(data, initial={"value": initial_value(field, value), "shown": encode(value)}, auto_id=auto_id)
        self.field, self.account, self.country = field, account, getattr(row, "country", None)
        self.fields["value"] = form_field(field, account, user, row, q=q)
        self.fields["value"].widget.attrs["data-focus"] = ""
        if self.fields["value"].required:
            self.fields["value"].error_messages["required"] = _("Can't be blank")

    def clean(self) -> dict[str, object]:
        values = super().clean()
        self.ask({self.field.name: values.get("value")}, self.account, self.country, field="value")
        return values

    @property
    def input(self) -> forms.BoundField:
        return self["value"]


class FieldEdit:
    """An edit of one field, from a submitted form."""

    def __init__(self, account: Account, user: User, row: CRMResource, field: Field, data: Mapping[str, str]) -> None:
        self.account, self.user, self.row, self.field = account, user, row, field
        self.form = FieldForm(field, account, user, row, data, q=data.get("q", ""))
        # The value that somebody else stored meanwhile, for people, and the name of the user who changed the row last.
        self.conflicting: str | None = None
        self.changed_by = ""

    @property
    def entered(self) -> str:
        """The value that was entered, for people."""
        return self._display(self._convert(self.submitted_value()), self.typed_currency)

    def _display(self, value: object, currency: str = "") -> str:
        currency = currency or currency_of(self.field, self.row, self.account)
        return display(self.field, value, self.account, self.user, currency=currency)

    def save(self, rows: QuerySet[Model]) -> bool:
        """Write the value to the only row of `rows`. Return whether the row has the value now; otherwise the form has the errors."""
        if not self.form.is_valid():
            return False
        try:
            return in_transaction(lambda: self._write(rows))
        except Conflict as caught:
            self.form.add_error(None, str(caught.message))
        except FieldErrors as caught:
            for error in caught.errors:
                own = error.field == self.field.name
                self.form.add_error("value" if own else None, field_message(error) if own else error_sentence(error))
        return False

    def _write(self, rows: QuerySet[Model]) -> bool:
        row: CRMResource | None = rows.locked().first()  # type: ignore[attr-defined]  # of every TrashableQuerySet
        if row is None:
            raise Conflict(_("It was deleted in the meantime, or you may no longer see it."))
        stored, value = self.field.value_of(row), self.submitted_value()
        self.row, before, entered = row, encode(stored), encode(self._convert(value))
        # A value that is equal to the stored one is no conflict: both users entered the same.
        if before not in (self.form.cleaned_data["shown"], entered):
            self.conflicting = self._display(stored)
            updater = self.account.users.filter(id=row.updater_id)
            self.changed_by = updater.values_list("name", flat=True).first() or ""
            # Submitting the form again replaces the other value.
            self.form.replace_data("shown", before)
            return False
        currency = {"currency": self.typed_currency} if self.typed_currency else {}
        if before != entered or currency:
            write_row(row, {self.field.name: value, **currency}, by=self.user)
        return True

    @property
    def typed_currency(self) -> str:
        """The code of the currency that was entered with the price of a deal, if the deal has another one; otherwise empty."""
        value = self.form.cleaned_data["value"]
        if not isinstance(value, TypedNumber) or self.field.name != "price":
            return ""
        return value.currency if value.currency != currency_of(self.field, self.row, self.account) else ""

    def submitted_value(self) -> object:
        return submitted_value(self.field, self.form.cleaned_data["value"])

    def _convert(self, value: Any) -> object:
        return converted_value(self.field, value)


def submitted_value(field: Field, value: Any) -> object:
    """Return a value that was entered into a form, as the API takes it."""
    if field.is_amount:
        return value.text if value else ""
    if field.type == FieldType.LONG_TEXT:
        return value.replace("\r\n", "\n")
    return stored_reason(value) if field.name in REASON_NAMES else value


def converted_value(field: Field, value: Any) -> object:
    """Return a value of `submitted_value` as it would be stored, as far as this is known without validation."""
    if value in ("", []):
        return None
    match field.type:
        case FieldType.TAGS:
            return [tag.strip() for tag in value.split(",") if tag.strip()]
        case FieldType.BOOLEAN:
            return value == "true"
        case FieldType.USER | FieldType.STATUS | FieldType.CLIENT | FieldType.CONTACT:
            return int(value)
        case FieldType.NUMBER | FieldType.MONEY:
            return Decimal(value)
    return value


def editable_field(account: Account, resource: str, name: str) -> Field | None:
    """Return the field with a name, or None if there is no such field or it is read-only."""
    fields = fields_of(account, resource)
    return next((field for field in fields if field.name == name and not field.read_only), None)
