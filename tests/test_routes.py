"""The table of routes in docs/interface.md: every route with its permissions, number of statements and test."""

import re

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tests.support import calls
from tests.support.database import outer_transaction
from tests.support.examples import ROOT, UPDATING
from tests.support.fill import fill
from tests.support.queries import capture_queries
from tests.support.resources import without_rows
from tests.support.route_table import DOCUMENT, LINE, lines, read_line
from tests.support.routes import TABLE, Row, caller, routes, send
from tests.support.tables import table


def required_permission(row: Row, *, status_without_credentials: int) -> str:
    """Return the permission in the words of the table. Without credentials, a protected route has status 401."""
    if status_without_credentials != 401:
        return "anyone"
    if row.owners_only:
        return "owner"
    if row.admins_only:
        return "admin"
    return "team" if row.member == 403 else "user"


@pytest.fixture
def measured(acme, settings) -> dict[tuple[str, str], tuple[str, int]]:
    """Return the permission and an owner's number of statements, by method and route."""
    # The account of the operators can't be deleted.
    settings.OPERATOR_ACCOUNT = ""
    ids = fill(acme.account, acme.bob, "full")
    # Run the deferred triggers, which record the changes.
    connection.check_constraints()
    measurements = {}
    for row in TABLE:
        client = caller(row, acme.host, acme.alice)
        # The first request caches the host and the password, and records the use of the token.
        client.get("/app/users/me.xml")
        acme.account.tokens.update(last_used_at=timezone.now())
        with outer_transaction():
            if (row.method, row.route) == ("DELETE", "app/posts/<id:id>/vote.json"):
                acme.account.posts.get(id=ids.post).vote(by=acme.alice)
            response, queries = capture_queries(lambda client=client, row=row: send(row, client, ids, ids))
            transaction.set_rollback(True)
        assert response.status_code == row.team, (row, response.text)
        anonymous = send(row, caller(row, acme.host, None), ids, ids).status_code
        measurements[row.method, row.route] = (
            required_permission(row, status_without_credentials=anonymous),
            len(queries),
        )
    return measurements


def test_every_route_has_a_line_in_the_table():
    documented = [(method, line.route) for line in lines() for method in line.methods]
    assert len(documented) == len(set(documented)), "a route is in the table twice"
    missing = sorted(f"{method} /{route}" for method, route in routes() - set(documented))
    assert missing == [], "the table at the end of docs/interface.md has no line for these"
    not_served = sorted(f"{method} /{route}" for method, route in set(documented) - routes())
    assert not_served == [], "the table at the end of docs/interface.md has a line for these, which are not served"


def add_resources() -> None:
    """Add the lines of resources without any, with no number of statements yet."""
    for resource in without_rows({line.route for line in lines()}):
        room, subject = resource.package.split(".")
        path, test = f"/app/{resource.collection}", f"tests/{room}/test_{subject}.py"
        new = [
            f"| {methods} | `{path}{suffix}.json` | team | 0 | `{test}` |"
            for methods, suffix in (
                ("POST", ""),
                ("GET", ""),
                ("GET", "/{id}"),
                ("PUT, PATCH", "/{id}"),
                ("DELETE", "/{id}"),
            )
        ]
        text = DOCUMENT.read_text()
        end = list(LINE.finditer(text))[-1].end()
        DOCUMENT.write_text("\n".join([text[:end], *new]) + text[end:])


def test_permissions_and_numbers_of_statements_are_as_documented(measured):
    def with_numbers(match: re.Match) -> str:
        line = read_line(match)
        numbers = {measured[method, line.route][1] for method in line.methods}
        assert len(numbers) == 1, f"{line.methods} of {line.path} need a line each: {numbers}"
        return match[0].replace(f" | {line.statements} | ", f" | {numbers.pop()} | ")

    if UPDATING:
        # This test runs before those without a database.
        add_resources()
        DOCUMENT.write_text(LINE.sub(with_numbers, DOCUMENT.read_text()))
    documented = {
        f"{method} {line.path}": (re.split("[,;]", line.who)[0], line.statements)
        for line in lines()
        for method in line.methods
    }
    expected = {f"{method} {line.path}": measured[method, line.route] for line in lines() for method in line.methods}
    assert documented == expected, "the table at the end of docs/interface.md is out of date; run `make docs`"


@table("line", lines())
def test_the_test_of_a_route_exists(line):
    """The test file exists. At the end of the run `tests.support.calls` checks that it calls the route."""
    assert (ROOT / line.test).is_file()


def test_it_rejects_a_test_that_does_not_call_its_route():
    [line] = [line for line in lines() if line.path == "/app/tasks.json"]
    call = (line.test, "GET", "app/tasks.json")
    assert calls.uncalled([line], {call}, {line.test}) == []
    assert calls.uncalled([line], set(), {line.test}) == [line]
    assert calls.uncalled([line], {(line.test, "POST", "app/tasks.json")}, {line.test}) == [line]
    # The test file did not run.
    assert calls.uncalled([line], set(), set()) == []


def test_calls_are_recorded(acme):
    acme.json().get("/app/tasks.json")
    acme.json().put("/app/clients/1.json", json={"client": {}})
    file = "tests/test_routes.py"
    assert {(file, "GET", "app/tasks.json"), (file, "PUT", "app/clients/<id:id>.json")} <= calls.call_log.calls
