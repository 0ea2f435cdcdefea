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


def capture_parameters(call: Callable) -> tuple[object, list[tuple[str, list]]]:
    """Return the result of `call` and its statements with their parameters."""
    statements = []

    def record(execute, sql, parameters, many, context):
        statements.append((sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(record):
        return call(), statements


def nodes(plan: dict) -> Iterator[dict]:
    """Return the node and all nodes below it."""
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def explained(sql: str, parameters, settings: list[tuple[str, list]]) -> list[dict]:
    """Execute the statement, and return the nodes of its plan. `settings` are statements that are executed before it."""
    with transaction.atomic(), connection.cursor() as cursor:
        for setting in settings:
            cursor.execute(*setting)
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters)
        plan = cursor.fetchone()[0]
    return list(nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
