import signal
from argparse import ArgumentTypeError
from collections.abc import Callable

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.availability import wait_for_database
from core.jobs.worker import HEARTBEAT, MISSED_HEARTBEATS, Worker, collect_less_often, end_process


def number_between(minimum: float, maximum: float, parse: Callable[[str], float] = float) -> Callable[[str], float]:
    """Return a type for argparse that accepts a number in this range. `parse` is int for whole numbers."""
    kind = "a whole number" if parse is int else "a number"
    message = f"write {kind} from {minimum} to {maximum}"

    def parse_argument(text: str) -> float:
        try:
            value = parse(text)
        except ValueError:
            raise ArgumentTypeError(message) from None
        if not minimum <= value <= maximum:
            raise ArgumentTypeError(message)
        return value

    return parse_argument


class Command(BaseCommand):
    help = (
        "Run background jobs: e-mails, notifications, webhooks, housekeeping. Any number of workers may run at the same time. A worker"
        " ends with status 75 when it has to be started again, for example after a job that exceeded its time limit. To see whether"
        " workers run, use: python manage.py jobs"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--threads",
            type=number_between(1, 64, int),
            default=4,
            metavar="N",
            help="how many jobs run at a time, besides e-mails and webhooks (4)",
        )
        parser.add_argument(
            "--shutdown-timeout",
            type=number_between(0, 3600),
            default=20,
            metavar="SECONDS",
            help="how long running jobs may take to end after SIGTERM; others are put back (20)",
        )
        parser.add_argument(
            "--heartbeat",
            type=number_between(0.1, 10),
            default=HEARTBEAT,
            metavar="SECONDS",
            help=(
                f"the interval of the heartbeats, the same for all workers; after {MISSED_HEARTBEATS} missing ones other workers take over"
                f" the jobs ({HEARTBEAT})"
            ),
        )
        parser.add_argument(
            "--database-wait",
            type=number_between(0, 3600, int),
            default=settings.DATABASE_WAIT,
            metavar="SECONDS",
            help="how long to wait for the database and its migrations (DATABASE_WAIT)",
        )

    def handle(
        self, *, threads: int, shutdown_timeout: float, heartbeat: float, database_wait: int, **options: object
    ) -> None:
        worker = Worker(threads=threads, shutdown_timeout=shutdown_timeout, heartbeat=heartbeat)
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, lambda *_: worker.stop.set())
        if problem := wait_for_database(int(database_wait), self.stderr.write, stop=worker.stop):
            raise CommandError(problem)
        if not worker.stop.is_set():
            collect_less_often()
            end_process(worker.run())
