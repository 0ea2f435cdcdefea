"""The pages of exports: the form that exports a list, the exports of the user, and the progress of one."""

from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from tempfile import TemporaryFile
from typing import IO, Any
from urllib.parse import urlencode

from django import forms
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.audit.models import record
from accounts.hosts.requests import PageRequest
from accounts.layout.forms import Form
from core.db.time_limit import TooSlow
from core.error_responses import error_response
from core.files.responses import file_response, in_pace
from core.http import throttling
from core.limits import leases
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from team.exports.declarations import EXPORTS, FORUM_SUGGESTIONS
from team.exports.formats import CONTENT_TYPES, DecimalSign, Format, Separator
from team.exports.models import CHUNK_BYTES, MAX_QUERY_LENGTH, Export, ExportQuerySet
from team.exports.sources import ListSource, Source
from team.list_queries.declarations import LISTS
from team.list_queries.queries import ListQuery
from team.menu.pages import TeamPage, TeamRequest

# The action of a list that exports the selected rows.
EXPORT = "export"
# The maximum number of rows of a file that is the response. A job writes a longer one.
MAX_IN_RESPONSE = 5000
# The files of an account that requests write at a time.
MAX_EXPORTS = 2
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
        resource, query = form["resource"].value() or "", form["query"].value()
        if query and (resource in LISTS or resource == FORUM_SUGGESTIONS):
            # The filters are those of one list.
            form.fields["resource"].widget = forms.HiddenInput()
            route = LISTS[resource].route if resource in LISTS else "forum-suggestions"
            context |= {"list_label": EXPORTS[resource].label, "list_path": f"{reverse(route)}?{query}"}
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
            return respond_with_file(request, export, sources[-1])
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
    source = ListSource(query.declaration.resource, request.account, request.user, query)
    source.ids = ids
    return respond_with_file(request, Export(account=request.account, resource=query.declaration.resource), source)


def respond_with_file(request: TeamRequest, export: Export, source: Source) -> HttpResponse:
    """Return the rows of a source, which `Source.count` has found, as a file."""
    lease = leases.acquire(f"export:{request.account.id}", limit=MAX_EXPORTS)
    if lease is None:
        message = _("Your account is exporting as many lists as it may. Try again when one of them is complete.")
        return error_response(request, HTTPStatus.TOO_MANY_REQUESTS, message=message, headers={"Retry-After": "10"})
    record(request.account.id, "export.started", resource=export.resource, rows=export.total)
    file = TemporaryFile()  # noqa: SIM115, `chunks_of` closes it
    try:
        export.write(source, file)
    except BaseException:
        file.close()
        raise
    finally:
        lease.release()
    headers = {
        "Cache-Control": "private, no-store",
        "Content-Disposition": f'attachment; filename="{export.file_name}"',
        "Content-Length": str(file.tell()),
    }
    content_type = CONTENT_TYPES[Format(export.format)]
    return FileResponse(chunks_of(file), content_type=content_type, headers=headers)  # type: ignore[return-value]  # the stubs have no common base


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file, unless the client reads them too slowly, and close the file."""
    with file:
        file.seek(0)
        yield from in_pace(iter(partial(file.read, CHUNK_BYTES), b""))


class ExportPage(TeamPage):
    """An export: its progress, its file, and the button that cancels or deletes it. While it runs, the page is refreshed."""

    works_when_closed = True
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
    """The file of an export. A program with a token gets it from `api_view`."""

    works_when_closed = True
    api_view: Callable[..., HttpResponse] = None  # type: ignore[assignment]  # set by the route

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if self.request.user is None and ("HTTP_AUTHORIZATION" in request.META or "api_token" in request.GET):
            return self.api_view(request, *args, **kwargs)
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        export = get_object_or_404(exports_of(request).available().select_related("file"), id=id)
        return file_response(request, export.file, inline=False)


def render_suggestions_link(request: PageRequest, parameters: dict[str, object]) -> SafeString | str:
    """Return the link to the form that exports the suggestions of a list with these parameters."""
    if request.user is None or not request.user.is_team or request.address.domain:
        return ""
    chosen = {name: value for name, value in parameters.items() if value not in ("", None)}
    path = reverse("team-exports", query={"resource": FORUM_SUGGESTIONS, "query": urlencode(chosen)})
    return format_html('<a class="button quiet" href="{}">{}</a>', path, _("Export"))
