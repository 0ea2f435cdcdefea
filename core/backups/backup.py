"""Backups of the database, with a manifest that proves a restored copy.

A backup is a directory with `database.dump`, in the custom format of pg_dump, and `manifest.json`. Both show one moment: pg_dump reads the
snapshot in which the manifest was counted.
"""

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from django.utils import timezone
from psycopg import sql

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


def environment(database: str) -> dict[str, str]:
    """Return the environment of the programs of PostgreSQL. A password among their arguments would be visible to other users."""
    values = connection.get_connection_params()
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "sslmode": "PGSSLMODE"}
    return (
        os.environ
        | {name: str(values[key]) for key, name in names.items() if values.get(key)}
        | {"PGDATABASE": database}
    )


def run(program: str, *arguments: str, database: str) -> None:
    path = shutil.which(program)
    if path is None:
        raise BackupError(f"{program} is not in PATH: install the client programs of PostgreSQL")
    command = [path, "--no-password", *arguments]
    ended = subprocess.run(command, env=environment(database), capture_output=True, text=True, check=False)  # noqa: S603  # no text of users
    if ended.returncode:
        raise BackupError(f"{program} failed: {ended.stderr.strip()[-500:]}")


def back_up(folder: Path) -> dict[str, Any]:
    """Write a backup into a new directory, and return its manifest. Raise BackupError."""
    if folder.exists():
        raise BackupError(f"{folder} exists already")
    folder.mkdir(parents=True, mode=0o700)
    try:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                # Counting the rows of large tables takes longer than a request may.
                cursor.execute("SET LOCAL statement_timeout = 0")
                cursor.execute("SELECT pg_export_snapshot()")
                [snapshot] = cursor.fetchone()
                about = {"version": settings.VERSION, "at": timezone.now().isoformat(timespec="seconds")}
                manifest = about | read_manifest(cursor)
                target = f"--file={folder / DUMP}"
                database = str(connection.settings_dict["NAME"])
                run("pg_dump", "--format=custom", f"--snapshot={snapshot}", target, database=database)
            finally:
                cursor.execute("ROLLBACK")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))
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


def load_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError) as error:
        raise BackupError(f"{folder} is no complete backup: {MANIFEST} can't be read") from error
    return manifest


@contextmanager
def connected(database: str) -> Iterator[Any]:
    """Connect to another database of the server."""
    values = connection.get_connection_params()
    kept = {key: values[key] for key in ("host", "port", "user", "password", "sslmode") if values.get(key)}
    with psycopg.connect(dbname=database, autocommit=True, **kept) as other, other.cursor() as cursor:
        yield cursor


def verify(folder: Path) -> list[str]:
    """Restore a backup into a scratch database, compare it with the manifest, and drop it. Return what differs. Raise BackupError."""
    manifest = load_manifest(folder)
    scratch = f"rostrum_verify_{secrets.token_hex(6)}"
    with connected(str(connection.settings_dict["NAME"])) as cursor:
        cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(scratch)))
        try:
            load_dump(folder, scratch)
            with connected(scratch) as copy:
                return differences(manifest, read_manifest(copy))
        finally:
            cursor.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(scratch)))


def restore(folder: Path) -> list[str]:
    """Restore a backup into the database of the settings, which has to be empty. Return what differs. Raise BackupError."""
    manifest = load_manifest(folder)
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        if cursor.fetchall():
            raise BackupError("The database is not empty: create an empty one, and name it in DATABASE_URL")
    load_dump(folder, str(connection.settings_dict["NAME"]))
    with connection.cursor() as cursor:
        return differences(manifest, read_manifest(cursor))


def load_dump(folder: Path, database: str) -> None:
    options = ("--exit-on-error", "--no-owner", "--no-privileges", f"--dbname={database}")
    run("pg_restore", *options, str(folder / DUMP), database=database)
