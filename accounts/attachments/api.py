"""Attachments in the Account API (JSON)."""

from typing import Any, cast

from django.http import Http404, HttpResponse
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.account.api import url_of_account
from accounts.attachments.holders import holders
from accounts.attachments.models import Attachment, AttachmentQuerySet, find_row, signed_path
from accounts.attachments.uploading import MAX_FORM_BYTES, upload
from accounts.hosts.api import APIRequest, TypedViewSet
from core.api.fields import ChoiceField, IntegerField, TextField
from core.api.files import FileField
from core.api.lists import Paged
from core.api.serializers import ResourceSerializer, WireSerializer, declared_fields, format_time
from core.api.views import JSONViewSet
from core.db.transactions import in_transaction
from core.errors import FieldError
from core.http.formats import UploadParser
from core.openapi.fields import FILLED_ID, describe_field
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.schema import field_parameters
from core.openapi.values import BASE64_PATTERN, COUNT, ID, NAME, TIME, JSONSchema, array_of, object_of, one_of, or_null

# The texts of resources that are not their only one.
PARTS = sorted({part for holder in holders.values() for part in holder.parts if part})
WITHOUT_PARTS = [key for key, holder in holders.items() if holder.parts == ("",)]


class HolderSerializer(WireSerializer):
    """The row that has attachments."""

    resource = ChoiceField(sorted(holders))
    resource_id = IntegerField(min_value=1)


class NewAttachmentSerializer(HolderSerializer, ResourceSerializer):
    part = ChoiceField(PARTS)
    name = TextField(max_length=255)
    content = FileField(required=True)


class AttachmentViewSet(TypedViewSet, Paged, JSONViewSet):
    """The attachments of a row, and those of the user that belong to none yet."""

    request: APIRequest
    parser_classes = [UploadParser]
    max_body_bytes = MAX_FORM_BYTES
    serializer_class = NewAttachmentSerializer
    # The new attachment. It is stored before the transaction of a request with an Idempotency-Key begins.
    uploaded: Attachment | None = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        if self.action == "create":
            self.uploaded = self.store()

    def store(self) -> Attachment:
        serializer = NewAttachmentSerializer(data=self.body.get("attachment"), context=self.get_serializer_context())
        self.check(attachment=serializer)
        self.values = values = serializer.values
        if values.get("resource"):
            self.find_row(values["resource"], values.get("resource_id") or 0)
        name = values.get("name") or getattr(values["content"], "name", "") or "file"
        try:
            with values["content"] as file:
                return upload(self.account, file, str(name), by=self.request.user)
        except FieldError as error:
            raise FieldError("content", error.message, error.code, error.params) from None

    def find_row(self, key: str, row_id: int) -> Any:
        holder, row = find_row(self.account, self.request.user, key, row_id, to_change=self.request.method != "GET")
        part = getattr(self, "values", {}).get("part") or ""
        if part not in holder.parts:
            raise FieldError("part", "is not a text of the resource", "choice")
        return row

    def list(self, request: Request) -> HttpResponse:
        serializer = HolderSerializer(data=self.parameters.dict(), context=self.get_serializer_context())
        errors = {error.field: error for error in serializer.find_errors()}
        self.read_page(*declared_fields(HolderSerializer), errors=errors)
        rows: AttachmentQuerySet = self.account.attachments.current()
        if key := serializer.values.get("resource"):
            row_id = serializer.values.get("resource_id") or 0
            self.find_row(key, row_id)
            rows = rows.of_row(key, row_id)
        else:
            rows = rows.drafts().filter(user_id=self.request.user.id)
        page = self.paginate_queryset(rows.order_by("id"))
        return self.get_paginated_response([self.represent(row) for row in page])

    def create(self, request: Request) -> HttpResponse:
        attachment, values = cast(Attachment, self.uploaded), self.values

        def attach() -> None:
            if values.get("resource"):
                row = self.find_row(values["resource"], values["resource_id"])
                ids, part = [attachment.id], values.get("part") or ""
                Attachment.objects.attach(row, values["resource"], ids, by_id=self.request.user.id, part=part)

        in_transaction(attach)
        location = self.base_url + reverse("accounts-json-attachment", args=[attachment.id])
        return Response(self.represent(self.find(attachment.id)), status=201, headers={"Location": location})

    def find(self, id: int) -> Attachment:
        attachment: Attachment | None = self.account.attachments.current().filter(id=id).first()
        if attachment is not None:
            attachment.account = self.account
        if attachment is None or not attachment.is_visible_to(self.request.user):
            raise Http404
        return attachment

    def retrieve(self, request: Request, id: int) -> HttpResponse:
        return Response(self.represent(self.find(id)))

    def destroy(self, request: Request, id: int) -> HttpResponse:
        def erase() -> None:
            attachment = self.find(id)
            if attachment.row_id is not None:
                self.find_row(attachment.resource, attachment.row_id)
            self.account.attachments.filter(id=id).erase()

        in_transaction(erase)
        return Response("ok")

    def represent(self, row: Attachment) -> dict[str, object]:
        return {
            "id": row.id,
            "resource": row.resource or None,
            "resource_id": row.row_id,
            "part": row.part,
            "name": row.file.name,
            "content_type": row.file.content_type,
            "size": row.file.size,
            "width": row.width,
            "height": row.height,
            "url": url_of_account(self.request._request, self.account) + signed_path(row),
            "markdown": row.markdown,
            "user_id": row.user_id,
            "created_at": format_time(row.created_at, self.account.zone),
        }


# The schemas of the OpenAPI document, as far as views and serializers do not tell them

ATTACHMENT = object_of(
    id=ID,
    resource=or_null(NAME),
    resource_id=or_null(ID),
    part=NAME,
    name=NAME,
    content_type=NAME,
    size=COUNT,
    width=or_null(COUNT),
    height=or_null(COUNT),
    url=NAME,
    markdown=NAME,
    user_id=ID,
    created_at=TIME,
)
BASE64: JSONSchema = {"type": "string", "contentEncoding": "base64", "pattern": f"^{BASE64_PATTERN}$"}
describe_field(FileField, request=BASE64, response=NAME)
# A resource needs an id, and only some resources have parts. A field that is null or blank counts as missing.
NO_ID = {"required": ["resource"], "properties": {"resource": one_of(holders), "resource_id": {"not": FILLED_ID}}}
NO_PART = {"required": ["resource", "part"], "properties": {"resource": one_of(WITHOUT_PARTS), "part": one_of(PARTS)}}
SHAPES[NewAttachmentSerializer] = Shape(rules={"not": {"anyOf": [NO_ID, NO_PART]}})
QUERY_PARAMETERS["list_attachments"] = field_parameters(declared_fields(HolderSerializer))
RESPONSES["list_attachments"] = array_of(ATTACHMENT)
RESPONSES["create_attachment"] = RESPONSES["read_attachment"] = ATTACHMENT
BODIES["create_attachment"] = {"attachment": NewAttachmentSerializer}
