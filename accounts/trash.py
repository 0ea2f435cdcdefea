"""Nothing is lost: DELETE moves a resource to the trash, whence it may come back for 30 days (decisions, section 6)."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models, transaction
from django.db.models import F, Value
from django.utils import timezone

KEPT_FOR = timedelta(days=30)


class TrashableQuerySet(models.QuerySet):
    def live(self) -> Self:
        return self.filter(trashed_at=None)

    def trashed(self) -> Self:
        return self.exclude(trashed_at=None)

    def locked(self) -> Self:
        """Rows held until the transaction ends. A row that goes to the trash while one waits for it is not found."""
        return self.select_for_update(no_key=True, of=("self",))

    def erase(self, *, before: datetime, most: int) -> int:
        """Erase at most `most` of those that went to the trash before then; returns how many."""
        due = self.filter(trashed_at__lt=before)
        rows = due.order_by("trashed_at").values_list("account_id", "id")[:most]
        # One that is restored before its turn is no longer due.
        return sum(due.filter(account_id=account, id=id).delete()[0] for account, id in rows)


class Trashable(models.Model):
    """A resource that is moved to the trash and back. What else changes hands then is said in `let_go` and `take_back`."""

    # The column that a person would know it by.
    CALLED = "name"

    trashed_at = models.DateTimeField(null=True, editable=False)
    trashed_by_id = models.BigIntegerField(null=True, editable=False)

    class Meta:
        abstract = True

    def let_go(self) -> None:
        """What it held is free again, and what points at it no longer does."""

    def take_back(self) -> None:
        """The reverse, as far as nobody else has taken it meanwhile."""

    @transaction.atomic(savepoint=False)
    def trash(self, *, by) -> None:
        """Move it to the trash. The caller holds the row (`locked`)."""
        self.trashed_at, self.trashed_by_id = timezone.now(), by.id
        self.save(update_fields=["trashed_at", "trashed_by_id"])
        self.let_go()

    @transaction.atomic(savepoint=False)
    def restore(self) -> None:
        """Take it out of the trash. The caller holds the row (`locked`)."""
        self.trashed_at = self.trashed_by_id = None
        self.save(update_fields=["trashed_at", "trashed_by_id"])
        self.take_back()


def contents(account, kinds: dict[str, type[Trashable]], *, most: int, **only) -> models.QuerySet:
    """What the account has in the trash of these kinds (key to model), newest first, `most` of them or more.

    Each kind is read from its index and cut off there; without that, the database would sort all of them to merge them.
    """
    newest_first = ("-trashed_at", "-id")
    sides = [
        getattr(account, model._meta.default_related_name)
        .filter(trashed_at__isnull=False, **only)
        .values("id", "trashed_at", "trashed_by_id", resource=Value(key), called=F(model.CALLED))
        .order_by(*newest_first)[:most]
        for key, model in kinds.items()
    ]
    first, *others = sides
    return first.union(*others, all=True).order_by(*newest_first, "resource") if others else first
