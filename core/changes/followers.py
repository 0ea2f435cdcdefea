"""Followers of the change feed: consumers of an account's changes inside of the service.

A follower is a row with a cursor: the number of the last change that it has handled. Writes of resources do not change followers. The
statement that assigns numbers to changes sets `newest` and `due_at` of the account's followers. Workers thus find the followers with new
changes through one index, and accounts without new changes cost nothing.

A worker leases due followers. A lease is a time in `due_at` after which other workers may lease the follower again, by the clock of the
database, and a token that grows with every lease. Each later write compares the token, in the transaction with the effects of the
changes. A worker that was suspended for longer than its lease thus cannot write anything.

A `ChangeFollower` handles changes in one transaction together with the advance of the cursor, so its effects on the database happen
exactly once. A replay moves the cursor back, to changes that are kept (`CHANGE_RETENTION`).
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection, models, transaction

from core.changes.models import NUMBERED_ACCOUNTS, Change, account_followers

logger = logging.getLogger("rostrum.followers")

# The time after which a follower of a worker that died is leased again.
LEASE_DURATION = timedelta(seconds=30)
# The same for a follower that handles changes in a transaction, which takes longer than one request.
HANDLING_LEASE_DURATION = timedelta(seconds=120)
# The maximum number of changes that a follower handles in one transaction.
BATCH_SIZE = 100
# Seconds before the next attempt after the first failure. The delay doubles with each failure, up to the maximum.
FIRST_RETRY_DELAY, MAX_RETRY_DELAY = 5, 600
# If a change fails once more after this number of failures in a row (about 2 hours and 20 minutes), it is skipped, so that it does not
# block all later changes.
MAX_FAILURES = 20
# When a paused follower is due.
PAUSED_UNTIL = datetime(9999, 1, 1, tzinfo=UTC)
# Seconds between two polls that found nothing.
POLL_INTERVAL = 0.2
# Seconds before the next poll after an error.
ERROR_DELAY = 2
# The maximum number of followers that one statement leases. All of them must be handled before the lease ends.
LEASED_FOLLOWERS = 4


class LeaseLostError(Exception):
    """The lease has become invalid: the follower was leased by another worker, paused, resumed, retried, replayed or deleted."""


class ChangeFollower:
    """The base of followers that handle changes in a transaction. Every account has one of each registered class."""

    # The stored name. Do not change it: a follower with a new name begins with the next change.
    name: str

    def handle(self, account_id: int, changes: Sequence[Change]) -> None:
        """Handle the next changes of an account, in the order of their numbers: at least one and at most `BATCH_SIZE`.

        An exception rolls back all effects, and the changes are handled again later, one by one.
        """
        raise NotImplementedError


change_followers: dict[str, ChangeFollower] = {}


def register_follower(follower: ChangeFollower) -> None:
    """Register a follower that every account has. Call this in the module `registration` of a subject.

    An account gets its follower with its next change. Earlier changes are not handled.
    """
    if follower.name in change_followers:
        raise ImproperlyConfigured(f"The follower {follower.name!r} is registered twice.")
    change_followers[follower.name] = follower
    account_followers.add(follower.name)


@dataclass
class FollowerLease:
    """The right to handle the changes of a follower after its cursor."""

    account_id: int
    name: str
    key: int
    cursor: int
    newest: int
    token: int
    failures: int

    @property
    def row(self) -> "models.QuerySet[Follower]":
        """The query for the follower, which finds nothing if the lease is lost."""
        return Follower.objects.filter(account_id=self.account_id, name=self.name, key=self.key, token=self.token)

    def next_changes(self, *, limit: int = BATCH_SIZE) -> list[Change]:
        """Return the first changes after the cursor."""
        changes = Change.objects.filter(account_id=self.account_id, number__gt=self.cursor)
        return list(changes.order_by("number")[:limit])

    def advance(self, to: int) -> None:
        """Move the cursor and end the lease. The follower stays due if it has newer changes. Raise LeaseLostError."""
        is_behind = models.Q(newest__gt=to)
        due_at = models.Case(models.When(is_behind, then=ClockTimestamp()), default=None)
        self._update(cursor=to, failures=0, due_at=due_at)

    def postpone(self, delay: timedelta) -> None:
        """Record a failure and end the lease. The follower is due again after a delay. Raise LeaseLostError."""
        self._update(failures=models.F("failures") + 1, due_at=ClockTimestamp() + models.Value(delay))

    def release(self, *, delay: timedelta = timedelta()) -> None:
        """End the lease without an advance. The follower is due after a delay, by default at once. Raise LeaseLostError."""
        self._update(due_at=ClockTimestamp() + models.Value(delay))

    def _update(self, **values: object) -> None:
        if not self.row.update(**values):
            raise LeaseLostError


class ClockTimestamp(models.Func):
    """The current time of the database. Unlike `Now()`, it advances within a transaction."""

    function = "clock_timestamp"
    arity = 0
    output_field = models.DateTimeField()


class FollowerQuerySet(models.QuerySet["Follower"]):
    def lease(
        self, names: Iterable[str], *, limit: int, failing: bool | None = None, duration: timedelta = LEASE_DURATION
    ) -> list[FollowerLease]:
        """Lease the followers with these names that have been due for longest. Skip rows that another worker is leasing at the same time.

        `failing` limits them to those whose last attempt failed, or to the others.
        """
        sql = LEASE if failing is None else LEASE_FAILING if failing else LEASE_HEALTHY
        with connection.cursor() as cursor:
            cursor.execute(sql, {"names": list(names), "limit": limit, "duration": duration.total_seconds()})
            return [FollowerLease(*row) for row in cursor.fetchall()]

    def advance_leased(self, leases: Sequence[FollowerLease], cursors: Sequence[int]) -> list[FollowerLease]:
        """Move the cursors of leased followers, with one statement for all. Lost leases are left out.

        Renew the leases of followers that have newer changes, and return them. End the other leases.
        """
        parameters = (
            [lease.account_id for lease in leases],
            [lease.name for lease in leases],
            [lease.key for lease in leases],
            [lease.token for lease in leases],
            list(cursors),
            LEASE_DURATION.total_seconds(),
        )
        with connection.cursor() as cursor:
            cursor.execute(ADVANCE, parameters)
            advanced = [FollowerLease(*row) for row in cursor.fetchall()]
        return [lease for lease in advanced if lease.newest > lease.cursor]

    def pause(self, account_id: int, name: str, key: int) -> None:
        """Stop the follower until `resume`. A worker that holds the lease loses it."""
        rows = self.filter(account_id=account_id, name=name, key=key)
        rows.update(due_at=PAUSED_UNTIL, token=models.F("token") + 1)

    def resume(self, account_id: int, name: str, key: int) -> None:
        """Let a paused follower continue with the next change of the account."""
        rows = self.filter(account_id=account_id, name=name, key=key)
        rows.update(cursor=models.F("newest"), failures=0, due_at=ClockTimestamp(), token=models.F("token") + 1)

    def retry(self, account_id: int, name: str, key: int) -> None:
        """Make a follower due now if its next attempt was postponed. A worker that holds the lease loses it."""
        rows = self.filter(account_id=account_id, name=name, key=key, due_at__isnull=False)
        rows.update(failures=0, due_at=ClockTimestamp(), token=models.F("token") + 1)

    def record_loss(self, lease: FollowerLease) -> None:
        """Count a lost lease as a failure. The next attempt then handles only one change, which takes less time."""
        rows = self.filter(account_id=lease.account_id, name=lease.name, key=lease.key, cursor=lease.cursor)
        rows.update(failures=models.F("failures") + 1)

    def start(self, account_id: int, name: str, key: int) -> None:
        """Create a follower that is not registered for every account. It begins with the next change of the account."""
        with transaction.atomic():
            changes = Change.objects.all()
            # Without the lock, a concurrent transaction could assign numbers above `end`, and would not see this follower to make it due.
            changes.lock_numbering(account_id)
            # Changes get numbers when the feed is read. Earlier changes that are still without a number would get numbers above `end`.
            changes.assign_all_numbers(account_id)
            end = changes.filter(account_id=account_id).aggregate(last=models.Max("number"))["last"] or 0
            self.create(account_id=account_id, name=name, key=key, cursor=end, newest=end)

    def replay(self, account_id: int, name: str, key: int = 0, *, after: int) -> bool:
        """Move the cursor of a follower back, so that it handles the changes after this number again.

        A worker that holds the lease loses it. Return False if the cursor is not beyond that number.
        """
        rows = self.filter(account_id=account_id, name=name, key=key, cursor__gt=after)
        return bool(rows.update(cursor=after, token=models.F("token") + 1, failures=0, due_at=ClockTimestamp()))


class Follower(models.Model):
    """A consumer of an account's changes. Followers of the same name, such as `webhook`, have different keys."""

    pk = models.CompositePrimaryKey("account_id", "name", "key")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, db_index=False)
    name = models.CharField(max_length=255)
    key = models.BigIntegerField(default=0)
    # The number of the last change that was handled, and of the newest change of the account.
    cursor = models.BigIntegerField()
    newest = models.BigIntegerField()
    # When a worker may lease the follower: null if there is nothing to do, the end of the lease if a worker has leased it.
    due_at = models.DateTimeField(null=True)
    # Grows with every lease, and whenever a lease is made invalid.
    token = models.BigIntegerField(default=0)
    # Failed attempts since the last advance.
    failures = models.IntegerField(default=0)

    objects = FollowerQuerySet.as_manager()

    class Meta:
        db_table = "core_follower"
        default_related_name = "followers"
        indexes = [
            models.Index(fields=["name", "due_at"], name="follower_due", condition=models.Q(due_at__isnull=False))
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.key}"


# The due rows are in a common table expression, which is executed once. A subquery of the UPDATE may be executed once for each row, and each
# time it finds other rows, so more than the limit would be leased.
_LEASE = """
WITH due AS (
    SELECT account_id, name, key FROM core_follower
    WHERE name = ANY(%(names)s::text[]) AND due_at <= clock_timestamp(){condition}
    ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE core_follower SET due_at = clock_timestamp() + %(duration)s * interval '1 second', token = token + 1
FROM due
WHERE core_follower.account_id = due.account_id AND core_follower.name = due.name AND core_follower.key = due.key
RETURNING core_follower.account_id, core_follower.name, core_follower.key, cursor, newest, token, failures
"""
# The rows are locked in a fixed order, so that this statement and the one that assigns numbers cannot deadlock.
ADVANCE = """
WITH locked AS (
    SELECT follower.account_id, follower.name, follower.key, moved.cursor
    FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[])
        AS moved (account_id, name, key, token, cursor)
    JOIN core_follower AS follower USING (account_id, name, key, token)
    ORDER BY follower.account_id, follower.name, follower.key FOR UPDATE OF follower
)
UPDATE core_follower SET cursor = locked.cursor, failures = 0,
    due_at = CASE WHEN newest > locked.cursor THEN clock_timestamp() + %s * interval '1 second' END
FROM locked
WHERE core_follower.account_id = locked.account_id AND core_follower.name = locked.name
    AND core_follower.key = locked.key
RETURNING core_follower.account_id, core_follower.name, core_follower.key, core_follower.cursor, newest, token, failures
"""
LEASE = _LEASE.format(condition="")
LEASE_HEALTHY = _LEASE.format(condition=" AND failures = 0")
LEASE_FAILING = _LEASE.format(condition=" AND failures > 0")


def handle_leased(lease: FollowerLease) -> None:
    """Let the registered follower handle its next changes, in one transaction with the advance of the cursor.

    After an error of the follower, postpone its next attempt. Raise LeaseLostError, or an error of the connection.
    """
    try:
        with transaction.atomic():
            changes = lease.next_changes(limit=1 if lease.failures else BATCH_SIZE)
            if changes:
                change_followers[lease.name].handle(lease.account_id, changes)
            lease.advance(cast(int, changes[-1].number) if changes else lease.newest)
    except LeaseLostError:
        raise
    except Exception as error:
        if not connection.is_usable():
            raise
        if changes:
            _record_failure(lease, changes[0], error)
        else:
            lease.postpone(timedelta(seconds=FIRST_RETRY_DELAY))


def _record_failure(lease: FollowerLease, change: Change, error: Exception) -> None:
    """Postpone the next attempt, or skip the change after too many failures."""
    # Log the type only: the message of the error may contain personal data.
    where = f"{lease.name} of account {lease.account_id} at change {change.number}"
    if lease.failures >= MAX_FAILURES:
        logger.error("%s failed %d times and skips the change: %s", where, lease.failures + 1, type(error).__name__)
        lease.advance(cast(int, change.number))
        return
    logger.warning("%s failed: %s", where, type(error).__name__)
    lease.postpone(timedelta(seconds=min(FIRST_RETRY_DELAY * 2**lease.failures, MAX_RETRY_DELAY)))


# Loops of a worker, each in a thread with a connection of its own. Both poll: a NOTIFY would make all commits wait for each other.


def number_changes(stop: threading.Event) -> None:
    """Assign numbers to new changes, until `stop` is set."""
    repeat(assign_numbers, stop)


def run_followers(stop: threading.Event) -> None:
    """Let the registered followers handle new changes, until `stop` is set."""
    repeat(lambda: handle_due(stop), stop)


def assign_numbers() -> bool:
    """Assign numbers to the first changes of each account that has changes without a number. Return whether there were any."""
    after, found = -1, False
    while account_ids := Change.objects.unnumbered_accounts(after=after, limit=NUMBERED_ACCOUNTS):
        # If two workers skip each other's accounts, neither assigns numbers, and the next poll does.
        found = Change.objects.assign_numbers_of(account_ids) > 0 or found
        after = account_ids[-1]
    return found


def handle_due(stop: threading.Event | None = None) -> bool:
    """Lease up to `LEASED_FOLLOWERS` due followers, and let each handle its next changes. Return whether any was due."""
    if not change_followers:
        return False
    leases = Follower.objects.lease(change_followers, limit=LEASED_FOLLOWERS, duration=HANDLING_LEASE_DURATION)
    for lease in leases:
        try:
            if stop is not None and stop.is_set():
                lease.release()
            else:
                handle_leased(lease)
        except LeaseLostError:
            logger.warning("the lease of %s of account %d is lost", lease.name, lease.account_id)
            Follower.objects.record_loss(lease)
    return bool(leases)


def repeat(poll: Callable[[], bool], stop: threading.Event) -> None:
    """Call `poll` until `stop` is set, at once while it returns True, otherwise after `POLL_INTERVAL`.

    Log an error, and use a new connection for the next call.
    """
    try:
        while not stop.is_set():
            try:
                if not poll():
                    stop.wait(POLL_INTERVAL)
            except DatabaseError as error:
                logger.error("the database is not available: %s", type(error).__name__)
                connection.close()
                stop.wait(ERROR_DELAY)
            except Exception:
                logger.exception("an error in a loop of the worker")
                connection.close()
                stop.wait(ERROR_DELAY)
    finally:
        connection.close()
