"""The kinds of rows that have attachments, and who sees and changes their attachments: those who see and change the row.

Each subject registers its kind in its module `registration`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet

from accounts.account.models import Account
from accounts.users.models import User


@dataclass(frozen=True)
class Holder:
    """A kind of rows. `key` is its name in JSON."""

    key: str
    model: type[Model]
    # Return the rows of the account that a user, or a visitor (None), may see now. Rows in the trash are not among them.
    visible_to: Callable[[Account, User | None], QuerySet[Any]]
    # Return whether the user may add attachments to a visible row, and delete them.
    may_change: Callable[[Any, User], bool] = lambda row, user: user.is_team
    # The texts of the row that may have attachments. The first one is that of the API.
    parts: tuple[str, ...] = ("",)


holders: dict[str, Holder] = {}


def register_holder(holder: Holder) -> None:
    holders[holder.key] = holder


def rows_for_team(account: Account, user: User | None, rows: Any) -> QuerySet[Any]:
    """Return the rows of the CRM that a user of the team may access, and none for others."""
    found: QuerySet[Any] = rows.live().accessible_to(user) if user is not None and user.is_team else rows.none()
    return found
