"""The checks of the database (`check --database default`). tests/test_pgbouncer.py tests those of a pooler."""

from django.core.checks import Tags, run_checks
from django.db import OperationalError

from core.db import checks as database_checks


def run() -> list[tuple[str, str]]:
    messages = run_checks(tags=[Tags.database], databases=["default"])
    return [(message.id, message.msg) for message in messages]


def test_it_works(db):
    assert run() == []


def test_it_rejects_an_unavailable_database(db, monkeypatch, settings):
    def fail():
        raise OperationalError("connection failed: connection refused")

    settings.DATABASE_POOLER = True
    monkeypatch.setattr(database_checks, "session_settings", fail)
    assert run() == [("rostrum.E014", "The database does not answer.")]


def test_checks_without_a_database_run_no_queries(db, django_assert_num_queries, settings):
    settings.DATABASE_POOLER = True
    with django_assert_num_queries(0):
        assert run_checks(tags=[Tags.database]) == []
