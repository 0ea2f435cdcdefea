"""Protocols of accounts, users and addresses with the attributes that this room reads, for type hints. `accounts` has the models."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from core.rows.access import Access


class TenantAccount(Protocol):
    @property
    def id(self) -> int: ...

    @property
    def zone(self) -> ZoneInfo: ...

    @property
    def rate_limit(self) -> int | None:
        """The requests per minute of each token or user, or None for RATE_LIMIT."""


class Caller(Protocol):
    """A user or a token."""

    @property
    def id(self) -> int: ...

    @property
    def account_id(self) -> int: ...


class TenantToken(Caller, Protocol):
    """A token, which may be limited to some scopes."""

    def find_missing_scopes(self, areas: Iterable[str], *, writes: bool) -> list[str]: ...


class TenantUser(Caller, Protocol):
    @property
    def is_admin(self) -> bool: ...

    @property
    def is_team(self) -> bool: ...

    @property
    def access(self) -> "Access": ...


class TenantAddress(Protocol):
    """The account and the site of a host."""

    @property
    def account_id(self) -> int | None: ...

    @property
    def site_id(self) -> int | None: ...

    @property
    def domain(self) -> str:
        """The custom domain of the host, or "" at an address of the service."""

    @property
    def own_url(self) -> str:
        """The public URL of the address of the service at which the same site is shown."""
