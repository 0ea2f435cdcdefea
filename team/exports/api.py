"""Exports in the Account API (JSON)."""

from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import Http404, HttpResponse
from django.urls import reverse
from rest_framework.response import Response

from accounts.account.api import url_of_account
from accounts.hosts.api import APIRequest
from core.api.fields import MISSING, ChoiceField, DateTimeField, IntegerField, TextField, WireField
from core.api.lists import Paged
from core.api.serializers import ResourceSerializer, Values, format_time
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.files.responses import file_response
from core.http import throttling
from core.openapi.fields import describe_field
from core.openapi.operations import LIMITS, SHAPES, Shape
from core.openapi.values import one_of
from team.exports.declarations import EXPORTS
from team.exports.formats import DecimalSign, Format, Separator
from team.exports.models import KINDS, LIST, MAX_QUERY_LENGTH, MAX_ROWS, Export, ExportQuerySet
from team.menu.api import TeamViewSet

OPTIONS = ("language", "separator", "decimal_sign")


class ExportedFileField(WireField):
    """The address of the file, in responses only."""


class ExportSerializer(ResourceSerializer):
    kind = ChoiceField(KINDS)
    resource = ChoiceField(EXPORTS)
    query = TextField(max_length=MAX_QUERY_LENGTH)
    format = ChoiceField(Format.values)
    columns = ChoiceField(Export.Columns.values)  # type: ignore[assignment]  # a field, which the metaclass removes from the class
    language = ChoiceField(dict(settings.LANGUAGES))
    separator = ChoiceField(Separator.values)
    decimal_sign = ChoiceField(DecimalSign.values)
    state = TextField(read_only=True)
    failure = TextField(read_only=True)
    total = IntegerField(read_only=True)
    written = IntegerField(read_only=True)
    file = ExportedFileField(read_only=True)
    author_id = IntegerField(read_only=True)
    expires_at = DateTimeField(read_only=True)
    finished_at = DateTimeField(read_only=True)

    def to_internal_value(self, data: Any) -> Values:
        values = super().to_internal_value(data)
        if (values.get("kind") or LIST) == LIST:
            if not values.get("resource"):
                raise FieldError("resource", MISSING, "required")
        elif of_lists := sorted(values.keys() - {"kind"}):
            raise FieldErrors(FieldError(name, "is for lists only") for name in of_lists)
        return values

    @classmethod
    def represent(cls, row: Export, zone: ZoneInfo) -> dict[str, object]:
        options = {name: row.options.get(name) or None for name in OPTIONS}
        data: dict[str, Any] = {name: getattr(row, name, None) for name in cls.names} | options
        data |= {name: format_time(data[name], zone) for name in cls.times}
        empty = {name: data[name] or None for name in ("resource", "query", "failure")}
        if row.kind != LIST:
            empty |= dict.fromkeys(("format", "columns", "language"))
        return {**data, **empty}


class ExportViewSet(TeamViewSet, Paged):
    """Exports of the user."""

    areas = ("export",)
    serializer_class = ExportSerializer

    def get_queryset(self) -> ExportQuerySet:
        rows: ExportQuerySet = self.account.exports.order_by("-id")
        return rows.visible_to(self.request.user)

    def represent(self, row: Export) -> dict[str, object]:
        address = url_of_account(self.request._request, self.account) + reverse("team-export-file", args=[row.id])
        return super().represent(row) | {"file": address if row.file_id else None}

    def create(self, request: APIRequest) -> HttpResponse:
        serializer = ExportSerializer(data=self.body.get("export"), context=self.get_serializer_context())
        self.check(export=serializer)
        throttling.count_export(request)
        values = {name: value for name, value in serializer.values.items() if value is not None}
        options = {name: values.pop(name) for name in OPTIONS if name in values}
        options.setdefault("language", request.user.language or self.account.language or settings.LANGUAGE_CODE)
        export = in_transaction(lambda: Export.start(self.account, by=request.user, options=options, **values))
        location = self.base_url + reverse("team-json-export", args=[export.id])
        return Response(self.represent(export), status=201, headers={"Location": location})

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(self.represent(self.get_object()))

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.get_object(locked=True).discard())
        return Response("ok")

    def file(self, request: APIRequest, id: int) -> HttpResponse:
        export = self.get_queryset().available().select_related("file").filter(id=id).first()
        if export is None:
            raise Http404
        return file_response(request._request, export.file, inline=False)


# The OpenAPI document, as far as views and serializers do not tell it
LIMITS |= {"MAX_CSV_ROWS": MAX_ROWS[Format.CSV], "MAX_XLSX_ROWS": MAX_ROWS[Format.XLSX]}
describe_field(ExportedFileField, response={"type": "string", "format": "uri"})
OF_LISTS, OTHER_KINDS = ("resource", "query", "format", "columns", *OPTIONS), [key for key in KINDS if key != LIST]
LIST_RULES = {
    "required": ["resource"],
    "properties": {"kind": {"not": {"enum": OTHER_KINDS}}, "resource": one_of(EXPORTS)},
}
OTHER_RULES = {"required": ["kind"], "properties": {"kind": {"enum": OTHER_KINDS}, **dict.fromkeys(OF_LISTS, False)}}
SHAPES[ExportSerializer] = Shape(
    Export, nullable=frozenset({"failure", *OF_LISTS}), rules={"oneOf": [LIST_RULES, OTHER_RULES]}
)
