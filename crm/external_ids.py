"""Identifiers that a resource has in other applications.

They are read from the resource's own row. A table beside it, one for each kind of resource, holds every pair once for its
account: its primary key is what makes an identifier unique, and what finds its holder.
"""

from collections.abc import Callable, Collection, Iterable
from itertools import chain
from typing import Self

from django.db import models
from psycopg.types.numeric import Int8

from core.db.prepared import array_literal, execute, fetch, insertion_of
from core.db.trash import Trashable
from core.errors import ConcurrentUpdate, FieldError

MOST = 50

# A key and the identifier under it.
Pair = tuple[str, str]


class ExternalIdHolder(models.Model):
    """A pair (key, value) and the resource that holds it now; one in the trash holds none."""

    pk = models.CompositePrimaryKey("account_id", "key", "value")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64)
    value = models.CharField(max_length=255)
    holder_id = models.BigIntegerField()

    class Meta:
        abstract = True


class ExternallyIdentified(Trashable):
    external_ids = models.JSONField(default=dict)

    HOLDERS: type[ExternalIdHolder]

    class Meta:
        abstract = True

    @classmethod
    def holders(cls, account_id: int, pairs: Collection[Pair]) -> dict[Pair, int]:
        """Which resource of the account holds each of the pairs that are held."""
        if not pairs:
            return {}
        if len(pairs) == 1:
            # Nearly always. Of an array the database would think that it has ten, and plan each anew in the hope of fewer.
            which, given = "key = %s AND value = %s", [*next(iter(pairs))]
        else:
            which = "(key, value) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
            given = [list(side) for side in zip(*pairs, strict=True)]
        rows = fetch(
            f"SELECT key, value, holder_id FROM {cls.HOLDERS._meta.db_table} WHERE account_id = %s AND {which}",  # noqa: S608
            [Int8(account_id), *given],
            single_statement=True,
        )
        held = {(key, value): holder_id for key, value, holder_id in rows}
        return {pair: held[pair] for pair in pairs if pair in held}

    @classmethod
    def having_all(cls, account_id: int, pairs: dict[str, str]) -> list[int]:
        """The id of the one that holds all of the pairs, if there is one."""
        held = cls.holders(account_id, pairs.items())
        holders = set(held.values())
        return list(holders) if len(held) == len(pairs) and len(holders) == 1 else []

    @classmethod
    def holding(cls, rows: models.QuerySet, account_id: int, pairs: dict[str, str]) -> Self | None:
        """The one of `rows`, locked, that holds any of the pairs. Raises FieldError where different ones do."""
        holder_id = cls.only_one(cls.holders(account_id, pairs.items()).values())
        if holder_id is None:
            return None
        row = rows.locked().filter(id=holder_id).first()
        if row is None or not pairs.items() & row.external_ids.items():
            raise ConcurrentUpdate(f"{cls._meta.verbose_name.capitalize()} {holder_id} let go of it meanwhile")
        return row

    @classmethod
    def only_one(cls, holder_ids: Iterable[int], called: Callable[[int], int | str] = int) -> int | None:
        """Return the one that all of these are, if there is any. Raises FieldError where they are different ones, and says what
        they are `called`."""
        different = sorted(set(holder_ids))
        if len(different) > 1:
            params = {"kind": cls._meta.verbose_name_plural, "ids": ", ".join(str(called(id)) for id in different)}
            raise FieldError("external_ids", "belong to different {kind} ({ids})", "several", params)
        return different[0] if different else None

    @classmethod
    def taken(cls, pair: Pair, holder: int | str) -> FieldError:
        """Return the error of a pair that another resource holds. `holder` is an id, or what else it is called by."""
        name = f"{cls._meta.model_name} {holder}" if isinstance(holder, int) else holder
        params = {"key": pair[0], "value": pair[1], "holder": name}
        return FieldError("", "{key} {value} belongs to {holder}", "taken", params)

    def merged_external_ids(self, changes: dict[str, str | None]) -> dict[str, str]:
        """Its external ids after `changes`: keys not named stay, a null value removes its key."""
        return {key: value for key, value in {**self.external_ids, **changes}.items() if value is not None}

    def insert(self, *, single_statement: bool) -> None:
        """Insert the new row; if it is `alone` in the transaction, by one statement with its external ids.

        Raises ConcurrentUpdate then where another resource holds any of them, or IntegrityError where it takes one at the same moment:
        who that is has to be looked up.
        """
        if not single_statement or not self.external_ids:
            super().insert(single_statement=single_statement)
            return
        insertion, holders = insertion_of(type(self)), self.HOLDERS._meta.db_table
        # Not an array: the database takes one for long while it does not know it, and would plan anew for each.
        pairs = ", ".join(["(%s::text, %s::text)"] * len(self.external_ids))
        inserted = execute(
            f"""
            WITH given (key, value) AS (VALUES {pairs}),
            row AS (
                INSERT INTO {insertion.into} SELECT {insertion.values}
                WHERE NOT EXISTS (SELECT FROM {holders} JOIN given USING (key, value) WHERE account_id = %s)
                RETURNING {insertion.returning}
            ),
            held AS (
                INSERT INTO {holders} (account_id, key, value, holder_id)
                SELECT %s, key, value, row.id FROM row, given ORDER BY key, value
            )
            SELECT * FROM row
            """,  # noqa: S608
            [
                *chain.from_iterable(self.external_ids.items()),
                *insertion.values_of(self),
                *[Int8(self.account_id)] * 2,
            ],
            single_statement=True,
        )
        if not inserted:
            raise ConcurrentUpdate("One of the external ids belongs to another")
        insertion.complete(self, inserted[0])
        self.unwritten -= {"external_ids"}

    @classmethod
    def hold_all(cls, rows: list[Self], *, new: Collection[int] = ()) -> None:
        """Have each row hold exactly its external ids, as the transaction's outcome; those of the `new` ids held none before.

        Raises ConcurrentUpdate, naming the holder, for one that another resource holds. Whoever comes second waits for the first to
        commit, always in the same order.
        """
        account_id = rows[0].account_id
        known = [row.id for row in rows if row.id not in new]
        before, after = set(), {pair: row.id for row in rows for pair in row.external_ids.items()}
        if known:
            holding = cls.HOLDERS.objects.filter(account_id=account_id)
            before = set(holding.filter(holder_id__in=known).values_list("key", "value", "holder_id"))
        wanted = {(*pair, holder_id) for pair, holder_id in after.items()}
        if gone := before - wanted:
            holding.filter(pk__in=[(account_id, key, value) for key, value, _ in gone]).delete()
        if not (taken := sorted(wanted - before)):
            return
        keys, values, holder_ids = zip(*taken, strict=True)
        inserted = fetch(
            f"""
            INSERT INTO {cls.HOLDERS._meta.db_table} (account_id, key, value, holder_id)
            SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS taken (key, value, holder_id)
            ORDER BY key, value ON CONFLICT DO NOTHING RETURNING true
            """,  # noqa: S608
            [Int8(account_id), list(keys), list(values), array_literal(holder_ids)],
        )
        if len(inserted) == len(taken):
            return
        held = cls.holders(account_id, list(zip(keys, values, strict=True)))
        others = [cls.taken(pair, holder_id).text for pair, holder_id in held.items() if holder_id != after[pair]]
        raise ConcurrentUpdate("; ".join(others))

    def detach(self) -> None:
        """Going to the trash, it holds none; the row keeps them, for a restore."""
        self.HOLDERS.objects.filter(account_id=self.account_id, holder_id=self.id).delete()
        super().detach()

    def reattach(self) -> None:
        """Coming back, it holds again what nobody took meanwhile."""
        held = self.holders(self.account_id, self.external_ids.items())
        self.external_ids = {key: value for key, value in self.external_ids.items() if (key, value) not in held}
        self.hold_all([self])
        self.save(update_fields=["external_ids"])
        super().reattach()
