"""`manage.py serve`: the web server, used by `make run` and by the containers."""

import os

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import server
from config.arguments import available_cores, integer_between, listening_address
from core.db.availability import wait_for_database


class Command(BaseCommand):
    help = "Start the web server, once the database answers and has every migration."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.HOST, help="the address to listen on (HOST)")
        parser.add_argument("--port", default=settings.PORT, type=integer_between(1, 65535), help="the port (PORT)")
        parser.add_argument(
            "--workers",
            default=settings.WORKERS or available_cores(),
            type=integer_between(1, 256),
            help="the number of worker processes, by default one for each core (WORKERS)",
        )
        parser.add_argument(
            "--database-wait",
            default=settings.DATABASE_WAIT,
            type=integer_between(0, 3600),
            help="how many seconds to wait for the database and its migrations (DATABASE_WAIT)",
        )

    def handle(self, *, host: str, port: int, workers: int, database_wait: int, **options: object) -> None:
        try:
            address = listening_address(host, port, is_ours=server.OLD_WORKERS in os.environ)
        except OSError as error:
            raise CommandError(f"Cannot listen on {host} port {port}: {error.strerror}.") from error
        if problem := wait_for_database(database_wait, self.stderr.write):
            raise CommandError(problem)
        self.stdout.write(f"Serving on {host} port {port} with {workers} workers.")
        self.stdout.flush()
        server.serve(address, port, workers=workers)
