"""Access to a part of an account's rows: those for which certain users are responsible."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Q

from core.db.trash import Trashable, TrashableQuerySet

Row = TypeVar("Row", bound=Trashable)


@dataclass(frozen=True)
class Access:
    """The rows of an account that a request may read and write."""

    # The ids of the responsible users, or None for access to all rows.
    responsible_ids: Collection[int] | None = None
    # The lookup for the ids. A prepared query needs "any".
    lookup: str = "in"

    @property
    def is_limited(self) -> bool:
        return self.responsible_ids is not None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments for a prepared query, which passes them to `prepared_access`."""
        return {} if self.responsible_ids is None else {"responsible_ids": list(self.responsible_ids)}

    def condition(self, column: str = "responsible_id") -> Q:
        """Return the condition of the accessible rows. `column` holds the id of the responsible user."""
        return Q() if self.responsible_ids is None else Q(**{f"{column}__{self.lookup}": self.responsible_ids})


ALL_ROWS = Access()


def prepared_access(responsible_ids: Collection[int] | None) -> Access:
    """Return the access for the argument `responsible_ids` of a prepared query, which is missing for access to all rows."""
    return Access(responsible_ids, "any")


class LimitedQuerySet(TrashableQuerySet[Row]):
    """A queryset of rows of which some users access only a part."""

    def limited_to(self, access: Access) -> Self:
        """Return the rows of the access."""
        return self.filter(access.condition()) if access.is_limited else self


def limit(rows: models.QuerySet[Any], access: Access) -> Any:
    """Return the rows of the access. Rows of a model without responsible users are all accessible."""
    return rows.limited_to(access) if isinstance(rows, LimitedQuerySet) else rows
