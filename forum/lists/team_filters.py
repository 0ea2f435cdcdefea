"""Further filters and orders of the lists of suggestions for the team. An upper room registers them in a module `registration`.

No index serves these filters together with an order of the list, so the statements of a filtered list have a time limit.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from django.db.models import Model, QuerySet
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.safestring import SafeString

from accounts.account.models import Account
from accounts.users.models import User
from core.errors import FieldError
from core.search.queries import search_transaction


@dataclass(frozen=True)
class TeamFilter:
    """The filters in the parameters of a URL. This one selects all suggestions, and has no form."""

    # The parameters of the filters in use, and the names of their values for people. Parameters with errors are left out.
    parameters: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[FieldError] = ()

    def __bool__(self) -> bool:
        return bool(self.parameters)

    def select(self, posts: QuerySet[Model]) -> QuerySet[Model]:
        """Return those of the posts that pass the filters."""
        return posts

    def render_form(self, action: str, hidden: Mapping[str, object]) -> SafeString:
        """Return the form that changes the filters. `hidden` are the other parameters of the list at the path `action`."""
        return SafeString()

    def limited(self, account: Account) -> AbstractContextManager[object]:
        """Limit the time of the statements of a filtered list. Raise `core.db.time_limit.TooSlow` if one is cancelled."""
        return search_transaction(account.id, is_limited=True) if self else nullcontext()


NO_FILTER = TeamFilter()

# A function with the arguments parameters, account and user.
Reader = Callable[[QueryDict, Account, User], TeamFilter]
_readers: list[Reader] = []


def register_filter(read: Reader) -> None:
    _readers[:] = [read]


def read_team_filter(parameters: QueryDict, account: Account, user: User | None) -> TeamFilter:
    """Return the further filters of a URL. Visitors and members have none, so these parameters mean nothing to them."""
    if user is None or not user.is_team or not _readers:
        return NO_FILTER
    return _readers[0](parameters, account, user)


@dataclass(frozen=True)
class TeamOrder:
    """An order of the list, which only some users of the team have. `note` tells which suggestions the list has in this order."""

    label: Promise
    note: Promise
    # Orders posts of an account. It may leave some out.
    sort: Callable[[QuerySet[Model], Account], QuerySet[Model]]
    # Whether a user of the team has the order.
    is_available: Callable[[User], bool]


_orders: dict[str, TeamOrder] = {}


def register_order(name: str, order: TeamOrder) -> None:
    """Add an order. `name` is its value in URLs."""
    _orders[name] = order


def team_orders(user: User | None) -> dict[str, TeamOrder]:
    """Return the orders that the user has, by name."""
    if user is None or not user.is_team:
        return {}
    return {name: order for name, order in _orders.items() if order.is_available(user)}
