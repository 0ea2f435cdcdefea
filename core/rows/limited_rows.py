"""Querysets of rows of which some users access only a part (`core.rows.access`)."""

from typing import Any, Self, TypeVar

from django.db import models

from core.rows.access import Access
from core.rows.trash import Trashable, TrashableQuerySet

Row = TypeVar("Row", bound=Trashable)


class LimitedQuerySet(TrashableQuerySet[Row]):
    """A queryset of rows of which some users access only a part."""

    def limited_to(self, access: Access) -> Self:
        """Return the rows of the access."""
        return self.filter(access.condition()) if access.is_limited else self


def limit(rows: models.QuerySet[Any], access: Access) -> Any:
    """Return the rows of the access. Rows of a model without responsible users are all accessible."""
    return rows.limited_to(access) if isinstance(rows, LimitedQuerySet) else rows
