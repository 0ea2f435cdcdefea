"""The part `pages`: pages of the team, beside bare views that run the same statements and answer documents of the same size.

The command `python -m bench.pages` starts a session of the owner, sends the requests of all cases, and records their statements. The bare
twin (`bench.bare`) runs the recorded statements of a request and answers as many bytes.
"""

import dataclasses
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

import psycopg

from bench import inside, rows, wrk
from bench.cases import HTML, Case, searches
from bench.measure import COMPARED_PATHS, Options, Target, figures, load_in_turn, ratio
from bench.serving import ROOT, Server, environment

# The numbers of different requests of a case, for cases whose requests differ.
ROTATED_PAGES = 20
# How often each request is recorded.
RECORDINGS = 3
# The variable with the path of the file of the recorded statements.
RECORDED = "BENCH_RECORDED_PAGES"
RESOURCE = re.compile(rb'<link [^>]*rel="stylesheet"[^>]*>|<script [^>]*src="[^"]*"[^>]*>')
ADDRESS = re.compile(rb'(?:href|src)="([^"]*)"')


def of(data_set: dict) -> list[Case]:
    """Return the cases for a data set (`bench.data`)."""
    generator = random.Random(3)  # noqa: S311, every run requests the same rows

    def sample_paths(path: str, kind: str, *, first: str = "") -> tuple[str, ...]:
        ids = range(data_set[first or f"first_{kind}"], data_set[f"last_{kind}"] + 1)
        return tuple(path.format(id) for id in generator.sample(ids, min(ROTATED_PAGES, len(ids))))

    found = {name: tuple(f"/app/find?q={quote(text)}" for text in texts) for name, texts in searches(data_set).items()}
    pages: dict[str, tuple[str, ...]] = {
        "forum home": ("/",),
        "suggestion, 20 comments": sample_paths("/app/posts/{}", "post", first="first_commented"),
        "clients": ("/app/clients",),
        "clients, page 400": ("/app/clients?page=400",),
        "clients by a text": (f"/app/clients?city={quote(rows.CITIES[0])}&sort=name",),
        "clients by a tax number": ("/app/clients?tax_no=PL5000000014",),
        "clients by a sum": ("/app/clients?open_sum__after=45000&sort=-open_sum",),
        "clients by a date": ("/app/clients?created_at__after=2009-01-26&sort=last_activity_at",),
        "clients by a choice": (f"/app/clients?additional_fields%5Bindustry%5D={rows.INDUSTRIES[7]}&sort=name",),
        "clients by a status": (f"/app/clients?status_id={data_set['client_statuses'][0]}&responsible_id=me",),
        "clients without activity": ("/app/clients?inactive_days=90&sort=last_activity_at",),
        "clients, search": (f"/app/clients?q={quote(rows.CITIES[3])}",),
        "contacts": ("/app/contacts?sort=name",),
        "deals": ("/app/deals?sort=-last_activity_at",),
        "deals by a close date": ("/app/deals?outcome=open&currency=EUR&expected_close_date__after=2009-01-26",),
        "client": sample_paths("/app/clients/{}", "client"),
        "client, long timeline": (f"/app/clients/{data_set['first_client']}",),
        "client, timeline page 100": (f"/app/clients/{data_set['first_client']}?page=100",),
        "deal": sample_paths("/app/deals/{}", "deal"),
        "board": ("/app/deals/board",),
        "board, own deals": ("/app/deals/board?mine=true",),
        "board, by a currency": ("/app/deals/board?currency=GBP",),
        "tasks": ("/app/tasks",),
        "task list": ("/app/tasks/list?closed=true&sort=-completed_at",),
        **{name.replace("search", "find"): paths for name, paths in found.items()},
    }
    return [Case(name, HTML, paths, "<main", 1) for name, paths in pages.items()]


# Recording


def record(application: Callable, case: Case, session: str, path: int) -> tuple[list[str], int]:
    """Send a request in this process. Return its statements, with their values, and the number of bytes of the page."""
    statements: list[str] = []

    def record_statement(connection: psycopg.Connection, text: Any, parameters: Any) -> None:
        statements.append(psycopg.ClientCursor(connection).mogrify(text, parameters))

    with inside.watch_statements(record_statement):
        body = inside.send(application, case, session, path)
    if error := case.find_error(200, body):
        raise AssertionError(f"{case.name}: {case.paths[path]}: {error}")
    return statements, len(body)


def record_shortest(application: Callable, case: Case, session: str, path: int) -> tuple[list[str], int]:
    """Record a request several times. Leave out statements that only some requests execute, such as the look-up of a host that is cached."""
    return min((record(application, case, session, path) for _ in range(RECORDINGS)), key=lambda page: len(page[0]))


def main() -> None:
    """Write the statements and sizes of the cases in the arguments as JSON."""
    application = inside.application()
    # The application has set up Django.
    from accounts.models import Session, User

    data_set, names = json.loads(os.environ["BENCH_DATA_SET"]), sys.argv[1:]
    owner = User.objects.get(account_id=data_set["account"], id=data_set["user"])
    session = Session.objects.start(owner)[1]
    recorded: dict[str, dict] = {}
    for case in of(data_set):
        if case.name in names:
            # Warm up: prepare the statements.
            for path in range(len(case.paths)):
                inside.send(application, case, session, path)
            pages = [record_shortest(application, case, session, path) for path in range(len(case.paths))]
            recorded[case.name] = {
                "statements": [statements for statements, _ in pages],
                "bytes": [number for _, number in pages],
                "queries": sum(len(statements) for statements, _ in pages) / len(pages),
            }
    print(json.dumps({"session": session, "cases": recorded}))


# Measuring


def record_all(url: str, data_set: dict, cases: list[Case], path: Path) -> dict:
    """Record the cases in another process, and write the result to a file for the twin. Return it."""
    variables = {**environment(url), "BENCH_DATA_SET": json.dumps(data_set)}
    command = [sys.executable, "-m", "bench.pages", *(case.name for case in cases)]
    result = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"The pages cannot be recorded:\n{result.stderr}")
    path.write_text(result.stdout)
    recorded: dict = json.loads(result.stdout)
    return recorded


def beside_bare(
    service: Server, bare: Server, cases: list[Case], recorded: dict, options: Options, show: Callable[[dict], None]
) -> list[dict]:
    """Measure each case on the service and on the twin, in turn, then on the service alone with one connection."""
    results, session = [], recorded["session"]
    for number, case in enumerate(recorded["cases"]):
        page = next(each for each in cases if each.name == case)
        twin = dataclasses.replace(page, paths=tuple(f"/recorded/{number}/{path}" for path in range(len(page.paths))))
        weight = max(first_visit(service, page, session, path) for path in range(min(COMPARED_PATHS, len(page.paths))))
        targets = [Target(service, page, session), Target(bare, twin, session)]
        (service_loads, bare_loads), machine_load = load_in_turn(targets, options)
        alone = [
            wrk.succeed(service.address, page, session, seconds=options.seconds, connections=1)
            for _ in range(options.rounds)
        ]
        results.append(
            {
                "case": page.name,
                "service": figures(service_loads),
                "bare": figures(bare_loads),
                "ratio": ratio(service_loads, bare_loads),
                "alone": figures(alone),
                "queries": recorded["cases"][case]["queries"],
                "bytes": weight,
                "machine load": machine_load,
            }
        )
        show(results[-1])
    return results


def first_visit(service: Server, case: Case, session: str, path: int) -> int:
    """Return the number of bytes of a page with its styles and scripts, for a browser without a cache. Headers are not counted."""
    headers = {**case.headers(session), "Accept-Encoding": "gzip, deflate, br"}
    plain = service.checked_response(case, session, unique="", path=path)
    addresses = {case.paths[path]}
    for element in RESOURCE.findall(plain.body):
        address = ADDRESS.search(element)
        addresses.add(urljoin(case.paths[path], address[1].decode()) if address else "")
    responses = [service.request("GET", address, headers=headers) for address in addresses]
    if any(response.status != 200 for response in responses):
        raise SystemExit(
            f"{case.name}: of {addresses}, some have the statuses {[response.status for response in responses]}"
        )
    return sum(len(response.body) for response in responses)


if __name__ == "__main__":
    main()
