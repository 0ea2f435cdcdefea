"""The settings pages for statuses."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.hosts.requests import UserRequest
from accounts.layout import ordering
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from accounts.layout.writing import write_row
from accounts.statuses.api.statuses import OF_DEALS, StatusSerializer
from accounts.statuses.default_names import pipeline_name
from accounts.statuses.models import Status
from accounts.statuses.pipelines import Pipeline, list_pipelines
from core.api.paging import DEFAULT_MAX_PAGE_SIZE
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.number_fields import WholeNumberField

DEFAULT_COLOR = "#6b7280"
KINDS: dict[str, object] = {
    Status.Kind.POST: gettext_lazy("Suggestions and tasks"),
    Status.Kind.DEAL: gettext_lazy("Deals"),
    Status.Kind.CLIENT: gettext_lazy("Clients"),
}
OUTCOMES: dict[str, object] = {
    Status.Outcome.OPEN: pgettext_lazy("deal", "Open"),
    Status.Outcome.WON: pgettext_lazy("deal", "Won"),
    Status.Outcome.LOST: pgettext_lazy("deal", "Lost"),
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

    outcome = forms.ChoiceField(
        label=gettext_lazy("A deal in this status is"),
        choices=OUTCOMES.items(),
        widget=forms.RadioSelect,
        help_text=gettext_lazy(
            "Won and lost deals are closed. The board asks for a reason when a deal gets such a status."
        ),
    )
    probability = WholeNumberField(
        label=gettext_lazy("Probability of winning (%)"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=gettext_lazy("Weighted sums multiply the price of open deals by it. Won counts as 100, lost as 0."),
    )
    rot_days = WholeNumberField(
        label=gettext_lazy("Days until a deal is rotting"),
        required=False,
        min_value=1,
        max_value=Status.MAX_ROT_DAYS,
        help_text=gettext_lazy(
            "The board marks deals that have been in this status for longer and have no planned task. Empty: never."
        ),
    )
    pipeline_id = forms.TypedChoiceField(label=gettext_lazy("Pipeline"), coerce=int)
    on_roadmap = forms.BooleanField(
        label=gettext_lazy("On the roadmap"),
        required=False,
        help_text=gettext_lazy(
            "The roadmap has a column for each of these statuses, in the order of the list: ten at most."
        ),
    )

    def __init__(
        self, data: QueryDict | None = None, *, kind: str, row: Status | None = None, pipelines: Sequence[Pipeline] = ()
    ) -> None:
        """`pipelines` are the choices for a status of deals. With fewer than two, the form has no such field."""
        super().__init__(data)
        # Statuses of deals have an outcome instead of the checkbox `closed`.
        absent = {"closed"} if kind == Status.Kind.DEAL else {*OF_DEALS}
        if kind != Status.Kind.POST:
            absent.add("on_roadmap")
        if len(pipelines) < 2:
            absent.add("pipeline_id")
        for name in absent:
            self.fields.pop(name, None)
        if "pipeline_id" in self.fields:
            self.set_choices("pipeline_id", [(pipeline.id, pipeline_name(pipeline)) for pipeline in pipelines])
        if row is not None:
            self.initial = {name: getattr(row, name) for name in self.fields} | {"color": to_input_color(row.color)}
            self.fields["code"].required = True
            self.fields["code"].help_text = _("Programs may rely on it: change it only if you know that none does.")
        else:
            self.initial = {"color": DEFAULT_COLOR, "outcome": Status.Outcome.OPEN}

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if not values.get("code") and values.get("name") and not self.fields["code"].required:
            values["code"] = slugify(values["name"])
        return values


class StatusesPage(CreatingPage, SettingsPage):
    """The list of the statuses of one kind, in their order."""

    template_name = "accounts/statuses/statuses.html"
    part = "statuses"
    actions = {"add": "add", "move": "move"}

    @property
    def kind(self) -> str:
        kind = self.request.GET.get("kind") or Status.Kind.POST
        if kind not in KINDS:
            raise Http404
        return kind

    @cached_property
    def pipelines(self) -> list[Pipeline]:
        """The pipelines of the account in their order, if the page shows statuses of deals."""
        return list_pipelines(self.request.account) if self.kind == Status.Kind.DEAL else []

    @cached_property
    def pipeline(self) -> Pipeline | None:
        """The pipeline whose statuses the page shows: the first one, unless the query names another."""
        id = self.request.GET.get("pipeline")
        if id is None or not self.pipelines:
            return next(iter(self.pipelines), None)
        found = next((pipeline for pipeline in self.pipelines if pipeline.id == parse_id(id)), None)
        if found is None:
            raise Http404
        return found

    @property
    def rows(self) -> QuerySet[Status]:
        rows = self.request.account.statuses_of_kind(self.kind)
        return rows.filter(pipeline_id=self.pipeline.id) if self.pipeline else rows

    @property
    def address(self) -> str:
        pipeline = {"pipeline": self.pipeline.id} if self.pipeline and len(self.pipelines) > 1 else {}
        return reverse("accounts-statuses", query={"kind": self.kind} | pipeline)

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(StatusForm(kind=self.kind))

    def show(self, form: Form) -> HttpResponse:
        page = self.read_page(per_page=DEFAULT_MAX_PAGE_SIZE)
        rows = list(self.rows[page.start : page.stop])
        return self.render_form(
            form,
            rows=[(row, OUTCOMES.get(row.outcome or "")) for row in rows[: page.size]],
            page=page,
            more=len(rows) > page.size,
            is_only_status=len(rows) == 1,
            kind=self.kind,
            kinds=KINDS.items(),
            pipelines=self.pipelines,
            pipeline=self.pipeline,
            address=self.address,
        )

    def add(self, request: UserRequest) -> HttpResponse:
        form, account = StatusForm(request.POST, kind=self.kind), request.account
        further: dict[str, object] = {"kind": self.kind} | ({"pipeline_id": self.pipeline.id} if self.pipeline else {})
        creation = Creation(
            create=lambda: write_row(StatusSerializer, Status(account=account), form.cleaned_data | further),
            rows=account.statuses.locked(),
            path=lambda row: reverse("accounts-status", args=[row.id]),
            saved=lambda row: StatusForm(row=row, kind=self.kind).initial,
            change=lambda row: write_row(StatusSerializer, row, form.cleaned_data | further),
        )
        if self.create_once(form, creation, further=further) is None:
            return self.show(form)
        messages.success(request, _("%(name)s is added.") % {"name": form.cleaned_data["name"]})
        return redirect(self.address)

    def move(self, request: UserRequest) -> HttpResponse:
        id = parse_id(request.POST.get("id"))
        row = self.rows.filter(id=id).first() if id else None
        return ordering.move(self, row, redirect(self.address))


class StatusPage(SettingsPage):
    template_name = "accounts/statuses/status.html"
    part = "statuses"
    actions = {"save": "save", "delete": "delete"}

    def find(self, id: int) -> Status:
        return get_object_or_404(self.request.account.statuses, id=id)

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.show(row, StatusForm(row=row, kind=row.kind, pipelines=self.pipelines_of(row)))

    def pipelines_of(self, row: Status) -> list[Pipeline]:
        return list_pipelines(self.request.account) if row.kind == Status.Kind.DEAL else []

    def show(self, row: Status, form: Form) -> HttpResponse:
        return self.render_form(form, row=row, kind_name=KINDS[row.kind])

    def save(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        form = StatusForm(request.POST, row=row, kind=row.kind, pipelines=self.pipelines_of(row))

        def act() -> None:
            locked = get_object_or_404(request.account.statuses.locked(), id=id)
            # Write only the fields that the user changed. Otherwise a colour in a format that the HTML field cannot show would be lost.
            write_row(StatusSerializer, locked, {name: form.cleaned_data[name] for name in form.changed_data})

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(row, form)
        messages.success(request, _("%(name)s is saved.") % {"name": form.cleaned_data["name"]})
        if "outcome" in form.changed_data:
            messages.info(
                request,
                _("The closing times of the deals in this status are being updated. This may take a few minutes."),
            )
        row.pipeline_id = form.cleaned_data.get("pipeline_id") or row.pipeline_id
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
        pipeline = {"pipeline": row.pipeline_id} if len(self.pipelines_of(row)) > 1 else {}
        return redirect("accounts-statuses", query={"kind": row.kind} | pipeline)
