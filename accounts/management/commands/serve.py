"""`manage.py serve`: the web server, in `make run` as well as in a container."""

import contextlib
import os
import socket
import sys
import time
from argparse import ArgumentTypeError

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

# For glibc, whatever has another allocator ignores it. Threads share two heaps, as what each of many keeps for itself comes to
# far more than is in use; and large blocks, such as a password takes to check, go back to the system.
MALLOC = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(1024 * 1024),
    "MALLOC_TRIM_THRESHOLD_": str(4 * 1024 * 1024),
}


def between(lowest: int, highest: int):
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not lowest <= int(text) <= highest:
            raise ArgumentTypeError(f"write a whole number from {lowest} to {highest}, not {text!r}")
        return int(text)

    return parse


def cores() -> int:
    """Those that this process may use; a container may have fewer than the machine."""
    with contextlib.suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve(host: str, port: int) -> str:
    """The address to listen on (the server takes no names), once it is known that nobody else does.

    The server would share the port with another one of its kind, and each would get some of the requests. Raises OSError.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        probe.listen()
    return address[0]


class Command(BaseCommand):
    help = "Serve requests, once the database is there and migrated."

    def add_arguments(self, parser):
        parser.add_argument("--host", default=settings.HOST, help="address to listen on (HOST)")
        parser.add_argument("--port", default=settings.PORT, type=between(1, 65535), help="port (PORT)")
        parser.add_argument(
            "--workers",
            default=settings.WORKERS or cores(),
            type=between(1, 256),
            help="processes that answer requests, one a core if not given (WORKERS)",
        )
        parser.add_argument(
            "--database-wait",
            default=settings.DATABASE_WAIT,
            type=between(0, 3600),
            help="seconds to wait for the database and its migrations (DATABASE_WAIT)",
        )

    def handle(self, *, host, port, workers, database_wait, **options):
        try:
            address = resolve(host, port)
        except OSError as error:
            raise CommandError(f"Cannot listen on {host} port {port}: {error.strerror}.") from error
        self.wait_for_database(database_wait)
        connection.close()
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
            # Open connections of one worker, idle ones included. More wait in the kernel; the usual limit is 1,024 files.
            "--backpressure": settings.CLIENT_CONNECTIONS,
            "--backlog": 1024,
            "--http1-header-read-timeout": settings.HEADER_SECONDS * 1000,
            # Less than the ten seconds after which containers are killed.
            "--workers-kill-timeout": 8,
        }
        given = [text for name, value in arguments.items() for text in (name, str(value))]
        flags = ["--no-ws", "--respawn-failed-workers", "--no-access-log"]  # the service writes its own access log
        os.chdir(settings.BASE_DIR)
        command = [sys.executable, "-m", "config.server", *given, *flags, "config.wsgi:application"]
        os.execve(sys.executable, command, {**MALLOC, **os.environ})  # noqa: S606

    def wait_for_database(self, seconds: int) -> None:
        """Return when the database answers and has every migration; say what is missing, again every few seconds."""
        began = time.monotonic()
        said = when = None
        while missing := self.missing():
            waited = time.monotonic() - began
            if waited >= seconds:
                raise CommandError(f"Gave up after {seconds} s. {missing}")
            if missing != said or waited - when >= 5:
                said, when = missing, waited
                self.stderr.write(f"Waiting, {waited:.0f} of {seconds} s. {missing}")
            time.sleep(0.5)

    def missing(self) -> str:
        try:
            executor = MigrationExecutor(connection)
        except OperationalError as error:
            connection.close()
            return f"The database does not answer: {str(error).strip().splitlines()[-1]}"
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if not plan:
            return ""
        return f"{len(plan)} migrations are missing (the first is {plan[0][0]}): run python manage.py migrate"
