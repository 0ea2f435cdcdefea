"""`manage.py reload`: exchange the workers of a running web server for new ones with the new code, without a refused request."""

import os
import signal
import time
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import monitoring
from config.server import load_application
from core.db.availability import find_problem

# In seconds. The new code needs a few seconds to start, and each old worker may finish its requests for `STOP_TIMEOUT`.
TIMEOUT = 120


class Command(BaseCommand):
    help = "Exchange the workers of a running web server, one after another, for new ones with the new code."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "process", type=int, help="the process id of `manage.py serve`; $MAINPID in a unit of systemd"
        )

    def handle(self, *, process: int, **options: object) -> None:
        # This command runs with the new code. Django has made its system checks. If the new server could not import it, all workers would end.
        monitoring.import_modules()
        load_application()
        if problem := find_problem():
            raise CommandError(f"Nothing was changed. {problem}")
        old_workers = children(process)
        if not old_workers or "serve" not in arguments_of(process):
            raise CommandError(f"Process {process} is no web server.")
        try:
            os.kill(process, signal.SIGHUP)
        except OSError as error:
            raise CommandError(f"Process {process}: {error.strerror}.") from error
        deadline = time.monotonic() + TIMEOUT
        while (left := children(process)) & old_workers or not left:
            if not Path(f"/proc/{process}").exists():
                raise CommandError("The web server has ended. Its log tells why.")
            if time.monotonic() > deadline:
                raise CommandError(f"Old workers still run after {TIMEOUT} s. The log of the web server tells why.")
            time.sleep(0.1)
        self.stdout.write("All workers have the new code.")


def arguments_of(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return []


def children(process: int) -> set[str]:
    """Return the ids of the child processes. They are known on Linux only."""
    try:
        return set(Path(f"/proc/{process}/task/{process}/children").read_text().split())
    except OSError:
        return set()
