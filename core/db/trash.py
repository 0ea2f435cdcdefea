"""The trash: deleting a resource moves it there, and for 30 days it can be restored."""

from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models, transaction
from django.db.models import F, Q, Value
from django.utils import timezone

from core.errors import FieldError

KEPT_FOR = timedelta(days=30)


class TrashableQuerySet(models.QuerySet):
    def live(self) -> Self:
        return self.filter(trashed_at=None)

    def trashed(self) -> Self:
        return self.exclude(trashed_at=None)

    def locked(self) -> Self:
        """Rows held until the transaction ends. A row that goes to the trash while one waits for it is not found."""
        return self.select_for_update(no_key=True, of=("self",))

    def erase(self, *, before: datetime, limit: int) -> int:
        """Erase at most `most` of those that went to the trash before then; returns how many."""
        due = self.filter(trashed_at__lt=before)
        rows = due.order_by("trashed_at").values_list("account_id", "id")[:limit]
        # One that is restored before its turn is no longer due.
        return sum(due.filter(account_id=account, id=id).erase_one() for account, id in rows)

    def erase_one(self) -> int:
        """Erase the row that is left, if any; returns how many it was."""
        return self.delete()[0]


def trash_index(name: str) -> models.Index:
    """For the list of the trash, and for what is due to be erased."""
    condition = Q(trashed_at__isnull=False)
    return models.Index(fields=["account", "trashed_at", "id"], name=f"{name}_trash", condition=condition)


def link_indexes(name: str, target: str, *order: str) -> list[models.Index]:
    """For the rows that point at a `target`, and those that pointed at one that is in the trash."""
    return [
        models.Index(
            fields=["account", f"{link}_id", *fields],
            name=f"{name}_of_{link}",
            condition=Q(**{f"{link}_id__isnull": False}),
        )
        for link, fields in ((target, order), (f"trashed_{target}", ()))
    ]


class TrashedId(int):
    """The id of a row in the trash, named by a link: the link is pending until the row is restored."""


def assign_links(values: dict[str, Any], *links: str) -> None:
    """Set the columns of the links among `values`: `client_id`, or `trashed_client_id` where the id is a `TrashedId`.

    Naming a row replaces a pending link. A null does not: clients send it back with the rest of what they read.
    """
    for link in links:
        if id := values.get(link):
            is_trashed = isinstance(id, TrashedId)
            values[link], values[f"trashed_{link}"] = (None, int(id)) if is_trashed else (id, None)


class Trashable(models.Model):
    """A resource that is moved to the trash and back. What else changes hands then is said in `let_go` and `take_back`."""

    # The column that a person would know it by.
    DISPLAY_NAME_FIELD = "name"
    # The things of the account that may point at it, by a column that is called as it is.
    REFERRERS: tuple[str, ...] = ()

    trashed_at = models.DateTimeField(null=True, editable=False)
    trashed_by_id = models.BigIntegerField(null=True, editable=False)

    class Meta:
        abstract = True

    def detach(self) -> None:
        """What it held is free again, and what points at it no longer does."""
        link = f"{self._meta.model_name}_id"
        for things in self.REFERRERS:
            rows = getattr(self.account, things).filter(**{link: self.id})
            rows.update(**{link: None, f"trashed_{link}": self.id})

    def reattach(self) -> None:
        """The reverse, as far as nobody else has taken it, and nothing points at another, meanwhile."""
        link = f"{self._meta.model_name}_id"
        for things in self.REFERRERS:
            rows = getattr(self.account, things).filter(**{f"trashed_{link}": self.id})
            rows.update(**{link: self.id, f"trashed_{link}": None})

    @transaction.atomic(savepoint=False)
    def trash(self, *, by) -> None:
        """Move it to the trash. The caller holds the row (`locked`)."""
        self.trashed_at, self.trashed_by_id = timezone.now(), by.id
        self.save(update_fields=["trashed_at", "trashed_by_id"])
        self.detach()

    @transaction.atomic(savepoint=False)
    def restore(self) -> None:
        """Take it out of the trash. The caller holds the row (`locked`)."""
        self.trashed_at = self.trashed_by_id = None
        self.save(update_fields=["trashed_at", "trashed_by_id"])
        self.reattach()


def trash_contents(account, kinds: dict[str, type[Trashable]], *, limit: int, **only) -> models.QuerySet:
    """What the account has in the trash of these kinds (key to model), newest first, `most` of them or more.

    Each kind is read from its index and cut off there; without that, the database would sort all of them to merge them.
    """
    newest_first = ("-trashed_at", "-id")
    sides = [
        getattr(account, model._meta.default_related_name)
        .filter(trashed_at__isnull=False, **only)
        .values("id", "trashed_at", "trashed_by_id", resource=Value(key), display_name=F(model.DISPLAY_NAME_FIELD))
        .order_by(*newest_first)[:limit]
        for key, model in kinds.items()
    ]
    first, *others = sides
    return first.union(*others, all=True).order_by(*newest_first, "resource") if others else first


def restore(account, kinds: dict[str, type[Trashable]], id: int) -> tuple[str, Trashable] | None:
    """Take what has that id, and is of one of these kinds, out of the trash; None if nothing there has.

    Returns its kind, and the row. Raises FieldError for one that can't come back, and where several have the id.
    """
    found = [row["resource"] for row in trash_contents(account, kinds, limit=1, id=id)]
    if len(found) > 1:
        # An account's own sequence gives each id once; rows that were taken over from elsewhere may share one.
        raise FieldError("resource", "must say which is meant: {kinds}", "several", {"kinds": ", ".join(sorted(found))})
    for key in found:
        rows = getattr(account, kinds[key]._meta.default_related_name)
        if row := rows.trashed().locked().filter(id=id).first():
            row.restore()
            return key, row
    return None
