from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.backups.backup import BackupError, back_up


class Command(BaseCommand):
    help = (
        "Write a backup of the database into a new directory, with a manifest that `restore --verify` compares. Copy the stored files after it"
        " (FILES_DIR or the bucket). It needs pg_dump of the version of the server or later."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path)

    def handle(self, *, directory: Path, **options: object) -> None:
        try:
            manifest = back_up(directory)
        except BackupError as error:
            raise CommandError(str(error)) from None
        rows = sum(sum(counts.values()) for counts in manifest["rows"].values())
        self.stdout.write(f"{directory} has {rows} rows, and names {len(manifest['files'])} stored files.")
