"""Sending files: each is a draft of its sender until a text that names it is saved."""

from typing import IO, Any

from django.contrib import messages
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.attachments.jobs import THUMBNAIL_WIDTH, make_thumbnail_of
from accounts.attachments.models import DRAFT_LIFETIME, MAX_DRAFTS, MAX_FILES, Attachment
from accounts.attachments.reading import MAX_BYTES, chunks_of, read_file
from accounts.users.models import User
from core.errors import FieldError, FieldErrors
from core.files.models import MEBIBYTE, StoredFile
from core.pages.errors import error_sentence

# The maximum length of a form with files. Its other fields have at most 1 MiB.
MAX_FORM_BYTES = MAX_BYTES + MEBIBYTE
# The name of the field of forms.
FILES = "files"


def upload(account: Account, file: IO[bytes], name: str, *, by: User) -> Attachment:
    """Store a file as a draft of the user. Call this outside of a transaction. Raise FieldError for the field `file`."""
    if account.attachments.current().drafts().filter(user_id=by.id).count() >= MAX_DRAFTS:
        message = _("is one of too many that are not in a text yet (maximum is {n}); save your text first")
        raise FieldError("file", message, "drafts", {"n": MAX_DRAFTS})
    sent = read_file(file, name)
    with sent.file:
        stored = StoredFile.objects.store(
            account,
            name=sent.name,
            chunks=chunks_of(sent.file),
            content_type=sent.content_type,
            # A picture may be longer than it was sent.
            max_bytes=2 * MAX_BYTES,
            expires_at=timezone.now() + DRAFT_LIFETIME,
        )
    attachment = Attachment(account=account, file_id=stored.id, user_id=by.id, width=sent.width, height=sent.height)
    with transaction.atomic():
        attachment.save(force_insert=True)
        if sent.width is not None and sent.width > THUMBNAIL_WIDTH:
            make_thumbnail_of.defer(account_id=account.id, attachment_id=attachment.id)
    attachment.file = stored
    return attachment


def take_files(request: Any, field: str) -> dict[str, object]:
    """Store the files of a form, and name them at the end of the text in `field`. Return the values that identify what was sent.

    A file that is refused becomes a message, so that the text is not lost.
    """
    if not request.FILES:
        return {}
    sent = {field: request.POST.get(field, ""), FILES: [file.name for file in request.FILES.getlist(FILES)]}
    try:
        attachments = upload_files(request)
    except FieldErrors as caught:
        for error in caught.errors:
            messages.error(request, error_sentence(error))
        return {}
    request.POST = request.POST.copy()
    request.POST[field] = "\n\n".join([request.POST.get(field, ""), *(each.markdown for each in attachments)]).strip(
        "\n"
    )
    return sent


def upload_files(request: Any, *, limit: int = MAX_FILES) -> list[Attachment]:
    """Store the files of a form as drafts of the user, and return them. Raise FieldError."""
    files = [file for file in request.FILES.getlist(FILES) if file.name]
    if len(files) > limit:
        raise FieldError("file", _("is one of too many (maximum is {n})"), "too_many", {"n": limit})
    return [upload(request.account, file, file.name, by=request.user) for file in files]
