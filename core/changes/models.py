"""The change feed: the changes of the resources of an account, in the order of the commits and without gaps.

A trigger on the table of each resource records its changes, so that every way of writing is covered. The trigger is deferred to the
commit, and takes the next `position` from a sequence. Writers do not wait for each other, so changes that are committed at the same
moment may become visible in any order, and positions are not reliable cursors. Instead, readers assign the account's consecutive *numbers*
to all visible changes without a number, in the order of their positions, under a lock that only readers take. This has the following
properties:

- No change is skipped. Each visible change gets one number. A change that becomes visible later gets a higher number, regardless of when
  its transaction began or took its position. Numbers have no gaps.
- Numbers follow the order of the commits. A transaction takes its positions when it commits. Only the order of transactions that commit
  at the same moment, independently of each other, is arbitrary.
- The changes of one resource are in their true order. A transaction that changes a row waits until every earlier transaction that
  changed the row has committed. So a later change has a higher position, and when it is visible, the earlier changes are visible too.
- An open transaction blocks no reader or writer.

Numbers belong to one account and reveal nothing about others. Positions are never shown.

Named events (`core.changes.events`) are rows of the feed as well. They have numbers in the same order.

The statement that assigns numbers also makes the followers of the feed (`core.changes.followers`) due.
"""

import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Self, cast

from django.conf import settings
from django.db import connection, models, transaction

# Housekeeping erases older changes. It never erases the newest change of an account, because the next number follows from that change.
CHANGE_RETENTION = timedelta(days=90)

# The maximum number of changes to which one statement assigns numbers.
NUMBERING_BATCH = 10_000

# The maximum number of accounts whose changes get numbers in one statement, and of the changes of each.
NUMBERED_ACCOUNTS = 200
NUMBERED_PER_ACCOUNT = 200

# The names of the followers that every account has. `core.changes.followers` registers them.
account_followers: set[str] = set()

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ExpiredError(Exception):
    """A cursor is no longer valid: the changes after it were erased, or the database was restored from an older backup."""


class Cursor(NamedTuple):
    """A place in the feed, after the change with this number and timestamp.

    After the database was restored from a backup, another change may have the number. The timestamp reveals that. The text of a cursor
    contains a checksum that depends on the account, so that cursors of other accounts are rejected. A cursor contains no secrets.
    """

    account_id: int
    number: int = 0
    # Microseconds since 1970.
    timestamp_us: int = 0

    @classmethod
    def parse(cls, account_id: int, text: str) -> Self | None:
        """Return the cursor that a text represents, or None if the text is not a cursor of this account."""
        try:
            number, timestamp_us, _ = struct.unpack(">qQQ", urlsafe_b64decode(text))
        except (ValueError, struct.error):
            return None
        cursor = cls(account_id, number, timestamp_us)
        return cursor if str(cursor) == text else None

    def __str__(self) -> str:
        digest = hashlib.sha256(f"{self.account_id} {self.number} {self.timestamp_us}".encode()).digest()
        return urlsafe_b64encode(struct.pack(">qQ", self.number, self.timestamp_us) + digest[:8]).decode()


def mark_changes(import_id: int) -> None:
    """Mark all changes of the current transaction as those of an import, so that followers and clients can leave them out."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('changes.import_id', %s, true)", [str(import_id)])


class ChangeQuerySet(models.QuerySet["Change"]):
    """The changes of one account."""

    def assign_numbers(self, account_id: int) -> int:
        """Assign numbers to the first `NUMBERING_BATCH` changes that have none. Return the number of these changes."""
        if not self.filter(account_id=account_id, number=None).exists():
            return 0
        with transaction.atomic():
            self.lock_numbering(account_id)
            # Use a separate statement, which sees the numbers that other readers assigned before this transaction got the lock.
            return _assign_numbers([account_id], limit=NUMBERING_BATCH)

    def lock_numbering(self, account_id: int) -> None:
        """Lock the numbers of an account until the end of the transaction."""
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_advisory_xact_lock({NUMBERING_LOCK})", {"account": account_id})

    def unnumbered_accounts(self, *, after: int, limit: int) -> list[int]:
        """Return the ids of the first `limit` accounts above an id that have changes without a number.

        The scan takes one step in the index for each of these accounts, and none for other accounts.
        """
        with connection.cursor() as cursor:
            cursor.execute(UNNUMBERED_ACCOUNTS, {"after": after, "limit": limit})
            return [account_id for (account_id,) in cursor.fetchall()]

    def erasable_accounts(self, *, before: datetime, after: int, limit: int) -> list[int]:
        """Return the ids of the first `limit` accounts above an id whose first change was made before a time and is not their newest one.

        Changes without a number do not count. The scan takes one step in the index for each account that has changes.
        """
        with connection.cursor() as cursor:
            cursor.execute(ERASABLE_ACCOUNTS, {"before": before, "after": after, "limit": limit})
            return [account_id for (account_id,) in cursor.fetchall()]

    def assign_numbers_of(self, account_ids: Sequence[int]) -> int:
        """Assign numbers to the first changes of several accounts. Return the number of these changes.

        Skip the accounts whose changes another transaction is numbering.
        """
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(TRY_NUMBERING_LOCKS, {"account_ids": list(account_ids)})
            locked = [account_id for (account_id,) in cursor.fetchall()]
            return _assign_numbers(locked, limit=NUMBERED_PER_ACCOUNT) if locked else 0

    def without_events(self) -> Self:
        """Return the changes without events."""
        return self.filter(data__isnull=True)

    def after(self, cursor: Cursor, *, limit: int, events: bool = False) -> list["Change"]:
        """Return the first `limit` changes after a cursor, with events if asked. Raise ExpiredError if the cursor is no longer valid."""
        self.assign_numbers(cursor.account_id)
        is_start = cursor == Cursor(cursor.account_id)
        # The first row is the change before the cursor, even if it is an event. It shows that the cursor is still valid.
        first = cursor.number + is_start
        found = self.filter(number__gte=first)
        if not events:
            found = found.filter(models.Q(number=first) | models.Q(data__isnull=True))
        rows: list[Change] = list(found.order_by("number")[: limit + 1])
        if is_start:
            if rows and rows[0].number != 1:
                raise ExpiredError
            return [row for row in rows if events or row.data is None][:limit]
        if not rows or rows[0].cursor != cursor:
            raise ExpiredError
        return rows[1:]

    def assign_all_numbers(self, account_id: int) -> None:
        while self.assign_numbers(account_id) == NUMBERING_BATCH:
            pass

    def end_cursor(self, account_id: int) -> Cursor:
        """Return the cursor after the newest change, or the cursor of an empty feed."""
        self.assign_all_numbers(account_id)
        last = self.filter(account_id=account_id, number__isnull=False).order_by("number").last()
        return last.cursor if last else Cursor(account_id)

    def erase(self, *, before: datetime, limit: int) -> int:
        """Erase those of the `limit` oldest changes that were made before a time, but not the newest change of the account.

        Return the number of erased changes.
        """
        numbers = self.aggregate(first=models.Min("number"), last=models.Max("number"))
        if numbers["first"] is None:
            return 0
        oldest = self.filter(number__lt=min(numbers["first"] + limit, numbers["last"]))
        return oldest.filter(at__lt=before).delete()[0]


class Change(models.Model):
    """A change of one resource, which the trigger function `core_record_change` inserts, or an event (`core.changes.events`)."""

    class Kind(models.TextChoices):
        CREATED = "created"
        UPDATED = "updated"
        DELETED = "deleted"
        RESTORED = "restored"

    pk = models.CompositePrimaryKey("account_id", "position")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, db_index=False)
    position = models.BigIntegerField()
    # Null until a client or a worker reads the feed.
    number = models.BigIntegerField(null=True)
    resource = models.CharField(max_length=255)
    # The id of the resource, which may have been erased.
    id = models.BigIntegerField()
    # A `Kind`, or the name of an event.
    change = models.CharField(max_length=255)
    at = models.DateTimeField()
    # The import that made the change, if nobody is to be notified of it (`mark_changes`).
    import_id = models.BigIntegerField(null=True)
    # The user who acted, and what happened. Both are null for a raw change, whose `data` tell it from an event.
    actor_id = models.BigIntegerField(null=True)
    data = models.JSONField(null=True)

    objects = ChangeQuerySet.as_manager()

    class Meta:
        db_table = "core_change"
        default_related_name = "changes"
        constraints = [
            # Without an entry for a new change, which has no number.
            models.UniqueConstraint(
                fields=["account", "number"], name="change_numbered", condition=models.Q(number__isnull=False)
            )
        ]
        indexes = [
            # For the changes without a number.
            models.Index(fields=["account", "position"], name="change_unnumbered", condition=models.Q(number=None))
        ]

    def __str__(self) -> str:
        return f"{self.resource} {self.id} {self.change}"

    @property
    def cursor(self) -> Cursor:
        """The cursor after this change."""
        # The feed reads only changes that have a number.
        return Cursor(self.account_id, cast(int, self.number), (self.at - EPOCH) // timedelta(microseconds=1))


# Statements

NUMBERING_LOCK = "hashtextextended('changes of account ' || %(account)s::text, 0)"
TRY_NUMBERING_LOCKS = """
SELECT id FROM unnest(%(account_ids)s::bigint[]) AS account (id)
WHERE pg_try_advisory_xact_lock(hashtextextended('changes of account ' || id::text, 0))
"""

UNNUMBERED_ACCOUNTS = """
WITH RECURSIVE unnumbered AS (
    (
        SELECT account_id FROM core_change WHERE number IS NULL AND account_id > %(after)s
        ORDER BY account_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT next.account_id FROM core_change AS next
        WHERE next.number IS NULL AND next.account_id > unnumbered.account_id ORDER BY next.account_id LIMIT 1
    ) FROM unnumbered WHERE unnumbered.account_id IS NOT NULL
)
SELECT account_id FROM unnumbered WHERE account_id IS NOT NULL LIMIT %(limit)s
"""

ERASABLE_ACCOUNTS = """
WITH RECURSIVE first AS (
    (
        SELECT account_id, number, at FROM core_change WHERE number IS NOT NULL AND account_id > %(after)s
        ORDER BY account_id, number LIMIT 1
    )
    UNION ALL
    SELECT next.* FROM first CROSS JOIN LATERAL (
        SELECT account_id, number, at FROM core_change WHERE number IS NOT NULL AND account_id > first.account_id
        ORDER BY account_id, number LIMIT 1
    ) AS next
)
SELECT account_id FROM first WHERE at < %(before)s AND EXISTS (
    SELECT FROM core_change AS later WHERE later.account_id = first.account_id AND later.number > first.number
) LIMIT %(limit)s
"""

NUMBER_CHANGES = """
WITH unnumbered AS (
    SELECT first.account_id, first.position,
        row_number() OVER (PARTITION BY first.account_id ORDER BY first.position) AS place
    FROM unnest(%(account_ids)s::bigint[]) AS account (id) CROSS JOIN LATERAL (
        SELECT account_id, position FROM core_change WHERE account_id = account.id AND number IS NULL
        ORDER BY position LIMIT %(limit)s
    ) AS first
), base AS (
    SELECT account.id, coalesce(
        (SELECT max(number) FROM core_change WHERE account_id = account.id), 0
    ) AS number FROM unnest(%(account_ids)s::bigint[]) AS account (id)
), numbered AS (
    UPDATE core_change SET number = base.number + unnumbered.place
    FROM unnumbered JOIN base ON base.id = unnumbered.account_id
    WHERE core_change.account_id = unnumbered.account_id AND core_change.position = unnumbered.position
    RETURNING core_change.account_id, core_change.number
), numbers AS (
    SELECT account_id, min(number) AS first, max(number) AS last, count(*) AS changes FROM numbered GROUP BY account_id
), locked AS (
    SELECT account_id, name, key, numbers.last FROM numbers JOIN core_follower USING (account_id)
    WHERE NOT name = ANY(%(names)s::text[])
    ORDER BY account_id, name, key FOR UPDATE OF core_follower
), notified AS (
    UPDATE core_follower SET newest = locked.last, due_at = coalesce(due_at, clock_timestamp()) FROM locked
    WHERE core_follower.account_id = locked.account_id AND core_follower.name = locked.name
        AND core_follower.key = locked.key
), notified_of_account AS (
    INSERT INTO core_follower (account_id, name, key, cursor, newest, due_at, token, failures)
    SELECT account_id, name, 0, first - 1, last, clock_timestamp(), 0, 0
    FROM numbers CROSS JOIN unnest(%(names)s::text[]) AS follower (name)
    ORDER BY account_id, name
    ON CONFLICT (account_id, name, key) DO UPDATE
    SET newest = excluded.newest, due_at = coalesce(core_follower.due_at, excluded.due_at)
)
SELECT coalesce(sum(changes), 0)::bigint FROM numbers
"""


def _assign_numbers(account_ids: list[int], *, limit: int) -> int:
    """Assign numbers to the first `limit` changes of each account, and mark the followers of these accounts as due.

    The caller holds the locks of these accounts.
    """
    with connection.cursor() as cursor:
        names = sorted(account_followers)
        cursor.execute(NUMBER_CHANGES, {"account_ids": account_ids, "limit": limit, "names": names})
        [count] = cursor.fetchone()
        return int(count)
