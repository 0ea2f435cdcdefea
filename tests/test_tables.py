"""One test with a table of rows runs every row from the same state, and reports every row that fails."""

import contextlib
import logging
from types import SimpleNamespace

import pytest
from django.conf import settings as django_settings
from django.core import mail
from django.db import connection, transaction

from accounts.account.models import Account
from accounts.hosts.addresses import host_cache
from tests.support.tables import table


class Recorder:
    """Record the rows that fail, in place of the reports of pytest."""

    def __init__(self) -> None:
        self.failed: list[tuple] = []

    @contextlib.contextmanager
    def test(self, label, **values):
        try:
            yield
        except (AssertionError, ZeroDivisionError) as error:
            self.failed.append((label, values, str(error).splitlines()[0]))


def run(test, *, fixturenames=(), **fixtures) -> list[tuple]:
    recorder = Recorder()
    test(subtests=recorder, request=SimpleNamespace(fixturenames=fixturenames), **fixtures)
    return recorder.failed


def test_it_works():
    @table(("number", "double"), [(1, 2), (2, 5), pytest.param(3, 7, id="three"), (4, 8)])
    def doubles(number, double):
        assert number * 2 == double

    assert run(doubles) == [
        (None, {"number": 2, "double": 5}, "assert (2 * 2) == 5"),
        ("three", {"number": 3, "double": 7}, "assert (3 * 2) == 7"),
    ]


def test_two_tables_are_multiplied():
    """The rows after an error are run."""
    pairs = []

    @table("first", ["a", pytest.param("b", id="B")])
    @table("second", [1, 0])
    def collect(first, second):
        pairs.append((first, second))
        1 / second

    assert run(collect) == [
        (None, {"first": "a", "second": 0}, "division by zero"),
        ("B", {"first": "b", "second": 0}, "division by zero"),
    ]
    assert pairs == [("a", 1), ("a", 0), ("b", 1), ("b", 0)]


@table("name", ["first", "second", "third"])
def test_what_a_row_changes_is_undone(acme, settings, monkeypatch, caplog, name):
    assert acme.account.name == Account.objects.get().name == "Acme"
    assert list.__len__(mail.outbox) == 0
    assert caplog.records == []
    assert not hasattr(logging, "changed_by_a_row")
    assert len(host_cache._entries) == 0
    Account.objects.update(name=name)
    acme.account.name = name
    list.append(mail.outbox, name)
    logging.getLogger("rostrum").warning(name)
    monkeypatch.setattr(logging, "changed_by_a_row", True, raising=False)
    assert settings.RATE_LIMIT == 0
    settings.RATE_LIMIT = 600
    assert settings.RATE_LIMIT == django_settings.RATE_LIMIT == 600
    acme.page().get("/")
    transaction.on_commit(lambda: pytest.fail("the row was committed"))
    assert connection.run_on_commit


def test_callbacks_for_a_commit_are_removed(acme):
    before = len(connection.run_on_commit)

    @table("number", [1, 2])
    def commit(number):
        assert len(connection.run_on_commit) == before
        transaction.on_commit(lambda: None)

    assert run(commit) == []
    assert len(connection.run_on_commit) == before


def test_it_rejects_tests_that_commit_and_a_table_without_rows():
    with pytest.raises(AssertionError, match="rolled back"):
        run(table("number", [1])(lambda number: None), fixturenames=["transactional_db"])
    with pytest.raises(AssertionError, match="no rows"):
        table("number", [])
