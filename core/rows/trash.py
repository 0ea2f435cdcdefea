"""The trash: deleting a resource moves it there, and for the days that its account has chosen it can be restored."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from django.apps import apps
from django.conf import settings
from django.db import models, transaction
from django.db.models import DurationField, Exists, ExpressionWrapper, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Now
from django.dispatch import Signal
from django.utils import timezone

from core.db.derived import DerivingQuerySet
from core.db.fields import TenantRow
from core.db.prepared import update_many
from core.db.tenancy import rows_of
from core.errors import FieldError
from core.rows.access import Access
from core.tenants import TenantAccount, TenantUser

# Sent after rows of a model were erased. Arguments: `account_id`, and `number`, that of the rows.
erased = Signal()
# Sent before rows are restored, in the transaction. Arguments: `rows`. A receiver raises FieldErrors if a row cannot be restored.
restoring = Signal()


Row = TypeVar("Row", bound="Trashable")

# Functions that return a subquery with the rows of a model that the trash keeps, although their days are over.
_kept: dict[str, list[Callable[[], "models.QuerySet[Any]"]]] = {}


def keep_in_trash(model: type[models.Model], rows: Callable[[], "models.QuerySet[Any]"]) -> None:
    """Register rows that the trash keeps longer. `rows` returns a subquery for a row of the model."""
    _kept.setdefault(model._meta.label, []).append(rows)


def days_are_over(model: type[models.Model]) -> Q:
    """Return the condition of rows that have been in the trash for more days than their account has chosen."""
    accounts = apps.get_model(settings.ACCOUNT_MODEL)._default_manager.filter(id=OuterRef("account_id"))
    time = ExpressionWrapper(F("trash_days") * Value(timedelta(days=1)), output_field=DurationField())
    condition = Q(trashed_at__lt=Now() - Subquery(accounts.values(time=time)))
    for rows in _kept.get(model._meta.label, ()):
        condition &= ~Q(Exists(rows()))
    return condition


class TrashableQuerySet(DerivingQuerySet[Row]):
    def live(self) -> Self:
        return self.filter(trashed_at=None)

    def trashed(self) -> Self:
        return self.exclude(trashed_at=None)

    def locked(self) -> Self:
        """Lock the rows until the end of the transaction.

        PostgreSQL checks the filters again after waiting for a lock, so `live().locked()` omits a row that was trashed meanwhile.
        """
        return self.select_for_update(no_key=True, of=("self",))

    def erase(self, *, limit: int, before: datetime | None = None) -> int:
        """Erase at most `limit` rows whose days in the trash are over, or which were moved there before a time.

        Return the number of rows erased. Each row is erased in its own transaction, and `erased` is sent after all of them.
        """
        due = self.filter(days_are_over(self.model) if before is None else Q(trashed_at__lt=before))
        rows = due.order_by("trashed_at").values_list("account_id", "id")[:limit]
        numbers: Counter[int] = Counter()
        try:
            for account_id, id in rows:
                # Apply the filter of `due` again to each row, because the row may be restored meanwhile.
                numbers[account_id] += due.filter(account_id=account_id, id=id).erase_one()
        finally:
            for account_id, number in numbers.items():
                if number:
                    erased.send(self.model, account_id=account_id, number=number)
        return numbers.total()

    def erase_one(self) -> int:
        """Erase the only row of this queryset, if it still exists. Return the number of rows erased."""
        return self.delete()[0]


def trash_index(name: str) -> models.Index:
    """Return the index for the list of the trash and for `erase`."""
    condition = Q(trashed_at__isnull=False)
    return models.Index(fields=["account", "trashed_at", "id"], name=f"{name}_trash", condition=condition)


def link_indexes(name: str, target: str, *order: str) -> list[models.Index]:
    """Return the indexes of the two columns of a link, such as `client_id` and `trashed_client_id` for the target "client".

    The second column holds the link while the target is in the trash. `order` are further columns of the first index.
    """
    return [
        models.Index(
            fields=["account", f"{link}_id", *fields],
            name=f"{name}_of_{link}",
            condition=Q(**{f"{link}_id__isnull": False}),
        )
        for link, fields in ((target, order), (f"trashed_{target}", ()))
    ]


class LimitedQuerySet(TrashableQuerySet[Row]):
    """A queryset of rows of which some users access only a part."""

    def limited_to(self, access: Access) -> Self:
        return self.filter(access.condition()) if access.is_limited else self


def limit(rows: models.QuerySet[Any], access: Access) -> Any:
    """Return the rows of the access. Rows of a model without responsible users are all accessible."""
    return rows.limited_to(access) if isinstance(rows, LimitedQuerySet) else rows


class TrashedId(int):
    """The id of a row in the trash. A link to it is pending until the row is restored."""


def assign_links(values: dict[str, Any], *links: str) -> None:
    """Add the columns for pending links to `values`. `links` are the names of columns, such as "client_id".

    An id that is a `TrashedId` is moved to the column of the pending link, such as "trashed_client_id". An id replaces a
    pending link. None does not replace it, because a response shows null for a pending link, and a client may send all fields of the
    response back.
    """
    for link in links:
        if id := values.get(link):
            is_trashed = isinstance(id, TrashedId)
            values[link], values[f"trashed_{link}"] = (None, int(id)) if is_trashed else (id, None)


class Trashable(models.Model):
    """A row that can be moved to the trash and restored.

    A model with unique values or counters overrides `detach` and `reattach`, to release them while a row is in the trash.
    """

    # The column that the list of the trash shows as the name of the row.
    DISPLAY_NAME_FIELD = "name"
    # The related names, on the account, of the models that have a link to this model. The column of the link is named after this model,
    # such as `client_id` for `Client`.
    REFERRERS: tuple[str, ...] = ()

    # Each model is a `TenantModel` too, and its manager comes from a `TrashableQuerySet`.
    if TYPE_CHECKING:
        account: Any
        id: Any
        objects: Any

    trashed_at = models.DateTimeField(null=True, editable=False)
    trashed_by_id = models.BigIntegerField(null=True, editable=False)

    class Meta:
        abstract = True

    @classmethod
    def detach(cls, rows: Sequence[Self]) -> None:
        """Make the links to these rows pending. A subclass also releases unique values and counters of the rows.

        `trash_all` calls this method after it has moved the rows, which belong to one account, to the trash.
        """
        link = f"{cls._meta.model_name}_id"
        for name in cls.REFERRERS:
            linked = getattr(rows[0].account, name).filter(**{f"{link}__in": [row.id for row in rows]})
            # A pending link is no change of the row.
            linked.update_unchanged(**{f"trashed_{link}": F(link), link: None})

    @classmethod
    def reattach(cls, rows: Sequence[Self]) -> None:
        """Undo `detach`, except for unique values that another row now has, and links that were changed meanwhile.

        `restore_all` calls this method after it has restored the rows.
        """
        link = f"{cls._meta.model_name}_id"
        for name in cls.REFERRERS:
            linked = getattr(rows[0].account, name).filter(**{f"trashed_{link}__in": [row.id for row in rows]})
            linked.update_unchanged(**{link: F(f"trashed_{link}"), f"trashed_{link}": None})

    @classmethod
    @transaction.atomic(savepoint=False)
    def trash_all(cls, rows: Sequence[Self], *, by: TenantUser, at: datetime | None = None) -> None:
        """Move rows of one account, which the caller has locked, to the trash. `at` is the time that is stored, by default now."""
        if rows:
            cls._set_trashed(rows, at or timezone.now(), by.id)
            cls.detach(rows)

    @classmethod
    @transaction.atomic(savepoint=False)
    def restore_all(cls, rows: Sequence[Self]) -> None:
        """Restore rows of one account, which the caller has locked, from the trash. Raise FieldErrors if that is not possible."""
        if rows:
            restoring.send(cls, rows=rows)
            cls._set_trashed(rows, None, None)
            cls.reattach(rows)

    @classmethod
    def _set_trashed(cls, rows: Sequence[Self], at: datetime | None, by_id: int | None) -> None:
        for row in rows:
            row.trashed_at, row.trashed_by_id = at, by_id
        if len(rows) == 1:
            rows[0].save(update_fields=["trashed_at", "trashed_by_id"])
        else:
            update_many(cast("Sequence[TenantRow]", rows), {"trashed_at", "trashed_by_id"})

    def trash(self, *, by: TenantUser, at: datetime | None = None) -> None:
        self.trash_all([self], by=by, at=at)

    def restore(self) -> None:
        self.restore_all([self])


def trash_contents(
    account: TenantAccount, kinds: Mapping[str, type[Trashable]], *, limit: int, **filters: Any
) -> "models.QuerySet[Any, dict[str, Any]]":
    """Return the trashed rows of these kinds (model by resource key) as dicts, newest first: `limit` of each kind.

    Because each kind has its own limit, PostgreSQL reads only the first rows of each kind, from an index. Otherwise it would sort all rows
    to merge them.
    """
    newest_first = ("-trashed_at", "-id")
    querysets = [
        rows_of(account, model)
        .filter(trashed_at__isnull=False, **filters)
        .values("id", "trashed_at", "trashed_by_id", resource=Value(key), display_name=F(model.DISPLAY_NAME_FIELD))
        .order_by(*newest_first)[:limit]
        for key, model in kinds.items()
    ]
    first, *others = querysets
    return first.union(*others, all=True).order_by(*newest_first, "resource") if others else first


def restore(account: TenantAccount, kinds: Mapping[str, type[Trashable]], id: int) -> tuple[str, Trashable] | None:
    """Restore the row with an id, of any of these kinds. Return its resource key and the row, or None if no such row is in the trash.

    Raise FieldError if the row cannot be restored, or if rows of several kinds have the id.
    """
    keys = [row["resource"] for row in trash_contents(account, kinds, limit=1, id=id)]
    if len(keys) > 1:
        # The counter of an account gives each id once, but rows that were imported with their ids may have the same id.
        raise FieldError("resource", "must say which is meant: {kinds}", "several", {"kinds": ", ".join(sorted(keys))})
    for key in keys:
        rows: TrashableQuerySet[Any] = rows_of(account, kinds[key])  # type: ignore[assignment]  # the manager of every Trashable
        if row := rows.trashed().locked().filter(id=id).first():
            row.restore()
            return key, row
    return None
