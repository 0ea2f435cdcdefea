"""The pages of exports: the form that exports a list, the exports of the user, and the progress of one."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.hosts.requests import PageRequest
from accounts.layout.forms import Form
from core.db.time_limit import TooSlow
from core.error_responses import error_response
from core.files.responses import file_response
from core.http import throttling
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.templates import render_part
from team.exports.api import ExportViewSet
from team.exports.declarations import EXPORTS
from team.exports.formats import CSVFormat, DecimalSign, Format, Separator
from team.exports.models import MAX_QUERY_LENGTH, Export, ExportQuerySet, file_name
from team.exports.responses import respond_with_file
from team.exports.sources import ListSource, Source
from team.lists.declarations import LISTS
from team.lists.queries import ListQuery
from team.menu.pages import TeamPage, TeamRequest

# The action of a list that exports the selected rows.
EXPORT = "export"
# The maximum number of rows of a file that is the response. A job writes a longer one.
MAX_IN_RESPONSE = 5000
# The id of the part of the page of an export that htmx refreshes.
PROGRESS = "progress"
OF_LANGUAGE = ("", gettext_lazy("As usual in the language"))


class ExportForm(Form):
    resource = forms.ChoiceField(
        label=gettext_lazy("What to export"), choices=[(key, kind.label) for key, kind in EXPORTS.items()]
    )
    query = forms.CharField(
        required=False, max_length=MAX_QUERY_LENGTH, widget=forms.HiddenInput, label=gettext_lazy("Filters")
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=Format.choices)
    columns = forms.ChoiceField(label=gettext_lazy("Columns"), choices=Export.Columns.choices)
    separator = forms.ChoiceField(
        label=gettext_lazy("Separator of CSV"), choices=[OF_LANGUAGE, *Separator.choices], required=False
    )
    decimal_sign = forms.ChoiceField(
        label=gettext_lazy("Decimal sign of CSV"), choices=[OF_LANGUAGE, *DecimalSign.choices], required=False
    )

    def columns_of_export(self) -> dict[str, Any]:
        """Return the valid values as columns of an export."""
        names = ("resource", "query", "format", "columns")
        options = {name: self.cleaned_data[name] for name in ("separator", "decimal_sign")}
        return {name: self.cleaned_data[name] for name in names} | {"options": options | {"language": get_language()}}


def exports_of(request: TeamRequest) -> ExportQuerySet:
    rows: ExportQuerySet = request.account.exports.visible_to(request.user)
    return rows


class ExportsPage(CreatingPage, TeamPage):
    """The exports of the user, and the form for another one."""

    template_name = "team/exports/exports.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        """Show the exports. The address may name a list and its parameters, which the form then exports."""
        asked = {name: request.GET.get(name, "") for name in ("resource", "query")}
        return self.show(ExportForm(initial={"format": Format.CSV, "columns": Export.Columns.ALL, **asked}))

    def show(self, form: ExportForm) -> HttpResponse:
        page = self.read_page()
        found = list(exports_of(self.request).order_by("-id")[page.start : page.stop])
        context: dict[str, Any] = {"exports": found[: page.size], "page": page, "more": len(found) > page.size}
        declaration = LISTS.get(form["resource"].value() or "")
        if declaration is not None and (query := form["query"].value()):
            # The filters are those of one list.
            form.fields["resource"].widget = forms.HiddenInput()
            context |= {"list_label": declaration.label, "list_path": f"{reverse(declaration.route)}?{query}"}
        return self.render_form(form, **context)

    def post(self, request: TeamRequest) -> HttpResponse:
        form = ExportForm(request.POST)
        if not form.is_valid():
            return self.show(form)
        throttling.count_export(request)
        export = Export(account=request.account, **form.columns_of_export())
        sources: list[Source] = []
        if not self.submit_form(form, lambda: sources.append(export.source(request.user))):
            return self.show(form)
        try:
            number = sources[-1].count(MAX_IN_RESPONSE)
        except TooSlow:
            number = MAX_IN_RESPONSE + 1
        if number <= MAX_IN_RESPONSE:
            options = CSVFormat(form.cleaned_data["separator"], form.cleaned_data["decimal_sign"])
            name = file_name(export.resource, export.format)
            return respond_with_file(request, request.account, sources[-1], export.format, options, name=name)
        creation = Creation(
            create=lambda: Export.start(request.account, by=request.user, **form.columns_of_export()),
            rows=request.account.exports.visible_to(request.user),
            path=lambda row: reverse("team-export", args=[row.id]),
            saved=lambda row: {"resource": row.resource, "format": row.format, "columns": row.columns, **row.options},
        )
        created = self.create_once(form, creation)
        return self.show(form) if created is None else redirect("team-export", created.id)


def export_selected(request: TeamRequest, query: ListQuery, ids: list[int]) -> HttpResponse:
    """Return the selected rows of a list, with its columns, as CSV."""
    throttling.count_export(request)
    resource = query.declaration.resource
    source = ListSource(resource, request.account, request.user, query)
    source.ids = ids
    return respond_with_file(
        request, request.account, source, Format.CSV, CSVFormat(), name=file_name(resource, Format.CSV)
    )


class ExportPage(TeamPage):
    """An export: its progress, its file, and the button that cancels or deletes it. While it runs, the page is refreshed."""

    template_name = "team/exports/export.html"

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        export = get_object_or_404(exports_of(request).select_related("file"), id=id)
        return self.render("team/exports/progress.html" if self.fills(PROGRESS) else None, export=export)

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        if request.POST.get("do") != "delete":
            return error_response(request, 400)

        def act() -> None:
            export = get_object_or_404(exports_of(request).locked(), id=id)
            export.account = request.account
            export.discard()

        self.perform(act, success_message=_("The export is deleted."))
        return redirect("team-exports")


class ExportFilePage(TeamPage):
    """The file of an export. A program with a token gets it from the view of the API."""

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if self.request.user is None and ("HTTP_AUTHORIZATION" in request.META or "api_token" in request.GET):
            return ExportViewSet.as_view({"get": "file"})(request, *args, **kwargs)
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        export = get_object_or_404(exports_of(request).available().select_related("file"), id=id)
        return file_response(request, export.file, inline=False)


def render_suggestions_menu(request: PageRequest, parameters: dict[str, object]) -> SafeString | str:
    """Return the form that exports the suggestions of a list with these parameters."""
    if request.user is None or not request.user.is_team or request.address.domain:
        return ""
    chosen = {name: value for name, value in parameters.items() if value not in ("", None)}
    return render_part("team/exports/menu.html", {"resource": "suggestion", "query_text": urlencode(chosen)}, request)
