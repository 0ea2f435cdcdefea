"""The forms of a contact list, and quick create: the forms for a new client, contact and deal, as a dialog on any page of the team.

Each form of quick create is a page of its own. htmx loads the same form into the dialog of the base template (`dialog.js`).
"""

import json
from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.users.models import User
from core.db.text import replace_non_xml
from core.pages.base import no_content, redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.number_fields import TypedNumberField
from crm.clients.models import Client
from crm.clients.similar import find_similar
from crm.contacts.models import Contact, ContactList
from crm.deals.models import Deal
from crm.fields.catalogue import Field, fields_of
from crm.resources.api.views import write_row
from crm.resources.models import CRMResource
from team.fields.forms import AskingForm, find_clients, form_field, initial_value
from team.lists.declarations import LISTS
from team.lists.pages.base import RecordsPage
from team.menu.pages import ActionsPage, TeamPage, TeamRequest

# The ids of the elements that htmx fills: the clients of a search, and the warning of similar rows.
FOUND_CLIENTS, SIMILAR = "new-client-found", "new-similar"
MAX_FOUND = 8


def record_path(kind: str, id: int) -> str:
    """Return the path of the page of a client, contact or deal."""
    return reverse(f"team-{kind}", args=[id])


def clients_of(request: TeamRequest) -> QuerySet[Client]:
    return request.account.clients.live().accessible_to(request.user)


class RecordForm(AskingForm):
    """A form for some fields of a new client, contact or deal. `crm.resources.api.views.write_row` validates the values."""

    def __init__(self, *args: Any, fields: Iterable[Field], row: CRMResource, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.account = row.account
        self.numbers = [field.name for field in fields if field.is_amount]
        for field in fields:
            made = form_field(field, row.account, user, row)
            made.error_messages["required"] = _("Can't be blank")
            self.fields[field.name] = made
        if isinstance(price := self.fields.get("price"), TypedNumberField):
            price.set_currency(self["currency"].value() or row.account.currency)

    def clean(self) -> dict[str, object]:
        values = super().clean()
        self.ask(values, self.account, None)
        # A currency that was typed with the price is the currency of the deal.
        if (price := values.get("price")) and price.currency:
            values["currency"] = price.currency
        return values | {name: values[name].text for name in self.numbers if values.get(name)}


class NewRecordPage(CreatingPage, ActionsPage, RecordsPage):
    """The form for a new row: the most used fields, and the required ones."""

    template_name = "team/records/new.html"
    actions = {"": "create", "save": "create", "another": "create", "find": "show_found_clients"}
    model: type[CRMResource]
    # The built-in fields of the form, in order.
    names: tuple[str, ...] = ()
    chooses_client = False
    warns_of_similar = False

    def fields(self) -> list[Field]:
        fields = {field.name: field for field in fields_of(self.request.account, self.declaration.resource)}
        required = [field for field in fields.values() if field.definition and field.required]
        return [*(fields[name] for name in self.names), *required]

    def form(self, *sent: Any, **values: Any) -> RecordForm:
        row = self.model(account=self.request.account)
        return RecordForm(*sent, fields=self.fields(), row=row, user=self.request.user, auto_id="new-%s", **values)

    def initial(self) -> dict[str, object]:
        return {"responsible_id": self.request.user.id}

    def get(self, request: TeamRequest) -> HttpResponse:
        if self.fills(FOUND_CLIENTS):
            q = request.GET.get("client_q", "")
            found = find_clients(request.account, request.user, q, enough=MAX_FOUND)
            return self.render("team/records/client_choices.html", found=found, q=q)
        if self.fills(SIMILAR):
            values = {name: replace_non_xml(request.GET.get(name, "")) for name in ("name", "email", "tax_no")}
            similar = find_similar(request.account, request.user, **values)
            pairs = [(row, record_path(row.kind, row.id)) for row in similar]
            return self.render("team/records/similar.html", found=pairs)
        return self.show(self.form(initial=self.initial()), client_id=parse_id(request.GET.get("client_id")))

    def show(self, form: RecordForm, *, client_id: int | None = None, q: str = "") -> HttpResponse:
        found: list[Client] = []
        if self.chooses_client:
            found = find_clients(self.request.account, self.request.user, q, enough=MAX_FOUND)
            if client_id is not None and client_id not in {row.id for row in found}:
                found = [*clients_of(self.request).filter(id=client_id), *found]
        return self.render_form(
            form,
            "team/records/new_form.html" if self.in_dialog else None,
            heading=self.declaration.new_label,
            in_dialog=self.in_dialog,
            chooses_client=self.chooses_client,
            warns_of_similar=self.warns_of_similar,
            found=found,
            client_id=client_id,
            q=q,
        )

    def show_found_clients(self) -> HttpResponse:
        """Show the form with the values that were sent, and with the clients that the search finds."""
        sent = self.request.POST
        initial = {
            field.name: sent.getlist(field.name) if field.type == "choices" else sent[field.name]
            for field in self.fields()
            if field.name in sent
        }
        client_id = parse_id(sent.get("client_id"))
        return self.show(self.form(initial=initial), client_id=client_id, q=sent.get("client_q", ""))

    def create(self) -> HttpResponse:
        request = self.request
        form, client_id = self.form(request.POST), parse_id(request.POST.get("client_id"))
        row: Any = self.create_once(form, self.creation(form, client_id), further={"client_id": client_id})
        if row is None:
            return self.show(form, client_id=client_id, q=request.POST.get("client_q", ""))
        is_kept, path = request.user.access.includes(row), record_path(self.declaration.resource, row.id)
        if is_kept:
            name = format_html('<a href="{}"><bdi>{}</bdi></a>', path, row.name)
            messages.success(request, format_html(_("{name} is added."), name=name))
        else:
            messages.success(request, _("%(name)s is added. You do not see it any more.") % {"name": row.name})
        if request.POST.get("do") == "another":
            # Most rows that are added one after another belong to the same client.
            return self.add_another(client_id)
        if self.in_dialog:
            # The page behind the dialog is loaded again, and shows the message.
            response = no_content()
            events = {"record-created": self.declaration.resource, "dialog-close": ""}
            response.headers["HX-Trigger"] = json.dumps(events)
            return response
        return redirect(path if is_kept else reverse(self.declaration.route))

    def add_another(self, client_id: int | None) -> HttpResponse:
        if self.in_dialog:
            response = self.show(self.form(initial=self.initial()), client_id=client_id)
            response.headers["HX-Trigger"] = json.dumps({"record-created": self.declaration.resource})
            return response
        query = {"client_id": client_id} if self.chooses_client and client_id else {}
        return redirect(reverse(self.declaration.new_route, query=query))

    def creation(self, form: RecordForm, client_id: int | None) -> Creation[CRMResource]:
        account, user = self.request.account, self.request.user
        rows = getattr(account, self.declaration.collection)
        fields = self.fields()
        links = {"client_id": client_id} if self.chooses_client else {}

        def check_client() -> None:
            # Another account's client is reported as one that does not exist.
            if links.get("client_id") is not None and not clients_of(self.request).filter(id=client_id or 0).exists():
                links["client_id"] = 0

        def create() -> CRMResource:
            check_client()
            given = {name: id for name, id in links.items() if id is not None}
            data = {name: value for name, value in form.cleaned_data.items() if value not in ("", [])}
            return write_row(self.model(account=account), data | given, by=user)

        def change(row: CRMResource) -> None:
            check_client()
            write_row(row, form.cleaned_data | links, by=user)

        return Creation(
            create=create,
            rows=rows.live().locked(),
            path=lambda row: record_path(self.declaration.resource, row.id),
            saved=lambda row: {field.name: initial_value(field, field.value_of(row)) for field in fields},
            change=change,
            choices=self.compare_clients if self.chooses_client else lambda row: (),
            is_visible=user.access.includes,
        )

    def compare_clients(self, row: Any) -> list[tuple[str, str, str]]:
        """Return the label of the client, with the names of the client of the row and of the chosen one."""
        ids = [row.client_id or 0, parse_id(self.request.POST.get("client_id")) or 0]
        names = dict(clients_of(self.request).filter(id__in=ids).values_list("id", "name"))
        saved, sent = (names.get(id, "") for id in ids)
        return [(_("Client"), saved, sent)]


class NewClientPage(NewRecordPage):
    declaration = LISTS["client"]
    model = Client
    names = ("name", "email", "phone", "tax_no", "city", "status_id", "responsible_id", "tags")
    warns_of_similar = True


class NewContactPage(NewRecordPage):
    declaration = LISTS["contact"]
    model = Contact
    names = ("name", "email", "phone", "position", "responsible_id", "tags")
    chooses_client = True
    warns_of_similar = True


class NewDealPage(NewRecordPage):
    declaration = LISTS["deal"]
    model = Deal
    names = ("name", "price", "currency", "status_id", "expected_close_date", "responsible_id", "tags")
    chooses_client = True

    def initial(self) -> dict[str, object]:
        status = self.request.account.default_status("deal")
        return {**super().initial(), "currency": self.request.account.currency, "status_id": status and status.id}


class ContactListForm(Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=ContactList._meta.get_field("name").max_length)


class NewContactListPage(CreatingPage, TeamPage):
    template_name = "team/records/contact_list.html"
    section = "contacts"

    def get(self, request: TeamRequest) -> HttpResponse:
        return self.render_form(ContactListForm())

    def post(self, request: TeamRequest) -> HttpResponse:
        form = ContactListForm(request.POST)
        row = self.create_once(form, self.creation(form))
        if row is None:
            return self.render_form(form)
        messages.success(request, _("The contact list %(name)s is added.") % {"name": row.name})
        return redirect("team-contact-lists")

    def creation(self, form: ContactListForm) -> Creation[ContactList]:
        account, user = self.request.account, self.request.user
        lists = account.contact_lists.live()
        return Creation(
            create=lambda: write_row(ContactList(account=account), form.cleaned_data, by=user),
            rows=lists.locked(),
            path=lambda row: reverse("team-contact-list", args=[row.id]),
            saved=lambda row: {"name": row.name},
            change=lambda row: write_row(row, form.cleaned_data, by=user),
        )


class ContactListPage(ActionsPage):
    """The form of a contact list. Its contacts are on the page of the contacts."""

    template_name = "team/records/contact_list.html"
    section = "contacts"
    actions = {"save": "save", "trash": "trash"}

    def find(self, id: int, *, locked: bool = False) -> ContactList:
        lists = self.request.account.contact_lists.live()
        row: ContactList = get_object_or_404(lists.locked() if locked else lists, id=id)
        row.account = self.request.account
        return row

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.render_form(ContactListForm(initial={"name": row.name}), contact_list=row)

    def save(self, id: int) -> HttpResponse:
        row, form, user = self.find(id), ContactListForm(self.request.POST), self.request.user

        def act() -> None:
            write_row(self.find(id, locked=True), form.cleaned_data, by=user)

        if not form.is_valid() or not self.submit_form(form, act):
            return self.render_form(form, contact_list=row)
        messages.success(self.request, _("The contact list %(name)s is saved.") % form.cleaned_data)
        return redirect(reverse("team-contacts", query={"contact_list_id": id}))

    def trash(self, id: int) -> HttpResponse:
        row = self.find(id)
        message = _("The contact list %(name)s is in the trash. Its contacts stay.") % {"name": row.name}
        self.perform(lambda: self.find(id, locked=True).trash(by=self.request.user), success_message=message)
        return redirect("team-contact-lists")
