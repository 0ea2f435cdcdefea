from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.account.models import Account
from core.errors import StoreUnavailable
from team.archives.importing import check_archive, read_archive
from team.archives.reading import ArchiveError
from team.archives.writing import progress_on


class Command(BaseCommand):
    help = "Import an archive of `export_account` into a new account, with all ids and times: all rows or none. Nobody is notified."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", metavar="PREFIX", help="the prefix of the account, which has only its owner yet")
        parser.add_argument("file", type=Path, help="the archive")
        parser.add_argument("--dry-run", action="store_true", help="check the archive, and write nothing")

    def handle(self, *, account: str, file: Path, dry_run: bool, **options: object) -> None:
        found = Account.objects.filter(prefix=account).first()
        if found is None:
            raise CommandError(f"There is no account {account}: create it with `create_account`.")
        progress = progress_on(self.stderr)
        try:
            with file.open("rb") as archive:
                report = (
                    check_archive(archive, progress=progress)
                    if dry_run
                    else read_archive(found, archive, progress=progress)
                )
        except ArchiveError as error:
            raise CommandError(f"{file}: {error.text}") from None
        except StoreUnavailable:
            raise CommandError("The store of files does not answer.") from None
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        rows = sum(report.rows.values())
        if dry_run:
            self.stdout.write(f"{file} has {rows:,} rows, which can be read. Nothing was imported.")
            return
        self.stdout.write(f"{rows:,} rows were imported into {account}. Its owner is {report.owner}.")
        for address, replacement in report.addresses.items():
            self.stdout.write(f"The account cannot have the address {address}: the forum is at {replacement}.")
