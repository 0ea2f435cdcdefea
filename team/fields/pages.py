"""The settings pages for the fields that the account defines for clients, contacts, deals and suggestions."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.account.models import Account
from accounts.fields.api import FieldDefinitionSerializer, count_misfits
from accounts.fields.models import MAX_DEFINITIONS, FieldDefinition
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, move_row, parse_id
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation

Target = FieldDefinition.Target


class FieldDefinitionForm(Form):
    """The form of a field definition. `FieldDefinitionSerializer` validates the values, with the same rules as in the API."""

    label = forms.CharField(label=gettext_lazy("Name"), max_length=255)
    type = forms.ChoiceField(
        label=gettext_lazy("Type"),
        choices=FieldDefinition.Type.choices,
        help_text=gettext_lazy("It decides what can be entered. You can change it later: existing values stay."),
    )
    choices = forms.CharField(
        label=gettext_lazy("Choices"),
        required=False,
        max_length=65_536,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("One on each line. Only for the two types with choices."),
    )
    required = forms.BooleanField(
        label=gettext_lazy("Required"),
        required=False,
        help_text=gettext_lazy("New entries need a value, also those that programs send. Existing entries stay valid."),
    )
    in_lists = forms.BooleanField(label=gettext_lazy("Show as a column in lists"), required=False)
    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=64,
        help_text=gettext_lazy(
            "What programs call it, among the additional fields. Leave it empty to have it made from the name."
        ),
    )

    def __init__(self, *args: Any, resource: str, row: FieldDefinition | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if resource == Target.SUGGESTION:
            # Visitors write suggestions without these fields.
            del self.fields["required"]
        if row is not None:
            del self.fields["key"]
            self.initial = {name: getattr(row, name) for name in self.fields} | {"choices": "\n".join(row.choices)}

    def clean(self) -> dict[str, object]:
        values = super().clean()
        choices = [text for line in (values.get("choices") or "").splitlines() if (text := line.strip())]
        # The choices stay in the form while another type is selected.
        has_choices = values.get("type") in (FieldDefinition.Type.CHOICE, FieldDefinition.Type.CHOICES)
        values["choices"] = choices if has_choices else []
        return values


def write_definition(account: Account, row: FieldDefinition | None, values: dict[str, object]) -> FieldDefinition:
    """Validate the values as the API does, and create or update a definition. Call this function in a transaction."""
    serializer = FieldDefinitionSerializer(row, data=values, partial=row is not None, context={"account": account})
    row = row or FieldDefinition(account=account)
    row.write(serializer.read())
    return row


class FieldsPage(CreatingPage, SettingsPage):
    """The list of the defined fields of one resource, in their order."""

    template_name = "team/fields/fields.html"
    part = "fields"
    actions = {"add": "add", "move": "move"}

    @property
    def resource(self) -> str:
        resource = self.request.GET.get("resource") or Target.CLIENT
        if resource not in Target.values:
            raise Http404
        return resource

    @property
    def address(self) -> str:
        return reverse("team-fields", query={"resource": self.resource})

    @property
    def rows(self) -> QuerySet[FieldDefinition]:
        return self.request.account.field_definitions.filter(resource=self.resource).order_by("position", "id")

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(FieldDefinitionForm(resource=self.resource))

    def show(self, form: Form) -> HttpResponse:
        rows = list(self.rows[:MAX_DEFINITIONS])
        may_add = len(rows) < MAX_DEFINITIONS
        return self.render_form(form, rows=rows, may_add=may_add, resource=self.resource, resources=Target.choices)

    def add(self, request: UserRequest) -> HttpResponse:
        form, account = FieldDefinitionForm(request.POST, resource=self.resource), request.account

        def change(row: FieldDefinition) -> None:
            write_definition(account, row, {name: form.cleaned_data[name] for name in form.fields if name != "key"})

        creation = Creation(
            create=lambda: write_definition(account, None, {**form.cleaned_data, "resource": self.resource}),
            rows=account.field_definitions.locked(),
            path=lambda row: reverse("team-field", args=[row.id]),
            saved=lambda row: {**FieldDefinitionForm(resource=row.resource, row=row).initial, "key": row.key},
            change=change,
        )
        if self.create_once(form, creation, further={"resource": self.resource}) is None:
            return self.show(form)
        messages.success(request, _("The field %(name)s is added.") % {"name": form.cleaned_data["label"]})
        return redirect(self.address)

    def move(self, request: UserRequest) -> HttpResponse:
        row = self.rows.filter(id=parse_id(request.POST.get("id")) or 0).first()
        return move_row(self, row, redirect(self.address))


class FieldPage(SettingsPage):
    template_name = "team/fields/field.html"
    part = "fields"
    actions = {"save": "save", "delete": "delete"}

    def find(self, id: int, *, locked: bool = False) -> FieldDefinition:
        rows = self.request.account.field_definitions
        return get_object_or_404(rows.locked() if locked else rows.all(), id=id)

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.show(row, FieldDefinitionForm(resource=row.resource, row=row))

    def show(self, row: FieldDefinition, form: Form) -> HttpResponse:
        return self.render_form(form, row=row, resource_name=row.get_resource_display())

    def save(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        form = FieldDefinitionForm(request.POST, resource=row.resource, row=row)
        written: list[FieldDefinition] = []

        def act() -> None:
            written.append(write_definition(request.account, self.find(id, locked=True), form.cleaned_data))

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(row, form)
        messages.success(request, _("The field %(name)s is saved.") % {"name": form.cleaned_data["label"]})
        if {"type", "choices"} & {*form.changed_data}:
            self.warn_of_misfits(written[-1])
        return self.redirect_back(row)

    def warn_of_misfits(self, row: FieldDefinition) -> None:
        """Say how many values do not fit the definition. They stay."""
        misfits = count_misfits(row, self.request.user.access)
        if not misfits["count"]:
            return
        message = ngettext(
            "%(count)d existing value does not fit. It stays until somebody changes it.",
            "%(count)d existing values do not fit. They stay until somebody changes them.",
            misfits["count"],
        )
        if not misfits["complete"]:
            values = {"compared": misfits["compared"], "message": message}
            message = _("Among the newest %(compared)d entries: %(message)s") % values
        messages.warning(self.request, message % {"count": misfits["count"]})

    def delete(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        is_done = self.perform(
            lambda: self.find(id, locked=True).erase(),
            success_message=_("The field %(name)s is deleted. Its values stay.") % {"name": row.label},
        )
        return self.redirect_back(row) if is_done else redirect("team-field", id)

    def redirect_back(self, row: FieldDefinition) -> HttpResponse:
        return redirect("team-fields", query={"resource": row.resource})
