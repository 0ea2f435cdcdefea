"""A clock for the limits, the headers of their responses, the stored counts, and logins that count."""

import pytest

from core.limits import rate_limits
from core.limits.rate_limits import RateCount
from tests.support.client import XMLClient
from tests.support.factories import PASSWORD

ME = "/app/users/me.xml"
SQL = rate_limits.INCREMENT_SQL
NEW_USER = {"login": "ann", "email": "ann@new.example", "password": "a long pass phrase"}


class Clock:
    """A clock for the limits, in the process and in the database, that moves only by `advance`."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.now = 1_800_000_000
        self.advance(0)
        monkeypatch.setattr(rate_limits, "monotonic", lambda: self.now)

    def advance(self, seconds: int) -> None:
        self.now += seconds
        self.monkeypatch.setattr(
            rate_limits, "INCREMENT_SQL", SQL.replace("statement_timestamp()", f"to_timestamp({self.now})")
        )


@pytest.fixture
def clock(monkeypatch) -> Clock:
    return Clock(monkeypatch)


def limit_headers(response) -> tuple[str | None, ...]:
    """Return the values of the headers of the limit, None for a missing header."""
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After")
    return tuple(response.headers.get(name) for name in names)


NOT_COUNTED = (None, None, None, None)


def expected_headers(limit: int, remaining: int, reset: int, retry_after: int | None = None) -> tuple[str | None, ...]:
    """Return the values that `limit_headers` should return."""
    return (str(limit), str(remaining), str(reset), None if retry_after is None else str(retry_after))


def used_counts(prefix: str = "") -> list[int]:
    """Return the used part of each limit whose key begins with `prefix`, in the order of the keys."""
    return list(RateCount.objects.filter(key__startswith=prefix).order_by("key").values_list("used", flat=True))


def from_address(client, address: str):
    client._transport.remote_addr = address
    return client


def log_in(cast, login: str, password: str = PASSWORD, address: str = "192.0.2.1"):
    return from_address(XMLClient(cast.host, auth=(login, password)), address).get(ME)


def fail_to_log_in(cast, login: str = "alice", address: str = "192.0.2.1"):
    return log_in(cast, login, "wrong", address)
