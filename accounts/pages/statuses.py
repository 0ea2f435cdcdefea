"""The settings pages for statuses."""

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.api.statuses import StatusSerializer
from accounts.models import Account, Status
from accounts.pages import ordering
from accounts.pages.forms import Form
from accounts.pages.settings import SettingsPage, parse_id
from core.api.paging import DEFAULT_MAX_PAGE_SIZE
from core.pages.base import redirect
from core.requests import UserRequest

DEFAULT_COLOR = "#6b7280"
KINDS: dict[str, Any] = {
    Status.Kind.POST: gettext_lazy("Suggestions and tasks"),
    Status.Kind.DEAL: gettext_lazy("Deals"),
    Status.Kind.CLIENT: gettext_lazy("Clients"),
}


def to_input_color(color: str | None) -> str:
    """Return the colour in the format of an HTML colour field (#rrggbb). API clients may store other formats, or no colour."""
    if color and re.fullmatch("#[0-9a-fA-F]{3}", color):
        return "#" + "".join(2 * digit for digit in color[1:])
    return color if color and re.fullmatch("#[0-9a-fA-F]{6}", color) else DEFAULT_COLOR


class StatusForm(Form):
    """The form of a status. `StatusSerializer` validates the values, with the same rules as in the API."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=255)
    code = forms.CharField(
        label=gettext_lazy("Code"),
        required=False,
        max_length=255,
        help_text=gettext_lazy("What programs call it. Leave it empty to have it made from the name."),
    )
    color = forms.RegexField(
        r"#[0-9a-fA-F]{6}\Z",
        label=gettext_lazy("Colour"),
        required=False,
        max_length=7,
        widget=forms.TextInput(attrs={"type": "color"}),
    )
    closed = forms.BooleanField(
        label=gettext_lazy("Closed: nothing more to do"),
        required=False,
        help_text=gettext_lazy("Whatever gets this status is closed."),
    )

    on_roadmap = forms.BooleanField(
        label=gettext_lazy("On the roadmap"),
        required=False,
        help_text=gettext_lazy(
            "The roadmap has a column for each of these statuses, in the order of the list: ten at most."
        ),
    )

    def __init__(self, *args: Any, kind: str, row: Status | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if kind != Status.Kind.POST:
            del self.fields["on_roadmap"]
        if row is not None:
            self.initial = {name: getattr(row, name) for name in self.fields} | {"color": to_input_color(row.color)}
            self.fields["code"].required = True
            self.fields["code"].help_text = _("Programs may rely on it: change it only if you know that none does.")
        else:
            self.initial = {"color": DEFAULT_COLOR}

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if not values.get("code") and values.get("name") and not self.fields["code"].required:
            values["code"] = slugify(values["name"])
        return values


def write_status(account: Account, row: Status | None, kind: str, values: dict[str, Any]) -> Status:
    """Validate the values as the API does, and create or update a status. Call this function in a transaction."""
    data = values | ({} if row else {"kind": kind})
    serializer = StatusSerializer(row, data=data, partial=row is not None, context={"account": account})
    values = serializer.read()
    row = row or Status(account=account)
    row.write(values)
    return row


class StatusesPage(SettingsPage):
    """The list of the statuses of one kind, in their order."""

    template_name = "accounts/statuses.html"
    part = "statuses"
    actions = {"add": "add", "move": "move"}

    @property
    def kind(self) -> str:
        kind = self.request.GET.get("kind") or Status.Kind.POST
        if kind not in KINDS:
            raise Http404
        return kind

    @property
    def address(self) -> str:
        return reverse("accounts-statuses", query={"kind": self.kind})

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(StatusForm(kind=self.kind))

    def show(self, form: Form) -> HttpResponse:
        page = self.read_page(per_page=DEFAULT_MAX_PAGE_SIZE)
        rows = list(self.request.account.statuses_of_kind(self.kind)[page.start : page.stop])
        return self.render_form(
            form,
            rows=rows[: page.size],
            page=page,
            more=len(rows) > page.size,
            is_only_status=len(rows) == 1,
            kind=self.kind,
            kinds=KINDS.items(),
        )

    def add(self, request: UserRequest) -> HttpResponse:
        form = StatusForm(request.POST, kind=self.kind)
        if not form.is_valid() or not self.submit_form(
            form, lambda: write_status(request.account, None, self.kind, form.cleaned_data)
        ):
            return self.show(form)
        messages.success(request, _("%(name)s is added.") % {"name": form.cleaned_data["name"]})
        return redirect(self.address)

    def move(self, request: UserRequest) -> HttpResponse:
        id = parse_id(request.POST.get("id"))
        row = request.account.statuses_of_kind(self.kind).filter(id=id).first() if id else None
        return ordering.move(self, row, redirect(self.address))


class StatusPage(SettingsPage):
    template_name = "accounts/status.html"
    part = "statuses"
    actions = {"save": "save", "delete": "delete"}

    def find(self, id: int) -> Status:
        row = self.request.account.statuses.filter(id=id).first()
        if row is None:
            raise Http404
        return row

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.show(row, StatusForm(row=row, kind=row.kind))

    def show(self, row: Status, form: Form) -> HttpResponse:
        return self.render_form(form, row=row, kind_name=KINDS[row.kind])

    def save(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        form = StatusForm(request.POST, row=row, kind=row.kind)

        def act() -> None:
            locked = request.account.statuses.locked().get(id=id)
            # Write only the fields that the user changed. Otherwise a colour in a format that the HTML field cannot show would be lost.
            changed = {name: form.cleaned_data[name] for name in form.changed_data}
            write_status(request.account, locked, locked.kind, changed)

        try:
            if not form.is_valid() or not self.submit_form(form, act):
                return self.show(row, form)
        except Status.DoesNotExist:
            raise Http404 from None
        messages.success(request, _("%(name)s is saved.") % {"name": form.cleaned_data["name"]})
        return self.redirect_back(row)

    def delete(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)

        def act() -> None:
            statuses = {status.id: status for status in request.account.statuses.order_by("id").locked()}
            if id in statuses:
                statuses[id].erase()

        is_done = self.perform(act, success_message=_("%(name)s is deleted.") % {"name": row.name})
        return self.redirect_back(row) if is_done else redirect("accounts-status", id)

    def redirect_back(self, row: Status) -> HttpResponse:
        return redirect("accounts-statuses", query={"kind": row.kind})
