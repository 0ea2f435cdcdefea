"""External ids: identifiers that a resource has in other applications.

An external id is a pair of a key and a value. The row of a resource has the pairs of the resource, and responses read them there. For
each kind of resource, a table of holders also has a row for each pair of the account. The primary key of that table makes a pair unique
and finds its holder.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any, Self

from django.db import models
from psycopg.types.numeric import Int8

from core.db.prepared import array_literal, fetch
from core.errors import ConcurrentUpdate, FieldError, FieldErrors
from core.rows.access import Access
from core.rows.trash import LimitedQuerySet, TrashableQuerySet
from core.rows.trimmed import trim
from crm.resources.models import CRMResource

MAX_EXTERNAL_IDS = 50
MAX_VALUE_LENGTH = 255

# A key and its value.
Pair = tuple[str, str]


def normalize_value(value: str | int | Decimal) -> str:
    """Return the value of an external id as it is stored: a text without blanks at its ends. The numbers 17 and 17.0 are one value."""
    if isinstance(value, Decimal) and value.adjusted() < MAX_VALUE_LENGTH and value == value.to_integral_value():
        value = f"{value:.0f}"
    return trim(str(value))


class ExternalIdHolder(models.Model):
    """A pair and the resource that holds it. A resource in the trash holds no pair."""

    pk = models.CompositePrimaryKey("account_id", "key", "value")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64)
    value = models.CharField(max_length=MAX_VALUE_LENGTH)
    holder_id = models.BigIntegerField()

    class Meta:
        abstract = True


class ExternallyIdentified(CRMResource):
    """A resource with external ids."""

    external_ids = models.JSONField(default=dict)
    # Pairs of rows that were merged into this one, whose keys this row has with other values. The row holds these pairs too, so that
    # requests with them find it. Null if there are none.
    further_external_ids = models.JSONField(null=True, editable=False)

    HOLDER_MODEL: type[ExternalIdHolder]

    class Meta:
        abstract = True

    @property
    def further_pairs(self) -> set[Pair]:
        return {(key, value) for key, value in self.further_external_ids or ()}

    @property
    def held_pairs(self) -> set[Pair]:
        """The pairs that the row holds, unless it is in the trash."""
        return {*self.external_ids.items(), *self.further_pairs}

    @classmethod
    def holders(cls, account_id: int, pairs: Collection[Pair]) -> dict[Pair, int]:
        """Return the ids of the holders, by pair. A pair without a holder is left out."""
        if not pairs:
            return {}
        values: list[object]
        if len(pairs) == 1:
            # The usual case. For an array parameter PostgreSQL would assume 10 elements, and plan each execution with fewer anew.
            condition, values = "key = %s AND value = %s", [*next(iter(pairs))]
        else:
            condition = "(key, value) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
            values = [list(column) for column in zip(*pairs, strict=True)]
        rows = fetch(
            f"SELECT key, value, holder_id FROM {cls.HOLDER_MODEL._meta.db_table} WHERE account_id = %s AND {condition}",  # noqa: S608
            [Int8(account_id), *values],
        )
        holder_ids = {(key, value): holder_id for key, value, holder_id in rows}
        return {pair: holder_ids[pair] for pair in pairs if pair in holder_ids}

    @classmethod
    def holder_of_all(cls, account_id: int, pairs: dict[str, str]) -> int | None:
        """Return the id of the resource that holds all of the pairs, or None."""
        holder_ids = cls.holders(account_id, pairs.items())
        if len(holder_ids) < len(pairs) or len(set(holder_ids.values())) != 1:
            return None
        return next(iter(holder_ids.values()))

    @classmethod
    def lock_holder(
        cls, rows: TrashableQuerySet[Self], account_id: int, pairs: dict[str, str], access: Access
    ) -> Self | None:
        """Lock and return the row that holds any of the pairs.

        Raise FieldError if the pairs have different holders, and FieldErrors if the user may not access a holder.
        """
        holders = cls.holders(account_id, pairs.items())
        if errors := cls.hidden_errors(holders, cls.hidden_ids(account_id, holders.values(), access)):
            raise FieldErrors(error.move_into("external_ids") for error in errors)
        holder_id = cls.single_holder(holders.values())
        if holder_id is None:
            return None
        row = rows.locked().filter(id=holder_id).first()
        if row is None or not pairs.items() & row.held_pairs:
            raise ConcurrentUpdate(f"{str(cls._meta.verbose_name).capitalize()} {holder_id} has released it meanwhile")
        return row

    @classmethod
    def hidden_ids(cls, account_id: int, holder_ids: Iterable[int], access: Access) -> set[int]:
        """Return the ids of those holders that the user may not access."""
        ids = set(holder_ids)
        if not ids or not access.is_limited:
            return set()
        rows: LimitedQuerySet[Any] = cls._default_manager.filter(account_id=account_id, id__in=ids)  # type: ignore[assignment]
        return ids - set(rows.limited_to(access).values_list("id", flat=True))

    @classmethod
    def hidden_errors(cls, holders: Mapping[Pair, int], hidden_ids: Collection[int]) -> list[FieldError]:
        """Return the errors of the pairs whose holder the user may not access. They do not name the holder."""
        return [
            FieldError("", "{key} {value} is already taken", "taken", {"key": key, "value": value})
            for (key, value), holder_id in holders.items()
            if holder_id in hidden_ids
        ]

    @classmethod
    def single_holder(cls, holder_ids: Iterable[int], label_of: Callable[[int], int | str] = int) -> int | None:
        """Return the only id in `holder_ids`, or None if it is empty. Raise FieldError with the labels of the ids if they differ."""
        distinct_ids = sorted(set(holder_ids))
        if len(distinct_ids) > 1:
            params = {"kind": cls._meta.verbose_name_plural, "ids": ", ".join(str(label_of(id)) for id in distinct_ids)}
            raise FieldError("external_ids", "belong to different {kind} ({ids})", "several", params)
        return distinct_ids[0] if distinct_ids else None

    @classmethod
    def taken_error(cls, pair: Pair, holder: int | str) -> FieldError:
        """Return the error of a pair that another resource holds. `holder` is its id or its label."""
        name = f"{cls._meta.model_name} {holder}" if isinstance(holder, int) else holder
        params = {"key": pair[0], "value": pair[1], "holder": name}
        return FieldError("", "{key} {value} belongs to {holder}", "taken", params)

    def may_have(self, pairs: dict[str, str]) -> bool:
        """Return whether the resource has no other values for the keys of the pairs."""
        return all(self.external_ids.get(key, value) == value for key, value in pairs.items())

    def merged_external_ids(self, changes: dict[str, str | None]) -> dict[str, str]:
        """Return the external ids after the changes. Keys that are not in `changes` stay, and a null removes its key.

        A pair of a merged row does not replace the row's own value. Otherwise two applications, which know the customer by different
        values, would replace each other's value in turn.
        """
        known = {
            key for key, value in changes.items() if key in self.external_ids and (key, value) in self.further_pairs
        }
        changes = {key: value for key, value in changes.items() if key not in known}
        return {key: value for key, value in {**self.external_ids, **changes}.items() if value is not None}

    @classmethod
    def sync_holders(cls, rows: list[Self], *, new_ids: Collection[int] = ()) -> None:
        """Insert and delete holders, so that each row holds exactly its pairs. `new_ids` are the ids of new rows.

        Raise ConcurrentUpdate, with the holders, if other resources hold some of the pairs. Pairs are inserted in a fixed order, so
        that transactions with the same pairs wait for each other and do not deadlock.
        """
        account_id = rows[0].account_id
        existing_ids = [row.id for row in rows if row.id not in new_ids]
        holders = cls.HOLDER_MODEL._default_manager.filter(account_id=account_id)
        holder_ids = {pair: row.id for row in rows for pair in row.held_pairs}
        before: set[tuple[str, str, int]] = set()
        if existing_ids:
            before = set(holders.filter(holder_id__in=existing_ids).values_list("key", "value", "holder_id"))
        after = {(*pair, holder_id) for pair, holder_id in holder_ids.items()}
        if removed := before - after:
            holders.filter(pk__in=[(account_id, key, value) for key, value, _ in removed]).delete()
        if not (added := sorted(after - before)):
            return
        keys, values, added_ids = zip(*added, strict=True)
        inserted = fetch(
            f"""
            INSERT INTO {cls.HOLDER_MODEL._meta.db_table} (account_id, key, value, holder_id)
            SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS taken (key, value, holder_id)
            ORDER BY key, value ON CONFLICT DO NOTHING RETURNING true
            """,  # noqa: S608
            [Int8(account_id), list(keys), list(values), array_literal(added_ids)],
        )
        if len(inserted) == len(added):
            return
        current = cls.holders(account_id, list(zip(keys, values, strict=True)))
        errors = [cls.taken_error(pair, id).text for pair, id in current.items() if id != holder_ids[pair]]
        raise ConcurrentUpdate("; ".join(errors))

    def detach(self) -> None:
        """Delete the holders of the row. The row keeps its external ids for a restore."""
        self.HOLDER_MODEL._default_manager.filter(account_id=self.account_id, holder_id=self.id).delete()
        super().detach()

    def reattach(self) -> None:
        """Insert the holders again. External ids that another resource holds now are removed from the row."""
        held = self.holders(self.account_id, self.held_pairs)
        self.external_ids = {key: value for key, value in self.external_ids.items() if (key, value) not in held}
        self.further_external_ids = sorted(self.further_pairs - held.keys()) or None
        self.sync_holders([self])
        self.save(update_fields=["external_ids", "further_external_ids"])
        super().reattach()
