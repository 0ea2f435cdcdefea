"""`manage.py serve`: the web server, used by `make run` and by the containers."""

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.serving.arguments import available_cores, integer_between, listening_address
from core.db.startup import wait_for_database

# Settings of glibc's allocator; other allocators ignore them. All threads share two arenas. With one arena for each thread, the
# allocator would keep far more freed memory than the memory in use. Blocks of 1 MiB, such as those of a password hash, are
# returned to the system when they are freed.
MALLOC_VARIABLES = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(1024 * 1024),
    "MALLOC_TRIM_THRESHOLD_": str(4 * 1024 * 1024),
}


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

    def handle(self, *, host: str, port: int, workers: int, database_wait: int, **options: Any) -> None:
        try:
            address = listening_address(host, port)
        except OSError as error:
            raise CommandError(f"Cannot listen on {host} port {port}: {error.strerror}.") from error
        if problem := wait_for_database(database_wait, self.stderr.write):
            raise CommandError(problem)
        self.stdout.write(f"Serving on {host} port {port} with {workers} workers.")
        self.stdout.flush()
        arguments = {
            "--interface": "wsgi",
            "--http": "1",
            "--host": address,
            "--port": port,
            "--workers": workers,
            "--blocking-threads": settings.THREADS,
            "--blocking-threads-idle-timeout": 600,
            # The limit of open connections for each worker, including idle connections. Further connections wait in the kernel.
            # The limit has to stay below the usual limit of 1,024 open files.
            "--backpressure": settings.MAX_CLIENT_CONNECTIONS,
            "--backlog": 1024,
            "--http1-header-read-timeout": settings.HEADER_TIMEOUT * 1000,
            # By default, Docker kills a container ten seconds after asking it to stop. The workers have to end earlier.
            "--workers-kill-timeout": 8,
        }
        option_arguments = [text for name, value in arguments.items() for text in (name, str(value))]
        flags = ["--no-ws", "--respawn-failed-workers", "--no-access-log"]  # `config.wsgi` writes the access log
        os.chdir(settings.BASE_DIR)
        command = [sys.executable, "-m", "config.serving.server", *option_arguments, *flags, "config.wsgi:application"]
        os.execve(sys.executable, command, {**MALLOC_VARIABLES, **os.environ})  # noqa: S606
