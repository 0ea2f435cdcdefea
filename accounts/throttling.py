"""Limits on failed logins, wrong tokens, e-mails to strangers and new accounts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.conf import settings

from accounts.models import User
from core.api.throttling import (
    HOUR,
    MINUTE,
    AnyRequest,
    LimitStatus,
    client_address_of,
    django_request,
    enforce_limit,
    hashed_key,
    hit,
    increment,
    rate_limiter,
)
from core.db.tenancy import fold

# Failures for a login that has reached its limit, an hour and address: what lets its owner in from elsewhere.
FAILURES_ELSEWHERE = 3

# E-mails that strangers may cause somebody to get from an account; and invitations.
MAILED_AN_HOUR = 5


def may_be_mailed(account_id: int, whom: str, *, by: str = "strangers") -> bool:
    """Whether what is asked for may be sent to that e-mail or login: so that a forum cannot be used to pester.

    It is counted under the name given, whether or not it is somebody's; and by kind, so that none uses up another's.
    """
    if not settings.FAILED_LOGIN_LIMIT:
        return True
    return hit(hashed_key("mailed", by, account_id, fold(whom[:256])), MAILED_AN_HOUR, HOUR).allowed


def count_wrong_token(request: AnyRequest) -> None:
    """FAILED_LOGIN_LIMIT for wrong tokens from an address. Raises Throttled.

    Counted after the look-up: it is one indexed read, 190 random bits are not guessed, and so a right token is never
    refused because of a neighbour's wrong one.
    """
    if settings.FAILED_LOGIN_LIMIT:
        key = hashed_key("wrong-token", client_address_of(request))
        enforce_limit(request, rate_limiter.hit(key, settings.FAILED_LOGIN_LIMIT, HOUR))


class LoginAttempt:
    """A password that is about to be tried. It counts as failed until it was right, so that no burst outruns the limit.

    Attempts are counted per user, whether the name given is the user's login or e-mail, and under the name itself if it is
    nobody's. Both take the same statements, so that an answer does not tell whether the name exists.
    """

    def __init__(self, request: AnyRequest, account_id: int, name: str):
        self.request = request
        self.account_id = account_id
        self.name = name
        self.counted: list[str] = []

    def count(self, user: User | None) -> None:
        """Count FAILED_LOGIN_LIMIT for the address, and for the active user whom the name is of. Raise Throttled."""
        limit = settings.FAILED_LOGIN_LIMIT
        if not limit:
            return
        address = client_address_of(self.request)
        login = (self.account_id, *(("name", fold(self.name[:256])) if user is None else ("user", user.id)))
        standing = self._take(hashed_key("address", address), limit)
        if standing.allowed:
            of_login = self._take(hashed_key("login", *login), limit)
            if not of_login.allowed:
                elsewhere = self._take(hashed_key("login-at", address, *login), FAILURES_ELSEWHERE)
                if not elsewhere.allowed:
                    standing = replace(elsewhere, reset=min(elsewhere.reset, of_login.reset))
        if not standing.allowed:
            # Nothing is tried, and so nothing has failed.
            self.give_back()
        enforce_limit(self.request, standing)

    def give_back(self) -> None:
        while self.counted:
            increment(self.counted.pop(), -1, HOUR)
        django_request(self.request).limit_status = None

    def _take(self, key: str, limit: int) -> LimitStatus:
        self.counted.append(key)
        return hit(key, limit, HOUR)


@contextmanager
def new_account(request: AnyRequest, partner_id: int) -> Iterator[None]:
    """ACCOUNT_LIMIT, around the making of an account; one that fails is not counted. Raises Throttled."""
    if not settings.ACCOUNT_LIMIT:
        yield
        return
    key = f"partner:{partner_id}"
    standing = hit(key, settings.ACCOUNT_LIMIT, MINUTE)
    if not standing.allowed:
        enforce_limit(request, standing)
    try:
        yield
    except BaseException:
        increment(key, -1, MINUTE)
        raise
    enforce_limit(request, standing)
