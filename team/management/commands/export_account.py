from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.account.models import Account
from core.errors import StoreUnavailable
from team.archives.writing import progress_on, write_archive


class Command(BaseCommand):
    help = "Write the archive of an account: a ZIP with all of its rows, without secrets. `import_account` reads it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", metavar="PREFIX", help="the prefix of the account")
        parser.add_argument("file", type=Path, help="the file to create, which only its owner can read")

    def handle(self, *, account: str, file: Path, **options: object) -> None:
        found = Account.objects.filter(prefix=account).first()
        if found is None:
            raise CommandError(f"There is no account {account}.")
        try:
            file.touch(mode=0o600, exist_ok=False)
        except OSError as error:
            raise CommandError(f"{file} cannot be created: {error.strerror}.") from None
        try:
            with file.open("wb") as output:
                manifest = write_archive(found, output, progress=progress_on(self.stderr))
        except BaseException as error:
            # Nobody must take an incomplete file for an archive.
            file.unlink()
            if isinstance(error, StoreUnavailable):
                raise CommandError("The store of files does not answer, or has lost a file.") from None
            raise
        self.stdout.write(f"{sum(entry.rows for entry in manifest.files):,} rows of {account} are in {file}.")
