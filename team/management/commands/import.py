# The command has the name of a keyword: `manage.py import`.  # noqa: N999
import json
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.account.models import Account
from core.db.transactions import in_transaction
from core.errors import FieldErrors, StoreUnavailable
from core.files.models import MEBIBYTE
from core.jobs.worker import collect_less_often
from team.batches.models import Batch, process_part
from team.exports.formats import CSVFormat
from team.import_lines.fields import RowKind
from team.import_lines.settings import ImportSettings
from team.imports.models import Import, process_check


def read_settings(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
        ImportSettings.from_json(values)
    except (ValueError, TypeError):
        raise ArgumentTypeError(
            "write the settings as a JSON object, with the fields of an import in the Account API"
        ) from None
    return dict(values)


class Command(BaseCommand):
    help = (
        "Import a CSV, TSV, XLSX or ZIP file into an account, or compare it with the account. The columns are guessed from their headings. "
        "The import can be undone on its page for 30 days."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", metavar="PREFIX", help="the prefix of the account")
        parser.add_argument("file", type=Path, help="the file")
        parser.add_argument("--user", help="the login of the user who imports it, by default the owner")
        parser.add_argument("--kind", action="append", default=[], choices=[kind.value for kind in RowKind])
        parser.add_argument(
            "--options", type=read_settings, default={}, help="settings that replace guessed ones, as JSON"
        )
        parser.add_argument(
            "--compare", action="store_true", help="tell what would be created and changed, and what is missing"
        )
        parser.add_argument("--faults", type=Path, help="write the rows with faults to this file")

    def handle(self, *, account: str, file: Path, faults: Path | None, compare: bool, **options: Any) -> None:
        row = self.upload(account, file, options)
        collect_less_often()
        try:
            row.set_settings(ImportSettings.from_json(row.parsed_settings.as_json() | options["options"]))
            self.compare(row) if compare else self.write(row)
        except FieldErrors as caught:
            raise CommandError("; ".join(error.text for error in caught.errors)) from None
        if faults is not None and row.faults:
            rows = row.faulty_rows()
            faults.write_bytes(b"".join(CSVFormat().write(next(rows), ([cells] for cells in rows))))
        if compare:
            in_transaction(row.discard)

    def upload(self, prefix: str, file: Path, options: dict[str, Any]) -> Import:
        account = Account.objects.filter(prefix=prefix).first()
        if account is None:
            raise CommandError(f"There is no account {prefix}.")
        users = account.users.all_team().filter(is_active=True)
        login = options["user"]
        user = users.find_by_login(account.id, login) if login else users.filter(role="owner").first()
        if user is None or not user.is_team:
            raise CommandError(f"{login or 'The owner'} is not an active user of the team of {prefix}.")
        user.account = account
        try:
            with file.open("rb") as content:
                chunks = iter(lambda: content.read(MEBIBYTE), b"")
                row = Import.upload(
                    account, by=user, name=file.name, chunks=chunks, kinds=options["kind"], in_job=False
                )
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        except StoreUnavailable:
            raise CommandError("The store of files does not answer.") from None
        if row.shown_error:
            raise CommandError(f"{file} {row.shown_error['message']}.")
        row.author = user
        return row

    def write(self, row: Import) -> None:
        in_transaction(lambda: row.start(by=row.author, in_job=False))
        self.follow(row, lambda: process_part("Import", row.account_id, row.id), lambda: row.processed)
        self.stdout.write(
            f"{row.created:,} created, {row.changed - row.created:,} changed, {row.unchanged:,} unchanged, {row.faults:,} with faults."
        )
        if row.state == Batch.State.FAILED:
            raise CommandError(row.get_failure_display())

    def compare(self, row: Import) -> None:
        in_transaction(lambda: row.begin_check(in_job=False))
        check_id = (row.checked or {})["id"]
        self.follow(
            row, lambda: process_check(row.account_id, row.id, check_id), lambda: (row.checked or {})["position"]
        )
        found: dict[str, Any] = row.checked or {}
        self.stdout.write(
            f"{found['created']:,} would be created, {found['changed']:,} changed, {found['unchanged']:,} are unchanged,"
            f" {found['faults']:,} have faults, {found['duplicates']:,} occur twice."
        )
        for kind, missing in found["missing"].items():
            self.stdout.write(f"{missing['number']:,} {RowKind(kind).label} are not in the file.")

    def follow(self, row: Import, act: Callable[[], bool], position: Callable[[], int]) -> None:
        """Process the parts, and show the progress on a terminal."""
        follows = True
        while follows:
            follows = act()
            row.refresh_from_db()
            if self.stderr.isatty():
                self.stderr.write(f"\r{position():,} of {row.total:,}", ending="")
        if self.stderr.isatty():
            self.stderr.write("")
