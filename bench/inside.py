"""Send requests to the service within this process, to count statements and to time layers.

The command `python -m bench.inside` prints, as JSON, the average number of statements of each case, or of the cases in its
arguments. A statement that runs only in some requests counts as a fraction.
"""

import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg

from bench.cases import UNIQUE, Case

# The requests of each case for which statements are counted.
REQUESTS = 100
# Together, these make the values that replace UNIQUE different in each request of each run.
_counter = count(1)
_run_id = f"{time.time_ns():x}"


def environ(case: Case, token: str, number: int) -> dict:
    """Return the WSGI environment of a case's request, as a server would build it."""
    path, _, query = case.paths[number % len(case.paths)].partition("?")
    body = (case.body or "").replace(UNIQUE, f"{_run_id}-{next(_counter)}").encode()
    headers = case.headers(token)
    variables = {
        "REQUEST_METHOD": case.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": headers.pop("Content-Type"),
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
    }
    if case.body:
        variables["CONTENT_LENGTH"] = str(len(body))
    return variables


def send(application: Callable, case: Case, token: str, number: int) -> bytes:
    """Send one request and return the body. Raise AssertionError if the status is not that of the case."""
    statuses = []
    result = application(environ(case, token, number), lambda status, headers, exc_info=None: statuses.append(status))
    try:
        body = b"".join(result)
    finally:
        if hasattr(result, "close"):
            result.close()
    if not statuses[0].startswith(str(case.status)):
        raise AssertionError(f"{case.name}: {statuses[0]}: {body[:300]!r}")
    return body


def average_statements(application: Callable, case: Case, token: str) -> float:
    """Return the average number of statements of a request, including prepared ones."""
    # Warm up.
    for number in range(10):
        send(application, case, token, number)
    executed = []
    with watch_statements(lambda *statement: executed.append(statement)):
        for number in range(REQUESTS):
            send(application, case, token, number)
    return len(executed) / REQUESTS


@contextmanager
def watch_statements(watch: Callable[[psycopg.Connection, Any, Any], object]) -> Iterator[None]:
    """Call `watch` with the connection, the text and the parameters of each statement, before it is executed."""
    from config.database.base import Connection

    execute, fetch_prepared = psycopg.Cursor.execute, Connection.fetch_prepared

    def watch_and_execute(cursor: Any, text: Any, parameters: Any = None, **options: Any) -> Any:
        watch(cursor.connection, text, parameters)
        return execute(cursor, text, parameters, **options)

    def watch_and_fetch(connection: Any, text: Any, parameters: Any, **options: Any) -> Any:
        watch(connection, text, parameters)
        return fetch_prepared(connection, text, parameters, **options)

    psycopg.Cursor.execute, Connection.fetch_prepared = watch_and_execute, watch_and_fetch
    try:
        yield
    finally:
        psycopg.Cursor.execute, Connection.fetch_prepared = execute, fetch_prepared


def application() -> Callable:
    """Return the service's application, with its access log written to the null device."""
    import logging

    from config.wsgi import application as service

    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(open(os.devnull, "w"))  # noqa: PTH123, SIM115, as long as the process
    return service


def main() -> None:
    from bench import cases

    names = sys.argv[1:]
    data_set = json.loads(os.environ["BENCH_DATA_SET"])
    service = application()
    selected = [case for case in cases.of(data_set) if not names or case.name in names]
    print(json.dumps({case.name: average_statements(service, case, data_set["token"]) for case in selected}))


if __name__ == "__main__":
    main()
