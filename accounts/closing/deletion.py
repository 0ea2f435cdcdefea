"""The deletion of an account with all its rows, in all tables, when the time in which an owner can keep it is over."""

import logging
from datetime import datetime, timedelta
from graphlib import TopologicalSorter
from typing import Any

from django.db import connection
from django.dispatch import receiver
from django.utils import timezone
from psycopg import sql

from accounts.account.models import Account, closing_changed
from accounts.closing.emails import announce
from accounts.hosts.models import FormerPrefix
from core.db.transactions import in_transaction
from core.jobs.queue import Job
from core.jobs.registry import MAX_TIME_SLICE, RetryDelays, closed_accounts, has_time_left, job

logger = logging.getLogger("rostrum.accounts")

REMINDER = timedelta(days=3)
BATCH_SIZE = 2000
RETRY = RetryDelays(600, 3600, 6 * 3600, 24 * 3600)
# The database deletes the entries of the audit log with the account, and refuses to delete them before. The job itself is a row of `core_job`.
KEPT_TABLES = {"public.accounts_auditentry", "public.core_job"}

TABLES = """
SELECT relation.oid, format('%I.%I', relnamespace::regnamespace, relname) FROM pg_class AS relation
JOIN pg_attribute AS attribute ON attrelid = relation.oid AND attname = 'account_id' AND NOT attisdropped
WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('public', 'account_ids')
"""
# A row that refers to another one is deleted first, except where the database itself ends the reference.
REFERENCES = (
    "SELECT conrelid, confrelid FROM pg_constraint WHERE contype = 'f' AND confdeltype <> 'n' AND conrelid <> confrelid"
)


def tables_of_accounts() -> list[str]:
    """Return the names of the tables with rows of accounts. A table comes before those to which its rows refer."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        names = dict(cursor.fetchall())
        cursor.execute(REFERENCES)
        order: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(names, ()))
        for child, parent in cursor.fetchall():
            if child in names and parent in names:
                order.add(parent, child)
    return [names[oid] for oid in order.static_order() if names[oid] not in KEPT_TABLES]


def delete_rows(account_id: int, table: str) -> int:
    """Delete rows of the account from a table. Return their number."""
    statement = sql.SQL(
        "DELETE FROM {table} WHERE account_id = %s AND ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE account_id = %s LIMIT %s))"
    ).format(table=sql.SQL(table))  # PostgreSQL has quoted the name
    with connection.cursor() as cursor:
        cursor.execute(statement, [account_id, account_id, BATCH_SIZE])
        return int(cursor.rowcount)


def delete_account_rows(account_id: int) -> bool:
    """Delete the rows of an account in batches. Return False if the time is over."""
    tables, deleted = tables_of_accounts(), True
    # Triggers on deleted rows write others, such as changes for the feed.
    while deleted:
        deleted = False
        for table in tables:
            while count := in_transaction(lambda table=table: delete_rows(account_id, table)):  # type: ignore[misc]
                deleted = True
                if not has_time_left():
                    return False
                if count < BATCH_SIZE:
                    break
    return True


def is_due(account: Account | None, deletion_at: str) -> bool:
    """Return whether the account is still to be deleted at this time."""
    return account is not None and account.deletion_at == datetime.fromisoformat(deletion_at)


@job(time_limit=300, time_slice=MAX_TIME_SLICE, retry=RETRY, runs_when_closed=True)
def delete_account(*, account_id: int, deletion_at: str) -> None:
    """Delete an account for good. What does not fit into the time slice is left to another job."""
    account = Account.objects.filter(id=account_id).first()
    if account is None or not is_due(account, deletion_at) or datetime.fromisoformat(deletion_at) > timezone.now():
        return
    if not delete_account_rows(account_id):
        delete_account.defer(account_id=account_id, deletion_at=deletion_at)
        return

    def act() -> None:
        FormerPrefix.objects.reserve(account.prefix)
        Job.objects.filter(account_id=account_id).exclude(state=Job.State.RUNNING).delete()
        # A job erases the files, because it needs no row.
        account.delete()

    in_transaction(act)
    logger.info("account %d was deleted", account_id)


@job(retry=RETRY, runs_when_closed=True)
def remind_owners(*, account_id: int, deletion_at: str) -> None:
    account = Account.objects.filter(id=account_id).first()
    if account is not None and is_due(account, deletion_at):
        in_transaction(lambda: announce(account, "deletion_asked"))


@receiver(closing_changed)
def on_closing_changed(*, account: Account, act: str, **_options: object) -> None:
    announce(account, act)
    if act == "deletion_asked" and (at := account.deletion_at) is not None:
        arguments: dict[str, Any] = {"account_id": account.id, "deletion_at": at.isoformat()}
        remind_owners.defer(**arguments, _schedule_at=at - REMINDER)
        delete_account.defer(**arguments, _schedule_at=at)


def is_closed(account_id: int) -> bool:
    account = Account.objects.filter(id=account_id).only("suspended_at", "deletion_at").first()
    return account is not None and account.is_closed


closed_accounts.register(is_closed)
