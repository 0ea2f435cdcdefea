"""Capture the statements that a request or a call sends to the database, and their plans."""

import json
from collections.abc import Callable, Iterator

import httpx
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext


def capture_queries(call: Callable[[], httpx.Response]) -> tuple[httpx.Response, list[str]]:
    """Return the response and the statements of the call, without savepoints."""
    with CaptureQueriesContext(connection) as queries:
        response = call()
    savepoints = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")
    return response, [query["sql"].strip() for query in queries if not query["sql"].startswith(savepoints)]


def capture_parameters(act: Callable) -> tuple[object, list[tuple[str, list]]]:
    """Return the result of `act` and its statements with their parameters."""
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
