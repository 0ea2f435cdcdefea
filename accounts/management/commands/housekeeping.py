import logging
import signal
import threading

from django.apps import apps
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from django.utils import timezone

from accounts.trash import KEPT_FOR, Trashable

logger = logging.getLogger("rostrum.housekeeping")

AT_ONCE = 500


class Command(BaseCommand):
    help = "Erase what has been in the trash for more than 30 days. Safe to run at any time, and by several at once."

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
