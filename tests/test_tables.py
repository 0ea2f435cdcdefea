"""One test with a table of rows runs every row from the same state, and reports every row that fails."""

import contextlib
import logging
from types import SimpleNamespace

import pytest
from django.conf import settings as django_settings
from django.core import mail
from django.db import connection, transaction

from accounts.addresses import host_cache
from accounts.models import Account
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


def test_the_rows_after_an_error_are_run():
    rows = []

    @table("divisor", [0, 1])
    def divide(divisor):
        rows.append(divisor)
        1 / divisor

    assert run(divide) == [(None, {"divisor": 0}, "division by zero")]
    assert rows == [0, 1]


def test_two_tables_are_multiplied():
    pairs = []

    @table("first", ["a", pytest.param("b", id="B")])
    @table("second", [1, 2])
    def collect(first, second):
        pairs.append((first, second))
        assert second == 1

    assert run(collect) == [
        (None, {"first": "a", "second": 2}, "assert 2 == 1"),
        ("B", {"first": "b", "second": 2}, "assert 2 == 1"),
    ]
    assert pairs == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


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


def test_it_rejects_tests_that_commit():
    @table("number", [1])
    def commit(number):
        pass

    with pytest.raises(AssertionError, match="rolled back"):
        run(commit, fixturenames=["transactional_db"])


def test_it_rejects_a_table_without_rows():
    with pytest.raises(AssertionError, match="no rows"):
        table("number", [])
