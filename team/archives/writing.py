"""Writing the archive of an account: a ZIP with a file of JSON lines for each table (`team.archives.tables`), the bytes of its stored files, and
`manifest.json`.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

import orjson
from django.core.management.base import OutputWrapper
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from accounts.account.models import Account
from core.db.time_limit import without_statement_timeout
from core.files.models import StoredFile
from team.archives.tables import TABLES

FORMAT, VERSION, MANIFEST = "rostrum-archive", 1, "manifest.json"
# The number of rows that are read together.
CHUNK_ROWS = 1000
NOTES = [
    "Passwords, tokens, sessions, invitations, codes and links of calendars are not in the archive.",
    "After an import, users sign in with a code, or set a new password by an e-mail.",
    "An import disables webhooks and gives them new secrets.",
    "Domains of forums have to be proven again after an import.",
]

# Called with the name of a file and the number of its rows so far.
Progress = Callable[[str, int], None]


def progress_on(output: OutputWrapper) -> Progress | None:
    """Return the function that shows the progress in a line of a terminal, or None for another output."""
    return (lambda file, rows: output.write(f"\r\x1b[K{file} {rows:,} ", ending="")) if output.isatty() else None


@dataclass(frozen=True, kw_only=True)
class ManifestEntry:
    """A file of rows."""

    name: str
    table: str
    columns: list[str]
    rows: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    format: str = FORMAT
    version: int = VERSION
    # The last migration of each room.
    schema: dict[str, str]
    account: dict[str, str]
    created_at: str
    # The highest id that the account has given to a row, which may have been erased.
    last_id: int
    notes: list[str] = field(default_factory=lambda: NOTES)
    files: list[ManifestEntry]


def write_archive(account: Account, file: IO[bytes], *, progress: Progress | None = None) -> Manifest:
    """Write the archive of an account, with all rows as they are at the beginning. Call this outside of a transaction.

    The file may be a stream that cannot be read or repositioned. Raise StoreUnavailable if the bytes of a stored file cannot be read.
    """
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        # The bytes of files are read without a statement.
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        with without_statement_timeout(), ZipFile(file, "w", ZIP_DEFLATED) as archive:
            files = [write_table(archive, name, account.id, progress) for name in TABLES]
            stored_files = StoredFile.objects.filter(account_id=account.id, expires_at=None).order_by("id")
            for number, stored in enumerate(stored_files.iterator(), start=1):
                with archive.open(f"files/{stored.id}", "w", force_zip64=True) as output:
                    for chunk in stored.read():
                        output.write(chunk)
                        if progress:
                            progress("files", number)
            cursor.execute("SELECT coalesce(max(last), 0) FROM account_ids.counter WHERE account_id = %s", [account.id])
            [last_id] = cursor.fetchone()
            account.refresh_from_db()
            manifest = Manifest(
                schema=dict(sorted(MigrationRecorder(connection).applied_migrations())),
                account={"name": account.name, "prefix": account.prefix},
                created_at=timezone.now().isoformat(),
                last_id=last_id,
                files=files,
            )
            archive.writestr(MANIFEST, orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2))
    return manifest


def count_rows(account: Account) -> int:
    """Return the number of rows and of stored files that an archive of the account has now, as the progress counts them."""
    with without_statement_timeout(), connection.cursor() as cursor:
        selects = [TABLES["files"].select, *(table.select for table in TABLES.values())]
        counts = " + ".join(f"(SELECT count(*) FROM ({select}) AS row)" for select in selects)  # noqa: S608
        cursor.execute(f"SELECT {counts}", [account.id] * len(selects))
        [number] = cursor.fetchone()
    return int(number)


def write_table(archive: ZipFile, name: str, account_id: int, progress: Progress | None) -> ManifestEntry:
    table, file, digest, number = TABLES[name], f"{name}.jsonl", hashlib.sha256(), 0
    # A cursor of the server is as fast as COPY here: most of the time goes into the compression.
    with archive.open(file, "w", force_zip64=True) as output, connection.chunked_cursor() as cursor:
        cursor.execute(table.select, [account_id])
        while rows := cursor.fetchmany(CHUNK_ROWS):
            lines = "".join(f"{row}\n" for (row,) in rows).encode()
            digest.update(lines)
            output.write(lines)
            number += len(rows)
            if progress:
                progress(file, number)
    return ManifestEntry(name=file, table=table.name, columns=table.columns, rows=number, sha256=digest.hexdigest())
