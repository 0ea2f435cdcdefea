"""The forms for a new contact list, and for an existing one: its name, and its way to the trash."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout.forms import Form
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from crm.contacts.models import ContactList
from crm.resources.api.writing import write_row
from team.menu.pages import ActionsPage, TeamPage, TeamRequest


class ContactListForm(Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=ContactList._meta.get_field("name").max_length,
        error_messages={"required": gettext_lazy("Can't be blank")},
    )


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
        if not form.is_valid() or not self.submit_form(
            form, lambda: write_row(self.find(id, locked=True), form.cleaned_data, by=user)
        ):
            return self.render_form(form, contact_list=row)
        messages.success(self.request, _("The contact list %(name)s is saved.") % form.cleaned_data)
        return redirect(reverse("team-contacts", query={"contact_list_id": id}))

    def trash(self, id: int) -> HttpResponse:
        row = self.find(id)
        self.perform(
            lambda: self.find(id, locked=True).trash(by=self.request.user),
            success_message=_("The contact list %(name)s is in the trash. Its contacts stay.") % {"name": row.name},
        )
        return redirect("team-contact-lists")
