"""The pages of imports: the upload, the mapping of the columns, the preview, the progress and the result, and the wrong rows."""

import hashlib
from http import HTTPStatus
from itertools import islice
from typing import Any

from django.contrib import messages
from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.hosts.requests import PageRequest
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.errors import Conflict, FieldErrors
from core.http import throttling
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.templates import render_part
from core.rows.declared import FieldType
from team.batches.models import BatchQuerySet, RowResult
from team.fields.forms import display
from team.fields.names import LINKS, Names
from team.import_lines.fields import KIND_LABELS, ImportField, RowKind, fields_of
from team.import_pages.forms import ReadingForm, SettingsForm, UploadForm, encoding_name
from team.imports.api import MAX_FORM_BYTES, faults_response
from team.imports.checking import SHOWN_LINES
from team.imports.models import Import
from team.menu.pages import ActionsPage, TeamPage, TeamRequest
from team.spreadsheets.errors import file_error
from team.spreadsheets.sheets import read_rows

# The parts of pages that htmx refreshes.
READING, SETTINGS, CHECK, PROGRESS = "reading", "settings", "check", "progress"
# The number of rows of the file that the page shows.
SAMPLE_LINES = 3
# The pages of the rows of a kind.
ROUTES = {kind: f"team-{kind}" for kind in RowKind} | {RowKind.SUGGESTION: "forum-post"}


LABELS: dict[str, Any] = {"routes": ROUTES, "kind_labels": KIND_LABELS}


def visible_imports(request: TeamRequest) -> BatchQuerySet:
    rows: BatchQuerySet = request.account.imports.all()
    return rows.visible_to(request.user)


def kinds_of(row: Import) -> list[RowKind]:
    """Return the kinds of the rows to which columns are mapped."""
    codes = [column["field"] for column in row.settings.get("columns", ())]
    return [kind for kind in RowKind if any(code.startswith(f"{kind}.") for code in codes)]


def route_of(row: Import, resource: str) -> str:
    """Return the route of the pages of the rows of a resource."""
    kinds = [kind for kind in kinds_of(row) if kind.resource == resource]
    return ROUTES[kinds[0]] if kinds else ROUTES[RowKind.SUGGESTION]


class ImportsPage(CreatingPage, TeamPage):
    """The imports, and the form for another one."""

    template_name = "team/import_pages/imports.html"
    max_body_bytes = MAX_FORM_BYTES

    def get(self, request: TeamRequest) -> HttpResponse:
        return self.show(UploadForm(initial={"kinds": request.GET.getlist("kind")}))

    def show(self, form: UploadForm) -> HttpResponse:
        page = self.read_page()
        rows = visible_imports(self.request).annotate(author_name=F("author__name")).defer("sheet", "checked")
        found = list(rows.order_by("-id")[page.start : page.stop])
        imports = [(row, [kind.label for kind in kinds_of(row)]) for row in found[: page.size]]
        return self.render_form(form, imports=imports, page=page, more=len(found) > page.size)

    def post(self, request: TeamRequest) -> HttpResponse:
        form = UploadForm(request.POST, request.FILES)
        if not form.is_valid():
            return self.show(form)
        row = self.upload(form)
        return self.show(form) if row is None else redirect("team-import", row.id)

    def upload(self, form: UploadForm) -> Import | None:
        """Store the file, once for each form. Return None if the form has errors."""
        account, user = self.request.account, self.request.user
        file, kinds = form.cleaned_data["file"], form.cleaned_data["kinds"]
        pasted = form.cleaned_data["pasted"].encode()
        digest = hashlib.file_digest(file, "sha256") if file else hashlib.sha256(pasted)
        values = {"sha256": digest.hexdigest(), "kinds": kinds}
        id = self.created_row_id(values)
        uploaded = None
        if id is None or not account.imports.filter(id=id).exists():
            name, chunks = (file.name, file.chunks()) if file else (_("Pasted cells"), iter([pasted]))
            try:
                uploaded = Import.upload(account, by=user, name=name, chunks=chunks, kinds=kinds)
            except FieldErrors as caught:
                self.add_errors(form, caught)
                return None

        def create() -> Import:
            if uploaded is None:
                raise Conflict(_("The import was deleted. Upload the file again."))
            return uploaded

        creation = Creation(
            create=create,
            rows=account.imports.all(),
            path=lambda row: reverse("team-import", args=[row.id]),
            saved=lambda row: {},
            # A form that is sent again with another file is another import.
            is_visible=lambda row: False,
        )
        created = self.create_once(form, creation, values)
        if uploaded is not None and created is not None and created.id != uploaded.id:
            in_transaction(uploaded.discard)
        return created


class ImportPage(ActionsPage):
    """An import: how its file is read and mapped, and later its progress, its result and its undo."""

    template_name = "team/import_pages/draft.html"
    actions = {"read": "read", "update": "show_changes", "next": "save", "delete": "delete"}
    actions |= {"cancel": "cancel", "undo": "undo"}

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row = self.find(id)
        if not row.is_draft:
            return self.show_result(row)
        if self.fills(READING) and (row.is_read or row.error):
            return HttpResponse(headers={"HX-Refresh": "true"})
        return self.show_draft(row)

    def find(self, id: int) -> Import:
        row: Import = get_object_or_404(visible_imports(self.request).annotate(author_name=F("author__name")), id=id)
        row.account = self.request.account
        return row

    def show_draft(
        self, row: Import, *, form: SettingsForm | None = None, reading_form: ReadingForm | None = None
    ) -> HttpResponse:
        context: dict[str, Any] = {"row": row, "reading_form": reading_form or ReadingForm(None, row.reading)}
        if row.is_read:
            sheet = row.parsed_sheet
            if form is None:
                form = SettingsForm(None, row=row, user=self.request.user)
            context |= {
                "form": form,
                "sheet": sheet,
                "lines": self.read_sample(row),
                "encoding": encoding_name(row.reading.get("encoding", "")),
                "warnings": [self.describe(file_error(warning.pop("code"), warning)) for warning in sheet.warnings],
            }
        template = "team/import_pages/settings.html" if row.is_read and self.fills(SETTINGS) else None
        if self.fills(READING):
            template = "team/import_pages/reading.html"
        invalid = any(each is not None and each.is_bound and each.errors for each in (form, reading_form))
        return self.render(template, http_status=422 if invalid else 200, **context)

    def read_sample(self, row: Import) -> list[tuple[int, list[str]]] | None:
        """Return the first rows with their numbers, or None if the file is gone."""
        try:
            return [
                (line.number, line.cells)
                for line in islice(read_rows(row.rows.lines(), row.parsed_sheet), SAMPLE_LINES)
            ]
        except FileNotFoundError:
            return None

    def read(self, id: int) -> HttpResponse:
        row = self.find(id)
        form = ReadingForm(self.request.POST, row.reading)
        if not form.is_valid():
            return self.show_draft(row, reading_form=form)
        try:
            row.reread(form.options())
        except Conflict as caught:
            return self.refuse(str(caught.message), id)
        return redirect("team-import", id)

    def refuse(self, message: str, id: int) -> HttpResponse:
        messages.error(self.request, message)
        return redirect("team-import", id)

    def show_changes(self, id: int) -> HttpResponse:
        """Show the formats and values of the fields that were just chosen."""
        row = self.find(id)
        if not row.is_draft or not row.is_read:
            return redirect("team-import", id)
        form = SettingsForm(self.request.POST, row=row, user=self.request.user)
        form.is_valid()
        return self.show_draft(row, form=form)

    def save(self, id: int) -> HttpResponse:
        row = self.find(id)
        if not row.is_draft or not row.is_read:
            return redirect("team-import", id)
        form = SettingsForm(self.request.POST, row=row, user=self.request.user)
        if not form.is_valid():
            return self.show_draft(row, form=form)

        def act() -> None:
            locked = self.lock(id)
            try:
                locked.set_settings(form.settings())
            except FieldErrors as caught:
                raise FieldErrors(map(form.place, caught.errors)) from None
            locked.begin_check()

        if not self.submit_form(form, act):
            return self.show_draft(row, form=form)
        return redirect("team-import-preview", id)

    def lock(self, id: int) -> Import:
        row: Import = get_object_or_404(visible_imports(self.request).locked(), id=id)
        row.account = self.request.account
        return row

    def delete(self, id: int) -> HttpResponse:
        done = self.perform(lambda: self.lock(id).discard(), success_message=_("The import is deleted."))
        return redirect("team-imports") if done else redirect("team-import", id)

    def cancel(self, id: int) -> HttpResponse:
        self.perform(lambda: self.lock(id).cancel())
        return redirect("team-import", id)

    def undo(self, id: int) -> HttpResponse:
        self.perform(lambda: self.lock(id).undo(by=self.request.user))
        return redirect("team-import", id)

    # The result

    def show_result(self, row: Import) -> HttpResponse:
        user = self.request.user
        labels = {
            (kind.resource, field.name): field.label for kind in kinds_of(row) for field in fields_of(kind, row.account)
        }
        left_alone = [
            each
            | {
                "label": RowResult.LABELS[each["result"]],
                "route": route_of(row, each["resource"]),
                "fields": [
                    labels.get((each["resource"], name), name) for name in each["fields"] if name != "updated_at"
                ],
            }
            for each in row.left_alone(user)
        ]
        faults = row.fault_rows.order_by("number")
        return self.render(
            "team/import_pages/progress.html" if self.fills(PROGRESS) else "team/import_pages/import.html",
            row=row,
            changed=row.changed - row.created,
            kept=[each for each in left_alone if each["result"] == RowResult.CHANGED_SINCE],
            failed=[each for each in left_alone if each["result"] != RowResult.CHANGED_SINCE],
            shown_number=len(left_alone),
            restored=self.restored_rows(row) if row.restored else [],
            faults=faults[:SHOWN_LINES] if row.faults else [],
            kinds=[kind.label for kind in kinds_of(row)],
        )

    def restored_rows(self, row: Import) -> list[dict[str, Any]]:
        """Return the first rows that got their previous values back. New rows are in the trash."""
        rows = row.batch_rows.filter(result=RowResult.CHANGED, undo_result=RowResult.RESTORED)
        found = list(rows.order_by("resource", "target").values_list("resource", "target")[:SHOWN_LINES])
        shown = []
        for resource in dict.fromkeys(resource for resource, _id in found):
            ids = [id for other, id in found if other == resource]
            collection = row.rows_of(resource, self.request.user).live().filter(id__in=ids)
            names = collection.values_list("id", collection.model.DISPLAY_NAME_FIELD)
            shown += [{"id": id, "name": name, "route": route_of(row, resource)} for id, name in names]
        return shown


class ImportPreviewPage(ActionsPage):
    """The preview of an import: the first rows field by field, and the check of all rows."""

    template_name = "team/import_pages/preview.html"
    actions = {"import": "start"}

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row = get_object_or_404(visible_imports(request), id=id)
        row.account = request.account
        if not row.is_draft or not row.is_read:
            return redirect("team-import", id)
        if self.fills(CHECK):
            return self.render("team/import_pages/check.html", row=row, **LABELS)
        found: list[dict[str, Any]] = []
        if not self.perform(lambda: found.append(self.preview(row))):
            return redirect("team-import", id)
        return self.render(row=row, found=found[-1], **LABELS)

    def preview(self, row: Import) -> dict[str, Any]:
        try:
            found = row.preview(self.request.user)
        except FileNotFoundError:
            raise Conflict(Import.Failure.FILE.label) from None
        fields = {kind: {field.name: field for field in reversed(fields_of(kind, row.account))} for kind in RowKind}
        changed = found["rows"][RowResult.CHANGED]
        links = [
            (field.type, value)
            for entry in changed
            for values in (entry["before"], entry["after"])
            for name, value in values.items()
            if (field := fields[entry["kind"]].get(name)) and field.type in LINKS
        ]
        names = Names.read(row.account, self.request.user, links)
        for entry in changed:
            known = fields[entry["kind"]]
            entry["changes"] = [
                (
                    known[name].label if name in known else name,
                    self.text_of(known.get(name), entry["before"].get(name), names),
                    self.text_of(known.get(name), value, names),
                )
                for name, value in {**dict.fromkeys(entry["before"]), **entry["after"]}.items()
            ]
        return found

    def text_of(self, found: ImportField | None, value: Any, names: Names) -> str:
        """Return a recorded value as people read it. A linked row that is created by the import has no name yet."""
        if value is None or found is None:
            return "" if value is None else str(value)
        if found.type in LINKS:
            return names.names.get((found.type, value)) or _("a new entry")
        if found.type in (FieldType.TIME, FieldType.DATE) and isinstance(value, str):
            moment = parse_datetime(value)
            value = (
                value if moment is None else timezone.localtime(moment) if timezone.is_aware(moment) else moment.date()
            )
        return display(found.field, value, self.request.account)

    def start(self, id: int) -> HttpResponse:
        def act() -> None:
            row = get_object_or_404(visible_imports(self.request).locked(), id=id)
            row.account = self.request.account
            row.start(by=self.request.user)

        self.perform(act)
        return redirect("team-import", id)


class ImportFaultsPage(TeamPage):
    """The wrong rows as a file, to be mended and imported again."""

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row = get_object_or_404(visible_imports(request).filter(faults__gt=0), id=id)
        row.account = request.account
        throttling.count_export(request)
        try:
            return faults_response(row)
        except Conflict as caught:
            return error_response(request, HTTPStatus.CONFLICT, message=caught.message)


def render_suggestions_link(request: PageRequest, parameters: dict[str, object]) -> SafeString | str:
    """Return the link that imports suggestions, on a list of them."""
    if request.user is None or not request.user.is_team or request.address.domain:
        return ""
    return render_part("team/import_pages/link.html", {"kind": RowKind.SUGGESTION}, request)
