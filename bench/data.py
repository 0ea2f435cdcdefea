"""The data sets of the benchmarks, created by SQL.

Each size is a database in the benchmark's cluster. It is created once and reused by every run. Rows that a run has written
are removed before the next run. An unfinished set is created again.

The command `python -m bench.data` fills the database of DATABASE_URL with one set, or removes such rows from it.
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

from bench import crm_rows, rows
from bench.progress import Bar

LOGIN, PASSWORD = "bench", "bench-0123456789"
# Increase the version when the contents of the data sets change. Existing sets are then created again.
VERSION = 6
# The rows that one INSERT statement creates.
BATCH_ROWS = 10_000
TABLES = rows.TABLES + crm_rows.TABLES


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
            run(url, size, environment, "--clean")
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
            run(url, size, environment)
        finally:
            for name in settings:
                connection.execute(f"ALTER SYSTEM RESET {name}")
            connection.execute("SELECT pg_reload_conf()")
        connection.execute("CHECKPOINT")
    data_set = read(url, size)
    assert data_set, "the new set has no description"
    return data_set


def run(url: str, size: Size, environment: dict[str, str], *options: str) -> None:
    """Run this module as a command, because a process can use only one database with Django."""
    command = [sys.executable, "-m", "bench.data", *(str(value) for value in dataclasses.astuple(size)), *options]
    variables = environment | {"DATABASE_URL": address(url, size.database)}
    subprocess.run(command, cwd=Path(__file__).resolve().parent.parent, env=variables, check=True)


def read(url: str, size: Size) -> dict | None:
    """Return the description of the data set of this size, or None if the set does not exist, is unfinished or lacks rows."""
    with psycopg.connect(address(url, size.database)) as connection:
        if connection.execute("SELECT to_regclass('bench_data_set')").fetchone()[0] is None:
            return None
        data_set = connection.execute("SELECT data_set FROM bench_data_set").fetchone()[0]
        values = {"account": data_set["account"], "id": data_set["last_id"], "number": data_set["last_entry"]}
        expected = (
            ("forum_post", "id", data_set["posts"] + data_set["tasks"]),
            ("crm_client", "id", data_set["clients"]),
            ("crm_deal", "id", data_set["deals"]),
            ("workspace_timelineentry", "number", data_set["entries"]),
        )
        for table, column, number in expected:
            statement = f"SELECT count(*) FROM {table} WHERE account_id = %(account)s AND {column} <= %({column})s"  # noqa: S608
            if connection.execute(statement, values).fetchone()[0] != number:
                return None
        return data_set


def remove_added_rows(url: str, size: Size) -> None:
    """Remove the rows that earlier runs have written. The set may have been created by an older version of the code."""
    from django.core.management import call_command

    from forum.facets import COUNTER

    call_command("migrate", interactive=False, verbosity=0)
    data_set = read(url, size) or {}
    with psycopg.connect(address(url, size.database, "postgres"), autocommit=True) as connection:
        # Disable triggers, which would record the deletions in the change feed.
        connection.execute("SET session_replication_role = replica")
        values = {"account": data_set["account"], "id": data_set["last_id"], "number": data_set["last_entry"]}
        deleted = 0
        for table, column, last in (
            ("crm_clientexternalid", "holder_id", "id"),
            ("crm_clientlastchange", "id", "id"),
            ("workspace_clientsummary", "client_id", "id"),
            ("workspace_timelineentry", "number", "number"),
            ("crm_client", "id", "id"),
            ("forum_post", "id", "id"),
            ("forum_postsortkey", "id", "id"),
            ("accounts_session", "id", "id"),
        ):
            statement = f"DELETE FROM {table} WHERE account_id = %(account)s AND {column} > %({last})s"  # noqa: S608
            deleted += connection.execute(statement, values).rowcount
        connection.execute("TRUNCATE accounts_change, accounts_idempotentanswer")
        if deleted:
            connection.execute("TRUNCATE forum_facetcount")
            connection.execute(COUNTER.count_all)
            with Bar(f"Removing {deleted:,} rows of earlier runs", len(TABLES)) as bar:
                for table in TABLES:
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
        self.summarize()
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
        from crm.models import FieldDefinition

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
        account.statuses.create(
            kind="deal",
            code="negotiation",
            name="Negotiation",
            outcome="open",
            probability=70,
            pipeline_id=1,
            position=4,
        )
        for position, name in enumerate(crm_rows.CLIENT_STATUSES, start=1):
            account.statuses.create(kind="client", code=name.lower(), name=name, position=position)
        for key, choices in crm_rows.DEAL_FIELDS.items():
            definition = FieldDefinition(account=account, resource="deal", key=key)
            definition.write({"label": key.capitalize(), "type": "choice", "choices": choices, "in_lists": True})
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
            WHERE indrelid = ANY(%s::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
            """,
            [list(TABLES)],
        ).fetchall()

    def fill(self) -> None:
        """Create the rows, and what triggers would create for them, except for summaries."""
        self.allocate_ids()
        size, data_set = self.size, self.data_set
        values = {**rows.PARAMETERS, **crm_rows.PARAMETERS, **data_set}
        with self.connect() as connection:
            for statement in (rows.TAGS, crm_rows.USERS, crm_rows.CONTACT_LISTS):
                connection.execute(statement, values)
        commented = data_set["commented"]
        batches = [
            *self.batches(rows.CLIENTS, values, size.clients),
            *self.batches(rows.POSTS, values, size.posts),
            *self.batches(rows.COMMENTS, values, commented, weight=rows.COMMENTS_PER_POST),
            *self.batches(crm_rows.DEALS, values, data_set["deals"]),
            *self.batches(crm_rows.CONTACTS, values, data_set["contacts"]),
            *self.batches(crm_rows.TASKS, values, data_set["tasks"]),
            *self.batches(crm_rows.NOTES, values, data_set["notes"]),
            *self.batches(crm_rows.CHANGES, values, data_set["changes"]),
        ]
        self.execute_all("Rows", batches)
        links = [
            *self.batches(crm_rows.STAGES, values, data_set["deals"]),
            *self.batches(crm_rows.MEMBERSHIPS, values, data_set["contacts"]),
            *((statement, values, commented) for statement in crm_rows.FEEDBACK),
            (rows.OTHERS_POSTS, values, rows.ROWS_PER_OTHER_ACCOUNT),
            (rows.OTHERS_CLIENTS, values, rows.ROWS_PER_OTHER_ACCOUNT),
        ]
        self.execute_all("Stages, votes, rows of other accounts", links)
        entries = [
            batch
            for statement, number in crm_rows.mirrored_entries()
            for batch in self.batches(statement, values, data_set[number])
        ]
        self.execute_all("Timeline", [(crm_rows.stage_entries(), {}, data_set["deals"]), *entries])
        self.execute_all("External ids, counts, words", self.derived(values))
        self.execute_all("Sort keys of posts", [(rows.sort_keys(), {}, size.posts)])

    def allocate_ids(self) -> None:
        """Take ids for all rows of the account. The ids of each kind follow each other, from `first_…` to `last_…`."""
        size, data_set = self.size, self.data_set
        commented = min(rows.COMMENTED_POSTS, size.posts)
        numbers = {
            "post": size.posts,
            "client": size.clients,
            "comment": commented * rows.COMMENTS_PER_POST,
            "agent": rows.AGENTS,
            "member": crm_rows.MEMBERS,
            "contact": size.clients // 4,
            "contact_list": len(crm_rows.LISTS),
            "deal": size.clients,
            "task": size.posts // 4,
            "note": size.clients // 2,
            "proxy_vote": commented * crm_rows.PROXY_VOTES,
            "user_link": crm_rows.MEMBERS,
            "tag": len(rows.TAGS_OF_CLIENTS),
        }
        with self.connect() as connection:
            last_id = connection.execute("SELECT account_ids.reserve(%s, 1)", [data_set["account"]]).fetchone()[0]
            for kind, number in numbers.items():
                data_set |= {f"first_{kind}": last_id + 1, f"last_{kind}": last_id + number, f"{kind}s": number}
                # The tags take their ids from the counter of the account.
                if kind == "tag":
                    connection.execute("SELECT account_ids.advance(%s, %s)", [data_set["account"], last_id])
                last_id += number
            statuses = (
                "SELECT array_agg(id ORDER BY position, id) FROM accounts_status WHERE account_id = %s AND kind = %s"
            )
            for kind in ("deal", "client"):
                [data_set[f"{kind}_statuses"]] = connection.execute(statuses, [data_set["account"], kind]).fetchone()
        data_set |= {
            "commented": commented,
            "first_commented": data_set["last_post"] - commented + 1,
            "changes": 2 * size.clients // 5,
            "team": [data_set["user"], *range(data_set["first_agent"], data_set["last_agent"] + 1)],
            "last_id": last_id,
        }

    @staticmethod
    def derived(values: dict) -> list[tuple[str, dict, int]]:
        """Return the statements for external ids, counts, and the words of searches."""
        from accounts.models import User
        from crm import stages
        from crm.models import Client, Contact, Deal, Note
        from forum import facets
        from forum.models import Post

        statements = [
            *(model.search.learn_statement(model) for model in (Client, Post, Deal, Note, Contact, User)),
            facets.COUNTER.count_all,
            stages.COUNTER.count_all,
            crm_rows.MEMBERSHIP_COUNTS,
        ]
        of_account = [rows.EXTERNAL_IDS, *map(rows.tag_counts, ("client", "contact", "deal")), crm_rows.vote_weights()]
        return [
            *((statement, {}, 1) for statement in statements),
            *((statement, values, 1) for statement in of_account),
        ]

    def summarize(self) -> None:
        """Store the summaries of clients, contacts, deals and suggestions. Their functions and queries need the indexes of the rows."""
        data_set = self.data_set
        with Bar("Statistics", 1), self.connect() as connection:
            connection.execute("ANALYZE")
        # In this order, because the summaries of contacts depend on those of deals, and those of clients on all others.
        for kind in ("deal", "contact", "client"):
            self.execute_all(f"Last changes of {kind}s", [(crm_rows.last_changes(kind), data_set, 1)])
            batches = self.batches(crm_rows.summaries(kind), data_set, data_set[f"{kind}s"])
            others = (crm_rows.summaries_of_others(kind), data_set, 1)
            self.execute_all(f"Summaries of {kind}s", [*batches, others])
            if kind == "deal":
                self.execute_all("Revenue of clients", self.revenue_batches())
        for statement in (crm_rows.BACKERS, crm_rows.REVENUE_OF_POSTS):
            self.execute_all("Clients and revenue of suggestions", [(statement, data_set, 1)])
        with self.connect() as connection:
            entries = "SELECT count(*), max(number) FROM workspace_timelineentry"
            data_set["entries"], data_set["last_entry"] = connection.execute(entries).fetchone()

    def revenue_batches(self) -> list[tuple[str, dict, int]]:
        from workspace.recount import WRITE_REVENUE

        first, last = self.data_set["first_client"], self.data_set["last_client"]
        return [
            (WRITE_REVENUE, {"account_id": self.data_set["account"], "ids": ids}, len(ids))
            for id in range(first, last + 1, BATCH_ROWS)
            if (ids := list(range(id, min(last + 1, id + BATCH_ROWS))))
        ]

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
    parser.add_argument("--clean", action="store_true", help="only remove the rows that earlier runs have written")
    options = vars(parser.parse_args())
    clean, size = options.pop("clean"), Size(**options)
    import django

    django.setup()
    if clean:
        remove_added_rows(os.environ["DATABASE_URL"], size)
    else:
        DataSetBuilder(size).build()


if __name__ == "__main__":
    main()
