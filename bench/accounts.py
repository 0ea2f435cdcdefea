"""Measure an installation with many accounts: their creation, a dump, its restore, housekeeping, and the memory of a connection.

The command `python -m bench.accounts create FIRST LAST` creates accounts in the database of DATABASE_URL, `housekeep` runs all jobs of
housekeeping, and `memory` prints the memory of a connection that takes ids for more and more accounts.
"""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from bench import data, machine
from bench.report import say
from bench.serving import ROOT, environment
from config.local.postgres import find_program

DATABASE, RESTORED = "bench_accounts", "bench_accounts_restored"
# The numbers of accounts after which the memory of a connection is read.
MEMORY_STEPS = (100, 1000, 10_000)
# Tables whose rows are counted in the database and in its restored copy.
COMPARED = (
    "accounts_account",
    "accounts_user",
    "accounts_apitoken",
    "forum_forum",
    "forum_category",
    "account_ids.counter",
)


def measure(url: str, *, accounts: int, workers: int) -> dict:
    """Return the figures of each step."""
    for database in (DATABASE, RESTORED):
        create_database(url, database)
    result: dict = {"accounts": accounts}
    variables = environment(data.address(url, DATABASE))
    migrate = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity=0"]
    subprocess.run(migrate, cwd=ROOT, env=variables, check=True)
    say(f"Creating {accounts:,} accounts")
    with timed(result, "create s"):
        create(variables, accounts, workers)
    with psycopg.connect(data.address(url, DATABASE)) as connection:
        [result["database bytes"]] = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    with tempfile.TemporaryDirectory(prefix="rostrum-bench-dump-") as directory:
        dump = Path(directory) / "dump"
        say("Dumping the database")
        with timed(result, "dump s"):
            result["dump memory bytes"] = run(
                "pg_dump", "-Fc", f"--file={dump}", f"--dbname={data.address(url, DATABASE)}"
            )
        result["dump bytes"] = dump.stat().st_size
        say("Restoring the dump")
        with timed(result, "restore s"):
            result["restore memory bytes"] = run(
                "pg_restore", "--single-transaction", f"--dbname={data.address(url, RESTORED)}", str(dump)
            )
    compare(url)
    variables = environment(data.address(url, RESTORED))
    # The first run numbers the changes of the creation. The second one has nothing to do.
    for name in ("first housekeeping s", "housekeeping s"):
        result[name] = output(variables, "housekeep")
    # Only a superuser may read the memory of a connection.
    result["memory of a connection"] = output(environment(data.address(url, RESTORED, "postgres")), "memory")
    return result


def create_database(url: str, database: str) -> None:
    with psycopg.connect(data.address(url, "postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{database}" OWNER rostrum')


@contextlib.contextmanager
def timed(result: dict, name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    result[name] = round(time.perf_counter() - start, 1)


def create(variables: dict[str, str], accounts: int, workers: int) -> None:
    """Create the accounts in several processes."""
    bounds = [accounts * number // workers for number in range(workers + 1)]
    commands = [
        [sys.executable, "-m", "bench.accounts", "create", str(first), str(last)]
        for first, last in itertools.pairwise(bounds)
    ]
    processes = [subprocess.Popen(command, cwd=ROOT, env=variables) for command in commands]
    codes = [process.wait() for process in processes]
    for command, code in zip(commands, codes, strict=True):
        if code:
            raise subprocess.CalledProcessError(code, command)


def run(name: str, *arguments: str) -> int:
    """Run a program of PostgreSQL, and return the highest memory that it was seen to use, in bytes."""
    process, highest = subprocess.Popen([find_program(name), *arguments]), 0
    while process.poll() is None:
        highest = max(highest, machine.memory(process.pid) or 0)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, [name])
    return highest


def compare(url: str) -> None:
    """Raise SystemExit if the restored database lacks rows."""
    counts = []
    for database in (DATABASE, RESTORED):
        with psycopg.connect(data.address(url, database, "postgres")) as connection:
            counts.append([connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in COMPARED])  # noqa: S608
    if counts[0] != counts[1]:
        raise SystemExit(f"The restored database differs: {counts}")


def output(variables: dict[str, str], command: str) -> dict | float:
    """Return the JSON that a command of this module prints."""
    completed = subprocess.run(
        [sys.executable, "-m", "bench.accounts", command], cwd=ROOT, env=variables, stdout=subprocess.PIPE, check=True
    )
    return json.loads(completed.stdout)


# The commands


def create_accounts(first: int, last: int) -> None:
    from django.test.utils import override_settings

    from accounts.account_creation import create_account

    # A hash of a password takes longer than the rest, and does not depend on the number of accounts.
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        for number in range(first, last):
            prefix = f"account-{number}"
            create_account(prefix=prefix, login="owner", email=f"{prefix}@example.com", password=data.PASSWORD)


def housekeep() -> None:
    from core import housekeeping

    start = time.perf_counter()
    for job in (
        housekeeping.erase_trash,
        housekeeping.erase_changes,
        housekeeping.erase_outdated_rows,
        housekeeping.clean_up_tables,
        housekeeping.erase_failed_jobs,
    ):
        job()
    print(round(time.perf_counter() - start, 2))


def connection_memory() -> None:
    """Print the memory of one connection after it took ids for each number of accounts."""
    memory = {}
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        accounts = [
            id
            for [id] in connection.execute("SELECT id FROM accounts_account ORDER BY id LIMIT %s", [MEMORY_STEPS[-1]])
        ]
        for number, account in enumerate(accounts, 1):
            connection.execute("SELECT account_ids.reserve(%s, 1)", [account], prepare=True)
            if number in MEMORY_STEPS:
                statement = "SELECT sum(total_bytes) FROM pg_backend_memory_contexts"
                memory[number] = int(connection.execute(statement).fetchone()[0])
    print(json.dumps(memory))


def main() -> None:
    import django

    django.setup()
    command, *numbers = sys.argv[1:]
    commands = {"create": create_accounts, "housekeep": housekeep, "memory": connection_memory}
    commands[command](*map(int, numbers))


if __name__ == "__main__":
    main()
