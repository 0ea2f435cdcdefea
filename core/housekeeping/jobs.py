"""Periodic jobs that erase old data, in batches.

A job stops ten seconds before its time limit, and the next one continues. Any number of jobs may run at the same time.

A manager whose table has rows that expire defines `outdated()`, which returns them. A manager whose table needs other
maintenance defines `clean_up()`.
"""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.db.models import QuerySet
from django.utils import timezone

from core.changes.followers import assign_numbers
from core.changes.models import CHANGE_RETENTION, Change
from core.db.tenancy import account_of
from core.jobs.queue import Job
from core.jobs.registry import has_time_left, periodic_job
from core.rows.trash import Trashable

logger = logging.getLogger("rostrum.housekeeping")

BATCH_SIZE = 500
FAILED_JOB_RETENTION = timedelta(days=30)
# In seconds.
TIME_LIMIT = 600


def erase_in_batches(erase: Callable[[], int]) -> int:
    """Call `erase`, which returns the number of rows that it erased, until nothing is left or the time is over."""
    erased = 0
    while has_time_left() and (count := erase()):
        erased += count
    return erased


def erase_rows(rows: "QuerySet[Any]") -> int:
    """Erase the rows of a queryset in batches. Return how many rows were erased, with those that refer to them."""
    # The deletion repeats the condition of `rows`, because a concurrent transaction may change a row after the selection.
    batch = rows.filter(pk__in=rows.order_by().values("pk")[:BATCH_SIZE])
    return erase_in_batches(lambda: batch.delete()[0])


@periodic_job(minutes=60, offset=5, time_limit=TIME_LIMIT)
def erase_trash() -> None:
    """Erase resources that have been in the trash for more days than their account has chosen."""
    for model in apps.get_models():
        if issubclass(model, Trashable):
            erased = erase_in_batches(lambda model=model: model.objects.erase(limit=BATCH_SIZE))  # type: ignore[misc]
            if erased:
                logger.info("erased %d of %s from the trash", erased, model._meta.verbose_name_plural)


@periodic_job(minutes=60, offset=15, time_limit=TIME_LIMIT)
def erase_changes() -> None:
    """Erase the old changes of all accounts."""
    before = timezone.now() - CHANGE_RETENTION
    # Only changes with numbers can be erased. The worker numbers them; a worker that has stopped may have left some.
    while has_time_left() and assign_numbers():
        pass
    erased, after = 0, -1
    while has_time_left() and (
        accounts := Change.objects.erasable_accounts(before=before, after=after, limit=BATCH_SIZE)
    ):
        for account in map(account_of, accounts):
            erased += erase_in_batches(lambda account=account: account.changes.erase(before=before, limit=BATCH_SIZE))  # type: ignore[misc]
        after = accounts[-1]
    if erased:
        logger.info("erased %d old changes", erased)


@periodic_job(minutes=60, offset=25, time_limit=TIME_LIMIT)
def erase_outdated_rows() -> None:
    """Erase the rows that their managers call outdated, such as expired sessions."""
    for model in apps.get_models():
        outdated = getattr(model._default_manager, "outdated", None)
        if outdated and (erased := erase_rows(outdated())):
            logger.info("erased %d old %s", erased, model._meta.verbose_name_plural)


@periodic_job(minutes=60, offset=35, time_limit=TIME_LIMIT)
def clean_up_tables() -> None:
    """Call the maintenance that managers define for their tables."""
    for model in apps.get_models():
        clean_up = getattr(model._default_manager, "clean_up", None)
        if clean_up and has_time_left():
            clean_up()


@periodic_job(minutes=60, offset=45, time_limit=TIME_LIMIT)
def erase_failed_jobs() -> None:
    """Erase jobs that failed more than 30 days ago."""
    old = Job.objects.filter(state=Job.State.FAILED, scheduled_at__lt=timezone.now() - FAILED_JOB_RETENTION)
    if erased := erase_rows(old):
        logger.info("erased %d failed jobs", erased)
