"""Jobs that erase files: those that have expired, and those of deleted accounts."""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils import timezone

from core.files import store
from core.files.models import MAX_STORING_TIME, StoredFile
from core.housekeeping.jobs import TIME_LIMIT, erase_in_batches
from core.jobs.registry import MAX_TIME_SLICE, RetryDelays, has_time_left, job, periodic_job

logger = logging.getLogger("rostrum.files")


@periodic_job(minutes=60, offset=55, time_limit=TIME_LIMIT)
def erase_expired_files() -> None:
    if erased := erase_in_batches(StoredFile.objects.erase_expired):
        logger.info("erased %d expired files", erased)


@job(time_slice=MAX_TIME_SLICE, retry=RetryDelays(600, 3600, 6 * 3600, 24 * 3600), runs_when_closed=True)
def erase_files_of_account(account_id: int) -> None:
    """Erase the bytes of the files of a deleted account, whose rows were deleted with it."""
    for keys in store.keys_of(str(account_id)):
        store.delete(keys)
        if not has_time_left():
            erase_files_of_account.defer(account_id=account_id)
            return


@receiver(post_delete, sender=settings.ACCOUNT_MODEL)
def on_account_deleted(instance: Any, **_arguments: object) -> None:
    # A request that stores a file may still be running.
    erase_files_of_account.defer(
        account_id=instance.id, _schedule_at=timezone.now() + MAX_STORING_TIME + timedelta(minutes=1)
    )
