"""The pages of attachments: sending a file as a draft, and the file itself."""

from http import HTTPStatus

from django.http import Http404, HttpResponse, JsonResponse

from accounts.attachments.models import is_signed
from accounts.attachments.uploading import MAX_FORM_BYTES, upload_files
from accounts.hosts.requests import PageRequest, UserRequest
from core.errors import FieldErrors
from core.files.responses import file_response
from core.pages.base import Page
from core.pages.errors import error_sentence
from core.tenants import TenantUser


class UploadPage(Page):
    """A file that a user pastes or drops into a text, for `attachments.js`. The response has the Markdown that names it."""

    request: UserRequest
    http_method_names = ["post"]
    access = "user"
    is_of_forum = True
    max_body_bytes = MAX_FORM_BYTES

    def allows(self, user: TenantUser) -> bool:
        return self.request.site.may_be_read_by(self.request.user)

    def post(self, request: UserRequest) -> HttpResponse:
        try:
            attachments = upload_files(request, limit=1)
        except FieldErrors as errors:
            message = " ".join(map(error_sentence, errors.errors))
            return JsonResponse({"message": message}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        for attachment in attachments:
            values = {"id": attachment.id, "markdown": attachment.markdown}
            return JsonResponse(values, status=HTTPStatus.CREATED)
        return JsonResponse({"message": ""}, status=HTTPStatus.BAD_REQUEST)


class AttachmentPage(Page):
    """The file of an attachment, for those who may see what it belongs to. `size=small` is the thumbnail of a picture."""

    request: PageRequest
    http_method_names = ["get", "head"]
    is_of_forum = True

    def get(self, request: PageRequest, id: int, name: str) -> HttpResponse:
        attachment = request.account.attachments.current().filter(id=id).first()
        if attachment is not None:
            attachment.account = request.account
        if attachment is None:
            raise Http404
        if not (is_signed(attachment, request.GET.get("token", "")) or attachment.is_visible_to(request.user)):
            raise Http404
        file = attachment.file
        if request.GET.get("size") == "small" and attachment.is_picture and attachment.thumbnail is not None:
            file = attachment.thumbnail
        return file_response(request, file, inline=attachment.is_picture)
