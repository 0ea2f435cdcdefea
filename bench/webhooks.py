"""Measure webhooks: deliveries per second to a receiver on this machine, and the lag beside endpoints that never answer.

Workers run as in production, on a database of their own. The changes are written with SQL, because requests to the service would take CPU time.
"""

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from bench import data
from bench.report import say
from bench.serving import ROOT, environment

DATABASE = "bench_webhooks"
ACCOUNTS, HANGING = 1000, 100
# The first measurement has this number of endpoints, and of events for each.
ENDPOINTS, EVENTS = 100, 40
# In the second measurement, each account changes once in each period, which has this number of seconds.
PERIOD, PERIODS = 5.0, 4
TIMEOUT = 180
ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


class Receiver:
    """Two servers in one thread: the first answers at once, the second never. The first records each body and its time of arrival."""

    def __init__(self) -> None:
        self.received: list[tuple[float, dict]] = []
        self.hanging_requests = 0
        self.loop = asyncio.new_event_loop()
        self.ports: list[int] = []

    @contextlib.contextmanager
    def running(self) -> Iterator["Receiver"]:
        started = threading.Event()

        async def start() -> None:
            for handler in (self.answer, self.hang):
                server = await asyncio.start_server(handler, "127.0.0.1", 0, backlog=1024)
                self.ports.append(server.sockets[0].getsockname()[1])
            started.set()

        self.loop.create_task(start())
        thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        thread.start()
        started.wait(10)
        try:
            yield self
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            thread.join()

    async def read(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        return await reader.readexactly(length)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            body = await self.read(reader)
            self.received.append((time.time(), json.loads(body)))
            writer.write(ANSWER)
            await writer.drain()
        writer.close()

    async def hang(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self.read(reader)
            self.hanging_requests += 1
            await reader.read()
        writer.close()

    def wait(self, number: int) -> None:
        """Wait until this number of events has arrived."""
        deadline = time.monotonic() + TIMEOUT
        while len(self.received) < number:
            if time.monotonic() > deadline:
                raise SystemExit(f"Only {len(self.received)} of {number} events arrived within {TIMEOUT} seconds")
            time.sleep(0.05)


def measure(url: str, *, workers: int, logs: Path) -> dict[str, float]:
    """Return the deliveries per second, and the result of `measure_lag`."""
    own_url = data.address(url, DATABASE)
    with psycopg.connect(data.address(url, "postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{DATABASE}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{DATABASE}" OWNER rostrum')
    with Receiver().running() as receiver:
        networks = ",".join(f"127.0.0.0/8:{port}" for port in receiver.ports)
        variables = environment(own_url) | {"WEBHOOK_ALLOW": networks, "LOG_LEVEL": "WARNING"}
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity=0"], cwd=ROOT, env=variables, check=True
        )
        say(f"Creating {ACCOUNTS} accounts with a webhook each")
        command = [sys.executable, "-m", "bench.webhooks", *map(str, receiver.ports)]
        subprocess.run(command, cwd=ROOT, env=variables, check=True)
        with psycopg.connect(own_url, autocommit=True) as connection, running_workers(variables, workers, logs):
            rate = measure_rate(connection, receiver)
            lag = measure_lag(connection, receiver)
    return {"deliveries_per_second": round(rate), **lag}


@contextlib.contextmanager
def running_workers(variables: dict[str, str], number: int, logs: Path) -> Iterator[None]:
    with (logs / "webhooks.log").open("wb") as log:
        command = [sys.executable, "manage.py", "worker", "--threads", "1"]
        processes = [
            subprocess.Popen(command, cwd=ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT)
            for _ in range(number)
        ]
        try:
            yield
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()


def measure_rate(connection: psycopg.Connection, receiver: Receiver) -> float:
    """Return the deliveries per second while `ENDPOINTS` endpoints have `EVENTS` events each."""
    accounts = [row[0] for row in connection.execute("SELECT id FROM accounts_account ORDER BY prefix")]
    number = ENDPOINTS * EVENTS
    for event in range(EVENTS):
        change(connection, accounts[:ENDPOINTS], f"rate {event}")
    receiver.wait(number)
    times = sorted(at for at, _body in receiver.received)
    # Leave out the first tenth, during which the workers start.
    first = number // 10
    return (number - first) / (times[-1] - times[first])


def measure_lag(connection: psycopg.Connection, receiver: Receiver) -> dict[str, float]:
    """Return the median, 99th percentile and maximum of the lag in seconds, for the endpoints that answer, and the number of other requests."""
    accounts = [row[0] for row in connection.execute("SELECT id FROM accounts_account ORDER BY prefix DESC")]
    receiver.received.clear()
    step = 20
    changed = 0
    for _ in range(PERIODS):
        for start in range(0, len(accounts), step):
            started_at = time.monotonic()
            change(connection, accounts[start : start + step], str(time.time()))
            changed += step
            time.sleep(max(0.0, PERIOD * step / len(accounts) - (time.monotonic() - started_at)))
    receiver.wait(PERIODS * (ACCOUNTS - HANGING))
    # The name is the time of the change. A body has the name at the time of the delivery, so lags of more than a period appear too short.
    lags = sorted(at - float(body["data"]["name"]) for at, body in receiver.received)
    return {
        "lag_median": round(statistics.median(lags), 2),
        "lag_99": round(lags[len(lags) * 99 // 100], 2),
        "lag_max": round(lags[-1], 2),
        "hanging_requests": receiver.hanging_requests,
    }


def change(connection: psycopg.Connection, accounts: list[int], name: str) -> None:
    connection.execute("UPDATE crm_client SET name = %s WHERE account_id = ANY(%s)", [name, accounts])


def fill(answering: int, hanging: int) -> None:
    """Create the accounts, each with one client and one webhook. The last ones have webhooks that never answer."""
    import django

    django.setup()

    from accounts.models import Account, User
    from crm.models import Client
    from webhooks.models import Endpoint

    for number in range(ACCOUNTS):
        account = Account.objects.create(prefix=f"bench-{number:04}")
        user = User.objects.create(account=account, login="ann", email="ann@example.com", role=User.Role.OWNER)
        Client(account=account).write({"name": "0"}, by=user)
        account.changes.assign_all_numbers(account.id)
        port = hanging if number >= ACCOUNTS - HANGING else answering
        Endpoint.objects.all().add(account, url=f"http://127.0.0.1:{port}/")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    fill(*map(int, sys.argv[1:]))
