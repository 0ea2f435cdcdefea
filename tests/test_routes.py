"""The table of routes in docs/interface.md says what the service does: every route, who may, the statements, its test."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest
from django.db import connection, transaction
from django.urls import get_resolver
from django.utils import timezone

from tests.support.examples import ROOT, UPDATING
from tests.support.fill import fill
from tests.support.queries import asked_by
from tests.support.routes import TABLE, Row, caller, routes, send

DOCUMENT = ROOT / "docs" / "interface.md"
LINE = re.compile(
    r"^\| ([A-Z, ]+) \| `(/\S*?|/\{category name\})` \| (.+?) \| (\d+) \| `(tests/\S+)` \|$", re.MULTILINE
)


class Line(NamedTuple):
    """A line of the table."""

    methods: tuple[str, ...]
    path: str
    who: str
    statements: int
    test: str

    @property
    def route(self) -> str:
        return self.path[1:].replace("{id}", "<id:id>").replace("{category name}", "<category_name:category_name>")


def read_line(match: re.Match) -> Line:
    methods, path, who, statements, test = match.groups()
    return Line(tuple(methods.split(", ")), path, who, int(statements), test)


def lines() -> list[Line]:
    return [read_line(match) for match in LINE.finditer(DOCUMENT.read_text())]


def who_may(row: Row, *, nobody: int) -> str:
    """In the words of the table; `nobody` is what those without credentials are answered."""
    if nobody != 401:
        return "anyone"
    if row.admins_only:
        return "admin"
    return "team" if row.member == 403 else "user"


@pytest.fixture
def measured(acme) -> dict[tuple[str, str], tuple[str, int]]:
    """Of each method and route: who may, and how many statements an owner's call asks, as the table of tenancy sends it."""
    ids = fill(acme.account, acme.bob, "full")
    # What is left to the commit: the changes are noted.
    connection.check_constraints()
    found = {}
    for row in TABLE:
        client = caller(row, acme.host, acme.alice)
        # The host and the password are known, and that the token was used.
        client.get("/app/users/me.xml")
        acme.account.tokens.update(last_used_at=timezone.now())
        with transaction.atomic():
            if (row.method, row.route) == ("DELETE", "app/posts/<id:id>/vote.json"):
                acme.account.posts.get(id=ids.post).vote(by=acme.alice)
            response, asked = asked_by(lambda client=client, row=row: send(row, client, ids, ids))
            transaction.set_rollback(True)
        assert response.status_code == row.team, (row, response.text)
        nobody = send(row, caller(row, acme.host, None), ids, ids).status_code
        found[row.method, row.route] = who_may(row, nobody=nobody), len(asked)
    return found


def test_every_route_has_its_line():
    documented = [(method, line.route) for line in lines() for method in line.methods]
    assert len(documented) == len(set(documented)), "a route is in the table twice"
    missing = sorted(f"{method} /{route}" for method, route in routes() - set(documented))
    assert missing == [], "the table at the end of docs/interface.md has no line for these"
    gone = sorted(f"{method} /{route}" for method, route in set(documented) - routes())
    assert gone == [], "the table at the end of docs/interface.md has a line for these, which are not served"


def test_who_may_and_the_statements_are_as_documented(measured):
    def with_numbers(match: re.Match) -> str:
        line = read_line(match)
        found = {measured[method, line.route][1] for method in line.methods}
        assert len(found) == 1, f"{line.methods} of {line.path} need a line each: {found}"
        return match[0].replace(f" | {line.statements} | ", f" | {found.pop()} | ")

    if UPDATING:
        DOCUMENT.write_text(LINE.sub(with_numbers, DOCUMENT.read_text()))
    documented = {
        f"{method} {line.path}": (re.split("[,;]", line.who)[0], line.statements)
        for line in lines()
        for method in line.methods
    }
    expected = {f"{method} {line.path}": measured[method, line.route] for line in lines() for method in line.methods}
    assert documented == expected


@pytest.mark.parametrize("line", lines(), ids=lambda line: f"{line.methods[0]} {line.path}")
def test_the_test_of_a_route_calls_it(line):
    # PATCH is the same view as PUT, and among the executed examples.
    assert (line.methods[0], line.route) in called_in(line.test)


@cache
def called_in(test: str) -> set[tuple[str, str]]:
    """(method, route) of the calls in a test: `client.put(path)`, `send("PUT", path)`, and such pairs in tables of cases."""
    tree = ast.parse((ROOT / test).read_text())
    named = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named[name] = texts_of(value, {})
            case ast.FunctionDef(name=name, body=[*_, ast.Return(value=value)]):
                named[name] = texts_of(value, {})
    return {call for node in tree.body for call in calls_in(node, named | parameters_of(node))}


def parameters_of(test: ast.AST) -> dict[str, set[str]]:
    """What the parameters of a test stand for, one by one."""
    found = {}
    for decorator in getattr(test, "decorator_list", []):
        match decorator:
            case ast.Call(args=[ast.Constant(value=str(name)), ast.List(elts=parts)]):
                found[name] = {text for part in parts for text in texts_of(part, {})}
    return found


def calls_in(tree: ast.AST, named: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        parts = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
        texts = {text for part in parts for text in texts_of(part, named)}
        if isinstance(node, ast.Call):
            texts.add(getattr(node.func, "attr", "").upper())
        for method in texts & {"GET", "POST", "PUT", "PATCH", "DELETE"}:
            yield from ((method, route) for text in texts for route in routes_of(text))


def texts_of(node: ast.AST, named: dict[str, set[str]]) -> set[str]:
    """The texts that an expression may be, with braces for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.JoinedStr(values=parts):
            return {"".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)}
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)):
            return named.get(name, set())
    return set()


def routes_of(path: str) -> set[str]:
    """The route that answers a path; if what is filled in is no id, all those that it may be."""
    if not path.startswith("/"):
        return set()
    path = path.partition("?")[0][1:]
    patterns = [pattern.pattern for pattern in get_resolver().url_patterns]
    found = next((str(pattern) for pattern in patterns if pattern.match(re.sub(r"\{\w*\}", "1", path))), None)
    if found is not None:
        return {found}
    written = re.compile("[a-z_]+".join(map(re.escape, re.split(r"\{\w*\}", path))))
    return {str(pattern) for pattern in patterns if written.fullmatch(str(pattern).replace("<id:id>", "id"))}
