"""Sites: the pages that a host of an account serves. The app that defines the sites registers the queries that find them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from accounts.account.models import Account
    from accounts.users.models import User


class Site(Protocol):
    """The attributes of a site that the pages of this app use."""

    id: int
    name: str
    account: "Account"

    # Whether the account has other sites.
    has_siblings: bool

    def siblings_for(self, user: "User") -> list[tuple[str, str]]:
        """Return the names of the account's other sites that the user may see, and the stored names of their hosts."""

    def may_be_read_by(self, user: "User | None") -> bool:
        """Return whether a user of the account, or a visitor (None), may see the site."""

    def admits(self, email: str, user: "User | None") -> bool:
        """Return whether the person with a confirmed e-mail, who may be a user, may sign in or sign up at the site."""

    @property
    def takes_sign_ups(self) -> bool:
        """True if visitors may sign up, or some of them."""

    @property
    def selects_people(self) -> bool:
        """True if only people with certain e-mails may sign up."""

    @property
    def summary(self) -> str:
        """A description of the site for search engines, in the active language."""


# Takes the ids of an account and a host. Returns the id and the name of the host's site.
FindSite = Callable[[int, int], tuple[int, str] | None]
# Takes the ids of an account and a site. Returns the site with its account.
GetSite = Callable[[int, int], Site | None]
# Takes an account. Returns the ids and the names of its sites, and the stored names of their hosts, the first site first.
ListSites = Callable[["Account"], list[tuple[int, str, str]]]


class SiteRegistry:
    """The registered queries. Until they are registered, no host has a site."""

    find_at_host: FindSite
    get: GetSite
    list_all: ListSites

    def __init__(self) -> None:
        self.register(find_at_host=lambda *ids: None, get=lambda *ids: None, list_all=lambda account: [])

    def register(self, *, find_at_host: FindSite, get: GetSite, list_all: ListSites) -> None:
        self.find_at_host, self.get, self.list_all = find_at_host, get, list_all


sites = SiteRegistry()
