"""Limits on failed logins, wrong tokens, e-mails on request and new accounts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.conf import settings

from accounts.models import User
from core.api.throttling import (
    HOUR,
    MINUTE,
    AnyRequest,
    client_address_of,
    count_from_address,
    django_request,
    enforce_limit,
    hit_address,
)
from core.client_address import counted_networks
from core.db.rate_limits import LimitStatus, hashed_key, hit, increment
from core.db.tenancy import fold
from core.requests import PageRequest

# Failures per hour and client address for a login that has reached its limit. So an attack from other addresses does not lock
# the user out.
MAX_FAILURES_PER_ADDRESS = 3
# The failures per hour for a login from all addresses together, as a multiple of FAILED_LOGIN_LIMIT. Beyond it, only a sign-in code or a link
# to set a password works.
MAX_FAILURES_FACTOR = 2

# The name of the limit of attempts to enter a sign-in code.
CODE = "code"

# Sign-in codes per hour for all e-mail addresses of an account together.
MAX_CODES_PER_ACCOUNT = 2000

# Checks of domains per hour that the admins of an account may ask for.
MAX_DOMAIN_CHECKS = 20

# E-mails per hour that requests may send to one recipient. Invitations of the team are counted separately.
MAX_EMAILS_PER_HOUR = 5


def count_email(account_id: int, recipient: str, *, by_team: bool = False) -> bool:
    """Count an e-mail to the recipient (an e-mail address or a login), and return whether it is within the limit.

    The e-mail is counted whether or not a user has the address or the login. E-mails of the team and those that visitors cause have
    separate limits.
    """
    if not settings.FAILED_LOGIN_LIMIT:
        return True
    origin = "the team" if by_team else "strangers"
    return hit(hashed_key("mailed", origin, account_id, fold(recipient[:256])), MAX_EMAILS_PER_HOUR, HOUR).allowed


def count_domain_check(request: PageRequest) -> None:
    """Count a check of a domain that an admin asked for. Raise Throttled beyond MAX_DOMAIN_CHECKS."""
    enforce_limit(request, hit(f"domain-checks:{request.account.id}", MAX_DOMAIN_CHECKS, HOUR))


def count_code_request(request: PageRequest, email: str) -> bool:
    """Count a request for a sign-in code, and return whether the e-mail address may get another one.

    Raise Throttled if the client address or the account has reached its limit.
    """
    count_from_address(request, "sign-in-code")
    if not settings.FAILED_LOGIN_LIMIT:
        return True
    enforce_limit(request, hit(f"codes:{request.account.id}", MAX_CODES_PER_ACCOUNT, HOUR))
    return count_email(request.account.id, email)


def count_code(request: PageRequest) -> None:
    """Count an attempt to enter a sign-in code, for the client address. Raise Throttled beyond FAILED_LOGIN_LIMIT."""
    if settings.FAILED_LOGIN_LIMIT:
        enforce_limit(request, hit_address(request, CODE, settings.FAILED_LOGIN_LIMIT, HOUR, hit=hit))


def refund_code(request: PageRequest) -> None:
    """Undo `count_code` after the right code."""
    if settings.FAILED_LOGIN_LIMIT:
        for network, _factor in counted_networks(client_address_of(request)):
            increment(hashed_key(CODE, network), -1, HOUR)
        request.limit_status = None


def count_wrong_token(request: AnyRequest) -> None:
    """Count a wrong token of the client address. Raise Throttled beyond FAILED_LOGIN_LIMIT.

    Tokens are counted after the look-up, so that a valid token is never refused because of wrong ones from the same address.
    That is safe: the look-up is one indexed read, and 190 random bits cannot be guessed.
    """
    if settings.FAILED_LOGIN_LIMIT:
        enforce_limit(request, hit_address(request, "wrong-token", settings.FAILED_LOGIN_LIMIT, HOUR))


class LoginAttempt:
    """A check of a password. It counts as failed until the password is verified, so that concurrent attempts respect the limit.

    Attempts are counted per user, or under the name if no user has it. Both cases execute the same statements, so that the
    response time does not show whether the name exists.
    """

    def __init__(self, request: AnyRequest, account_id: int, name: str) -> None:
        self.request = request
        self.account_id = account_id
        self.name = name
        self.counted_keys: list[str] = []

    def count(self, user: User | None) -> None:
        """Count the attempt for the client address and for the user. Raise Throttled beyond FAILED_LOGIN_LIMIT."""
        limit = settings.FAILED_LOGIN_LIMIT
        if not limit:
            return
        login = (self.account_id, *(("name", fold(self.name[:256])) if user is None else ("user", user.id)))
        status = self._hit_address(limit, "address")
        if status.allowed:
            login_status = self._hit(hashed_key("login", *login), limit)
            if login_status.used > limit * MAX_FAILURES_FACTOR:
                status = login_status
            elif not login_status.allowed:
                address_status = self._hit_address(MAX_FAILURES_PER_ADDRESS, "login-at", *login)
                if not address_status.allowed:
                    status = replace(address_status, reset=min(address_status.reset, login_status.reset))
        if not status.allowed:
            # The password will not be checked, so this is not a failure.
            self.refund()
        enforce_limit(self.request, status)

    def refund(self) -> None:
        """Undo the counting of this attempt."""
        while self.counted_keys:
            increment(self.counted_keys.pop(), -1, HOUR)
        django_request(self.request).limit_status = None

    def _hit_address(self, limit: int, action: str, *parts: object) -> LimitStatus:
        """Count the attempt for the client address, and for the wider network of an IPv6 address."""
        networks = counted_networks(client_address_of(self.request))
        statuses = [self._hit(hashed_key(action, network, *parts), limit * factor) for network, factor in networks]
        return next((status for status in statuses if not status.allowed), statuses[0])

    def _hit(self, key: str, limit: int) -> LimitStatus:
        self.counted_keys.append(key)
        return hit(key, limit, HOUR)


@contextmanager
def limit_new_accounts(request: AnyRequest, partner_id: int) -> Iterator[None]:
    """Count the account that the block creates, unless it raises. Raise Throttled beyond ACCOUNT_LIMIT."""
    if not settings.ACCOUNT_LIMIT:
        yield
        return
    key = f"partner:{partner_id}"
    status = hit(key, settings.ACCOUNT_LIMIT, MINUTE)
    if not status.allowed:
        enforce_limit(request, status)
    try:
        yield
    except BaseException:
        increment(key, -1, MINUTE)
        raise
    enforce_limit(request, status)
