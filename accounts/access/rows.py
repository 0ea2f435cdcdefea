"""Which rows of the CRM a user may access.

An account may limit its agents to the rows that they, or a user of their group, are responsible for (`Account.agents_see`). Every query of
clients, contacts, deals and tasks for a user starts at `accessible_to`, so the limit holds for the APIs, pages, searches, counts and
exports alike. Admins and owners access all rows.

A link to a row that the user may not access shows its id and nothing else. A user cannot set a new link to it.
"""

from typing import TYPE_CHECKING, Self, TypeVar

from core.rows.trash import LimitedQuerySet, Trashable

if TYPE_CHECKING:
    from accounts.users.models import User

Row = TypeVar("Row", bound=Trashable)


class AccessQuerySet(LimitedQuerySet[Row]):
    """A queryset of rows with the column `responsible_id`."""

    def accessible_to(self, user: "User") -> Self:
        """Return the rows that the user may access."""
        return self.limited_to(user.access)
