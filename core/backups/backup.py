"""Backups of the database, with a manifest that proves a restored copy.

A backup is a directory with `database.dump`, in the custom format of pg_dump, and `manifest.json`. Both show one moment: pg_dump reads the
snapshot in which the manifest was counted.
"""

import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from django.utils import timezone
from obstore.exceptions import BaseError
from psycopg import sql
from psycopg.conninfo import make_conninfo

from core.errors import StoreUnavailable
from core.files import store

DUMP, MANIFEST = "database.dump", "manifest.json"
# Rows of accounts are counted for each account.
TABLES = """
SELECT format('%I.%I', relnamespace::regnamespace, relname),
    EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'account_id' AND NOT attisdropped)
FROM pg_class WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('public', 'account_ids') ORDER BY 1
"""
LAST_CHANGES = "SELECT account_id, max(number) FROM core_change WHERE number IS NOT NULL GROUP BY 1 ORDER BY 1"
FILES = "SELECT account_id, key, size, sha256 FROM core_storedfile WHERE expires_at IS NULL ORDER BY 1, 2"


class BackupError(Exception):
    """A backup or a restoration that is not possible, with the reason."""


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Raise BackupError for errors of the database, of the disk and of the store. SIGTERM ends the block as Ctrl-C does, so that it cleans up."""
    previous = signal.signal(signal.SIGTERM, lambda *_arguments: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    except (OSError, psycopg.Error, StoreUnavailable) as error:
        raise BackupError(str(error).strip() or type(error).__name__) from error
    finally:
        signal.signal(signal.SIGTERM, previous)


def parameters(database: str) -> dict[str, Any]:
    """Return the parameters of libpq for a database of the server. `options` is left out: it has the time limits of requests."""
    if settings.DATABASE_POOLER:
        raise BackupError("DATABASE_URL is the address of PgBouncer: name the server itself, without DATABASE_POOLER")
    known = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()} - {"options"}
    values = connection.get_connection_params()
    return {name: value for name, value in values.items() if name in known and value} | {"dbname": database}


@contextmanager
def connected(database: str) -> Iterator[Any]:
    """Connect to a database of the server, without time limits: large tables take longer than a request may."""
    with psycopg.connect(**parameters(database), autocommit=True) as other, other.cursor() as cursor:
        for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
            cursor.execute(f"SET {name} = 0")
        yield cursor


def run(program: str, *arguments: str, database: str) -> None:
    """Run a program of PostgreSQL. Its arguments name no password, because other users can see them."""
    path = shutil.which(program)
    if path is None:
        raise BackupError(f"{program} is not in PATH: install the client programs of PostgreSQL")
    values = parameters(database)
    environment = os.environ | {"PGPASSWORD": str(values.pop("password", ""))}
    command = [path, "--no-password", f"--dbname={make_conninfo(**values)}", *arguments]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  # no text of users
    if ended.returncode:
        raise BackupError(f"{program} failed: {ended.stderr.strip()[-500:]}")


def name_of_database() -> str:
    return str(connection.settings_dict["NAME"])


def read_manifest(cursor: Any) -> dict[str, Any]:
    """Count the rows of all tables, by account where they belong to one, and list the stored files with their digests."""
    cursor.execute(TABLES)
    counts: dict[str, dict[str, int]] = {}
    for name, has_account in cursor.fetchall():
        columns = "account_id::text" if has_account else "''"
        cursor.execute(f"SELECT {columns}, count(*) FROM {name} GROUP BY 1 ORDER BY 1")  # noqa: S608
        counts[name] = dict(cursor.fetchall())
    cursor.execute(LAST_CHANGES)
    last_changes = {str(account_id): number for account_id, number in cursor.fetchall()}
    cursor.execute(FILES)
    return {"rows": counts, "last_changes": last_changes, "files": [list(row) for row in cursor.fetchall()]}


@reporting_errors()
def back_up(folder: Path) -> dict[str, Any]:
    """Write a backup into a new directory, and return its manifest. Raise BackupError."""
    if folder.exists():
        raise BackupError(f"{folder} exists already")
    folder.mkdir(parents=True, mode=0o700)
    try:
        with connected(name_of_database()) as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute("SELECT pg_export_snapshot()")
            [snapshot] = cursor.fetchone()
            about = {"version": settings.VERSION, "at": timezone.now().isoformat(timespec="seconds")}
            manifest = about | read_manifest(cursor)
            arguments = ("--format=custom", f"--snapshot={snapshot}", f"--file={folder / DUMP}")
            run("pg_dump", *arguments, database=name_of_database())
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return manifest


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return sentences about what differs between two manifests."""
    sentences = []
    for name in sorted(expected["rows"].keys() | found["rows"].keys()):
        before, after = expected["rows"].get(name, {}), found["rows"].get(name, {})
        if before != after:
            sentences.append(f"{name} has {sum(after.values())} rows in place of {sum(before.values())}")
    sentences += [
        f"the last change of account {id} has the number {found['last_changes'].get(id)} in place of {number}"
        for id, number in expected["last_changes"].items()
        if found["last_changes"].get(id) != number
    ]
    if expected["files"] != found["files"]:
        sentences.append("the list of stored files differs")
    return sentences


def damaged_files(manifest: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each stored file that is missing or has another content than at the time of the backup."""
    for account_id, key, size, digest in manifest["files"]:
        content = hashlib.sha256()
        try:
            for chunk in store.read(key, 0, size):
                content.update(chunk)
        except (OSError, StoreUnavailable, BaseError) as error:
            yield f"the file {key} of account {account_id} can't be read: {type(error).__name__}"
            continue
        if content.hexdigest() != digest:
            yield f"the file {key} of account {account_id} is damaged"


def load_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        is_complete = all(isinstance(manifest[name], dict | list) for name in ("rows", "last_changes", "files"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupError(f"{folder} is no complete backup: {MANIFEST} can't be read") from error
    if not is_complete:
        raise BackupError(f"{folder} is no complete backup: {MANIFEST} has another form")
    return manifest


@reporting_errors()
def verify(folder: Path, *, with_files: bool = False) -> list[str]:
    """Restore a backup into a scratch database, compare it with the manifest, and drop it. Return what differs. Raise BackupError.

    With `with_files`, the files in the store are compared, too.
    """
    manifest = load_manifest(folder)
    scratch = f"rostrum_verify_{secrets.token_hex(6)}"
    with connected(name_of_database()) as cursor:
        cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(scratch)))
        try:
            load_dump(folder, scratch)
            with connected(scratch) as copy:
                found = differences(manifest, read_manifest(copy))
        finally:
            cursor.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(scratch)))
    return [*found, *(damaged_files(manifest) if with_files else ())]


@reporting_errors()
def restore(folder: Path) -> list[str]:
    """Restore a backup into the database of the settings, which has to be empty. Return what differs. Raise BackupError."""
    manifest = load_manifest(folder)
    with connected(name_of_database()) as cursor:
        cursor.execute(TABLES)
        if cursor.fetchall():
            raise BackupError("The database is not empty: create an empty one, and name it in DATABASE_URL")
        load_dump(folder, name_of_database())
        return differences(manifest, read_manifest(cursor))


def load_dump(folder: Path, database: str) -> None:
    """Load all of a dump, or nothing."""
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    run("pg_restore", *options, str(folder / DUMP), database=database)
