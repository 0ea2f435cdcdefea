"""The change feed: the changes of the resources of an account, in the order of the commits and without gaps.

A trigger on the table of each resource records its changes, so that every way of writing is covered. The trigger is deferred to the
commit, and takes the next `position` from a sequence. Writers do not wait for each other, so changes that are committed at the same
moment may become visible in any order, and positions are no reliable cursor. Instead, readers assign the account's consecutive *numbers*
to all visible changes that have none, in the order of their positions, under a lock that only readers take. This has the following
properties:

- No change is skipped. Each visible change gets one number. A change that becomes visible later gets a higher number, regardless of when
  its transaction began or took its position. Numbers have no gaps.
- Numbers follow the order of the commits. A transaction takes its positions when it commits. Only the order of transactions that commit
  at the same moment, independently of each other, is arbitrary.
- The changes of one resource are in their true order. A transaction that changes a row waits for the commit of the one that changed it
  before. So its position is higher, and if it is visible, the other one is visible too.
- An open transaction blocks no reader or writer.

Numbers belong to one account and reveal nothing about others. Positions are never shown.
"""

import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Self, cast

from django.conf import settings
from django.db import connection, migrations, models, transaction

# The last change of an account is kept forever, because the next number follows from it.
KEPT_FOR = timedelta(days=90)

# The maximum number of changes that one statement numbers.
NUMBERING_BATCH = 10_000

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ExpiredError(Exception):
    """The changes after a cursor were deleted."""


class Cursor(NamedTuple):
    """A position in the feed: after the change with this number and time.

    The time detects that the database was restored from a backup, after which another change may have the number. The text of a cursor
    has a checksum with the account, which detects cursors of other accounts. A cursor contains no secrets.
    """

    account_id: int
    number: int = 0
    # In microseconds since 1970.
    moment: int = 0

    @classmethod
    def read(cls, account_id: int, text: str) -> Self | None:
        """Return the cursor of a text, or None if it is no cursor of this account."""
        try:
            number, moment, _ = struct.unpack(">qQQ", urlsafe_b64decode(text))
        except (ValueError, struct.error):
            return None
        cursor = cls(account_id, number, moment)
        return cursor if str(cursor) == text else None

    def __str__(self) -> str:
        digest = hashlib.sha256(f"{self.account_id} {self.number} {self.moment}".encode()).digest()
        return urlsafe_b64encode(struct.pack(">qQ", self.number, self.moment) + digest[:8]).decode()


class ChangeQuerySet(models.QuerySet["Change"]):
    """The changes of one account."""

    def assign_numbers(self, account_id: int) -> int:
        """Number the first changes that have no number. Return how many were numbered."""
        if not self.filter(account_id=account_id, number=None).exists():
            return 0
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended('changes of account ' || %s::text, 0))", [account_id]
            )
            # A separate statement, so that it sees the numbers that other readers assigned before this one got the lock.
            cursor.execute(NUMBER_CHANGES, {"account": account_id, "portion": NUMBERING_BATCH})
            return cursor.rowcount

    def after(self, cursor: Cursor, *, limit: int) -> list["Change"]:
        """Return the first changes after a cursor. Raise ExpiredError if any of them was deleted."""
        self.assign_numbers(cursor.account_id)
        rows: list[Change] = list(self.filter(number__gte=cursor.number).order_by("number")[: limit + 1])
        if cursor == Cursor(cursor.account_id):
            if rows and rows[0].number != 1:
                raise ExpiredError
            return rows[:limit]
        # The first row is the change of the cursor itself, to check that it still exists and is the same.
        if not rows or rows[0].cursor != cursor:
            raise ExpiredError
        return rows[1:]

    def assign_all_numbers(self, account_id: int) -> None:
        """Number all changes that have no number."""
        while self.assign_numbers(account_id) == NUMBERING_BATCH:
            pass

    def newest(self, account_id: int) -> Cursor:
        """Return the cursor after all current changes."""
        self.assign_all_numbers(account_id)
        last = self.filter(account_id=account_id, number__isnull=False).order_by("number").last()
        return last.cursor if last else Cursor(account_id)

    def erase(self, *, before: datetime, limit: int) -> int:
        """Erase the changes before a time among the `limit` oldest, but never the last one. Return the number of changes erased."""
        ends = self.aggregate(first=models.Min("number"), last=models.Max("number"))
        if ends["first"] is None:
            return 0
        oldest = self.filter(number__lt=min(ends["first"] + limit, ends["last"]))
        return oldest.filter(at__lt=before).delete()[0]


class Change(models.Model):
    """A change of one resource. Only the trigger function `note_change` inserts it."""

    class Kind(models.TextChoices):
        CREATED = "created"
        UPDATED = "updated"
        DELETED = "deleted"
        RESTORED = "restored"

    pk = models.CompositePrimaryKey("account_id", "position")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, db_index=False)
    position = models.BigIntegerField()
    # Null until the feed is read.
    number = models.BigIntegerField(null=True)
    resource = models.CharField(max_length=255)
    # The id of the resource, which may have been erased.
    id = models.BigIntegerField()
    change = models.CharField(max_length=255, choices=Kind.choices)
    at = models.DateTimeField()

    objects = ChangeQuerySet.as_manager()

    class Meta:
        db_table = "accounts_change"
        default_related_name = "changes"
        constraints = [models.UniqueConstraint(fields=["account", "number"], name="change_number_unique")]
        indexes = [
            # For the changes without a number.
            models.Index(fields=["account", "position"], name="change_unnumbered", condition=models.Q(number=None)),
        ]

    def __str__(self) -> str:
        return f"{self.resource} {self.id} {self.change}"

    @property
    def cursor(self) -> Cursor:
        """The cursor after this change."""
        # Only numbered changes are read.
        return Cursor(self.account_id, cast(int, self.number), (self.at - EPOCH) // timedelta(microseconds=1))


# Migrations

CREATE_CHANGE_FUNCTION = """
CREATE SEQUENCE accounts_change_positions CACHE 1;

CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    thing CONSTANT record := coalesce(NEW, OLD);
BEGIN
    INSERT INTO accounts_change (account_id, position, resource, id, change, at)
    SELECT
        thing.account_id,
        nextval('accounts_change_positions'),
        TG_ARGV[0],
        thing.id,
        TG_ARGV[1],
        clock_timestamp()
    -- With the account itself gone there is nobody to tell.
    FROM accounts_account WHERE accounts_account.id = thing.account_id;
    RETURN NULL;
END $$;
"""

DROP_CHANGE_FUNCTION = "DROP FUNCTION note_change(); DROP SEQUENCE accounts_change_positions;"

NUMBER_CHANGES = """
UPDATE accounts_change SET number = base.number + unnumbered.place
FROM
    (SELECT coalesce(max(number), 0) AS number FROM accounts_change WHERE account_id = %(account)s) AS base,
    (
        SELECT position, row_number() OVER (ORDER BY position) AS place FROM (
            SELECT position FROM accounts_change WHERE account_id = %(account)s AND number IS NULL
            ORDER BY position LIMIT %(portion)s
        ) AS first
    ) AS unnumbered
WHERE account_id = %(account)s AND accounts_change.position = unnumbered.position
"""


def change_triggers(table: str, resource: str, *, trash: bool = True) -> migrations.RunSQL:
    """Return the operation that creates the triggers that record changes of a table as changes of `resource`.

    For the feed, as for the rest of the API, a row in the trash does not exist. Its changes in the trash are not recorded.
    """
    was, is_still = ("OLD.trashed_at IS NULL", "NEW.trashed_at IS NULL") if trash else ("true", "true")
    triggers = [
        ("note_created", "INSERT", is_still, Change.Kind.CREATED),
        ("note_updated", "UPDATE", f"{was} AND {is_still}", Change.Kind.UPDATED),
        ("note_deleted", "DELETE", was, Change.Kind.DELETED),
    ]
    if trash:
        triggers += [
            ("note_trashed", "UPDATE", f"{was} AND NOT ({is_still})", Change.Kind.DELETED),
            ("note_restored", "UPDATE", f"NOT ({was}) AND {is_still}", Change.Kind.RESTORED),
        ]
    return migrations.RunSQL(
        "\n".join(
            f"CREATE CONSTRAINT TRIGGER {name} AFTER {event} ON {table} DEFERRABLE INITIALLY DEFERRED"
            f" FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION note_change('{resource}', '{change}');"
            for name, event, condition, change in triggers
        ),
        "\n".join(f"DROP TRIGGER {name} ON {table};" for name, *_ in triggers),
    )
