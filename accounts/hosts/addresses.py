"""The addresses of the service: the account and the site that a host belongs to."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404

from accounts.hosts.models import Host
from accounts.hosts.names import host_id_of, is_domain, is_front, own_name, public_url
from core.db.prepared import prepared

if TYPE_CHECKING:
    from accounts.account.models import Account
    from accounts.users.models import User


class Site(Protocol):
    """The attributes of a site that the pages of this app use."""

    id: int
    name: str
    account: "Account"

    @property
    def has_siblings(self) -> bool:
        """True if the account has other sites."""

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


@dataclass(frozen=True, slots=True)
class Address:
    """The account and the site of a host.

    Addresses are cached, so they hold only ids and names. Permissions depend on rows that are read with the user.
    """

    account_id: int | None
    site_id: int | None
    site_name: str
    # True at the hosts of the service itself, where the token determines the account.
    token_selects_account: bool = False
    # The account's prefix, with which its tokens end.
    prefix: str = ""
    # The stored name of the host.
    host: str = ""
    # The stored name of the address under BASE_DOMAIN at which the same site is shown.
    own_host: str = ""
    # `Account.is_closed`.
    is_closed: bool = False
    # The stored name of the host if it is the front (`is_front`), else "".
    front: str = ""

    @property
    def site_key(self) -> tuple[int, int]:
        """The ids of the account and the site. Raise Http404 at a host without a site."""
        if self.account_id is None or self.site_id is None:
            raise Http404
        return self.account_id, self.site_id

    @property
    def url(self) -> str:
        """The public URL of the host, for links in e-mails."""
        return public_url(self.host)

    @property
    def domain(self) -> str:
        """The custom domain of the host, or "" at an address under BASE_DOMAIN.

        The person who manages a custom domain can send its requests elsewhere. So a session there has the rights of a member of the
        forum, even if its user is an owner, and it is valid nowhere else.
        """
        return self.host if is_domain(self.host) else ""

    @property
    def own_url(self) -> str:
        """The public URL of the address under BASE_DOMAIN at which the same site is shown: the team works there."""
        return public_url(self.own_host or self.host)


COLUMNS = ("account_id", "id", "account__prefix", "name", "account__suspended_at", "account__deletion_at")


@prepared(name=str)
def _find_host(name: str) -> QuerySet[Host, Any]:
    return Host.objects.proven().filter(name=name).values_list(*COLUMNS)


@prepared(id=int)
def _find_host_by_id(id: int) -> QuerySet[Host, Any]:
    return Host.objects.filter(id=id).values_list(*COLUMNS)


class HostCache:
    """A cache of addresses by host. It saves two statements per request.

    When a host moves to another account, every process must use the new account within a second. So an entry is valid for less than
    a second, counted from the time before the database was read. Unknown hosts are not cached, so that a new account can be
    reached at once.
    """

    def __init__(self, *, size: int = 10_000, seconds: float = 0.9) -> None:
        self.size = size
        self.seconds = seconds
        self._entries: OrderedDict[str, tuple[float, Address]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, host: str) -> Address | None:
        entry = self._entries.get(host)
        if entry is not None and entry[0] > monotonic():
            return entry[1]
        expires_at = monotonic() + self.seconds
        address = self._look_up(host)
        with self._lock:
            if address is None:
                self._entries.pop(host, None)
            else:
                self._entries[host] = (expires_at, address)
                self._entries.move_to_end(host)
                if len(self._entries) > self.size:
                    self._entries.popitem(last=False)
        return address

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def _look_up(self, host: str) -> Address | None:
        is_service_host = host == "api" or is_front(host)
        if settings.LOCAL_ACCOUNT and host in ("localhost", "127.0.0.1"):
            host, is_service_host = settings.LOCAL_ACCOUNT, True
        elif is_service_host:
            return Address(None, None, "", token_selects_account=True, front=host if is_front(host) else "")
        row = _find_host.first(name=host)
        if row is None and (id := host_id_of(host)) is not None:
            row = _find_host_by_id.first(id=id)
            if row is not None and own_name(row[2], row[1], row[3]) != host:
                row = None
        if row is None:
            return None
        account_id, host_id, prefix, name, *closed = row
        site_id, site_name = sites.find_at_host(account_id, host_id) or (None, "")
        own_host = own_name(prefix, host_id, name)
        if own_host != name and sites.find_at_host(account_id, 0) == (site_id, site_name):
            # The default site is shown at the account's own address.
            own_host = prefix
        return Address(account_id, site_id, site_name, is_service_host, prefix, host, own_host, any(closed))


host_cache = HostCache()
