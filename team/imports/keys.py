"""The keys by which the lines of a checked file are matched. They show which lines have the same row, and which rows no line has."""

import hashlib
from collections import Counter

from django.db import connection, models
from django.db.models import Q

from accounts.account.models import Account
from team.batches.models import RowResult
from team.imports.writing import PartOutcome


class ImportKey(models.Model):
    """A key by which a line of a checked file is matched, with the id of the row of the account, if there is one."""

    pk = models.CompositePrimaryKey("account_id", "import_id", "key")
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    import_id = models.BigIntegerField()
    # The digest of the kind and the key.
    key = models.CharField(max_length=255)
    kind = models.CharField(max_length=255)
    target = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["account", "import_id", "kind", "target"],
                name="import_key_of_row",
                condition=Q(target__isnull=False),
            )
        ]


def record_keys(account_id: int, import_id: int, outcome: PartOutcome) -> set[str]:
    """Store the keys by which the lines are matched. Return those that an earlier line has."""
    rows = {row.key: row for row in reversed([*outcome.linked, *outcome.rows]) if row.key}
    counts = Counter(row.key for row in outcome.rows if row.key)
    if not rows:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO team_importkey (account_id, import_id, key, kind, target)
            SELECT %s, %s, key, kind, target
            FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS new (key, kind, target)
            ON CONFLICT DO NOTHING RETURNING key
            """,
            [
                account_id,
                import_id,
                [row_key(key) for key in rows],
                [str(row.kind) for row in rows.values()],
                [None if row.result == RowResult.CREATED else row.row.id for row in rows.values()],
            ],
        )
        inserted = {key for (key,) in cursor.fetchall()}
    return {key for key, number in counts.items() if row_key(key) not in inserted or number > 1}


def row_key(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]
