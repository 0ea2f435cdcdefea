import signal
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.startup import wait_for_database
from core.jobs.worker import Worker, end_process


def number(minimum: float, maximum: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = float(text)
        if not minimum <= value <= maximum:
            raise ArgumentTypeError(f"choose a number from {minimum} to {maximum}")
        return value

    return parse


class Command(BaseCommand):
    help = (
        "Run background jobs: e-mails, notifications, webhooks, housekeeping. Any number of workers may run at the same time. The worker"
        " ends with status 75 when it has to be started again, for example after a job that exceeded its time limit."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--threads", type=int, default=4, choices=range(1, 65), metavar="N", help="how many jobs run at a time (4)"
        )
        parser.add_argument(
            "--shutdown-timeout",
            type=number(0, 3600),
            default=20,
            metavar="SECONDS",
            help="how long running jobs may take to end after SIGTERM; others are put back (20)",
        )
        parser.add_argument(
            "--heartbeat",
            type=number(0.1, 60),
            default=5,
            metavar="SECONDS",
            help="the interval of the heartbeats; after six missing ones other workers take over the jobs (5)",
        )
        parser.add_argument(
            "--database-wait",
            type=int,
            default=settings.DATABASE_WAIT,
            help="how many seconds to wait for the database and its migrations (DATABASE_WAIT)",
        )

    def handle(
        self, *, threads: int, shutdown_timeout: float, heartbeat: float, database_wait: int, **options: Any
    ) -> None:
        worker = Worker(threads=threads, shutdown_timeout=shutdown_timeout, heartbeat=heartbeat)
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, lambda *_: worker.stop.set())
        if problem := wait_for_database(int(database_wait), self.stderr.write, stop=worker.stop):
            raise CommandError(problem)
        if not worker.stop.is_set():
            end_process(worker.run())
