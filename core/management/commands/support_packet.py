from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.backups.support import write_support_packet


class Command(BaseCommand):
    help = (
        "Write a ZIP file for somebody who helps with a fault: the results of `doctor`, versions, settings without secrets, sizes of tables,"
        " numbers of jobs, and the ends of logs. It contains no rows."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--log", type=Path, action="append", default=[], help="a file with a log, of which the end is included"
        )

    def handle(self, *, file: Path, log: list[Path], **options: object) -> None:
        try:
            write_support_packet(file, log)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None
        self.stdout.write(f"{file} is written. Read it before you send it.")
