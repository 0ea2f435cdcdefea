import sys
from dataclasses import asdict
from json import dumps

from django.core.management.base import BaseCommand, CommandParser

from core.health.checks import FAULT, OK, WARNING, run_health_checks

DOCUMENT = "docs/operating.md"


class Command(BaseCommand):
    help = (
        "Check the running installation: settings, database, workers, lags, e-mail, files, addresses and a sample of stored values. The exit"
        " status is 0 if all is well, 1 after a warning, and 2 after an error."
    )
    # The checks below run the system checks themselves, and go on after an error.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def handle(self, *, json: bool, **options: object) -> None:
        results = run_health_checks()
        if json:
            self.stdout.write(dumps([asdict(result) for result in results]))
        else:
            for result in results:
                place = "" if result.level == OK else f" ({DOCUMENT}#{result.section})"
                self.stdout.write(f"{result.level:8} {result.check}: {result.message}{place}")
        levels = {result.level for result in results}
        if status := 2 if FAULT in levels else 1 if WARNING in levels else 0:
            sys.exit(status)
