"""Tables of cases: one test for many rows, which reports every row that fails."""

import contextlib
import copy
import functools
import inspect
import io
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.db import connection, transaction
from django.db.models import Model
from django.test import override_settings

from tests.support.database import outer_transaction
from tests.support.fixtures import Cast, Other, empty_caches

# Values of fixtures that a row could change. Each row gets a copy. A list is not copied: a fixture may record calls in it.
COPIED = (Cast, Other, Model, SimpleNamespace, dict, tuple)


def table(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable:
    """Run a test once with all rows. The report shows the values of every row that fails.

    The arguments are those of `pytest.mark.parametrize`, and fixtures are set up once for all rows. Changes by a row are undone
    before the next: of the database, caches, settings, patches, the outbox, captured texts and `COPIED` values. A test that commits is
    refused, as its rows would remain.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [case_of(columns, row) for row in rows]
    assert cases, "the table has no rows"

    def decorate(test: Callable) -> Callable:
        if hasattr(test, "cases"):
            # Two tables of one test are multiplied.
            both = [
                (label or inner_label, values | inner) for label, values in cases for inner_label, inner in test.cases
            ]
            return one_test(test.__wrapped__, both)
        return one_test(test, cases)

    return decorate


def case_of(columns: list[str], row: Any) -> tuple[str | None, dict[str, Any]]:
    """Return the label and the values of a row, which is a value, a tuple or a `pytest.param`."""
    label = None
    if isinstance(row, pytest.ParameterSet):
        label, row = row.id, row.values if len(columns) > 1 else row.values[0]
    return label, dict(zip(columns, row if len(columns) > 1 else [row], strict=True))


def one_test(test: Callable, cases: list[tuple[str | None, dict[str, Any]]]) -> Callable:
    """Return a test that runs all cases. It takes the fixtures of the test, but not the columns of the table."""
    signature = inspect.signature(test)
    fixtures = [parameter for name, parameter in signature.parameters.items() if name not in cases[0][1]]

    @functools.wraps(test)
    def run(subtests, request, **values: Any) -> None:
        assert "transactional_db" not in request.fixturenames, "the changes of a row are rolled back"
        for label, case in cases:
            with subtests.test(label, **case), undone(values) as fresh:
                test(**fresh, **case)

    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
        for name in ("subtests", "request")
        if name not in signature.parameters
    ]
    run.__signature__ = signature.replace(parameters=[*fixtures, *added])
    run.cases = cases
    return run


@contextlib.contextmanager
def undone(fixtures: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the values of the fixtures for one row, and undo its changes."""
    empty_caches()
    list.clear(mail.outbox)
    with contextlib.ExitStack() as stack:
        if connection.in_atomic_block:
            stack.enter_context(rolled_back())
        copies: dict[int, Any] = {}
        fresh = {
            name: copy.deepcopy(value, copies) if isinstance(value, COPIED) else value
            for name, value in fixtures.items()
        }
        if "monkeypatch" in fresh:
            fresh["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
        for stream in fresh.values():
            if isinstance(stream, io.StringIO):
                stream.seek(0)
                stream.truncate()
        if "settings" in fresh:
            fresh["settings"] = RowSettings(stack)
        if "caplog" in fresh:
            fresh["caplog"].clear()
        if "capsys" in fresh:
            fresh["capsys"].readouterr()
        yield fresh


class RowSettings:
    """The fixture `settings` for one row: settings that are set are restored at the end of the stack."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        object.__setattr__(self, "_stack", stack)

    def __getattr__(self, name: str) -> Any:
        return getattr(settings, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._stack.enter_context(override_settings(**{name: value}))


@contextlib.contextmanager
def rolled_back() -> Iterator[None]:
    """Roll the changes of the block back. Callbacks for a commit are removed."""
    with outer_transaction():
        yield
        transaction.set_rollback(True)
