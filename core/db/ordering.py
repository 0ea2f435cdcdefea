"""Things that stand in an order which people give them."""

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.errors import FieldError

MAX_POSITION = 2**31 - 1


class Ordered:
    """Something with a `position` among its like; of equal ones the older is first."""

    def siblings(self) -> models.QuerySet:
        """It and its like."""
        raise NotImplementedError

    @transaction.atomic(savepoint=False)
    def move(self, *, by: int = 0, before: int | None = None, after: int | None = None) -> None:
        """Move it by so many places (-1 is up), or next to the one of that id.

        Places are numbered anew, from 1. Raises FieldError if it, or the other, is gone.
        """
        rows = list(self.siblings().order_by("position", "id").select_for_update(no_key=True))
        order = [row.id for row in rows]
        beside = after if before is None else before
        if self.id not in order or (beside is not None and beside not in order):
            raise FieldError("order", _("was changed by somebody else meanwhile; try again"), "changed")
        place = order.index(self.id)
        order.remove(self.id)
        if beside is None:
            place = min(max(place + by, 0), len(order))
        elif beside != self.id:
            place = order.index(beside) + (0 if before is not None else 1)
        order.insert(place, self.id)
        places = {id: place for place, id in enumerate(order, 1)}
        moved = [row for row in rows if row.position != places[row.id]]
        for row in moved:
            row.position, row.updated_at = places[row.id], timezone.now()
        type(self).objects.bulk_update(moved, ["position", "updated_at"])
