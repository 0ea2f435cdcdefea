"""The checks of the database (`check --database default`). tests/test_pgbouncer.py tests those of a pooler."""

import pytest
from django.core.checks import Tags, run_checks
from django.db import OperationalError, connection

from core.db import checks as database_checks
from tests.support.factories import make_account


def run() -> list[tuple[str, str]]:
    messages = run_checks(tags=[Tags.database], databases=["default"])
    return [(message.id, message.msg) for message in messages]


def max_locks() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int"
        )
        return cursor.fetchone()[0]


@pytest.fixture
def update_statistics(db, monkeypatch):
    """Limit the locks to those of two accounts. Return a function that updates the statistics.

    The check reads the number of accounts from the statistics of the database.
    """
    monkeypatch.setattr(database_checks, "OTHER_LOCKS", max_locks() - 2)

    def analyze():
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE accounts_account")

    return analyze


def test_it_works(update_statistics):
    assert run() == []
    for prefix in ("acme", "other"):
        make_account(prefix)
    update_statistics()
    assert run() == []


def test_it_warns_if_a_backup_may_run_out_of_locks(update_statistics):
    for prefix in ("acme", "other", "third"):
        make_account(prefix)
    update_statistics()
    message = f"With 3 accounts, a backup or its restore may run out of locks: there is room for {max_locks()}."
    assert run() == [("rostrum.W011", message)]


def test_the_local_database_has_locks_for_many_accounts(db):
    assert max_locks() >= 100_000


def test_an_empty_database_has_no_errors(db):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_account RENAME TO other")
    assert run() == []


def test_it_rejects_an_unavailable_database(db, monkeypatch):
    def fail():
        raise OperationalError("connection failed: connection refused")

    monkeypatch.setattr(database_checks, "locks", fail)
    assert run() == [("rostrum.E014", "The database does not answer.")]


def test_checks_without_a_database_run_no_queries(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert run_checks(tags=[Tags.database]) == []
