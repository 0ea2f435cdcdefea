"""Record the statements of the service for the requests of all cases, which the bare twin (`bench.bare`) repeats.

The command `python -m bench.record` starts a session of the owner, sends the requests of the cases in its arguments within this process,
and adds the statements and the sizes of the responses to a file of JSON.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from bench.cases import HTML, UNIQUE, Case, pages, requests_of_apis
from bench.data import ROOT
from bench.wrk import LoadError
from config.local.postgres import outcome

# How often each request is recorded.
RECORDINGS = 3
# How long the recording of a case may take, in seconds.
TIMEOUT = 300
_counter = count(1)


def send(client: Any, case: Case, token: str, path: int) -> tuple[bytes, str]:
    """Send one request with Django's test client. Return the body of the response, and the text that replaced UNIQUE."""
    unique = f"{time.time_ns():x}-{next(_counter)}"
    body = (case.body or "").replace(UNIQUE, unique)
    headers = case.headers(token)
    response = client.generic(case.method, case.paths[path], body, headers.pop("Content-Type"), headers=headers)
    if error := case.find_error(response.status_code, response.content):
        raise SystemExit(f"{case.name}: {case.paths[path]}: {error}")
    return response.content, unique


@contextmanager
def watch_statements(watch: Callable[[psycopg.Connection, Any, Any], object]) -> Iterator[None]:
    """Call `watch` with the connection, the text and the parameters of each statement, before it is executed."""
    execute = psycopg.Cursor.execute

    def watch_and_execute(cursor: Any, text: Any, parameters: Any = None, **options: Any) -> Any:
        watch(cursor.connection, text, parameters)
        return execute(cursor, text, parameters, **options)

    psycopg.Cursor.execute = watch_and_execute
    try:
        yield
    finally:
        psycopg.Cursor.execute = execute


def record(client: Any, case: Case, token: str, path: int) -> tuple[list[str], int]:
    """Send a request. Return its statements, with their values and the placeholder UNIQUE, and the number of bytes of the response."""
    statements: list[str] = []

    def record_statement(connection: psycopg.Connection, text: Any, parameters: Any) -> None:
        statements.append(psycopg.ClientCursor(connection).mogrify(text, parameters))

    with watch_statements(record_statement):
        body, unique = send(client, case, token, path)
    return [statement.replace(unique, UNIQUE) for statement in statements], len(body)


def record_case(client: Any, case: Case, token: str) -> dict[str, Any]:
    """Record the requests of a case several times. Leave out statements that only some requests execute, such as a look-up that is cached."""
    for path in range(len(case.paths)):  # warm up: prepare the statements
        send(client, case, token, path)
    recorded = [
        min((record(client, case, token, path) for _ in range(RECORDINGS)), key=lambda recording: len(recording[0]))
        for path in range(len(case.paths))
    ]
    return {
        "status": case.status,
        "statements": [statements for statements, _ in recorded],
        "bytes": [number for _, number in recorded],
        "queries": sum(len(statements) for statements, _ in recorded) / len(recorded),
    }


def record_all(data_set: dict, names: list[str], environment: dict[str, str], path: Path) -> dict:
    """Record the cases with these names in another process, and write the result to a file for the twin. Return it.

    A case that ends the process is one of the `failed` ones of the result, with the reason. Another process records those after it.
    """
    variables = {**environment, "BENCH_DATA_SET": json.dumps(data_set), "BENCH_RECORDED": str(path)}
    recorded: dict = {"session": "", "cases": {}, "failed": {}}
    write(path, recorded)
    while True:
        remaining = [name for name in names if name not in recorded["cases"] and name not in recorded["failed"]]
        if recorded["failed"] and not remaining:
            return recorded
        command = [sys.executable, "-m", "bench.record", *remaining]
        result = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        recorded = json.loads(path.read_text())
        if result.returncode == 0:
            return recorded
        reason = f"the recording ended ({outcome(result.returncode)}): {result.stderr.strip()[-1000:]}"
        cut_case = next((name for name in remaining if name not in recorded["cases"]), None)
        if cut_case is None or not recorded["session"]:
            raise LoadError(reason)
        recorded["failed"][cut_case] = reason
        write(path, recorded)


def write(path: Path, recorded: dict) -> None:
    """Replace the file at once, because this process may be killed."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(recorded))
    part.replace(path)


def main() -> None:
    import django

    django.setup()
    from django.test import Client

    from accounts.sessions.models import Session
    from accounts.users.models import User

    client = Client()
    data_set, names = json.loads(os.environ["BENCH_DATA_SET"]), sys.argv[1:]
    path = Path(os.environ["BENCH_RECORDED"])
    recorded = json.loads(path.read_text())
    owner = User.objects.get(account_id=data_set["account"], id=data_set["user"])
    recorded["session"] = session = Session.objects.start(owner)[1]
    write(path, recorded)
    for case in (*requests_of_apis(data_set), *pages(data_set)):
        if case.name in names:
            # The signal ends the process.
            signal.alarm(TIMEOUT)
            recorded["cases"][case.name] = record_case(
                client, case, session if case.kind == HTML else data_set["token"]
            )
            write(path, recorded)


if __name__ == "__main__":
    main()
