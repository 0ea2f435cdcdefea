import logging
import signal
import threading

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from django.utils import timezone

from core.changes import models as changes
from core.db.trash import KEPT_FOR, Trashable
from core.models import IdempotentAnswer

logger = logging.getLogger("rostrum.housekeeping")

AT_ONCE = 500


class Command(BaseCommand):
    help = (
        "Erase what has been in the trash for more than 30 days, changes that are older than 90 days, and the answers"
        " kept for an Idempotency-Key for 24 hours."
        " Safe to run at any time, and by several at once."
    )

    def add_arguments(self, parser):
        parser.add_argument(
            "--every", type=int, metavar="SECONDS", help="go on, once in so many seconds, until stopped"
        )

    def handle(self, *, every: int | None, **options):
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
                logger.error("the database is away: %s", type(error).__name__)
            connection.close()
            stop.wait(every)

    def erase(self, stop: threading.Event) -> None:
        before = timezone.now() - KEPT_FOR
        for model in apps.get_models():
            if not issubclass(model, Trashable):
                continue
            erased = 0
            while not stop.is_set() and (now := model.objects.erase(before=before, most=AT_ONCE)):
                erased += now
            if erased:
                logger.info("erased %d of %s from the trash", erased, model._meta.verbose_name_plural)
        self.erase_changes(stop)
        for model in apps.get_models():
            # What else there is to be done about a table.
            if keep_house := getattr(model._default_manager, "keep_house", None):
                keep_house()
        erased = 0
        while not stop.is_set() and (now := IdempotentAnswer.objects.erase(most=AT_ONCE)):
            erased += now
        if erased:
            logger.info("erased %d answers kept for an Idempotency-Key", erased)

    def erase_changes(self, stop: threading.Event) -> None:
        before = timezone.now() - changes.KEPT_FOR
        erased = 0
        for account in apps.get_model(settings.ACCOUNT_MODEL).objects.only("id"):
            # So that a first reader finds little to do, and what nobody reads can be erased.
            account.changes.number_all(account.id)
            while not stop.is_set() and (now := account.changes.erase(before=before, most=AT_ONCE)):
                erased += now
        if erased:
            logger.info("erased %d old changes", erased)
