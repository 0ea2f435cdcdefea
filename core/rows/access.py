"""Access to a part of an account's rows: those for which certain users are responsible."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Q


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

    def includes(self, row: Any) -> bool:
        """Return whether the row is accessible. Rows without responsible users are."""
        ids = self.responsible_ids
        return ids is None or not hasattr(row, "responsible_id") or row.responsible_id in ids

    def condition(self, column: str = "responsible_id") -> Q:
        """Return the condition of the accessible rows. `column` holds the id of the responsible user."""
        return Q() if self.responsible_ids is None else Q(**{f"{column}__{self.lookup}": self.responsible_ids})


ALL_ROWS = Access()


def prepared_access(responsible_ids: Collection[int] | None) -> Access:
    """Return the access for the argument `responsible_ids` of a prepared query, which is missing for access to all rows."""
    return Access(responsible_ids, "any")
