import logging
import signal
import threading
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, connection
from django.utils import timezone

from core.changes import models as changes
from core.db.trash import KEPT_FOR, Trashable
from core.models import IdempotentAnswer

logger = logging.getLogger("rostrum.housekeeping")

BATCH_SIZE = 500


class Command(BaseCommand):
    """The regular deletion of old data."""

    help = (
        "Erase resources that have been in the trash for more than 30 days, changes older than 90 days, and answers that were"
        " stored for an Idempotency-Key more than 24 hours ago. Any number of processes may run this at any time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--every", type=int, metavar="SECONDS", help="repeat after this many seconds, until stopped"
        )

    def handle(self, *args: Any, every: int | None, **options: Any) -> None:
        stop = threading.Event()
        if every is None:
            self.erase(stop)
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        while not stop.is_set():
            try:
                self.erase(stop)
            except DatabaseError as error:
                logger.error("the database is not available: %s", type(error).__name__)
            connection.close()
            stop.wait(every)

    def erase(self, stop: threading.Event) -> None:
        """Erase all old data in batches, until `stop` is set."""
        before = timezone.now() - KEPT_FOR
        for model in apps.get_models():
            if not issubclass(model, Trashable):
                continue
            erased = 0
            while not stop.is_set() and (count := model.objects.erase(before=before, limit=BATCH_SIZE)):
                erased += count
            if erased:
                logger.info("erased %d of %s from the trash", erased, model._meta.verbose_name_plural)
        self.erase_changes(stop)
        for model in apps.get_models():
            # A manager may define further maintenance of its table.
            if clean_up := getattr(model._default_manager, "clean_up", None):
                clean_up()
        erased = 0
        while not stop.is_set() and (count := IdempotentAnswer.objects.erase(limit=BATCH_SIZE)):
            erased += count
        if erased:
            logger.info("erased %d answers stored for an Idempotency-Key", erased)

    def erase_changes(self, stop: threading.Event) -> None:
        """Erase the old changes of all accounts."""
        before = timezone.now() - changes.CHANGE_RETENTION
        erased = 0
        accounts: Any = apps.get_model(settings.ACCOUNT_MODEL)._default_manager
        for account in accounts.only("id"):
            # Only changes with numbers can be erased. The next reader of the feed also has fewer numbers to assign.
            account.changes.assign_all_numbers(account.id)
            while not stop.is_set() and (count := account.changes.erase(before=before, limit=BATCH_SIZE)):
                erased += count
        if erased:
            logger.info("erased %d old changes", erased)
