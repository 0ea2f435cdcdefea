"""Rows whose order users can change."""

from datetime import datetime
from typing import Any, Self

from django.db import models, transaction
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.errors import FieldError

MAX_POSITION = 2**31 - 1

# Sent in the transaction that moves a row among its siblings. Arguments: `row`.
moved_among_siblings = Signal()


class Ordered:
    """A mixin for a model whose rows have a `position` among their siblings. Of rows with equal positions, the older row comes first."""

    id: int
    position: int
    updated_at: datetime
    objects: Any

    def siblings(self) -> "models.QuerySet[Any]":
        """Return the rows of the same list, including this row."""
        raise NotImplementedError

    def is_listed_with(self, other: Self) -> bool:
        """Return whether pages show this row and another of the siblings in one list. A move by positions skips the other rows."""
        return True

    @transaction.atomic(savepoint=False)
    def move(self, *, by: int = 0, before: int | None = None, after: int | None = None) -> None:
        """Move the row by a number of positions (-1 is up), or directly before or after the sibling with an id.

        All siblings get new positions, from 1. Raise FieldError if the row or the other sibling no longer exists.
        """
        rows = list(self.siblings().order_by("position", "id").select_for_update(no_key=True))
        order = [row.id for row in rows]
        neighbour = after if before is None else before
        if self.id not in order or (neighbour is not None and neighbour not in order):
            raise FieldError("order", _("was changed by somebody else meanwhile; try again"), "changed")
        if neighbour is None:
            listed = [row.id for row in rows if row.id == self.id or self.is_listed_with(row)]
            neighbour = listed[min(max(listed.index(self.id) + by, 0), len(listed) - 1)]
            before = neighbour if by < 0 else None
        index = order.index(self.id)
        order.remove(self.id)
        if neighbour != self.id:
            index = order.index(neighbour) + (0 if before is not None else 1)
        order.insert(index, self.id)
        positions = {id: position for position, id in enumerate(order, 1)}
        moved = [row for row in rows if row.position != positions[row.id]]
        for row in moved:
            row.position, row.updated_at = positions[row.id], timezone.now()
        type(self).objects.bulk_update(moved, ["position", "updated_at"])
        if moved:
            moved_among_siblings.send(type(self), row=self)
