"""Numbers of rows by their values, in tables of their own.

Counting the rows themselves would take time in proportion to their number. But if each write changed the numbers, all writes of rows with
the same values would wait for each other. Instead, a trigger inserts a *delta*: a row of the table of counts with the count 1 or -1.
A reader sums all rows with the same values, and the sum is correct in every snapshot.

*Compaction* replaces the rows of one group, for example of one forum, by their sums. One statement deletes the rows of its snapshot and
inserts the sums. Deltas that are committed meanwhile are not part of that snapshot, so they stay for the next compaction.
"""

from dataclasses import dataclass
from typing import cast

from django.conf import settings
from django.db import connection, models, transaction

from core.db import locks
from core.db.prepared import fetch
from core.db.time_limit import without_statement_timeout


class CountModel(models.Model):
    """A row of a table of counts.

    The ids are copies from the counted row, whose own foreign keys check them. Further foreign keys would cost time with each write.
    Also, a referenced row may be deleted before the counts are compacted.
    """

    account = models.ForeignKey(
        settings.ACCOUNT_MODEL, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    # A number that distinguishes rows with the same values.
    number = models.BigIntegerField()

    class Meta:
        abstract = True


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A table of counts, with the triggers that insert its deltas."""

    # The table of counts, its column of the counts, and its other columns except `account_id` and `number`.
    table: str
    count: str
    columns: tuple[str, ...]
    # The column by which the rows of an account are divided into groups.
    group: str
    # The table of the counted rows.
    source: str
    # Pairs of SQL: a condition, and a query of the `columns` for which a row that meets the condition is counted. `{row}` is the row.
    values: tuple[tuple[str, str], ...]
    # A column with a sum, and the SQL of the amount that a row adds to it. It is summed along with the count.
    amount: tuple[str, str] | None = None

    def compact(self, account_id: int, group_id: int) -> None:
        """Compact the rows of a group, unless another transaction is compacting them."""
        with transaction.atomic(), connection.cursor() as cursor:
            if locks.try_acquire((self.table, account_id, group_id)):
                with without_statement_timeout():
                    cursor.execute(self._compaction, {"account_id": account_id, "group_id": group_id})

    def groups_to_compact(self, max_deltas: int) -> list[tuple[int, int]]:
        """Return the ids of the account and the group, for each group with more than `max_deltas` deltas."""
        # All rows with the same values but one are deltas.
        sql = f"""
            SELECT account_id, {self.group} FROM (
                SELECT account_id, {self.group}, count(*) - 1 AS deltas FROM {self.table} GROUP BY {self._key}
            ) AS counted
            GROUP BY account_id, {self.group} HAVING sum(deltas) > %s
        """  # noqa: S608
        return cast("list[tuple[int, int]]", fetch(sql, [max_deltas]))

    @property
    def _key(self) -> str:
        return ", ".join(("account_id", *self.columns))

    @property
    def _compaction(self) -> str:
        measures = (self.count, self.amount[0]) if self.amount else (self.count,)
        sums = ", ".join(f"sum({measure})" for measure in measures)
        are_used = " OR ".join(f"sum({measure}) <> 0" for measure in measures)
        sums = f"SELECT {self._key}, {sums} FROM deleted GROUP BY {self._key} HAVING {are_used}"  # noqa: S608
        return f"""
            WITH deleted AS (
                DELETE FROM {self.table} WHERE account_id = %(account_id)s AND {self.group} = %(group_id)s RETURNING *
            )
            {self._insert(sums)}
        """  # noqa: S608

    def _insert(self, rows: str) -> str:
        """Return the statement that inserts the rows of a query of `account_id`, `columns` and the count."""
        amount = f", {self.amount[0]}" if self.amount else ""
        return f"""
            INSERT INTO {self.table} ({self._key}, {self.count}{amount}, number)
            SELECT *, nextval('{self.table}_numbers') FROM ({rows}) AS rows
        """  # noqa: S608

    @property
    def count_all(self) -> str:
        """The statement that counts all rows into an empty table. It is also needed after writes without triggers."""
        amount = f", {self.amount[1]} AS amount" if self.amount else ""
        values = " UNION ALL ".join(
            f"SELECT source.account_id, value.*{amount} FROM {self.source} AS source CROSS JOIN LATERAL ({query}) AS value"  # noqa: S608
            f" WHERE {condition}"
            for condition, query in self.values
        ).format(row="source")
        sums, names = ("count(*), sum(amount)", f"{self._key}, amount") if self.amount else ("count(*)", self._key)
        return self._insert(
            f"SELECT {self._key}, {sums} FROM ({values}) AS counted ({names}) GROUP BY {self._key}"  # noqa: S608
        )
