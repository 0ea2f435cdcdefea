"""The forms of a contact list, and quick create: the forms for a new client, contact and deal, as a dialog on any page of the team.

Each form of quick create is a page of its own. htmx loads the same form into the dialog of the base template (`dialog.js`).
"""

import json
from collections.abc import Iterable, Mapping
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

from accounts.fields.catalogue import Field, fields_of
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.users.models import User
from core.db.text import replace_non_xml
from core.errors import FieldError, FieldErrors
from core.pages.base import no_content, redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.number_fields import TypedNumberField
from crm.clients.models import Client
from crm.clients.similar import find_similar
from crm.contacts.models import Contact, ContactList
from crm.deals.models import Deal
from crm.resources.api.views import write_row
from crm.resources.models import CRMResource
from team.fields.forms import AskingForm, find_clients, form_field, initial_value
from team.list_queries.declarations import LISTS
from team.lists.pages.base import RecordsPage
from team.menu.pages import ActionsPage, TeamPage, TeamRequest, search_text

# The ids of the elements that htmx fills: the clients of a search, the contacts of a client, and the warning of similar rows.
FOUND_CLIENTS, FOUND_CONTACTS, SIMILAR = "new-client-found", "new-contact-found", "new-similar"
MAX_FOUND, MAX_CONTACTS = 8, 20
# The value of `client_id` for a client that the form creates, with the text of the search as its name.
NEW_CLIENT = "new"
# The built-in fields of the client and the contact that the form of another row creates.
PARTS: dict[str, tuple[type[CRMResource], tuple[str, ...]]] = {
    "client": (Client, ("email", "phone")),
    "contact": (Contact, ("name", "email", "phone")),
}


def record_path(kind: str, id: int) -> str:
    """Return the path of the page of a client, contact or deal."""
    return reverse(f"team-{kind}", args=[id])


def clients_of(request: TeamRequest) -> QuerySet[Client]:
    return request.account.clients.live().accessible_to(request.user)


class RecordForm(AskingForm):
    """A form for some fields of a new client, contact or deal. `crm.resources.api.views.write_row` validates the values."""

    def __init__(
        self,
        *args: Any,
        fields: Iterable[Field],
        row: CRMResource,
        user: User,
        parts: Mapping[str, Iterable[Field]] = {},
        q: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.account, self.parts = row.account, parts
        self.numbers = [field.name for field in fields if field.is_amount]
        for field in fields:
            made = form_field(field, row.account, user, row, q=q)
            made.error_messages["required"] = _("Can't be blank")
            self.fields[field.name] = made
        for part, part_fields in parts.items():
            model, _names = PARTS[part]
            for field in part_fields:
                made = form_field(field, row.account, user, model(account=row.account))
                # Only a row that is created needs its fields, and `write_row` says so.
                made.required = False
                if field.name == "name":
                    made.label = _("Name of a new contact")
                self.fields[f"{part}-{field.name}"] = made
        if isinstance(price := self.fields.get("price"), TypedNumberField):
            price.set_currency(self["currency"].value() or row.account.currency)

    def clean(self) -> dict[str, object]:
        values = super().clean()
        self.ask(values, self.account, None)
        # A currency that was typed with the price is the currency of the deal.
        if (price := values.get("price")) and price.currency:
            values["currency"] = price.currency
        numbers = [*self.numbers]
        for part, fields in self.parts.items():
            email = f"{part}-email"
            self.ask({"email": values.get(email)}, self.account, None, field=email)
            numbers += [f"{part}-{field.name}" for field in fields if field.is_amount]
        return values | {name: values[name].text for name in numbers if values.get(name)}

    def part_fields(self, part: str = "") -> list[forms.BoundField]:
        """Return the fields of the client or contact that the form creates, or those of its own row."""
        return [
            field
            for field in self.visible_fields()
            if (field.name.startswith(f"{part}-") if part else not self.is_of_part(field.name))
        ]

    def is_of_part(self, name: str) -> bool:
        return any(name.startswith(f"{part}-") for part in self.parts)

    def part_values(self, part: str = "") -> dict[str, object]:
        """Return the values that are not blank, by the names of the fields of the row."""
        values = self.cleaned_data.items()
        return {
            name.removeprefix(f"{part}-"): value
            for name, value in values
            if value not in ("", [], None) and (name.startswith(f"{part}-") if part else not self.is_of_part(name))
        }


class NewRecordPage(CreatingPage, ActionsPage, RecordsPage):
    """The form for a new row: the most used fields, and the required ones."""

    template_name = "team/records/new.html"
    actions = {"": "create", "save": "create", "another": "create", "find": "show_found_clients"}
    model: type[CRMResource]
    # The built-in fields of the form, in order.
    names: tuple[str, ...] = ()
    # What the form creates or finds beside its row: a client, and one of its contacts.
    parts: tuple[str, ...] = ()
    warns_of_similar = False

    def fields(self) -> list[Field]:
        return self.fields_with(self.declaration.resource, self.names)

    def fields_with(self, resource: str, names: Iterable[str]) -> list[Field]:
        """Return the fields with the names, and those that the account requires."""
        fields = {field.name: field for field in fields_of(self.request.account, resource)}
        required = [field for field in fields.values() if field.definition and field.required]
        return [*(fields[name] for name in names), *required]

    def form(self, *sent: Any, **values: Any) -> RecordForm:
        row, user = self.model(account=self.request.account), self.request.user
        parts = {part: self.fields_with(part, PARTS[part][1]) for part in self.parts}
        return RecordForm(*sent, fields=self.fields(), row=row, user=user, parts=parts, auto_id="new-%s", **values)

    def initial(self) -> dict[str, object]:
        return {"responsible_id": self.request.user.id}

    def contacts_of(self, client_id: int | None) -> list[tuple[int, str]]:
        """Return the ids and names of the contacts of a client that the user may access."""
        if client_id is None or "contact" not in self.parts:
            return []
        contacts = self.request.account.contacts.live().accessible_to(self.request.user).filter(client_id=client_id)
        return [*contacts.order_by("id").values_list("id", "name")[:MAX_CONTACTS]]

    def get(self, request: TeamRequest) -> HttpResponse:
        client_id, contact_id = (parse_id(request.GET.get(name)) for name in ("client_id", "contact_id"))
        if self.fills(FOUND_CLIENTS):
            q = search_text(request.GET, "client_q")
            found = find_clients(request.account, request.user, q, enough=MAX_FOUND)
            return self.render("team/records/client_choices.html", found=found, q=q, form=self.form())
        if self.fills(FOUND_CONTACTS):
            contacts = self.contacts_of(client_id)
            return self.render("team/records/contact_choices.html", contacts=contacts)
        if self.fills(SIMILAR):
            values = {name: replace_non_xml(request.GET.get(name, "")) for name in ("name", "email", "tax_no")}
            similar = find_similar(request.account, request.user, **values)
            pairs = [(row, record_path(row.kind, row.id)) for row in similar]
            return self.render("team/records/similar.html", found=pairs)
        if contact_id is not None and client_id is None:
            accessible = request.account.contacts.live().accessible_to(request.user)
            client_id = accessible.filter(id=contact_id).values_list("client_id", flat=True).first()
        return self.show(self.form(initial=self.initial()), client_id=client_id, contact_id=contact_id)

    def show(
        self, form: RecordForm, *, client_id: int | None = None, contact_id: int | None = None, q: str = ""
    ) -> HttpResponse:
        found: list[Client] = []
        if self.parts:
            found = find_clients(self.request.account, self.request.user, q, enough=MAX_FOUND)
            if client_id is not None and client_id not in {row.id for row in found}:
                found = [*clients_of(self.request).filter(id=client_id), *found]
        return self.render_form(
            form,
            "team/records/new_form.html" if self.in_dialog else None,
            heading=self.declaration.new_label,
            in_dialog=self.in_dialog,
            parts=self.parts,
            warns_of_similar=self.warns_of_similar,
            found=found,
            client_id=client_id,
            is_new_client=self.request.POST.get("client_id") == NEW_CLIENT,
            contacts=self.contacts_of(client_id),
            contact_id=contact_id,
            q=q,
        )

    def sent(self) -> dict[str, Any]:
        """Return the client, the contact and the search of the form that was sent."""
        post = self.request.POST
        ids = {name: parse_id(post.get(name)) for name in ("client_id", "contact_id")}
        return {**ids, "q": search_text(post, "client_q")}

    def show_found_clients(self) -> HttpResponse:
        """Show the form with the values that were sent, and with the clients that the search finds."""
        sent = self.request.POST
        names = {name: isinstance(field, forms.MultipleChoiceField) for name, field in self.form().fields.items()}
        initial = {
            name: sent.getlist(name) if is_list else sent[name] for name, is_list in names.items() if name in sent
        }
        return self.show(self.form(initial=initial), **self.sent())

    def create(self) -> HttpResponse:
        request, sent = self.request, self.sent()
        form = self.form(request.POST)
        if self.parts and form.is_valid():
            self.check_choices(form, sent)
        further = {**sent, "client_id": NEW_CLIENT if self.creates_client else sent["client_id"]}
        row: Any = self.create_once(form, self.creation(form, sent), further=further)
        if row is None:
            return self.show(form, **sent)
        is_kept, path = request.user.access.includes(row), record_path(self.declaration.resource, row.id)
        if is_kept:
            name = format_html('<a href="{}"><bdi>{}</bdi></a>', path, row.name)
            messages.success(request, format_html(_("{name} is added."), name=name))
        else:
            messages.success(request, _("%(name)s is added. You do not see it any more.") % {"name": row.name})
        if request.POST.get("do") == "another":
            # Most rows that are added one after another belong to the same client.
            return self.add_another(row.client_id if self.parts else None)
        if self.in_dialog:
            # The page behind the dialog is loaded again, and shows the message.
            response = no_content()
            events = {"record-created": self.declaration.resource, "dialog-close": ""}
            response.headers["HX-Trigger"] = json.dumps(events)
            return response
        return redirect(path if is_kept else reverse(self.declaration.route))

    @property
    def creates_client(self) -> bool:
        return "client" in self.parts and self.request.POST.get("client_id") == NEW_CLIENT

    def check_choices(self, form: RecordForm, sent: Mapping[str, Any]) -> None:
        """Add an error for a client that was typed but not chosen, and for two contacts."""
        if sent["q"] and sent["client_id"] is None and "client_id" not in self.request.POST:
            form.add_error(None, _("Choose one of the clients that were found, or add a new client."))
        if self.creates_client and not sent["q"]:
            form.add_error(None, _("Enter the name of the new client."))
        if sent["contact_id"] is not None and form.part_values("contact"):
            form.add_error("contact-name", _("Choose a contact or enter a new one, not both."))

    def add_another(self, client_id: int | None) -> HttpResponse:
        if self.in_dialog:
            response = self.show(self.form(initial=self.initial()), client_id=client_id)
            response.headers["HX-Trigger"] = json.dumps({"record-created": self.declaration.resource})
            return response
        query = {"client_id": client_id} if client_id else {}
        return redirect(reverse(self.declaration.new_route, query=query))

    def creation(self, form: RecordForm, sent: Mapping[str, Any]) -> Creation[CRMResource]:
        account, user = self.request.account, self.request.user
        rows = getattr(account, self.declaration.collection)
        fields = self.fields()
        links = {f"{part}_id": sent[f"{part}_id"] for part in self.parts}
        creates_contact = "contact" in self.parts and bool(form.is_valid() and form.part_values("contact"))

        def check_links() -> None:
            # Rows of another account, and rows that the user may not access, are reported as rows that do not exist.
            for part in self.parts:
                rows, id = getattr(account, f"{part}s").live().accessible_to(user), links[f"{part}_id"]
                if id is not None and not rows.filter(id=id).exists():
                    links[f"{part}_id"] = 0

        def create() -> CRMResource:
            errors: list[FieldError] = []

            def write(row: CRMResource, data: dict[str, object], part: str = "") -> CRMResource:
                """Write a row, and collect its errors, so that the form shows those of all rows."""
                try:
                    return write_row(row, data, by=user)
                except FieldErrors as caught:
                    prefix = f"{part}-" if part else ""
                    errors.extend(
                        FieldError(f"{prefix}{error.field}", error.message, error.code, error.params)
                        for error in caught.errors
                    )
                    return row

            check_links()
            given = {name: id for name, id in links.items() if id is not None}
            owner = {"responsible_id": form.cleaned_data.get("responsible_id") or None}
            if self.creates_client:
                data = {**form.part_values("client"), "name": sent["q"], **owner}
                given["client_id"] = write(Client(account=account), data, "client").id
            if creates_contact:
                client = {"client_id": given["client_id"]} if given.get("client_id") else {}
                data = {**form.part_values("contact"), **client, **owner}
                given["contact_id"] = write(Contact(account=account), data, "contact").id
            given = {name: id for name, id in given.items() if id is not None}
            row = write(self.model(account=account), form.part_values() | given)
            if errors:
                raise FieldErrors(errors)
            return row

        def change(row: CRMResource) -> None:
            check_links()
            own = {name: value for name, value in form.cleaned_data.items() if not form.is_of_part(name)}
            write_row(row, own | links, by=user)

        return Creation(
            create=create,
            rows=rows.live().locked(),
            path=lambda row: record_path(self.declaration.resource, row.id),
            saved=lambda row: {field.name: initial_value(field, field.value_of(row)) for field in fields},
            # The client and the contact that the form has created are rows of their own by now.
            change=None if self.creates_client or creates_contact else change,
            choices=self.compare_links if self.parts else lambda row: (),
            is_visible=user.access.includes,
        )

    def compare_links(self, row: Any) -> list[tuple[str, str, str]]:
        """Return the label of each link, with the names of the row that is linked and of the chosen one."""
        lines, post = [], self.request.POST
        for part in self.parts:
            ids = [getattr(row, f"{part}_id") or 0, parse_id(post.get(f"{part}_id")) or 0]
            rows = getattr(self.request.account, f"{part}s").live().accessible_to(self.request.user)
            names = dict(rows.filter(id__in=ids).values_list("id", "name"))
            if part == "client" and self.creates_client:
                names[0] = search_text(post, "client_q")
            saved, sent = (names.get(id, "") for id in ids)
            lines.append((str(PARTS[part][0]._meta.verbose_name).capitalize(), saved, sent))
        return lines


class NewClientPage(NewRecordPage):
    declaration = LISTS["client"]
    model = Client
    names = ("name", "email", "phone", "tax_no", "city", "status_id", "responsible_id", "tags")
    warns_of_similar = True


class NewContactPage(NewRecordPage):
    declaration = LISTS["contact"]
    model = Contact
    names = ("name", "email", "phone", "position", "responsible_id", "tags")
    parts = ("client",)
    warns_of_similar = True


class NewDealPage(NewRecordPage):
    """The form for a deal, with its client and contact, which may be new too."""

    declaration = LISTS["deal"]
    model = Deal
    names = ("name", "price", "currency", "status_id", "expected_close_date", "responsible_id", "tags")
    parts = ("client", "contact")

    def initial(self) -> dict[str, object]:
        account = self.request.account
        chosen, status = parse_id(self.request.GET.get("status_id")), account.default_status("deal")
        return {
            **super().initial(),
            "currency": account.currency,
            # A column of the board names its status.
            "status_id": chosen if chosen is not None else status and status.id,
        }


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
