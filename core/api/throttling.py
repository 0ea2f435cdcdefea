"""Limits on how often something may be done, counted for all processes together.

A count belongs to a key and a window of time, and is one row in PostgreSQL. Counting each request there would be one write more
for each request. So a process reserves several requests of a key at once (a lease), and counts them down in memory. A lease is
taken from the limit when it is reserved, so all processes together never exceed the limit. What is left of a lease when its window
ends is lost, so near the limit leases get smaller. Failed logins and new accounts are counted one by one, before they are tried,
and given back if they turn out not to count.

Counting happens before the request's own transaction opens: the count outlives a rollback, and nobody waits for its row.
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
from django.http import HttpRequest
from rest_framework.request import Request

from core import client_address
from core.errors import Throttled

logger = logging.getLogger("rostrum.throttling")

# A request of the interface, or of a page.
AnyRequest = Request | HttpRequest

MINUTE, HOUR = 60, 3600


class RateCountQuerySet(models.QuerySet):
    def ended(self) -> Self:
        """Those whose window is over, by the database's clock, which opened it."""
        return self.filter(ends_at__lte=Now())

    def clean_up(self) -> None:
        self.ended().delete()


class RateCount(models.Model):
    """How much of a limit is used (`core.api.throttling`). The table is unlogged: after a crash the counts begin anew."""

    # Names no login and no address: those are hidden behind an HMAC.
    key = models.CharField(max_length=128, primary_key=True)
    used = models.IntegerField()
    # Without an index, so that counting rewrites none (HOT); housekeeping may well scan.
    ends_at = models.DateTimeField()

    objects = RateCountQuerySet.as_manager()

    class Meta:
        db_table = "accounts_ratecount"


class Window(NamedTuple):
    """What is used of a key in the window that ends in `left` seconds; `ends` (epoch) tells it from other windows."""

    used: int
    ends: float
    left: float


INCREMENT_SQL = f"""
    INSERT INTO {RateCount._meta.db_table} AS counts (key, used, ends_at)
    VALUES (%s, GREATEST(0, %s), statement_timestamp() + make_interval(secs => %s))
    ON CONFLICT (key) DO UPDATE SET
        used = CASE WHEN counts.ends_at > statement_timestamp() THEN GREATEST(0, counts.used + %s) ELSE excluded.used END,
        ends_at = CASE WHEN counts.ends_at > statement_timestamp() THEN counts.ends_at ELSE excluded.ends_at END
    RETURNING used, EXTRACT(EPOCH FROM ends_at)::float8, EXTRACT(EPOCH FROM ends_at - statement_timestamp())::float8
"""  # noqa: S608


def increment(key: str, amount: int, seconds: int) -> Window:
    """Add to what is used of a key of at most 128 characters, atomically; a negative amount gives back, to zero at most.

    A window opens with the first count and lasts `seconds`, by the database's clock, which all processes share. This is
    all that the limits ask of their storage: Redis or Valkey would do it with INCRBY, EXPIRE NX and PEXPIRETIME.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(INCREMENT_SQL, [key, amount, seconds, amount])
            return Window(*cursor.fetchone())
    except Error as error:
        # Nothing counts as used. If the database is away, the request's own statements will say so; if only this table
        # can't be written (a standby, a lock, a full disk), that is no reason to turn everybody away.
        logger.error("not counted: %s", type(error).__name__)
        return Window(0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class LimitStatus:
    """What a limit says: of `limit`, `remaining` are left until `reset` seconds from now."""

    allowed: bool
    limit: int
    remaining: int
    reset: int

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset),
        }


def hit(key: str, limit: int, seconds: int) -> LimitStatus:
    """Count one. It can be given back with `count(key, -1, seconds)`."""
    window = increment(key, 1, seconds)
    return LimitStatus(window.used <= limit, limit, max(0, limit - window.used), max(1, ceil(window.left)))


@dataclass(slots=True)
class Lease:
    ends: float  # which window it is of
    until: float  # by this process's clock
    used: int  # by all processes, when last asked
    left: int


class RateLimiter:
    """The leases of one process, for the `size` keys counted last. `counter` is where the counts are kept."""

    # Or a sixtieth of the limit, where that is more.
    LARGEST_LEASE = 10

    def __init__(self, counter: Callable[[str, int, int], Window] = increment, *, size: int = 10_000):
        self.size = size
        self._count = counter
        self._leases: OrderedDict[str, Lease] = OrderedDict()
        self._lock = threading.Lock()

    def hit(self, key: str, limit: int, seconds: int) -> LimitStatus:
        """Count one, and say whether it is within the limit."""
        # Read before the database is asked: a lease ends here no later than its window does there.
        now = monotonic()
        wanted = 1
        with self._lock:
            lease = self._leases.get(key)
            if lease is not None and lease.until > now:
                if lease.left:
                    lease.left -= 1
                    return self._standing(lease, limit, now, allowed=True)
                if lease.used >= limit:
                    return self._standing(lease, limit, now, allowed=False)
                # Near the limit one at a time, so that little is left over in one process while another refuses.
                wanted = max(1, min(max(self.LARGEST_LEASE, limit // 60), (limit - lease.used) // 20))
        window = self._count(key, wanted, seconds)
        granted = max(0, wanted - max(0, window.used - limit))
        with self._lock:
            lease = self._leases.get(key)
            if lease is None or lease.ends != window.ends:
                # What was left of another window is lost, and not carried over into this one.
                lease = self._leases[key] = Lease(window.ends, now + window.left, 0, 0)
            lease.used = max(lease.used, window.used)
            lease.left += max(0, granted - 1)
            self._leases.move_to_end(key)
            if len(self._leases) > self.size:
                self._leases.popitem(last=False)
            return self._standing(lease, limit, now, allowed=granted > 0)

    def clear(self) -> None:
        with self._lock:
            self._leases.clear()

    @staticmethod
    def _standing(lease: Lease, limit: int, now: float, *, allowed: bool) -> LimitStatus:
        remaining = max(0, limit - lease.used) + lease.left if allowed else 0
        return LimitStatus(allowed, limit, remaining, max(1, ceil(lease.until - now)))


rate_limiter = RateLimiter()


def hashed_key(kind: str, *parts: object) -> str:
    """A key that does not tell the login or the address that it stands for."""
    message = "\0".join([kind, *map(str, parts)]).encode(errors="surrogatepass")
    return f"{kind}:{hmac.digest(b'limits' + settings.SECRET_KEY.encode(), message, hashlib.sha256).hex()}"


def client_address_of(request: AnyRequest) -> str:
    return client_address.from_environ(request.META)


def django_request(request: AnyRequest) -> HttpRequest:
    """A page's request is Django's own; the interface's wraps it."""
    return getattr(request, "_request", request)


def enforce_limit(request: AnyRequest, standing: LimitStatus) -> None:
    """Put the standing on the request, whose answer says it (AccountMiddleware). Raises Throttled."""
    django_request(request).limit_status = standing
    if not standing.allowed:
        raise Throttled(standing.reset)


def count_request(request: Request) -> None:
    """RATE_LIMIT, for each token, or user where none is sent. Raises Throttled."""
    if settings.RATE_LIMIT and request.user is not None:
        who = ("token", request.auth) if request.auth is not None else ("user", request.user)
        key = f"{who[0]}:{who[1].account_id}:{who[1].id}"
        enforce_limit(request, rate_limiter.hit(key, settings.RATE_LIMIT, MINUTE))


def count_page_action(request: HttpRequest) -> None:
    """RATE_LIMIT for what a user does on the pages, together with what the user does by Basic. Raises Throttled."""
    if settings.RATE_LIMIT:
        key = f"user:{request.user.account_id}:{request.user.id}"
        enforce_limit(request, rate_limiter.hit(key, settings.RATE_LIMIT, MINUTE))


def count_search(request: HttpRequest) -> None:
    """RATE_LIMIT for what anybody may look for on the pages: it takes the database longer than a list. Raises Throttled."""
    if request.user is not None:
        count_page_action(request)
    elif settings.RATE_LIMIT:
        enforce_limit(
            request, rate_limiter.hit(hashed_key("search", client_address_of(request)), settings.RATE_LIMIT, MINUTE)
        )


def count_from_address(request: HttpRequest, what: str) -> None:
    """FAILED_LOGIN_LIMIT for what strangers may do: sign up, ask for an e-mail. Raises Throttled."""
    if settings.FAILED_LOGIN_LIMIT:
        key = hashed_key(what, client_address_of(request))
        enforce_limit(request, rate_limiter.hit(key, settings.FAILED_LOGIN_LIMIT, HOUR))
