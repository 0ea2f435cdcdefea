"""The statuses that posts, deals and clients may have."""

import re

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.api.statuses import StatusSerializer
from accounts.models import Status
from accounts.pages import ordering
from accounts.pages.forms import Form
from accounts.pages.settings import SettingsPage, to_id
from core.api.paging import DEFAULT_MAX_PAGE_SIZE
from core.pages.base import redirect

GREY = "#6b7280"
KINDS = {
    Status.Kind.POST: gettext_lazy("Suggestions and tasks"),
    Status.Kind.DEAL: gettext_lazy("Deals"),
    Status.Kind.CLIENT: gettext_lazy("Clients"),
}


def as_chosen(color: str | None) -> str:
    """A colour as the browser's own field for it takes one: #rrggbb. Programs may have said it otherwise, or none."""
    if color and re.fullmatch("#[0-9a-fA-F]{3}", color):
        return "#" + "".join(2 * digit for digit in color[1:])
    return color if color and re.fullmatch("#[0-9a-fA-F]{6}", color) else GREY


def on_roadmap(row: Status | None) -> str:
    """What the code of a status of suggestions has to do with the roadmap."""
    if row is not None and row.code in Status.ROADMAP:
        said = _("With another code it leaves the roadmap, which shows the statuses with the codes %(codes)s.")
    else:
        said = _("The roadmap shows the statuses with the codes %(codes)s.")
    return said % {"codes": ", ".join(Status.ROADMAP)}


class StatusForm(Form):
    """The rules are those of the interface (`StatusSerializer`)."""

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

    def __init__(self, *args, kind: str, row: Status | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        if row is not None:
            self.initial = {name: getattr(row, name) for name in self.fields} | {"color": as_chosen(row.color)}
            self.fields["code"].required = True
            self.fields["code"].help_text = _("Programs may rely on it: change it only if you know that none does.")
        else:
            self.initial = {"color": GREY}
        if kind == Status.Kind.POST:
            self.fields["code"].help_text += f" {on_roadmap(row)}"

    def clean(self):
        values = super().clean()
        if not values.get("code") and values.get("name") and not self.fields["code"].required:
            values["code"] = slugify(values["name"])
        return values


def write(account, row: Status | None, kind: str, values: dict) -> Status:
    """Add or change a status, as a program could. The caller's transaction holds it all."""
    given = values | ({} if row else {"kind": kind})
    serializer = StatusSerializer(row, data=given, partial=row is not None, context={"account": account})
    values = serializer.read()
    row = row or Status(account=account)
    row.write(values)
    return row


class StatusesPage(SettingsPage):
    template_name = "accounts/statuses.html"
    part = "statuses"
    acts = {"add": "add", "move": "move"}

    @property
    def kind(self) -> str:
        kind = self.request.GET.get("kind") or Status.Kind.POST
        if kind not in KINDS:
            raise Http404
        return kind

    @property
    def address(self) -> str:
        return reverse("accounts-statuses", query={"kind": self.kind})

    def get(self, request) -> HttpResponse:
        return self.show(StatusForm(kind=self.kind))

    def show(self, form: Form) -> HttpResponse:
        page = self.read_page(per_page=DEFAULT_MAX_PAGE_SIZE)
        rows = list(self.request.account.first_statuses(self.kind)[page.start : page.stop])
        return self.render_form(
            form,
            rows=rows[: page.size],
            page=page,
            more=len(rows) > page.size,
            alone=len(rows) == 1,
            kind=self.kind,
            kinds=KINDS.items(),
        )

    def add(self, request) -> HttpResponse:
        form = StatusForm(request.POST, kind=self.kind)
        if not form.is_valid() or not self.submit_form(
            form, lambda: write(request.account, None, self.kind, form.cleaned_data)
        ):
            return self.show(form)
        messages.success(request, _("%(name)s is added.") % {"name": form.cleaned_data["name"]})
        return redirect(self.address)

    def move(self, request) -> HttpResponse:
        id = to_id(request.POST.get("id"))
        row = request.account.first_statuses(self.kind).filter(id=id).first() if id else None
        return ordering.move(self, row, redirect(self.address))


class StatusPage(SettingsPage):
    template_name = "accounts/status.html"
    part = "statuses"
    acts = {"save": "save", "delete": "delete"}

    def find(self, id: int) -> Status:
        row = self.request.account.statuses.filter(id=id).first()
        if row is None:
            raise Http404
        return row

    def get(self, request, id: int) -> HttpResponse:
        row = self.find(id)
        return self.show(row, StatusForm(row=row, kind=row.kind))

    def show(self, row: Status, form: Form) -> HttpResponse:
        return self.render_form(form, row=row, kind_name=KINDS[row.kind])

    def save(self, request, id: int) -> HttpResponse:
        row = self.find(id)
        form = StatusForm(request.POST, row=row, kind=row.kind)

        def act() -> None:
            locked = request.account.statuses.locked().get(id=id)
            # What was left as it was stays: a colour that a program named, and the field can't show.
            changed = {name: form.cleaned_data[name] for name in form.changed_data}
            write(request.account, locked, locked.kind, changed)

        try:
            if not form.is_valid() or not self.submit_form(form, act):
                return self.show(row, form)
        except Status.DoesNotExist:
            raise Http404 from None
        messages.success(request, _("%(name)s is saved.") % {"name": form.cleaned_data["name"]})
        return self.back(row)

    def delete(self, request, id: int) -> HttpResponse:
        row = self.find(id)

        def act() -> None:
            statuses = {status.id: status for status in request.account.statuses.order_by("id").locked()}
            if id in statuses:
                statuses[id].erase()

        done = self.perform(act, done=_("%(name)s is deleted.") % {"name": row.name})
        return self.back(row) if done else redirect("accounts-status", id)

    def back(self, row: Status) -> HttpResponse:
        return redirect("accounts-statuses", query={"kind": row.kind})
