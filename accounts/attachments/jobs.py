"""Jobs of attachments: thumbnails, and the end of attachments whose rows were erased."""

import logging

from django.utils import timezone

from accounts.attachments.models import DRAFT_LIFETIME, erase_orphans
from accounts.attachments.reading import MAX_BYTES, chunks_of, make_thumbnail
from core.db.tenancy import account_of
from core.db.transactions import in_transaction
from core.files.models import StoredFile
from core.jobs.registry import job, periodic_job

logger = logging.getLogger("rostrum.attachments")

# The width of a picture in a text. A wider one has a thumbnail of this width.
THUMBNAIL_WIDTH = 480


@job()
def make_thumbnail_of(account_id: int, attachment_id: int) -> None:
    """Store the thumbnail of a picture, which expires with the picture."""
    account = account_of(account_id)
    attachment = account.attachments.current().filter(id=attachment_id, thumbnail_id=None).first()
    if attachment is None:
        return
    with attachment.file.open() as picture, make_thumbnail(picture, THUMBNAIL_WIDTH) as content:
        stored = StoredFile.objects.store(
            account,
            name=attachment.file.name,
            chunks=chunks_of(content),
            content_type="image/webp",
            max_bytes=MAX_BYTES,
            expires_at=timezone.now() + DRAFT_LIFETIME,
        )

    def keep() -> None:
        # Without the row, the thumbnail expires.
        rows = account.attachments.select_related("file").select_for_update(no_key=True, of=("self",))
        row = rows.filter(id=attachment_id).first()
        if row is not None:
            account.attachments.filter(id=attachment_id).update(thumbnail_id=stored.id)
            account.stored_files.filter(id=stored.id).update(expires_at=row.file.expires_at)

    in_transaction(keep)


# Before the job that erases expired files.
@periodic_job(minutes=60, offset=50, time_limit=300)
def erase_orphaned_attachments() -> None:
    """Delete the attachments of rows that were erased, such as those that left the trash. Rows may be erased by the database."""
    if erased := in_transaction(erase_orphans):
        logger.info("erased %d attachments of erased rows", erased)
