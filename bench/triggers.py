"""Measure what the triggers of the room `workspace` cost: the rate of creates with them, relative to the rate without them.

These triggers write the timeline, the summaries and the queue of the revenue of suggestions. The database of this part has rows of
each kind, and each create links to random ones.
"""

import contextlib
import dataclasses
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

from bench import data, measure, wrk
from bench.cases import JSON, Case
from bench.machine import LoadMonitor
from bench.measure import Options
from bench.progress import Bar
from bench.report import say
from bench.serving import ROOT, SERVICE, Server, environment, serving

DATABASE = "bench_triggers"
# The number of the clients, contacts, deals and posts.
ROWS = 50_000
CONNECTIONS = (1, wrk.CONNECTIONS)

TRIGGERS = r"""
SELECT tgrelid::regclass::text, tgname FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid WHERE proname LIKE 'workspace\_%' ORDER BY 1, 2
"""
# `n` is the number of the row. Each contact and deal belongs to the client with its number.
FILL = {
    "client": """
        INSERT INTO crm_client (account_id, id, creator_id, updater_id, created_at, updated_at, name, tags, external_ids, additional_fields)
        SELECT %(account)s, %(client)s + n, %(user)s, %(user)s, now(), now(), 'Client ' || n, '{}', '{}', '{}' FROM numbered""",
    "contact": """
        INSERT INTO crm_contact (account_id, id, creator_id, updater_id, created_at, updated_at, name, client_id, tags, external_ids,
            additional_fields)
        SELECT %(account)s, %(contact)s + n, %(user)s, %(user)s, now(), now(), 'Contact ' || n, %(client)s + n, '{}', '{}', '{}' FROM numbered""",
    "deal": """
        INSERT INTO crm_deal (account_id, id, creator_id, updater_id, created_at, updated_at, name, client_id, contact_id, price, currency,
            status_id, tags, external_ids, additional_fields)
        SELECT %(account)s, %(deal)s + n, %(user)s, %(user)s, now(), now(), 'Deal ' || n, %(client)s + n, %(contact)s + n, n, 'EUR',
            %(deal_status)s, '{}', '{}', '{}' FROM numbered""",
    "post": """
        INSERT INTO forum_post (account_id, id, forum_id, category_id, status_id, user_id, title, content, agent, kind, task_kind, tags,
            private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at)
        SELECT %(account)s, %(post)s + n, %(forum)s, %(category)s, %(status)s, %(user)s, 'Post ' || n, 'Text', 'Mozilla/5.0', 'suggestion',
            'feedback', '{}', false, true, false, 0, 0, 0, now(), now() FROM numbered""",
}
# The rows that one transaction creates.
BATCH_ROWS = 1_000


def cases_of(first: dict[str, int]) -> list[Case]:
    """Return the creates. `first` has the id of the first row of each kind."""
    client, contact, deal, post = (f"@id{first[kind]}@" for kind in FILL)

    def create(name: str, path: str, body: str) -> Case:
        return Case(name, JSON, (path,), r'^\{"', 1, method="POST", body=body, status=201, random_rows=ROWS)

    return [
        create("client", "/app/clients.json", '{"client": {"name": "New client", "city": "Gdynia"}}'),
        create("contact", "/app/contacts.json", f'{{"contact": {{"name": "New contact", "client_id": {client}}}}}'),
        create(
            "deal",
            "/app/deals.json",
            f'{{"deal": {{"name": "New deal", "price": "12.50", "client_id": {client}, "contact_id": {contact}}}}}',
        ),
        create(
            "task",
            "/app/posts.json",
            '{"post": {"title": "Call back", "content": "About the invoice", "task_kind": "task",'
            f' "scheduled_at": "2030-01-01 10:00", "client_id": {client}, "deal_id": {deal}}}}}',
        ),
        create("note", "/app/notes.json", f'{{"note": {{"content": "Called", "client_id": {client}}}}}'),
        create("vote", f"/app/posts/{post}/vote.json", "{}"),
    ]


def measure_creates(url: str, options: Options, show: Callable[[dict], None]) -> list[dict]:
    """Return the rates of the creates with and without the triggers, and call `show` with each result."""
    own_url = data.address(url, DATABASE)
    first, token = create_database(url, own_url)
    results = []
    with (
        psycopg.connect(own_url, autocommit=True) as connection,
        serving(SERVICE, own_url, {}, workers=options.workers, logs=options.logs) as server,
    ):
        for case in filter(options.selects, cases_of(first)):
            for connections in CONNECTIONS:
                results.append(measure_case(connection, server, case, token, connections, options))
                show(results[-1])
    return results


def measure_case(
    connection: psycopg.Connection, server: Server, case: Case, token: str, connections: int, options: Options
) -> dict:
    loads: dict[bool, list[wrk.Load]] = {True: [], False: []}
    times: dict[bool, list[float]] = {True: [], False: []}
    # The first requests of a connection to the database are slow, because their statements are planned.
    wrk.warm_up(server.address, case, token)
    monitor = LoadMonitor()
    with Bar(case.name, 2 * options.rounds * options.seconds, print_time=False) as bar:
        for number in range(options.rounds):
            # Alternate the order, because each load is affected by the load before it.
            for are_on in (True, False) if number % 2 == 0 else (False, True):
                with contextlib.nullcontext() if are_on else disabled_triggers(connection):
                    before = monitor.own_time()
                    load = wrk.succeed(server.address, case, token, seconds=options.seconds, connections=connections)
                    ticks = monitor.own_time() - before
                loads[are_on].append(load)
                times[are_on].append(1000 * ticks / os.sysconf("SC_CLK_TCK") / load.requests)
                bar.add(options.seconds)
    return {
        "case": case.name,
        "connections": connections,
        "with": {**measure.figures(loads[True]), "CPU ms": round(statistics.median(times[True]), 3)},
        "without": {**measure.figures(loads[False]), "CPU ms": round(statistics.median(times[False]), 3)},
        "ratio": measure.ratio(loads[True], loads[False]),
        "CPU ratio": round(
            statistics.median(without / with_ for with_, without in zip(times[True], times[False], strict=True)), 3
        ),
        "machine load": dataclasses.asdict(monitor.end()),
    }


@contextlib.contextmanager
def disabled_triggers(connection: psycopg.Connection) -> Iterator[None]:
    triggers = connection.execute(TRIGGERS).fetchall()
    try:
        for table, name in triggers:
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
        yield
    finally:
        for table, name in triggers:
            connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER {name}")


def create_database(url: str, own_url: str) -> tuple[dict[str, int], str]:
    """Create the database with its rows. Return the id of the first row of each kind, and the token of the owner."""
    with psycopg.connect(data.address(url, "postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{DATABASE}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{DATABASE}" OWNER rostrum')
    variables = environment(own_url)
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity=0"], cwd=ROOT, env=variables, check=True
    )
    say(f"Creating {ROWS:,} clients, contacts, deals and posts")
    created = subprocess.run(
        [sys.executable, "-m", "bench.triggers"], cwd=ROOT, env=variables, check=True, capture_output=True, text=True
    )
    token, *ids = created.stdout.split()
    with psycopg.connect(data.address(own_url, DATABASE, "postgres"), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
    return dict(zip(FILL, map(int, ids), strict=True)), token


def fill() -> None:
    """Create an account with the rows, and print its token and the id of the first row of each kind."""
    import django

    django.setup()

    from django.db import connection

    from accounts.account_creation import create_account
    from core.db.tenancy import next_ids
    from workspace.recount import update_all

    account, owner, token = create_account(
        prefix="bench", login=data.LOGIN, email="bench@example.com", password=data.PASSWORD
    )
    forum = account.forums.get(is_default=True)
    values: dict[str, Any] = {
        "account": account.id,
        "user": owner.id,
        "forum": forum.id,
        "category": account.categories.of_forum(forum.id).first().id,
        "status": account.default_status("post").id,
        "deal_status": account.default_status("deal").id,
    }
    with connection.cursor() as cursor:
        first_id = next_ids(account.id, 1)[0] + 1
        first = {kind: first_id + place * ROWS for place, kind in enumerate(FILL)}
        cursor.execute("SELECT account_ids.advance(%s, %s)", [account.id, first_id + len(FILL) * ROWS])
        for statement in FILL.values():
            for start in range(0, ROWS, BATCH_ROWS):
                numbered = f"WITH numbered AS (SELECT generate_series({start}, {start + BATCH_ROWS - 1}) AS n) "
                cursor.execute(numbered + statement, values | first)
    # SQL writes no summaries.
    update_all(account.id)
    print(token, *first.values())


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    fill()
