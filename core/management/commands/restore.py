from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.backups import backup


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
        parser.add_argument(
            "--files", action="store_true", help="with --verify: also read each stored file, and compare its digest"
        )

    def handle(self, *, directory: Path, verify: bool, files: bool, **options: object) -> None:
        if files and not verify:
            raise CommandError("--files is for --verify only")
        try:
            found = backup.verify(directory, with_files=files) if verify else backup.restore(directory)
        except backup.BackupError as error:
            raise CommandError(str(error)) from None
        if found:
            raise CommandError("\n".join(found))
        compared = "rows, last changes and files" if files else "rows and last changes, and the list of files,"
        self.stdout.write(f"All {compared} are those of the backup.")
