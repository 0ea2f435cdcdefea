"""Derived values: values that are stored, and that depend on rows of other tables, such as sums.

A room registers what its values derive from a model, also from a model of a lower room, which does not know them:

- A `Derivation` tells which values depend on a row. It is asked before and after each write of the model, and the values are computed again
  in the same transaction.
- `insert_with` writes the values of a new row by the statement that inserts the row.

The write paths of a model call this module: `save`, the QuerySet (`DerivingQuerySet`) and `core.db.prepared`. SQL that updates or deletes
rows is executed within `writing`. The values are computed once for all writes of `in_transaction`, at its end, and in the order of their
keys. Outside of `in_transaction`, they are computed after each write.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, TypeVar

from django.db import connection, models, transaction

Row = TypeVar("Row", bound=models.Model)
Act = Literal["insert", "update", "delete"]
# A kind of derived rows and an id.
Key = tuple[str, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class Derivation:
    """Values that depend on the rows of a model."""

    model: type[models.Model]
    # The columns on which the values depend. An update of other columns is ignored.
    columns: frozenset[str]
    # Return the keys of the values that depend on the rows with these ids now. It is called before an update or a delete, and after an insert
    # or an update.
    keys_of: Callable[[int, Sequence[int], Act], Iterable[Key]]
    # Compute the values with these keys again.
    update: Callable[[int, list[Key]], None]
    # Return the keys of the values that depend on an instance, without a statement, or None if that takes one.
    keys_of_row: Callable[[Any], Iterable[Key] | None] = lambda _row: None
    # The columns that select the keys. If an update changes none of them, the keys are the same before and after it.
    key_columns: frozenset[str] | None = None
    # Return whether values can depend on a new row, beyond those of `insert_with`. The second argument says that the transaction consists of
    # the INSERT alone.
    concerns_new: Callable[[Any, bool], bool] = lambda _row, _alone: True
    # Return whether values can depend on a row, before or after an update of these columns, or of all.
    concerns_changed: Callable[[Any, Collection[str] | None], bool] = lambda _row, _columns: True

    def keeps_keys(self, columns: Collection[str] | None) -> bool:
        """Return whether an update of these columns, or of all, leaves the keys as they are."""
        return self.key_columns is not None and columns is not None and self.key_columns.isdisjoint(columns)


_derivations: dict[type[models.Model], list[Derivation]] = {}
# The CTEs for new rows, each with whether it is only for an INSERT that is a transaction of its own.
_ctes: dict[type[models.Model], list[tuple[str, bool]]] = {}
# The keys to update at the end of the transaction: by the account and the function.
Pending = dict[tuple[int, Callable[[int, list[Key]], None]], set[Key]]
_pending: ContextVar[Pending | None] = ContextVar("pending", default=None)


def register(*derivations: Derivation) -> None:
    for derivation in derivations:
        _derivations.setdefault(derivation.model, []).append(derivation)


def insert_with(model: type[models.Model], ctes: str, *, only_alone: bool = False) -> None:
    """Register the CTEs that write the values of new rows. `row` is the CTE with the new rows.

    CTEs that write rows of other rows too must be `only_alone`: in a transaction with several inserts, they would lock these in any order.
    """
    _ctes.setdefault(model, []).append((ctes, only_alone))


def derivations_of(model: type[models.Model], columns: Collection[str] | None = None) -> list[Derivation]:
    """Return the derivations of a model that depend on one of these columns, or all."""
    return [each for each in _derivations.get(model, ()) if columns is None or not each.columns.isdisjoint(columns)]


def ctes_of(model: type[models.Model], *, alone: bool = False) -> str:
    """Return the text of the CTEs that `insert_with` registered, or "". `alone` says that the transaction consists of the INSERT."""
    return "".join(ctes for ctes, only_alone in _ctes.get(model, ()) if alone or not only_alone)


@contextmanager
def at_the_end() -> Iterator[Pending]:
    """Compute the values that the block changes at its end, or at the end of the outer block. The block must be a transaction."""
    outer = _pending.get()
    if outer is not None:
        yield outer
        return
    pending: Pending = {}
    token = _pending.set(pending)
    try:
        yield pending
        for (account_id, update), keys in sorted(pending.items(), key=lambda item: item[0][0]):
            update(account_id, sorted(keys))
    finally:
        _pending.reset(token)


def add_keys(account_id: int, update: Callable[[int, list[Key]], None], keys: Iterable[Key]) -> None:
    """Call `update` with these keys at the end of `in_transaction`, or now."""
    with transaction.atomic(savepoint=False), at_the_end() as pending:
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
) -> Iterator[None]:
    """Compute again what depends on the rows with these ids, which the block updates (these columns) or deletes."""
    with _writing(derivations_of(model, columns), account_id, ids, act, columns):
        yield


@contextmanager
def writing_row(row: models.Model, columns: Collection[str] | None) -> Iterator[None]:
    """Do the same for one row that the block updates, or inserts without `ctes_of` the model."""
    if not row._state.adding:
        derivations = [each for each in derivations_of(type(row), columns) if each.concerns_changed(row, columns)]
        moved = [each for each in derivations if not each.keeps_keys(columns)]
        with _writing(moved, row.account_id, [row.id], "update"):  # type: ignore[attr-defined]  # a row of any tenant
            yield
            add_keys_of(row, [each for each in derivations if each not in moved], "update")
    elif is_followed(row) or ctes_of(type(row)):
        with transaction.atomic(savepoint=False), at_the_end():
            yield
            inserted([row])
    else:
        yield


@contextmanager
def inserting(row: models.Model) -> Iterator[None]:
    """Compute what depends on a new row, which the block inserts with `ctes_of` its model."""
    if not is_followed(row):
        yield
        return
    with transaction.atomic(savepoint=False), at_the_end():
        yield
        inserted([row], are_derived=True)


def is_followed(row: models.Model, *, alone: bool = False) -> bool:
    """Return whether a new row has to be followed by other statements in its transaction."""
    return any(each.concerns_new(row, alone) for each in derivations_of(type(row)))


@contextmanager
def _writing(
    derivations: list[Derivation],
    account_id: int,
    ids: Sequence[int],
    act: Act,
    columns: Collection[str] | None = None,
) -> Iterator[None]:
    if not derivations or not ids:
        yield
        return
    with transaction.atomic(savepoint=False), at_the_end():
        for each in derivations:
            if act == "delete" or not each.keeps_keys(columns):
                add_keys(account_id, each.update, each.keys_of(account_id, ids, act))
        yield
        if act == "update":
            for each in derivations:
                add_keys(account_id, each.update, each.keys_of(account_id, ids, act))


def inserted(rows: Sequence[models.Model], *, are_derived: bool = False) -> None:
    """Compute what depends on new rows of a model. `are_derived` says that their INSERT contained the CTEs of `insert_with`."""
    for account_id, group in groupby(rows, key=lambda row: row.account_id):  # type: ignore[attr-defined]
        new = list(group)
        model = type(new[0])
        if not are_derived and (ctes := ctes_of(model)):
            with connection.cursor() as cursor:
                cursor.execute(
                    f"WITH row AS (SELECT * FROM {model._meta.db_table} WHERE account_id = %s AND id = ANY (%s)){ctes} SELECT",  # noqa: S608
                    [account_id, [row.id for row in new]],  # type: ignore[attr-defined]
                )
        derivations = derivations_of(model)
        if len(new) == 1:
            add_keys_of(new[0], [each for each in derivations if each.concerns_new(new[0], False)], "insert")
            continue
        for each in derivations:
            if ids := [row.id for row in new if each.concerns_new(row, False)]:  # type: ignore[attr-defined]
                add_keys(account_id, each.update, each.keys_of(account_id, ids, "insert"))


def add_keys_of(row: models.Model, derivations: list[Derivation], act: Act) -> None:
    """Compute the values that depend on a written row."""
    account_id: Any = getattr(row, "account_id")  # noqa: B009, a row of any tenant
    for each in derivations:
        keys = each.keys_of_row(row)
        add_keys(account_id, each.update, each.keys_of(account_id, [row.id], act) if keys is None else keys)  # type: ignore[attr-defined]


class DerivingQuerySet(models.QuerySet[Row]):
    """A queryset whose writes compute the derived values again."""

    @contextmanager
    def _writing(self, columns: Collection[str] | None, act: Act) -> Iterator[None]:
        if not derivations_of(self.model, columns):
            yield
            return
        with transaction.atomic(savepoint=False), at_the_end(), ExitStack() as stack:
            pairs = sorted(self.order_by().values_list("account_id", "id"))
            for account_id, group in groupby(pairs, key=lambda pair: pair[0]):
                stack.enter_context(writing(self.model, account_id, [id for _, id in group], columns, act=act))
            yield

    def update(self, **values: Any) -> int:
        with self._writing({self.model._meta.get_field(name).attname for name in values}, "update"):  # type: ignore[union-attr]
            return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        with self._writing(None, "delete"):
            return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> list[Row]:
        rows = list(objs)
        if not derivations_of(self.model) and not ctes_of(self.model):
            return super().bulk_create(rows, *args, **kwargs)
        with transaction.atomic(savepoint=False), at_the_end():
            created = super().bulk_create(rows, *args, **kwargs)
            inserted(rows)
            return created
