"""Locks of rows."""

from typing import Self, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)


class LockableQuerySet(models.QuerySet[Row]):
    def locked(self) -> Self:
        """Lock the rows until the end of the transaction, but not the rows of other tables that the query joins."""
        return self.select_for_update(no_key=True, of=("self",))
