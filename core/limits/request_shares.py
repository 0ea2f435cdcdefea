"""The share of each account, and of each user, in the requests that a process answers at a time.

While requests of other accounts arrive, an account may have three quarters of the threads, and a user or the address of a visitor half of
them. So a thread is left for the others, whatever the requests cost. An account that is alone may have all threads.

A request that exceeds a share occupies a thread while it waits, so it may wait only as long as `WAIT_REFILL` allows. Then it is answered
with 503. The counts do not depend on the web server, which may queue requests before they reach
`accounts.hosts.middleware.RequestShareMiddleware`.
"""

import threading
from collections import Counter
from contextvars import ContextVar
from time import monotonic
from typing import Protocol

from django.conf import settings

from core.errors import ShareExceeded
from core.limits import client_address
from core.tenants import Caller, TenantAddress

# The shares are limited for this number of seconds after a request of another account.
CONTENTION = 10.0
# The time for which requests of one share may wait, in seconds: at once, and per second. A thread that waits serves nobody, so the second
# number is also the part of its time that a neighbour may lose.
MAX_WAIT, WAIT_REFILL = 0.3, 0.03
# The number of shares whose waiting times are stored.
MAX_WAITS = 10_000


class RequestShares:
    """The requests in progress of a process, by account, user and address."""

    def __init__(self, threads: int) -> None:
        self.max_of_account, self.max_of_caller = max(1, threads * 3 // 4), max(1, threads // 2)
        self._held: Counter[str] = Counter()
        self._condition = threading.Condition()
        # The account of the last request and its time, and the last time of a request of any other account.
        self._last: tuple[int | None, float] = (None, 0.0)
        self._last_other: tuple[int | None, float] = (None, 0.0)
        # The time when the waiting time of a share is refilled.
        self._refilled_at: dict[str, float] = {}

    def clear(self) -> None:
        """Clear the record of the requests that have arrived, for tests."""
        with self._condition:
            self._last = self._last_other = (None, 0.0)
            self._refilled_at.clear()

    def arrive(self, account_id: int) -> None:
        with self._condition:
            if self._last[0] != account_id:
                self._last_other = self._last
            self._last = (account_id, monotonic())

    def acquire(self, key: str, limit: int, account_id: int | None) -> bool:
        """Count a request in progress and return True, or return False if it exceeds the share and may not wait any longer."""

        def fits() -> bool:
            return self._held[key] < limit or not self._is_contended(account_id)

        with self._condition:
            if not fits():
                start = monotonic()
                wait = self._waiting_time(key, start)
                fitted = wait > 0 and self._condition.wait_for(fits, wait)
                self._spend(key, start, monotonic() - start)
                if not fitted:
                    return False
            self._held[key] += 1
            return True

    def release(self, keys: list[str]) -> None:
        with self._condition:
            for key in keys:
                self._held[key] -= 1
                if not self._held[key]:
                    del self._held[key]
            self._condition.notify_all()

    def _is_contended(self, account_id: int | None) -> bool:
        """Return whether a request of another account has arrived recently."""
        other, time = self._last if self._last[0] != account_id else self._last_other
        return other is not None and monotonic() - time < CONTENTION

    def _waiting_time(self, key: str, now: float) -> float:
        return MAX_WAIT - max(0.0, self._refilled_at.get(key, now) - now) * WAIT_REFILL

    def _spend(self, key: str, now: float, seconds: float) -> None:
        if len(self._refilled_at) >= MAX_WAITS:
            self._refilled_at = {key: time for key, time in self._refilled_at.items() if time > now}
        self._refilled_at[key] = max(now, self._refilled_at.get(key, now)) + seconds / WAIT_REFILL


shares = RequestShares(settings.REQUEST_THREADS)


class RequestShare:
    """The share of one request: it counts for its account, and once the user is known, for the user or the address."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def hold_account(self, account_id: int) -> None:
        """Count the request for its account, unless it is counted. Raise ShareExceeded."""
        key = f"account {account_id}"
        if key not in self.keys:
            shares.arrive(account_id)
            self._hold(key, shares.max_of_account, account_id)

    def hold_caller(self, key: str, account_id: int | None) -> None:
        """Count the request for its user or address. Raise ShareExceeded."""
        self._hold(key, shares.max_of_caller, account_id)

    def _hold(self, key: str, limit: int, account_id: int | None) -> None:
        if not shares.acquire(key, limit, account_id):
            raise ShareExceeded
        self.keys.append(key)

    def release(self) -> None:
        shares.release(self.keys)


# True while this thread answers a request. A request within it (`accounts.examples.requests`) needs no further thread.
is_answering: ContextVar[bool] = ContextVar("is_answering", default=False)


class SharingRequest(Protocol):
    """The attributes of a request that `hold_share` uses."""

    share: RequestShare | None

    @property
    def address(self) -> TenantAddress: ...

    META: dict[str, str]


def hold_share(request: SharingRequest, user: Caller | None) -> None:
    """Count an authenticated request for its user, or a request of a visitor for the address. Raise ShareExceeded."""
    share = request.share
    if share is None:
        return
    if user is None:
        share.hold_caller(f"address {client_address.read_address(request.META)}", request.address.account_id)
    else:
        # At the hosts of the service, the token determines the account.
        share.hold_account(user.account_id)
        share.hold_caller(f"user {user.account_id} {user.id}", user.account_id)
