"""The settings pages for deals: the pipelines, and the reasons for winning and losing."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.api import AccountSettingsSerializer
from accounts.account.models import MAX_REASONS
from accounts.hosts.requests import UserRequest
from accounts.layout import ordering
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from accounts.layout.writing import write_row
from accounts.statuses.api.pipelines import PipelineSerializer
from accounts.statuses.default_names import pipeline_name, reason_text, status_name, stored_reason
from accounts.statuses.pipelines import Pipeline, list_pipelines
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation

MAX_REASONS_LENGTH = 65_536


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
        copies = [
            (pipeline.id, _("Copied from %(name)s") % {"name": pipeline_name(pipeline)}) for pipeline in pipelines
        ]
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
        values = super().clean()
        return {
            name: [stored_reason(line) for text_line in text.splitlines() if (line := text_line.strip())]
            if isinstance(text, str)
            else text
            for name, text in values.items()
        }


def reasons_text(reasons: list[str]) -> str:
    """Return reasons, one on each line. Default reasons are translated."""
    return "\n".join(reason_text(reason) for reason in reasons[:MAX_REASONS])


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
            initial = {name: reasons_text(getattr(account, name)) for name in ReasonsForm.base_fields}
            reasons_form = ReasonsForm(initial=initial)
        is_wrong = form is not None or reasons_form.is_bound
        return self.render(
            http_status=HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK,
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
        id = parse_id(request.POST.get("id"))
        row = request.account.pipelines.filter(id=id).first() if id else None
        return ordering.move(self, row, redirect("accounts-deals"))

    def save_reasons(self, request: UserRequest) -> HttpResponse:
        account = request.account
        form = ReasonsForm(request.POST)

        def act() -> None:
            serializer = AccountSettingsSerializer(
                account, data=form.cleaned_data, partial=True, context={"account": account}
            )
            account.change(**serializer.read())

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
            http_status=HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound or deletion_form else HTTPStatus.OK,
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
        return (
            redirect("accounts-deals")
            if self.perform(act, success_message=message)
            else redirect("accounts-pipeline", id)
        )
