"""The settings pages for statuses, and for deals: the pipelines, and the reasons for winning and losing."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.account.api import AccountSettingsSerializer
from accounts.account.models import MAX_REASONS
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import ColorInput, Form
from accounts.layout.settings import SettingsPage, move_row, parse_id, write_row
from accounts.statuses.api import OF_DEALS, PipelineSerializer, StatusSerializer
from accounts.statuses.models import (
    Pipeline,
    Status,
    list_pipelines,
    pipeline_name,
    reason_text,
    status_name,
    stored_reason,
)
from core.api.paging import DEFAULT_MAX_PAGE_SIZE
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.number_fields import WholeNumberField

MAX_REASONS_LENGTH = 65_536


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
        widget=ColorInput(),
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
        row = self.rows.filter(id=parse_id(request.POST.get("id")) or 0).first()
        return move_row(self, row, redirect(self.address))


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
            message = _("The closing times of the deals in this status are being updated. This may take a few minutes.")
            messages.info(request, message)
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


class PipelineForm(Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=255)


class NewPipelineForm(PipelineForm):
    source = forms.TypedChoiceField(
        label=gettext_lazy("Statuses"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy("You can change them afterwards. They are the columns of the deal board."),
    )

    def __init__(self, data: QueryDict | None = None, *, pipelines: list[Pipeline]) -> None:
        super().__init__(data, initial={"source": pipelines[0].id if pipelines else ""})
        copies = [(row.id, _("Copied from %(name)s") % {"name": pipeline_name(row)}) for row in pipelines]
        self.set_choices("source", [*copies, ("", _("None yet"))])


class DeletionForm(Form):
    id_format = "deletion-%s"

    target = forms.TypedChoiceField(label=gettext_lazy("Move the statuses and their deals to"), coerce=int)

    def __init__(self, data: QueryDict | None = None, *, others: list[Pipeline]) -> None:
        super().__init__(data)
        self.set_choices("target", [(pipeline.id, pipeline_name(pipeline)) for pipeline in others])


class ReasonsForm(Form):
    """The reasons that the team chooses from, one on each line."""

    id_format = "reasons-%s"

    won_reasons = forms.CharField(
        label=gettext_lazy("For winning"),
        required=False,
        max_length=MAX_REASONS_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    lost_reasons = forms.CharField(
        label=gettext_lazy("For losing"),
        required=False,
        max_length=MAX_REASONS_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=gettext_lazy(
            "One on each line, in the order in which they are offered: 50 at most. Deals keep theirs."
        ),
    )

    def clean(self) -> dict[str, Any]:
        return {
            name: [stored_reason(line) for line in map(str.strip, text.splitlines()) if line]
            for name, text in super().clean().items()
        }


class DealSettingsPage(CreatingPage, SettingsPage):
    """The pipelines in their order, and the reasons."""

    template_name = "accounts/statuses/deals.html"
    part = "pipelines"
    actions = {"add": "add", "move": "move", "reasons": "save_reasons"}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show()

    def show(self, form: Form | None = None, reasons_form: Form | None = None) -> HttpResponse:
        account = self.request.account
        pipelines = list_pipelines(account)
        in_pipeline = account.statuses.filter(kind="deal").values("pipeline_id").order_by()
        counts = dict(in_pipeline.annotate(number=Count("id")).values_list("pipeline_id", "number"))
        if reasons_form is None:
            reasons = {name: getattr(account, name)[:MAX_REASONS] for name in ReasonsForm.base_fields}
            reasons_form = ReasonsForm(initial={name: "\n".join(map(reason_text, reasons[name])) for name in reasons})
        return self.render(
            form=form or NewPipelineForm(pipelines=pipelines),
            reasons_form=reasons_form,
            rows=[(row, counts.get(row.id, 0)) for row in pipelines],
        )

    def add(self, request: UserRequest) -> HttpResponse:
        account = request.account
        pipelines = {pipeline.id: pipeline for pipeline in list_pipelines(account)}
        form = NewPipelineForm(request.POST, pipelines=[*pipelines.values()])

        def create() -> Pipeline:
            row = write_row(PipelineSerializer, Pipeline(account=account), {"name": form.cleaned_data["name"]})
            if source := form.cleaned_data["source"]:
                row.copy_statuses(pipelines[source], name_of=status_name)
            return row

        creation = Creation(
            create=create,
            rows=account.pipelines.locked(),
            path=lambda row: reverse("accounts-pipeline", args=[row.id]),
            # The statuses were copied when the pipeline was created.
            saved=lambda row: {"name": row.name, "source": form.cleaned_data["source"]},
            change=lambda row: write_row(PipelineSerializer, row, {"name": form.cleaned_data["name"]}),
        )
        if self.create_once(form, creation) is None:
            return self.show(form)
        messages.success(request, _("The pipeline %(name)s is added.") % {"name": form.cleaned_data["name"]})
        return redirect("accounts-deals")

    def move(self, request: UserRequest) -> HttpResponse:
        row = request.account.pipelines.filter(id=parse_id(request.POST.get("id")) or 0).first()
        return move_row(self, row, redirect("accounts-deals"))

    def save_reasons(self, request: UserRequest) -> HttpResponse:
        account = request.account
        form = ReasonsForm(request.POST)

        def act() -> None:
            context = {"account": account}
            account.change(
                **AccountSettingsSerializer(account, form.cleaned_data, partial=True, context=context).read()
            )

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(reasons_form=form)
        messages.success(request, _("The reasons are saved."))
        return redirect("accounts-deals")


class PipelinePage(SettingsPage):
    """The name of a pipeline, and its deletion."""

    template_name = "accounts/statuses/pipeline.html"
    part = "pipelines"
    actions = {"save": "save", "delete": "delete"}

    def find(self, id: int) -> Pipeline:
        return get_object_or_404(self.request.account.pipelines, id=id)

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.show(row, PipelineForm(initial={"name": pipeline_name(row)}))

    def show(self, row: Pipeline, form: Form, deletion_form: Form | None = None) -> HttpResponse:
        account = self.request.account
        others = [pipeline for pipeline in list_pipelines(account) if pipeline.id != row.id]
        return self.render(
            form=form,
            row=row,
            may_delete=bool(others),
            has_statuses=account.statuses.filter(Q(kind="deal", pipeline_id=row.id)).exists(),
            deletion_form=deletion_form or DeletionForm(others=others),
        )

    def save(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        form = PipelineForm(request.POST, initial={"name": pipeline_name(row)})

        def act() -> None:
            locked = get_object_or_404(request.account.pipelines.locked(), id=id)
            if form.has_changed():
                # A default name that is shown translated stays the default name.
                write_row(PipelineSerializer, locked, form.cleaned_data)

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(row, form)
        messages.success(request, _("The pipeline %(name)s is saved.") % {"name": form.cleaned_data["name"]})
        return redirect("accounts-deals")

    def delete(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        others = [pipeline for pipeline in list_pipelines(request.account) if pipeline.id != id]
        form = DeletionForm(request.POST, others=others)
        if others and not form.is_valid():
            return self.show(row, PipelineForm(initial={"name": pipeline_name(row)}), form)

        def act() -> None:
            pipelines = {pipeline.id: pipeline for pipeline in request.account.pipelines.order_by("id").locked()}
            if id not in pipelines:
                raise Http404
            target = form.cleaned_data["target"] if others else None
            pipelines[id].erase(move_to=pipelines.get(target) if target else None)

        message = _("The pipeline %(name)s is deleted.") % {"name": pipeline_name(row)}
        is_done = self.perform(act, success_message=message)
        return redirect("accounts-deals") if is_done else redirect("accounts-pipeline", id)
