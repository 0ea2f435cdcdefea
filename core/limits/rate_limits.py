"""Counts of requests and other actions, shared by all processes, for rate limits.

A count belongs to a key and a window of time, and is one row in PostgreSQL. Counting each request in PostgreSQL would add a write to
each request. So a process reserves several requests of a key at once (a lease) and counts them down in memory. All requests of a lease
count as used from its reservation, so all processes together never exceed the limit. Unused requests of a lease expire with its window.
Leases therefore get smaller near the limit. Failed logins and new accounts are counted individually, before they are attempted. If an
attempt does not count in the end, it is subtracted again.
"""

import hashlib
import hmac
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import NamedTuple, Self

from django.conf import settings
from django.db import Error, connection, models
from django.db.models.functions import Now

logger = logging.getLogger("rostrum.throttling")


class RateCountQuerySet(models.QuerySet["RateCount"]):
    def outdated(self) -> Self:
        """Return the counts whose window is over, by the clock of the database."""
        return self.filter(ends_at__lte=Now())


class RateCount(models.Model):
    """The used part of a limit. The table is unlogged, so counts start from zero after a crash of PostgreSQL."""

    # A key with a login or an address is hashed (`hashed_key`).
    key = models.CharField(max_length=128, primary_key=True)
    used = models.IntegerField()
    # Without an index, so that updates are heap-only (HOT). Housekeeping scans the table.
    ends_at = models.DateTimeField()

    objects = RateCountQuerySet.as_manager()

    class Meta:
        db_table = "core_ratecount"


class Window(NamedTuple):
    """The count of a key in one window."""

    used: int
    # The end of the window as a Unix time, which identifies the window.
    ends_at: float
    seconds_left: float


INCREMENT_SQL = f"""
    INSERT INTO {RateCount._meta.db_table} AS counts (key, used, ends_at)
    VALUES (%s, GREATEST(0, %s), statement_timestamp() + make_interval(secs => %s))
    ON CONFLICT (key) DO UPDATE SET
        used = CASE WHEN counts.ends_at > statement_timestamp() THEN GREATEST(0, counts.used + %s) ELSE excluded.used END,
        ends_at = CASE WHEN counts.ends_at > statement_timestamp() THEN counts.ends_at ELSE excluded.ends_at END
    RETURNING used, EXTRACT(EPOCH FROM ends_at)::float8, EXTRACT(EPOCH FROM ends_at - statement_timestamp())::float8
"""  # noqa: S608


def increment(key: str, amount: int, seconds: int, *, is_required: bool = False) -> Window:
    """Add `amount` to the count of a key (at most 128 characters), atomically. A negative amount subtracts, down to zero.

    A window begins with the first count and lasts `seconds`, by the clock of the database. This is the only operation on the
    storage, so Redis could replace it, with INCRBY, EXPIRE NX and PEXPIRETIME. If nothing can be counted, raise the error of the database
    if the count is required, and otherwise allow the request.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(INCREMENT_SQL, [key, amount, seconds, amount])
            return Window(*cursor.fetchone())
    except Error as error:
        if is_required:
            raise
        # If the database is unavailable, its next statement fails. If only this table cannot be written (on a
        # standby, or a full disk), requests that only read still work.
        logger.error("not counted: %s", type(error).__name__)
        return Window(0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class LimitStatus:
    """The state of a limit after a hit."""

    allowed: bool
    limit: int
    remaining: int
    # Seconds until the window ends.
    reset: int
    # The actions that were counted in the window, which can be more than the limit. Leases do not set it.
    used: int = 0

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset),
        }


def hit(key: str, limit: int, seconds: int, *, is_required: bool = False) -> LimitStatus:
    """Count one action. Return the state of the limit. `increment(key, -1, seconds)` undoes the count."""
    window = increment(key, 1, seconds, is_required=is_required)
    remaining = max(0, limit - window.used)
    return LimitStatus(window.used <= limit, limit, remaining, max(1, ceil(window.seconds_left)), window.used)


@dataclass(slots=True)
class Reservation:
    """Requests that a process has reserved."""

    # The end of the window as a Unix time, as in `Window`.
    window_ends_at: float
    # The end of the window by the monotonic clock of this process.
    expires_at: float
    # The count of all processes at the last reservation.
    used: int
    # The reserved requests that are left.
    left: int


class RateLimiter:
    """The leases of one process, for the `size` most recently used keys. `counter` is the storage of the counts."""

    # For a limit of more than 600, a lease may be a sixtieth of the limit.
    LARGEST_LEASE = 10

    def __init__(self, counter: Callable[[str, int, int], Window] = increment, *, size: int = 10_000) -> None:
        self.size = size
        self._count = counter
        self._leases: OrderedDict[str, Reservation] = OrderedDict()
        self._lock = threading.Lock()

    def hit(self, key: str, limit: int, seconds: int) -> LimitStatus:
        """Count one request. Return the state of the limit."""
        # The time is read before the query, so that a lease ends no later than its window in the database.
        now = monotonic()
        requested = 1
        with self._lock:
            lease = self._leases.get(key)
            if lease is not None and lease.expires_at > now:
                if lease.left:
                    lease.left -= 1
                    return self._status(lease, limit, now, allowed=True)
                if lease.used >= limit:
                    return self._status(lease, limit, now, allowed=False)
                # Leases are smaller near the limit, so that no process keeps the remaining requests while another rejects requests.
                requested = max(1, min(max(self.LARGEST_LEASE, limit // 60), (limit - lease.used) // 20))
        window = self._count(key, requested, seconds)
        granted = max(0, requested - max(0, window.used - limit))
        with self._lock:
            lease = self._leases.get(key)
            if lease is None or lease.window_ends_at != window.ends_at:
                # The rest of a lease does not carry over into the next window.
                lease = self._leases[key] = Reservation(window.ends_at, now + window.seconds_left, 0, 0)
            lease.used = max(lease.used, window.used)
            lease.left += max(0, granted - 1)
            self._leases.move_to_end(key)
            if len(self._leases) > self.size:
                self._leases.popitem(last=False)
            return self._status(lease, limit, now, allowed=granted > 0)

    def clear(self) -> None:
        with self._lock:
            self._leases.clear()

    @staticmethod
    def _status(lease: Reservation, limit: int, now: float, *, allowed: bool) -> LimitStatus:
        remaining = max(0, limit - lease.used) + lease.left if allowed else 0
        return LimitStatus(allowed, limit, remaining, max(1, ceil(lease.expires_at - now)))


rate_limiter = RateLimiter()


def hashed_key(kind: str, *parts: object) -> str:
    """Return a key with an HMAC of `parts`, so that the table does not reveal logins or addresses."""
    message = "\0".join([kind, *map(str, parts)]).encode(errors="surrogatepass")
    return f"{kind}:{hmac.digest(b'limits' + settings.SECRET_KEY.encode(), message, hashlib.sha256).hex()}"
