from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.backups.backup import BackupError, restore, verify


class Command(BaseCommand):
    help = (
        "Restore a backup of `manage.py backup` into the database of DATABASE_URL, which has to be empty, or only verify it. The exit status is 1"
        " if the restored rows are not those of the backup."
    )
    # The database is empty before.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path)
        parser.add_argument(
            "--verify",
            action="store_true",
            help="restore into a new database of the same server, compare the rows and the last changes, and drop it",
        )

    def handle(self, *, directory: Path, verify: bool, **options: object) -> None:
        try:
            found = check(directory) if verify else restore(directory)
        except BackupError as error:
            raise CommandError(str(error)) from None
        if found:
            raise CommandError("\n".join(found))
        self.stdout.write("All rows, last changes and files are those of the backup.")


check = verify
