"""Limits on failed logins, wrong tokens, sign-in codes and links to set a password, and the log of sign-ins."""

import json
import logging
from dataclasses import replace
from enum import StrEnum

from django.conf import settings
from django.db import Error

from accounts.audit.models import record
from accounts.hosts.requests import PageRequest, address_of
from accounts.mail.sending import Purpose, count_email
from accounts.sessions.cookies import find_browser
from accounts.users.models import User
from core.db.tenancy import fold
from core.http.throttling import (
    HOUR,
    AnyRequest,
    client_address_of,
    count_from_address,
    django_request,
    enforce_limit,
    hit_address,
)
from core.limits.client_address import counted_networks
from core.limits.rate_limits import LimitStatus, hashed_key, hit, increment

# Failures per hour and client address for a login that has reached its limit. So an attack from other addresses does not lock
# the user out.
MAX_FAILURES_PER_ADDRESS = 3
# The failures per hour for a login from all addresses together, as a multiple of FAILED_LOGIN_LIMIT. Beyond it, only a sign-in code or a link
# to set a password works.
MAX_FAILURES_FACTOR = 5

# Sign-in codes per hour for all e-mail addresses of an account together.
MAX_CODES_PER_ACCOUNT = 2000


def count_email_to_user(request: PageRequest, purpose: Purpose, recipient: str, *, user_id: int | None) -> bool:
    """Count an e-mail as `count_email` does. `user_id` is the user with the address or the login, if there is one.

    A browser in which this user has signed in before is counted alone, so that no stranger can lock the user out of it.
    """
    limit = settings.FAILED_LOGIN_LIMIT
    if limit and user_id is not None and (browser := find_browser(request, user_id)):
        key = hashed_key(f"mailed-{purpose}", "browser", request.account.id, user_id, browser)
        return hit(key, limit, HOUR).allowed
    return count_email(request, purpose, recipient)


def count_code_request(request: PageRequest, email: str, user: User | None) -> bool:
    """Count a request for a sign-in code, and return whether the e-mail address may get another one.

    Raise Throttled if the client address or the account has reached its limit. They do not count for a browser of the user
    with the e-mail.
    """
    user_id = None if user is None else user.id
    if settings.FAILED_LOGIN_LIMIT and (user_id is None or not find_browser(request, user_id)):
        count_from_address(request, "sign-in-code")
        enforce_limit(request, hit(f"codes:{request.account.id}", MAX_CODES_PER_ACCOUNT, HOUR))
    return count_email_to_user(request, Purpose.CODE, email, user_id=user_id)


def count_code(request: PageRequest) -> None:
    """Count an attempt to enter a sign-in code, for the client address or the known browser. Raise Throttled beyond FAILED_LOGIN_LIMIT."""
    limit = settings.FAILED_LOGIN_LIMIT
    if limit:
        statuses = [hit(key, limit * factor, HOUR, is_required=True) for key, factor in _code_keys(request)]
        enforce_limit(request, next((status for status in statuses if not status.allowed), statuses[0]))


def refund_code(request: PageRequest) -> None:
    """Undo `count_code` after the right code."""
    if settings.FAILED_LOGIN_LIMIT:
        for key, _factor in _code_keys(request):
            increment(key, -1, HOUR)
        request.limit_status = None


def _code_keys(request: PageRequest) -> list[tuple[str, int]]:
    """Return the keys under which attempts to enter a code are counted, each with the factor of its limit."""
    if browser := find_browser(request):
        return [(hashed_key("code", browser), 1)]
    return [(hashed_key("code", network), factor) for network, factor in counted_networks(client_address_of(request))]


def count_second_factor(request: PageRequest, user: User) -> None:
    """Count an attempt of a user to enter a second factor. Raise Throttled beyond FAILED_LOGIN_LIMIT.

    Only people who know the password or read the e-mails of the user can use up these attempts.
    """
    if settings.FAILED_LOGIN_LIMIT:
        limit = settings.FAILED_LOGIN_LIMIT
        enforce_limit(request, hit(_second_factor_key(user), limit, HOUR, is_required=True))


def refund_second_factor(request: PageRequest, user: User) -> None:
    """Undo `count_second_factor` after the right code."""
    if settings.FAILED_LOGIN_LIMIT:
        increment(_second_factor_key(user), -1, HOUR)
        request.limit_status = None


def _second_factor_key(user: User) -> str:
    return hashed_key("second-factor", user.account_id, user.id)


def count_wrong_token(request: AnyRequest) -> None:
    """Count a wrong token of the client address. Raise Throttled beyond FAILED_LOGIN_LIMIT.

    Tokens are counted after the look-up, so that a valid token is never refused because of wrong ones from the same address.
    That is safe: the look-up is one indexed read, and 190 random bits cannot be guessed.
    """
    if settings.FAILED_LOGIN_LIMIT:
        enforce_limit(request, hit_address(request, "wrong-token", settings.FAILED_LOGIN_LIMIT, HOUR))


# The log of sign-ins: one line of JSON for each sign-in and for each refusal
#
# No line has a password, a code or a token. People type passwords into the field for the login, so a name that no user has is logged as a
# keyed hash, which only shows whether the same name was tried again.

logger = logging.getLogger("rostrum.sign_in")
# The length of the hash of an unknown name, in hexadecimal digits.
NAME_HASH_LENGTH = 16
# Refusals per hour that the audit log of an account records. The log has all of them.
MAX_RECORDED_REFUSALS = 1000


class Way(StrEnum):
    """How somebody signs in."""

    PASSWORD = "password"  # noqa: S105  # the name of a way
    CODE = "code"
    PASSWORD_LINK = "password_link"  # noqa: S105  # the name of a way
    NEW_ACCOUNT = "new_account"
    INVITATION = "invitation"
    HANDOVER = "handover"
    # A password or a code by e-mail and then a second factor, and a passkey, which is two factors.
    SECOND_FACTOR = "second_factor"
    PASSKEY = "passkey"
    # The current password or a code, which a page asks of a user who is signed in.
    CONFIRMATION = "confirmation"
    # A token that a shop has signed for its customer.
    SHOP = "shop"
    # Single sign-on with the provider of the account.
    SSO = "sso"
    # The APIs. An accepted password is logged when it is checked, which is at most every five minutes in a process.
    BASIC = "basic"
    TOKEN = "token"  # noqa: S105  # the name of a way


class RefusalReason(StrEnum):
    """Why a sign-in is refused."""

    UNKNOWN_NAME = "unknown_name"
    DEACTIVATED = "deactivated"
    WRONG_PASSWORD = "wrong_password"  # noqa: S105  # the name of a reason
    WRONG_CODE = "wrong_code"
    EXPIRED_CODE = "expired_code"
    INVALID_LINK = "invalid_link"
    NEEDS_SSO = "needs_sso"
    NEEDS_TOKEN = "needs_token"  # noqa: S105  # the name of a reason
    INVALID_PASSKEY = "invalid_passkey"  # the name of a reason
    INVALID_TOKEN = "invalid_token"  # noqa: S105  # the name of a reason
    # A token that is valid at other client addresses only.
    OTHER_NETWORK = "other_network"
    NOT_ADMITTED = "not_admitted"
    TOO_MANY = "too_many"


def log_sign_in(request: AnyRequest, user: User, way: Way) -> None:
    logger.info("%s", _log_line(request, "accepted", way, user))
    if way != Way.BASIC:
        # The password that comes with each request of the Forum API is no sign-in of its own.
        record(user.account_id, "sign_in.succeeded", by=user, way=way)


def log_refusal(
    request: AnyRequest, way: Way, reason: RefusalReason, *, user: User | None = None, name: str = ""
) -> None:
    """Log a refused sign-in of the user, or else with a name that no user has. The name of a user is not logged as it was typed."""
    logger.warning("%s", _log_line(request, "refused", way, user, reason=reason, name=name))
    account_id = address_of(request).account_id or (None if user is None else user.account_id)
    if account_id is None:
        return
    if settings.FAILED_LOGIN_LIMIT and not hit(f"refusals:{account_id}", MAX_RECORDED_REFUSALS, HOUR).allowed:
        return
    try:
        record(account_id, "sign_in.failed", target=user, way=way, reason=reason, name_hash=hash_of_name(user, name))
    except Error as error:
        # As with limits, a database that accepts no writes does not change the answer.
        logger.error("not recorded: %s", type(error).__name__)


def hash_of_name(user: User | None, name: str) -> str | None:
    """Return the keyed hash of a name that no user has."""
    return hashed_key("name", fold(name[:256])).partition(":")[2][:NAME_HASH_LENGTH] if name and user is None else None


def _log_line(
    request: AnyRequest, result: str, way: Way, user: User | None, *, reason: str = "", name: str = ""
) -> str:
    fields = {
        "event": "sign_in",
        "result": result,
        "account": address_of(request).prefix or (user.account.prefix if user is not None else None),
        "user_id": None if user is None else user.id,
        "login": None if user is None else user.login,
        "name_hash": hash_of_name(user, name),
        "way": way,
        "reason": reason or None,
        "address": client_address_of(request),
    }
    return json.dumps({key: value for key, value in fields.items() if value is not None})


class LoginAttempt:
    """A check of a password. It counts as failed until the password is verified, so that concurrent attempts respect the limit.

    Attempts are counted per user, or under the name if no user has it. Both cases execute the same statements, so that the
    response time does not show whether the name exists.
    """

    def __init__(self, request: AnyRequest, account_id: int, name: str, way: Way) -> None:
        self.request = request
        self.account_id = account_id
        self.name = name
        self.way = way
        self.counted_keys: list[str] = []

    def count(self, user: User | None) -> None:
        """Count the attempt for the client address and for the user. Raise Throttled beyond FAILED_LOGIN_LIMIT."""
        limit = settings.FAILED_LOGIN_LIMIT
        if not limit:
            return
        if user is not None and (browser := find_browser(self.request, user.id)):
            # Nobody else can use up the attempts of a browser in which the user has signed in before.
            self._enforce(self._hit(hashed_key("login-in", browser, self.account_id, user.id), limit), user)
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
        self._enforce(status, user)

    def accept(self, user: User) -> None:
        """Undo the counting after the right password."""
        self.refund()
        if self.way == Way.BASIC:
            # The pages log a sign-in when its session begins.
            log_sign_in(self.request, user, self.way)

    def refuse(self, user: User | None) -> None:
        """Log a wrong password, or the name of a user who does not exist or may not sign in."""
        reason = RefusalReason.WRONG_PASSWORD
        if user is None or not user.is_active:
            reason = RefusalReason.UNKNOWN_NAME if user is None else RefusalReason.DEACTIVATED
        log_refusal(self.request, self.way, reason, user=user, name=self.name)

    def _enforce(self, status: LimitStatus, user: User | None) -> None:
        if not status.allowed:
            log_refusal(self.request, self.way, RefusalReason.TOO_MANY, user=user, name=self.name)
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
        # A standby cannot count. It must not be a place to guess passwords at.
        return hit(key, limit, HOUR, is_required=True)
