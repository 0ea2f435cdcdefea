"""The sync feed: every change of an account's resources, in the order of the commits and without gaps.

A change is noted by a trigger on the resource's table, so that no way of writing can forget it. The trigger is deferred to the
commit and takes the next `position` of a sequence there. Writers wait for nobody; what they commit at the same moment may show
up in any order, and what is not committed yet does not show at all. So positions are not what a reader goes by: whoever reads
first gives all the changes that it sees, and that have none yet, the account's next *numbers*, in the order of their positions,
under a lock that readers alone take. So:

- Nothing is skipped. A number is given to what is visible, and once; what becomes visible later gets a higher one, however
  early its transaction began or its position was taken. There are no gaps: numbers go up by one.
- Numbers follow the commits. A transaction takes its positions when it commits; only transactions that commit within the same
  moment, and of which neither knew of the other, may be told in either order.
- The changes of one resource are told as they happened. Whoever changes a row after another transaction has waited for that
  one's commit: its position is higher, and if it is visible, the other one is.
- An open transaction holds up nobody, reader or writer, here or elsewhere in the cluster.

The numbers are the account's own, and tell nothing of other accounts; positions are never shown.
"""

import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Self

from django.conf import settings
from django.db import connection, migrations, models, transaction

# The account's last change is kept however old it is: the next one is numbered after it.
KEPT_FOR = timedelta(days=90)

# So many changes are given numbers in one statement.
NUMBERING_BATCH = 10_000

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ExpiredError(Exception):
    """What comes after a cursor is not kept any more."""


class Cursor(NamedTuple):
    """Where a reader is: after the change of this number, made at this moment (microseconds since 1970).

    The moment tells a change from one that had its number before the database was set back to a backup. On the wire there
    is a check sum too, with which an account knows its own cursors; a cursor holds nothing secret.
    """

    account_id: int
    number: int = 0
    moment: int = 0

    @classmethod
    def read(cls, account_id: int, text: str) -> Self | None:
        """What `text` says; None if it is not a cursor of this account."""
        try:
            number, moment, _ = struct.unpack(">qQQ", urlsafe_b64decode(text))
        except (ValueError, struct.error):
            return None
        cursor = cls(account_id, number, moment)
        return cursor if str(cursor) == text else None

    def __str__(self) -> str:
        digest = hashlib.sha256(f"{self.account_id} {self.number} {self.moment}".encode()).digest()
        return urlsafe_b64encode(struct.pack(">qQ", self.number, self.moment) + digest[:8]).decode()


class ChangeQuerySet(models.QuerySet):
    """Changes of one account."""

    def assign_numbers(self, account_id: int) -> int:
        """Give numbers to the first changes without; returns to how many. Readers of an account take turns."""
        if not self.filter(account_id=account_id, number=None).exists():
            return 0
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended('changes of account ' || %s::text, 0))", [account_id]
            )
            # A statement of its own: it sees the numbers that were given before the lock was had.
            cursor.execute(NUMBER_CHANGES, {"account": account_id, "portion": NUMBERING_BATCH})
            return cursor.rowcount

    def after(self, cursor: Cursor, *, limit: int) -> list["Change"]:
        """The first changes after a cursor. Raises ExpiredError if any of them is not kept."""
        self.assign_numbers(cursor.account_id)
        rows = list(self.filter(number__gte=cursor.number).order_by("number")[: limit + 1])
        if cursor == Cursor(cursor.account_id):
            if rows and rows[0].number != 1:
                raise ExpiredError
            return rows[:limit]
        # What the cursor stands at is read with the rest, to see that it is still there, and still the same.
        if not rows or rows[0].cursor != cursor:
            raise ExpiredError
        return rows[1:]

    def assign_all_numbers(self, account_id: int) -> None:
        while self.assign_numbers(account_id) == NUMBERING_BATCH:
            pass

    def newest(self, account_id: int) -> Cursor:
        """Where a reader is that wants to know only of what comes."""
        self.assign_all_numbers(account_id)
        last = self.filter(account_id=account_id, number__isnull=False).order_by("number").last()
        return last.cursor if last else Cursor(account_id)

    def erase(self, *, before: datetime, limit: int) -> int:
        """Erase those of the `most` oldest that were made before then, but never the last one; returns how many."""
        ends = self.aggregate(first=models.Min("number"), last=models.Max("number"))
        if ends["first"] is None:
            return 0
        oldest = self.filter(number__lt=min(ends["first"] + limit, ends["last"]))
        return oldest.filter(at__lt=before).delete()[0]


class Change(models.Model):
    """A change of one resource. Only `note_change` makes them."""

    class Kind(models.TextChoices):
        CREATED = "created"
        UPDATED = "updated"
        DELETED = "deleted"
        RESTORED = "restored"

    pk = models.CompositePrimaryKey("account_id", "position")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, db_index=False)
    position = models.BigIntegerField()
    # Null until somebody reads.
    number = models.BigIntegerField(null=True)
    resource = models.CharField(max_length=255)
    # The resource's, which may be erased since.
    id = models.BigIntegerField()
    change = models.CharField(max_length=255, choices=Kind.choices)
    at = models.DateTimeField()

    objects = ChangeQuerySet.as_manager()

    class Meta:
        db_table = "accounts_change"
        default_related_name = "changes"
        constraints = [models.UniqueConstraint(fields=["account", "number"], name="change_number_unique")]
        indexes = [
            # What has no number yet.
            models.Index(fields=["account", "position"], name="change_unnumbered", condition=models.Q(number=None)),
        ]

    def __str__(self) -> str:
        return f"{self.resource} {self.id} {self.change}"

    @property
    def cursor(self) -> Cursor:
        """Where a reader is that was given this change."""
        return Cursor(self.account_id, self.number, (self.at - EPOCH) // timedelta(microseconds=1))


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
    """Changes of the rows of a table are noted, as changes of `resource`.

    What is in the trash is gone for the feed as for the rest of the interface: what happens to it there is not told, and
    neither is that it is erased in the end.
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
