"""The statements that a request or a call sends to the database, and how PostgreSQL runs them."""

import json
from collections.abc import Callable, Iterator

import httpx
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext


def asked_by(call: Callable[[], httpx.Response]) -> tuple[httpx.Response, list[str]]:
    """The answer, and the statements that it took."""
    with CaptureQueriesContext(connection) as queries:
        response = call()
    savepoints = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")
    return response, [query["sql"].strip() for query in queries if not query["sql"].startswith(savepoints)]


def noted(act: Callable) -> tuple[object, list[tuple[str, list]]]:
    """What it gives, and the statements that it took."""
    seen = []

    def note(execute, sql, parameters, many, context):
        seen.append((sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(note):
        return act(), seen


def nodes(plan: dict) -> Iterator[dict]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def explained(sql: str, parameters, settings: list[tuple[str, list]]) -> list[dict]:
    with transaction.atomic(), connection.cursor() as cursor:
        for setting in settings:
            cursor.execute(*setting)
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters)
        found = cursor.fetchone()[0]
    return list(nodes((json.loads(found) if isinstance(found, str) else found)[0]["Plan"]))
