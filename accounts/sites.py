"""The sites of accounts: what a host of an account shows to people. The app that has the sites registers how to find them."""

from collections.abc import Callable
from typing import Protocol

from accounts.account import Account


class Site(Protocol):
    """A site as the pages of accounts need it."""

    id: int
    name: str
    account: Account

    @property
    def takes_sign_ups(self) -> bool:
        """Whether visitors may create a user."""

    @property
    def summary(self) -> str:
        """A sentence about the site for search engines, in the active language."""


# Returns the id and the name of the site of a host, given the ids of the account and of the host.
FindSite = Callable[[int, int], tuple[int, str] | None]
# Returns a site with its account, given the ids of the account and of the site.
GetSite = Callable[[int, int], Site | None]


class SiteRegistry:
    """The registered queries. Without a registration no host has a site."""

    at_host: FindSite
    get: GetSite

    def __init__(self):
        self.register(at_host=lambda *ids: None, get=lambda *ids: None)

    def register(self, *, at_host: FindSite, get: GetSite) -> None:
        self.at_host, self.get = at_host, get


sites = SiteRegistry()
