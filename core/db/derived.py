"""Derived values: values that are stored, and that depend on rows of other tables, such as sums.

A subject registers what its values derive from a model, also from a model of a lower room, which does not know them:

- A `Derivation` tells which values depend on a row. It is asked before and after each write of the model, and the values are computed again
  in the same transaction.
- `insert_with` writes the values of a new row by the statement that inserts the row.
- A `Comparison` writes values that depend on the old and the new columns of an updated row, such as a log of changes.

The write paths of a model call this module: `save`, `delete`, the QuerySet (`DerivingQuerySet`) and `core.db.prepared`. SQL that updates or
deletes rows is executed within `writing`. The values of derivations are computed once for all writes of `in_transaction`, at its end: in the
order in which the derivations are registered, and in the order of their keys. Outside of `in_transaction`, they are computed after each
write.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, Literal, TypeVar

from django.db import connection, models, transaction

from core.db.fields import TenantRow

Row = TypeVar("Row", bound=models.Model)
Act = Literal["insert", "update", "delete"]
# A kind of derived rows and an id.
Key = tuple[str, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class Derivation(Generic[Row]):
    """Values that depend on the rows of a model."""

    model: type[Row]
    # The columns on which the values depend. An update of other columns is ignored.
    columns: frozenset[str]
    # Return the keys of the values that depend on the rows with these ids now. It is called before an update or a delete, and after an insert
    # or an update.
    keys_of: Callable[[int, Sequence[int], Act], Iterable[Key]]
    # Compute the values with these keys again.
    update: Callable[[int, list[Key]], None]
    # Return the keys of the values that depend on an instance, without a statement, or None if that takes one.
    keys_of_row: Callable[[Row], Iterable[Key] | None] = lambda _row: None
    # The columns that select the keys. If an update changes none of them, the keys are the same before and after it.
    key_columns: frozenset[str] | None = None
    # Return whether values can depend on a new row, beyond those of `insert_with`.
    concerns_new: Callable[[Row], bool] = lambda _row: True
    # Return whether values can depend on a row, before or after an update of these columns, or of all.
    concerns_changed: Callable[[Row, Collection[str] | None], bool] = lambda _row, _columns: True

    def keeps_keys(self, columns: Collection[str] | None) -> bool:
        """Return whether an update of these columns, or of all, leaves the keys as they are."""
        return self.key_columns is not None and columns is not None and self.key_columns.isdisjoint(columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Values that are written from the old and the new columns of updated rows of a model.

    The statement that updates a row contains the CTEs. A model has at most one comparison.
    """

    model: type[models.Model]
    # The columns that are compared. An update of other columns is ignored.
    columns: frozenset[str]
    # Further columns that the CTEs and the condition need of the old row.
    read_columns: frozenset[str]
    # Return the CTEs that write the values, for an update of these columns, or of all. `before` is the CTE with the old rows, `row` that with
    # the new ones.
    ctes: Callable[[Collection[str] | None], str]
    # The SQL condition of `before` and `row` for rows on which further values depend: `update` is called with their ids as keys of `kind`.
    condition: str
    kind: str
    update: Callable[[int, list[Key]], None]

    def old_columns(self, columns: Collection[str] | None) -> str:
        """Return the SQL of the columns of `before`, for an update of these columns, or of all."""
        compared = self.columns if columns is None else self.columns.intersection(columns)
        return ", ".join(sorted({"account_id", "id"} | self.read_columns | compared))

    def add_ids(self, account_id: int, ids: Iterable[int]) -> None:
        """Compute what depends on the rows with these ids, which fulfil the condition."""
        add_keys(account_id, self.update, ((self.kind, id) for id in ids))


# A derivation of some model.
AnyDerivation = Derivation[Any]
_derivations: dict[type[models.Model], list[AnyDerivation]] = {}
_comparisons: dict[type[models.Model], Comparison] = {}
# The functions of the derivations, in the order in which they are called.
_updates: list[Callable[[int, list[Key]], None]] = []
_ctes: dict[type[models.Model], list[str]] = {}
# The keys to update at the end of the transaction: by the account and the function.
Pending = dict[tuple[int, Callable[[int, list[Key]], None]], set[Key]]
_pending: ContextVar[Pending | None] = ContextVar("pending", default=None)


def register(*derivations: AnyDerivation) -> None:
    for derivation in derivations:
        _derivations.setdefault(derivation.model, []).append(derivation)
        if derivation.update not in _updates:
            _updates.append(derivation.update)


def register_comparisons(*comparisons: Comparison) -> None:
    for comparison in comparisons:
        _comparisons[comparison.model] = comparison


def insert_with(model: type[models.Model], ctes: str) -> None:
    """Register the CTEs that write the values of new rows. `row` is the CTE with the new rows."""
    _ctes.setdefault(model, []).append(ctes)


def comparison_of(model: type[models.Model], columns: Collection[str] | None = None) -> Comparison | None:
    """Return the comparison of a model, if it compares one of these columns, or any."""
    comparison = _comparisons.get(model)
    return (
        None if comparison is None or (columns is not None and comparison.columns.isdisjoint(columns)) else comparison
    )


def derivations_of(model: type[models.Model], columns: Collection[str] | None = None) -> list[AnyDerivation]:
    """Return the derivations of a model that depend on one of these columns, or all."""
    return [
        derivation
        for derivation in _derivations.get(model, ())
        if columns is None or not derivation.columns.isdisjoint(columns)
    ]


def ctes_of(model: type[models.Model]) -> str:
    """Return the text of the CTEs that `insert_with` registered, or ""."""
    return "".join(_ctes.get(model, ()))


@contextmanager
def compute_at_end() -> Iterator[Pending]:
    """Compute the values that the block changes at its end, or at the end of the outer block. The block must be a transaction."""
    outer = _pending.get()
    if outer is not None:
        yield outer
        return
    pending: Pending = {}
    token = _pending.set(pending)
    try:
        yield pending
        # A function may add keys for those that are called after it.
        while pending:
            account_id, update = min(pending, key=lambda key: (key[0], _updates.index(key[1])))
            update(account_id, sorted(pending.pop((account_id, update))))
    finally:
        _pending.reset(token)


def add_keys(account_id: int, update: Callable[[int, list[Key]], None], keys: Iterable[Key]) -> None:
    """Call `update` with these keys at the end of `in_transaction`, or now."""
    with transaction.atomic(savepoint=False), compute_at_end() as pending:
        if found := set(keys):
            pending.setdefault((account_id, update), set()).update(found)


@contextmanager
def writing(
    model: type[models.Model],
    account_id: int,
    ids: Sequence[int],
    columns: Collection[str] | None = None,
    *,
    act: Act = "update",
    is_compared: bool = False,
) -> Iterator[None]:
    """Compute again what depends on the rows with these ids, which the block updates (these columns) or deletes.

    `is_compared` says that the UPDATE contains the CTEs of the comparison, or that it changes nothing that is compared.
    """
    comparison = comparison_of(model, columns) if act == "update" and not is_compared else None
    with (
        _comparing(comparison, account_id, ids, columns) if comparison else nullcontext(),
        _writing(derivations_of(model, columns), account_id, ids, act, columns),
    ):
        yield


@contextmanager
def writing_row(row: TenantRow, columns: Collection[str] | None, *, is_compared: bool = False) -> Iterator[None]:
    """Do the same for one row that the block updates, or inserts without `ctes_of` the model."""
    if not row._state.adding:
        account_id, id = row.account_id, row.id
        derivations = [
            derivation for derivation in derivations_of(type(row), columns) if derivation.concerns_changed(row, columns)
        ]
        moved = [derivation for derivation in derivations if not derivation.keeps_keys(columns)]
        comparison = None if is_compared else comparison_of(type(row), columns)
        with (
            _comparing(comparison, account_id, [id], columns) if comparison else nullcontext(),
            _writing(moved, account_id, [id], "update"),
        ):
            yield
            add_keys_of(row, [derivation for derivation in derivations if derivation not in moved], "update")
    elif is_followed(row) or ctes_of(type(row)):
        with transaction.atomic(savepoint=False), compute_at_end():
            yield
            inserted([row])
    else:
        yield


@contextmanager
def inserting(row: TenantRow) -> Iterator[None]:
    """Compute what depends on a new row, which the block inserts with `ctes_of` its model."""
    if not is_followed(row):
        yield
        return
    with transaction.atomic(savepoint=False), compute_at_end():
        yield
        inserted([row], are_derived=True)


def is_followed(row: TenantRow) -> bool:
    """Return whether a new row has to be followed by other statements in its transaction."""
    return any(derivation.concerns_new(row) for derivation in derivations_of(type(row)))


@contextmanager
def _writing(
    derivations: list[AnyDerivation],
    account_id: int,
    ids: Sequence[int],
    act: Act,
    columns: Collection[str] | None = None,
) -> Iterator[None]:
    if not derivations or not ids:
        yield
        return
    with transaction.atomic(savepoint=False), compute_at_end():
        for derivation in derivations:
            if act == "delete" or not derivation.keeps_keys(columns):
                add_keys(account_id, derivation.update, derivation.keys_of(account_id, ids, act))
        yield
        if act == "update":
            for derivation in derivations:
                add_keys(account_id, derivation.update, derivation.keys_of(account_id, ids, act))


@contextmanager
def _comparing(
    comparison: Comparison, account_id: int, ids: Sequence[int], columns: Collection[str] | None
) -> Iterator[None]:
    """Compare the rows with these ids, of which the block updates these columns, by statements before and after the block.

    The rows are locked in the order of their ids.
    """
    if not ids:
        yield
        return
    table = comparison.model._meta.db_table
    rows = f"FROM {table} WHERE account_id = %s AND id = ANY (%s)"
    values = (account_id, list(ids))
    with transaction.atomic(savepoint=False), compute_at_end():
        with connection.cursor() as cursor:
            old = f"SELECT {comparison.old_columns(columns)} {rows} ORDER BY id FOR NO KEY UPDATE"
            cursor.execute(f"SELECT jsonb_agg(to_jsonb(old))::text FROM ({old}) AS old", values)  # noqa: S608
            [(before,)] = cursor.fetchall()
        yield
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                WITH before AS (SELECT * FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb)), row AS (SELECT * {rows})
                {comparison.ctes(columns)} SELECT row.id FROM row JOIN before USING (account_id, id) WHERE {comparison.condition}
                """,  # noqa: S608
                [before, *values],
            )
            found = [id for (id,) in cursor.fetchall()]
        comparison.add_ids(account_id, found)


def inserted(rows: Sequence[TenantRow], *, are_derived: bool = False) -> None:
    """Compute what depends on new rows of a model. `are_derived` says that their INSERT contained the CTEs of `insert_with`."""
    for account_id, group in groupby(rows, key=lambda row: row.account_id):
        new = list(group)
        model = type(new[0])
        if not are_derived and (ctes := ctes_of(model)):
            with connection.cursor() as cursor:
                cursor.execute(
                    f"WITH row AS (SELECT * FROM {model._meta.db_table} WHERE account_id = %s AND id = ANY (%s)){ctes} SELECT",  # noqa: S608
                    [account_id, [row.id for row in new]],
                )
        derivations = derivations_of(model)
        if len(new) == 1:
            add_keys_of(new[0], [derivation for derivation in derivations if derivation.concerns_new(new[0])], "insert")
            continue
        for derivation in derivations:
            if ids := [row.id for row in new if derivation.concerns_new(row)]:
                add_keys(account_id, derivation.update, derivation.keys_of(account_id, ids, "insert"))


def add_keys_of(row: TenantRow, derivations: list[AnyDerivation], act: Act) -> None:
    """Compute the values that depend on a written row."""
    account_id = row.account_id
    for derivation in derivations:
        keys = derivation.keys_of_row(row)
        add_keys(account_id, derivation.update, derivation.keys_of(account_id, [row.id], act) if keys is None else keys)


class DerivingQuerySet(models.QuerySet[Row]):
    """A queryset whose writes compute the derived values again."""

    @contextmanager
    def _writing(self, columns: Collection[str] | None, act: Act, *, is_compared: bool = False) -> Iterator[None]:
        comparison = comparison_of(self.model, columns) if act == "update" and not is_compared else None
        if not derivations_of(self.model, columns) and comparison is None:
            yield
            return
        with transaction.atomic(savepoint=False), compute_at_end(), ExitStack() as stack:
            pairs = sorted(self.order_by().values_list("account_id", "id"))
            for account_id, group in groupby(pairs, key=lambda pair: pair[0]):
                ids = [id for _, id in group]
                stack.enter_context(writing(self.model, account_id, ids, columns, act=act, is_compared=is_compared))
            yield

    def update(self, **values: object) -> int:
        with self._writing({self.model._meta.get_field(name).attname for name in values}, "update"):  # type: ignore[union-attr]
            return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined]

    def update_unchanged(self, **values: object) -> int:
        """Update columns so that nothing changes that is compared. Nothing is compared, which saves two statements."""
        with self._writing(values, "update", is_compared=True):
            return super().update(**values)

    update_unchanged.alters_data = True  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        with self._writing(None, "delete"):
            return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> list[Row]:
        rows = list(objs)
        if not derivations_of(self.model) and not ctes_of(self.model):
            return super().bulk_create(rows, *args, **kwargs)
        with transaction.atomic(savepoint=False), compute_at_end():
            created = super().bulk_create(rows, *args, **kwargs)
            inserted(rows)  # type: ignore[arg-type]  # rows of a tenant
            return created
