"""DATABASE_URL and the connections made from it."""

import os
import runpy
import subprocess
import sys

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from config.environment import database
from tests.support.tables import table

URL_OF_TWO_HOSTS = "postgresql://ann:p%40ss@a:1,b:2/rostrum"


def database_settings(monkeypatch, url: str, **environment: str) -> dict:
    for name, value in {"DATABASE_URL": url, **environment}.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(settings.BASE_DIR / "config" / "settings.py"))["DATABASES"]["default"]


@table(
    ("url", "values"),
    [
        ("postgresql://ann:p%40ss@db:5433/rostrum", ("ann", "p@ss", "db", "5433", "rostrum", {})),
        ("postgres://ann@[::1]/rostrum?sslmode=require", ("ann", "", "::1", "", "rostrum", {"sslmode": "require"})),
        (URL_OF_TWO_HOSTS, ("ann", "p@ss", "a,b", "1,2", "rostrum", {})),
        ("postgresql://ann@a,b/rostrum", ("ann", "", "a,b", ",", "rostrum", {})),
        ("postgresql://ann@a:1,b/rostrum", ("ann", "", "a,b", "1,", "rostrum", {})),
        ("postgresql://ann@/rostrum?host=a,b", ("ann", "", "a,b", "", "rostrum", {})),
        ("postgresql://ann@%2Frun%2FPG:1/rostrum", ("ann", "", "/run/PG", "1", "rostrum", {})),
    ],
)
def test_it_works(url, values):
    names = ("USER", "PASSWORD", "HOST", "PORT", "NAME", "OPTIONS")
    assert database(url) == dict(zip(names, values, strict=True))


@table(
    "url",
    [
        "postgresql://ann:hunter2/x@db/rostrum",
        "postgresql://ann:hunter2@db:0/rostrum",
        "postgresql://ann:hunter2@db:65536/rostrum",
        "postgresql://ann:hunter2@a,b,c/rostrum?port=1,2",
        "postgresql://ann:hunter2@db",
        "postgresql://ann:hunter2@db/rostrum?hunter2=1",
        "postgresql://ann:hunter2%@db/rostrum",
    ],
)
def test_it_rejects_invalid_addresses(url):
    with pytest.raises(ValueError, match=r"^write an address such as postgresql://") as error:
        database(url)
    assert "hunter2" not in str(error.value)


def test_connections_detect_a_lost_server(monkeypatch):
    options = database_settings(monkeypatch, "postgresql://ann@db/rostrum")["OPTIONS"]
    assert (options["keepalives"], options["tcp_user_timeout"], options["connect_timeout"]) == (1, 15_000, 5)
    assert "target_session_attrs" not in options
    # Every parameter of the address is used.
    options = database_settings(monkeypatch, "postgresql://ann@db/rostrum?connect_timeout=9&keepalives=0")["OPTIONS"]
    assert (options["keepalives"], options["connect_timeout"]) == ("0", "9")


def test_connections_prefer_a_host_that_accepts_writes(monkeypatch):
    for query, expected in (("", "read-write"), ("?target_session_attrs=any", "any")):
        configured = database_settings(monkeypatch, URL_OF_TWO_HOSTS + query)
        values = configured["HOST"], configured["PORT"], configured["OPTIONS"]["target_session_attrs"]
        assert values == ("a,b", "1,2", expected)


def test_a_command_reaches_the_second_host():
    """psycopg and libpq each parse a part of the settings, so this test opens a connection."""
    host, port = connection.settings_dict["HOST"], connection.settings_dict["PORT"] or "5432"
    name = connection.settings_dict["NAME"].removeprefix("test_").partition("_gw")[0]
    user = connection.settings_dict["USER"]
    url = f"postgresql://{user}@/{name}?host=127.0.0.1,{host}&port=1,{port}"
    command = "from django.db import connection; connection.ensure_connection(); print(connection.connection.info.host)"
    completed = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v0", "-c", command],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": url, "PGPASSWORD": connection.settings_dict["PASSWORD"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (completed.stdout.strip(), completed.stderr) == (host, "")


def test_hosts_without_ports_have_the_default_port():
    """No server listens at these hosts. The error lists all of them with the port."""
    configured = database("postgresql://ann@127.0.0.1,127.0.0.2/rostrum")
    with pytest.raises(psycopg.OperationalError) as error:
        psycopg.connect(host=configured["HOST"], port=configured["PORT"], dbname="none", user="none", connect_timeout=2)
    assert [f'"127.0.0.{n}", port 5432' in str(error.value) for n in (1, 2)] == [True, True]
