"""The log of sign-ins: one line of JSON for each sign-in and for each refusal, by the logger `rostrum.sign_in`.

No line has a password, a code or a token. People type passwords into the field for the login, so a name that no user has is logged as a
keyed hash, which only shows whether the same name was tried again.
"""

import json
import logging
from enum import StrEnum

from accounts.hosts.requests import address_of
from accounts.users.models import User
from core.db.tenancy import fold
from core.http.throttling import AnyRequest, client_address_of
from core.limits.rate_limits import hashed_key

logger = logging.getLogger("rostrum.sign_in")
# The length of the hash of an unknown name, in hexadecimal digits.
HASH_LENGTH = 16


class Way(StrEnum):
    """How somebody signs in."""

    PASSWORD = "password"  # noqa: S105  # the name of a way
    CODE = "code"
    PASSWORD_LINK = "password_link"  # noqa: S105  # the name of a way
    SIGN_UP = "sign_up"
    INVITATION = "invitation"
    HANDOVER = "handover"
    # The current password or a code, which a page asks of a user who is signed in.
    CONFIRMATION = "confirmation"
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
    INVALID_TOKEN = "invalid_token"  # noqa: S105  # the name of a reason
    NOT_ADMITTED = "not_admitted"
    TOO_MANY = "too_many"


def log_sign_in(request: AnyRequest, user: User, way: Way) -> None:
    logger.info("%s", _line(request, "accepted", way, user=user))


def log_refusal(
    request: AnyRequest, way: Way, reason: RefusalReason, *, user: User | None = None, name: str = ""
) -> None:
    """Log a refused sign-in of the user, or else with a name that no user has. The name of a user is not logged as it was typed."""
    logger.warning("%s", _line(request, "refused", way, reason=reason, user=user, name=name))


def _line(
    request: AnyRequest,
    result: str,
    way: Way,
    *,
    reason: RefusalReason | None = None,
    user: User | None,
    name: str = "",
) -> str:
    fields = {
        "event": "sign_in",
        "result": result,
        "account": address_of(request).prefix or (user.account.prefix if user is not None else None),
        "user_id": None if user is None else user.id,
        "login": None if user is None else user.login,
        "name_hash": hashed_key("name", fold(name[:256])).partition(":")[2][:HASH_LENGTH]
        if name and user is None
        else None,
        "way": way,
        "reason": reason,
        "address": client_address_of(request),
    }
    return json.dumps({key: value for key, value in fields.items() if value is not None})
