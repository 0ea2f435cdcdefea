"""Imports in the Account API (JSON)."""

import base64
from collections.abc import Iterable, Iterator
from itertools import chain
from tempfile import TemporaryFile
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.fields import (
    BooleanField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    ListField,
    TagsField,
    TextField,
    WireField,
    to_list,
    to_object,
)
from core.api.lists import Paged
from core.api.serializers import ResourceSerializer, Values, format_time
from core.db.text import is_xml_text
from core.db.transactions import in_transaction
from core.errors import Conflict
from core.files.models import MEBIBYTE
from core.http.formats import UploadParser
from core.openapi.fields import XML_TEXT, describe_field
from core.openapi.operations import BODIES, LIMITS, RESPONSES, SHAPES, Shape
from core.openapi.values import BASE64_PATTERN, COUNT, ID, NAME, JSONSchema, array_of, object_of, one_of, or_null
from team.exports.formats import CSVFormat
from team.import_lines.fields import RowKind
from team.import_lines.settings import MAX_VALUES, ColumnMapping, ImportSettings, Mode, Unknown
from team.imports.models import MAX_FILE_BYTES, Import, ImportQuerySet
from team.menu.api import TeamViewSet
from team.spreadsheets.delimited import ENCODINGS

MAX_FORM_BYTES = MAX_FILE_BYTES + MEBIBYTE
MAX_TEXT = 255
# A character that XML allows, but no line break or quotation mark. It is blank for a file with one column.
SEPARATOR_PATTERN = r"[^\u0000-\u0008\u000a-\u001f\u0022\u0027\ufffe\uffff]?"


class SheetFileField(WireField):
    """A file of a form, or the content as a text: the lines of a CSV file, or any file in Base64 after `base64:`."""

    default_error_messages = {"content": _("is neither a file of a form nor a text"), "base64": _("is not Base64")}

    def to_internal_value(self, data: object) -> Iterable[bytes]:
        if isinstance(data, UploadedFile):
            return read_upload(data)
        if not isinstance(data, str):
            self.fail("content")
        is_base64 = data.startswith("base64:")
        try:
            return [base64.b64decode(data.removeprefix("base64:"), validate=True) if is_base64 else data.encode()]
        except ValueError:
            # The characters are not those of Base64, or not those of a text: half of a surrogate pair.
            self.fail("base64" if is_base64 else "content")


def read_upload(file: Any) -> Iterator[bytes]:
    with file:
        yield from cast("Iterator[bytes]", file.chunks())


class ColumnsField(WireField):
    """The mapping of each column of the file: the field, the format of numbers or dates, and what certain values mean."""

    default_error_messages = {
        "list": _("must be a list of objects with field, format and values"),
        "too_many": _("have too many values (maximum is {most})"),
    }

    def to_internal_value(self, data: object) -> list[ColumnMapping]:
        items = to_list(data)
        if not isinstance(items, list):
            self.fail("list")
        return [self.read_column(to_object(item) or {}) for item in items]

    def read_column(self, item: object) -> ColumnMapping:
        if not isinstance(item, dict) or not item.keys() <= {"field", "format", "values"}:
            self.fail("list")
        values = to_object(item.get("values") or {})
        texts = [item.get("field", ""), item.get("format", "")]
        if not isinstance(values, dict) or not all(map(is_text, texts)):
            self.fail("list")
        if len(values) > MAX_VALUES:
            self.fail("too_many", most=MAX_VALUES)
        if not all(map(is_text, chain(*values.items()))):
            self.fail("list")
        return ColumnMapping(texts[0], texts[1], values)


def is_text(data: object) -> bool:
    return isinstance(data, str) and len(data) <= MAX_TEXT and is_xml_text(data)


class TextsField(WireField):
    """An object of texts."""

    default_error_messages = {"object": _("must be an object of texts")}

    def to_internal_value(self, data: object) -> dict[str, str]:
        values = to_object(data)
        if not isinstance(values, dict) or len(values) > MAX_VALUES or not all(map(is_text, chain(*values.items()))):
            self.fail("object")
        return values


class MatchField(TextsField):
    """The field by which the rows of each kind are matched."""

    default_error_messages = {"choice": _("are not among {choices}")}

    def to_internal_value(self, data: object) -> dict[str, str]:
        values = super().to_internal_value(data)
        if not values.keys() <= set(RowKind):
            self.fail("choice", choices=", ".join(RowKind))
        return values


class KindsField(ListField):
    """The kinds of rows that the file may have."""

    default_error_messages = {"choice": _("are not among {choices}")}

    def to_internal_value(self, data: object) -> list[str]:
        kinds = to_list(data)
        if not isinstance(kinds, list) or any(kind not in list(RowKind) for kind in kinds):
            self.fail("choice", choices=", ".join(RowKind))
        return kinds


class ProgressField(WireField):
    """A value about the file or the progress, in responses only."""


class NewImportSerializer(ResourceSerializer):
    content = SheetFileField(required=True)
    name = TextField(max_length=MAX_TEXT)
    kinds = KindsField()


class ReadingSerializer(ResourceSerializer):
    encoding = ChoiceField(ENCODINGS)
    separator = TextField(max_length=1, pattern=SEPARATOR_PATTERN)
    sheet = TextField(max_length=MAX_TEXT)
    has_header = BooleanField()


class ImportSerializer(ResourceSerializer):
    """The settings of an import, and its progress."""

    columns = ColumnsField()  # type: ignore[assignment]  # a field, which the metaclass removes from the class
    match = MatchField()
    mode = ChoiceField([mode.value for mode in Mode])
    clear_blank = BooleanField()
    defaults = TextsField()
    unknown = ChoiceField([unknown.value for unknown in Unknown])
    tags = TagsField()
    contact_list = TextField(max_length=MAX_TEXT)
    stop = BooleanField()
    notify = BooleanField()
    name = TextField(read_only=True)
    format = TextField(read_only=True)
    state = TextField(read_only=True)
    failure = TextField(read_only=True)
    error = ProgressField(read_only=True)
    reading = ProgressField(read_only=True)
    header = ProgressField(read_only=True)
    check = ProgressField(read_only=True)
    total = IntegerField(read_only=True)
    processed = IntegerField(read_only=True)
    created = IntegerField(read_only=True)
    changed = IntegerField(read_only=True)
    unchanged = IntegerField(read_only=True)
    faults = IntegerField(read_only=True)
    restored = IntegerField(read_only=True)
    kept = IntegerField(read_only=True)
    left_alone = ProgressField(read_only=True)
    author_id = IntegerField(read_only=True)
    undone_by_id = IntegerField(read_only=True)
    finished_at = DateTimeField(read_only=True)
    undone_at = DateTimeField(read_only=True)

    @classmethod
    def represent(cls, row: Import, zone: ZoneInfo) -> dict[str, object]:
        settings = row.parsed_settings.as_json()
        data: dict[str, Any] = {name: getattr(row, name, None) for name in cls.names}
        data |= {name: format_time(data[name], zone) for name in cls.times}
        data |= {**settings, "header": row.sheet.get("header", []), "check": row.checked}
        data["error"] = row.shown_error
        return {**data, "format": row.format or None, "failure": row.failure or None, "reading": row.reading or None}


class ImportViewSet(TeamViewSet, Paged):
    """Imports. Admins see all of them, agents their own."""

    parser_classes = [UploadParser]
    max_body_bytes = MAX_FORM_BYTES
    serializer_class = ImportSerializer
    # The new import. Its file is stored before the transaction of a request with an Idempotency-Key begins.
    uploaded: Import | None = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        if self.action == "create":
            self.uploaded = self.store()

    def store(self) -> Import:
        serializer = NewImportSerializer(data=self.body.get("import"), context=self.get_serializer_context())
        self.check(**{"import": serializer})
        values = serializer.values
        sent: Any = to_object(self.body.get("import"))
        name = values.get("name") or getattr(sent.get("content"), "name", "") or "import.csv"
        return Import.upload(
            self.account, by=self.request.user, name=name, chunks=values["content"], kinds=values.get("kinds") or ()
        )

    def finalize_response(self, request: Request, response: Any, *args: object, **kwargs: object) -> Any:
        """Discard the import of a request that was carried out before, or is refused."""
        if self.uploaded and (response.status_code != 201 or "Idempotent-Replayed" in response.headers):
            in_transaction(self.uploaded.discard)
        return super().finalize_response(request, response, *args, **kwargs)

    def get_queryset(self) -> ImportQuerySet:
        rows: ImportQuerySet = self.account.imports.select_related("account", "source", "rows").order_by("-id")
        return rows.visible_to(self.request.user)

    def represent(self, row: Import) -> dict[str, object]:
        """Return the response for an import. A list leaves out the rows that were left alone."""
        left_alone = [] if self.action == "list" else row.left_alone(self.request.user)
        return super().represent(row) | {"left_alone": left_alone}

    def create(self, request: APIRequest) -> HttpResponse:
        row = cast(Import, self.uploaded)
        location = self.base_url + reverse("team-json-import", args=[row.id])
        return Response(self.represent(row), status=201, headers={"Location": location})

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(self.represent(self.get_object()))

    def update(self, request: APIRequest, id: int) -> HttpResponse:
        serializer = ImportSerializer(data=self.body.get("import"), context=self.get_serializer_context())
        self.check(**{"import": serializer})
        given = {name: value for name, value in serializer.values.items() if value is not None}
        return self.act(lambda row: row.set_settings(merge_settings(row.parsed_settings, given)))

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.get_object(locked=True).discard())
        return Response("ok")

    def read(self, request: APIRequest, id: int) -> HttpResponse:
        """Read the file again, in another way."""
        serializer = ReadingSerializer(data=self.body.get("reading"), context=self.get_serializer_context())
        self.check(reading=serializer)
        row = self.get_object()
        # A request with an Idempotency-Key is one transaction.
        row.reread(serializer.values, in_job=True if self.idempotency_key else None)
        return Response(self.represent(row))

    def preview(self, request: APIRequest, id: int) -> HttpResponse:
        """Return what the first lines would do."""
        self.check()
        row = self.get_object()
        row.check_draft()
        return Response(row.preview(request.user))

    def check_all(self, request: APIRequest, id: int) -> HttpResponse:
        self.check()
        return self.act(Import.begin_check)

    def start(self, request: APIRequest, id: int) -> HttpResponse:
        self.check()
        return self.act(lambda row: row.start(by=request.user))

    def undo(self, request: APIRequest, id: int) -> HttpResponse:
        self.check()
        return self.act(lambda row: row.undo(by=request.user))

    def cancel(self, request: APIRequest, id: int) -> HttpResponse:
        self.check()
        return self.act(Import.cancel)

    def faults(self, request: APIRequest, id: int) -> HttpResponse:
        """Return the rows with faults, in the order of the file."""
        self.read_page()
        found = self.get_object().fault_rows
        page = self.paginate_queryset(found.order_by("number"))
        return self.get_paginated_response([{"number": row.number, "faults": row.shown} for row in page])


def merge_settings(settings: ImportSettings, given: Values) -> ImportSettings:
    values = settings.as_json() | {name: value for name, value in given.items() if name != "columns"}
    merged = ImportSettings.from_json(values)
    if "columns" in given:
        merged.columns = given["columns"]
    return merged


def faults_response(row: Import) -> HttpResponse:
    """Return a CSV file with the rows that have faults. The columns are those of the imported file, and one with the faults."""
    if not row.is_read or row.rows is None:
        raise Conflict(_("The file is no longer available."))
    rows = row.faulty_rows()
    header = next(rows)
    file = TemporaryFile()  # noqa: SIM115  # the response closes it
    file.writelines(CSVFormat().write(header, ([cells] for cells in rows)))
    file.seek(0)
    response = FileResponse(file, as_attachment=True, filename="faults.csv", content_type="text/csv; charset=utf-8")
    response.headers["Cache-Control"] = "private, no-store"
    return response  # type: ignore[return-value]  # the stubs have no common base


# The OpenAPI document, as far as views and serializers do not tell it
LIMITS |= {"MAX_IMPORTED_MIB": MAX_FILE_BYTES // MEBIBYTE}
TEXT: JSONSchema = {"type": "string", "maxLength": MAX_TEXT, **XML_TEXT}
TEXTS: JSONSchema = {"type": "object", "propertyNames": TEXT, "additionalProperties": TEXT}
TEXTS |= {"maxProperties": MAX_VALUES}
COLUMN = object_of(field=TEXT, format=TEXT, values=TEXTS)
LINES: JSONSchema = {"type": "string", "not": {"pattern": "^base64:"}}
BASE64: JSONSchema = {"type": "string", "pattern": f"^base64:{BASE64_PATTERN}$"}
describe_field(SheetFileField, request={"anyOf": [LINES, BASE64]})
describe_field(ColumnsField, request=array_of({**COLUMN, "required": []}), response=array_of(COLUMN))
describe_field(TextsField, request=TEXTS, response=TEXTS)
MATCH: JSONSchema = {**TEXTS, "propertyNames": one_of(RowKind)}
describe_field(MatchField, request=MATCH, response=MATCH)
describe_field(KindsField, request=array_of(one_of(RowKind)))
describe_field(ProgressField, response={"type": ["object", "array"]})
FAULT = object_of(column=NAME, field=NAME, code=NAME, message=NAME)
BODIES["create_import"] = {"import": NewImportSerializer}
BODIES["reread_import"] = {"reading": ReadingSerializer}
RESPONSES["list_import_faults"] = array_of(object_of(number=COUNT, faults=array_of(FAULT)))
NAMES: JSONSchema = {"type": "object", "additionalProperties": array_of(NAME)}
VALUES: JSONSchema = {"type": "object"}
WRITTEN = object_of(number=COUNT, kind=one_of(RowKind), id=or_null(ID), name=NAME, before=VALUES, after=VALUES)
FAULTY = object_of(number=COUNT, faults=array_of(object_of(column=NAME, message=NAME)))
PREVIEWED = object_of(created=array_of(WRITTEN), changed=array_of(WRITTEN), faulty=array_of(FAULTY))
COUNTS: dict[str, JSONSchema] = dict.fromkeys(("created", "changed", "unchanged", "faults", "lines"), COUNT)
RESPONSES["preview_import"] = object_of(COUNTS, rows=PREVIEWED, names=NAMES, left_out=NAMES, further_ids=NAMES)
SHAPES[ImportSerializer] = Shape(Import, nullable=frozenset({"format", "failure", "reading", "error", "check"}))
