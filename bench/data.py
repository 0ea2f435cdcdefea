"""The data sets of the benchmarks, created by SQL.

Each size is a database in the benchmark's cluster. It is created once and reused by every run. Rows that a run has written
are removed before the next run. An unfinished set is created again.

The command `python -m bench.data` fills the database of DATABASE_URL with one set.
"""

import argparse
import dataclasses
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench import rows
from bench.progress import Bar

LOGIN, PASSWORD = "bench", "bench-0123456789"
# Increase the version when the contents of the data sets change. Existing sets are then created again.
VERSION = 4
# The rows that one INSERT statement creates.
BATCH_ROWS = 10_000


@dataclass(frozen=True)
class Size:
    posts: int = 1_000_000
    clients: int = 1_000_000
    # The number of other accounts.
    others: int = 50

    @property
    def database(self) -> str:
        return f"bench{VERSION}_{self.posts}_{self.clients}_{self.others}"

    def __str__(self) -> str:
        return f"{self.posts:,} posts, {self.clients:,} clients, {self.others:,} other accounts"


def address(url: str, database: str, user: str = "rostrum") -> str:
    """Return the address of another database of the cluster. The user `postgres` is a superuser."""
    return re.sub(r"//\w+@(.*)/\w+$", rf"//{user}@\1/{database}", url)


def get_or_create(url: str, size: Size, environment: dict[str, str]) -> dict:
    """Return the description of the data set of this size. Create the set if it does not exist."""
    with psycopg.connect(address(url, "postgres", "postgres"), autocommit=True) as connection:
        exists = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [size.database]).fetchone()
        if exists and (data_set := read(url, size)):
            # The set may have been created by an older version of the code.
            command = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity=0"]
            variables = environment | {"DATABASE_URL": address(url, size.database)}
            subprocess.run(command, cwd=Path(__file__).resolve().parent.parent, env=variables, check=True)
            remove_added_rows(url, size, data_set)
            return data_set
        print(f"Creating {size}", flush=True)
        older_databases = (
            "SELECT datname FROM pg_database WHERE datname ~ '^bench[0-9]+_' AND NOT starts_with(datname, %s)"
        )
        for [name] in connection.execute(older_databases, [f"bench{VERSION}_"]).fetchall():
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        connection.execute(f'DROP DATABASE IF EXISTS "{size.database}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{size.database}" OWNER rostrum')
        # These settings apply only while the set is created. Otherwise pending checkpoints and autovacuum would slow down the first case.
        settings = {"max_wal_size": "8GB", "autovacuum": "off"}
        try:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            connection.execute("SELECT pg_reload_conf()")
            command = [sys.executable, "-m", "bench.data", *(str(value) for value in dataclasses.astuple(size))]
            subprocess.run(command, env=environment | {"DATABASE_URL": address(url, size.database)}, check=True)
        finally:
            for name in settings:
                connection.execute(f"ALTER SYSTEM RESET {name}")
            connection.execute("SELECT pg_reload_conf()")
        connection.execute("CHECKPOINT")
    data_set = read(url, size)
    assert data_set, "the new set has no description"
    return data_set


def read(url: str, size: Size) -> dict | None:
    """Return the description of the data set of this size, or None if the set does not exist, is unfinished or lacks rows."""
    with psycopg.connect(address(url, size.database)) as connection:
        if connection.execute("SELECT to_regclass('bench_data_set')").fetchone()[0] is None:
            return None
        data_set = connection.execute("SELECT data_set FROM bench_data_set").fetchone()[0]
        values = {"account": data_set["account"], "last": data_set["last_id"]}
        for table, number in (("forum_post", size.posts), ("crm_client", size.clients)):
            statement = f"SELECT count(*) FROM {table} WHERE account_id = %(account)s AND id <= %(last)s"  # noqa: S608
            if connection.execute(statement, values).fetchone()[0] != number:
                return None
        return data_set


def remove_added_rows(url: str, size: Size, data_set: dict) -> None:
    """Remove the rows that earlier runs have written."""
    from forum.facets import COUNTER

    with psycopg.connect(address(url, size.database, "postgres"), autocommit=True) as connection:
        # Disable triggers, which would record the deletions in the change feed.
        connection.execute("SET session_replication_role = replica")
        values = {"account": data_set["account"], "last": data_set["last_id"]}
        deleted = 0
        for table, column in (("crm_clientexternalid", "holder_id"), ("crm_client", "id"), ("forum_post", "id")):
            statement = f"DELETE FROM {table} WHERE account_id = %(account)s AND {column} > %(last)s"  # noqa: S608
            deleted += connection.execute(statement, values).rowcount
        # Without triggers, the counts are outdated. The first deep page counts the posts of its category again.
        connection.execute("TRUNCATE accounts_change, accounts_idempotentanswer, forum_postcount")
        if deleted:
            connection.execute("TRUNCATE forum_facetcount")
            connection.execute(COUNTER.count_all)
            with Bar(f"Removing {deleted:,} rows of earlier runs", len(rows.TABLES)) as bar:
                for table in rows.TABLES:
                    connection.execute(f"VACUUM ANALYZE {table}")
                    bar.add(1)
                connection.execute("CHECKPOINT")


class DataSetBuilder:
    """The builder of one data set. It creates rows and indexes on as many connections as there are cores."""

    def __init__(self, size: Size):
        self.size = size
        self.url = address(os.environ["DATABASE_URL"], size.database, "postgres")
        self.data_set: dict = {}

    def build(self) -> None:
        from django.core.management import call_command

        with Bar("Tables", 1):
            call_command("migrate", verbosity=0)
        self.create_accounts()
        with self.connect() as connection:
            indexes = self.secondary_indexes(connection)
            for name, _ in indexes:
                connection.execute(f"DROP INDEX {name}")
        self.fill()
        # Create the largest index first, so that all connections finish at about the same time.
        indexes.sort(key=lambda index: (" gin " not in index[1], "search_name" not in index[1]))
        self.execute_all("Indexes", [(definition, {}, 1) for _, definition in indexes])
        with Bar("Vacuum and statistics", 1), self.connect() as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CREATE TABLE bench_data_set (data_set jsonb NOT NULL)")
            connection.execute("GRANT SELECT ON bench_data_set TO rostrum")
            connection.execute("INSERT INTO bench_data_set VALUES (%s)", [json.dumps(self.data_set)])

    def connect(self) -> psycopg.Connection:
        connection = psycopg.connect(self.url, autocommit=True, cursor_factory=psycopg.ClientCursor)
        # Disable triggers and foreign keys, as for the restore of a backup: the rows are valid by construction, and need no
        # changes in the feed.
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET statement_timeout = 0")
        connection.execute("SET maintenance_work_mem = '512MB'")
        connection.execute("SET max_parallel_maintenance_workers = 0")
        return connection

    def create_accounts(self) -> None:
        """Create the accounts with the code of the service."""
        from accounts import passwords
        from accounts.account_creation import create_account

        account, owner, token = create_account(
            prefix="bench", login=LOGIN, email="bench@example.com", password=PASSWORD
        )
        forum = account.forums.get(is_default=True)
        self.data_set = {
            "account": account.id,
            "forum": forum.id,
            "category": account.categories.of_forum(forum.id).first().id,
            "status": account.default_status("post").id,
            "user": owner.id,
            "token": token,
            **dataclasses.asdict(self.size),
        }
        # Nobody signs in to the other accounts, so their passwords are hashed cheaply.
        passwords.Argon2idPasswordHasher.time_cost = 1
        passwords.Argon2idPasswordHasher.memory_cost = 8
        with Bar("Other accounts", self.size.others) as bar:
            for number in range(self.size.others):
                create_account(
                    prefix=f"other-{number}",
                    login=f"owner-{number}",
                    email=f"owner-{number}@example.com",
                    password=PASSWORD,
                )
                bar.add(1)

    @staticmethod
    def secondary_indexes(connection: psycopg.Connection) -> list[tuple[str, str]]:
        """Return the names and definitions of all indexes except those of constraints."""
        return connection.execute(
            """
            SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
            WHERE indrelid = ANY(%s::regclass[]) AND NOT indisunique
            """,
            [list(rows.TABLES)],
        ).fetchall()

    def fill(self) -> None:
        """Create the rows, and what triggers would create for them: external ids, counts of tags and stored words."""
        from crm.models import Client
        from forum.facets import COUNTER
        from forum.models import Post

        size, data_set = self.size, self.data_set
        with self.connect() as connection:
            sequence = f"account_ids.a{data_set['account']}"
            last_id = connection.execute(f"SELECT nextval('{sequence}')").fetchone()[0]
            commented = min(rows.COMMENTED_POSTS, size.posts)
            data_set["first_post"], data_set["last_post"] = last_id + 1, last_id + size.posts
            data_set["first_client"], data_set["last_client"] = (
                data_set["last_post"] + 1,
                data_set["last_post"] + size.clients,
            )
            data_set["first_commented"] = data_set["last_post"] - commented + 1
            data_set["comments"] = commented * rows.COMMENTS_PER_POST
            data_set["last_id"] = data_set["last_client"] + data_set["comments"]
            connection.execute("SELECT setval(%s, %s)", [sequence, data_set["last_id"]])
            connection.execute(rows.TAGS, rows.PARAMETERS)
            data_set["last_id"] += len(rows.TAGS_OF_CLIENTS)
        values = {**rows.PARAMETERS, **data_set}
        batches = [
            *self.batches(rows.CLIENTS, values, size.clients),
            *self.batches(rows.POSTS, values, size.posts),
            *self.batches(rows.COMMENTS, values, commented, weight=rows.COMMENTS_PER_POST),
        ]
        self.execute_all("Rows", batches)
        others = [
            (rows.OTHERS_POSTS, values, rows.ROWS_PER_OTHER_ACCOUNT),
            (rows.OTHERS_CLIENTS, values, rows.ROWS_PER_OTHER_ACCOUNT),
        ]
        self.execute_all("Rows of other accounts", others)
        words = [(model.search.learn_statement(model), {}, 1) for model in (Client, Post)]
        counts = [(rows.EXTERNAL_IDS, values, 1), (rows.TAG_COUNTS, values, 1), (COUNTER.count_all, {}, 1)]
        self.execute_all("External ids, counts of tags, words", [*words, *counts])

    @staticmethod
    def batches(statement: str, values: dict, total: int, *, weight: int = 1) -> Iterable[tuple[str, dict, int]]:
        """Yield the statement for each batch of row numbers. `weight` is the number of rows that it inserts for each number."""
        for first in range(1, total + 1, BATCH_ROWS):
            last = min(total, first + BATCH_ROWS - 1)
            yield statement, {**values, "first": first, "last": last}, (last - first + 1) * weight

    def execute_all(self, name: str, statements: list[tuple[str, dict, int]]) -> None:
        """Execute statements on several connections, in any order. Each has its SQL, its parameters, and its share of the progress bar."""
        pending: queue.SimpleQueue = queue.SimpleQueue()
        for statement in statements:
            pending.put(statement)
        errors: list[BaseException] = []

        with Bar(name, sum(weight for _, _, weight in statements)) as bar:

            def execute_pending() -> None:
                try:
                    with self.connect() as connection:
                        while not errors:
                            statement, values, weight = pending.get_nowait()
                            connection.execute(statement, values or None)
                            bar.add(weight)
                except queue.Empty:
                    pass
                except BaseException as error:  # noqa: BLE001, raised again below
                    errors.append(error)

            run_in_threads([execute_pending] * min(os.cpu_count() or 1, len(statements)))
            if errors:
                raise errors[0]


def run_in_threads(functions: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("posts", "clients", "others"):
        parser.add_argument(name, type=int)
    size = Size(**vars(parser.parse_args()))
    import django

    django.setup()
    DataSetBuilder(size).build()


if __name__ == "__main__":
    main()
