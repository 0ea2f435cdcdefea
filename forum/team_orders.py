"""Further orders of the list of suggestions, which an upper room registers in `AppConfig.ready`. Only some users of the team have them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.functional import Promise

from accounts.models import Account, User


@dataclass(frozen=True)
class TeamOrder:
    """An order of the list. `note` tells which suggestions the list has in this order."""

    label: Promise
    note: Promise
    # Orders posts of an account. It may leave some out.
    sort: Callable[[QuerySet[Any], Account], QuerySet[Any]]
    # Whether a user of the team has the order.
    is_available: Callable[[User], bool]


_orders: dict[str, TeamOrder] = {}


def register(name: str, order: TeamOrder) -> None:
    """Add an order. `name` is its value in URLs."""
    _orders[name] = order


def team_orders(user: User | None) -> dict[str, TeamOrder]:
    """Return the orders that the user has, by name."""
    if user is None or not user.is_team:
        return {}
    return {name: order for name, order in _orders.items() if order.is_available(user)}
