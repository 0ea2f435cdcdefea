"""Limits on the e-mails that visitors and users request."""

from enum import StrEnum

from django.conf import settings

from accounts.hosts.requests import PageRequest
from core.http.throttling import HOUR, client_address_of
from core.limits.rate_limits import hashed_key, hit
from core.rows.trimmed import fold_email

# E-mails per hour and purpose to one recipient: those that one client address or one user of the team causes, and all together.
MAX_EMAILS_PER_ORIGIN = 5
MAX_EMAILS_PER_RECIPIENT = 20


class Purpose(StrEnum):
    """The purpose of an e-mail that a visitor requests. Each purpose has a separate limit."""

    CODE = "code"
    PASSWORD = "password"  # noqa: S105  # the purpose of a link
    SIGN_UP = "sign-up"
    NEW_EMAIL = "new-email"
    INVITATION = "invitation"


def count_email(request: PageRequest, purpose: Purpose, recipient: str) -> bool:
    """Count an e-mail to the recipient (an e-mail address or a login), and return whether it is within the limits.

    The e-mail is counted whether or not a user has the address or the login.
    """
    if not settings.FAILED_LOGIN_LIMIT:
        return True
    kind, account_id = f"mailed-{purpose}", request.account.id
    name = fold_email(recipient[:256])
    origin = client_address_of(request) if request.user is None else request.user.id
    if not hit(hashed_key(kind, account_id, name, origin), MAX_EMAILS_PER_ORIGIN, HOUR).allowed:
        # Do not count it for the recipient as well, because nothing is sent.
        return False
    return hit(hashed_key(kind, account_id, name), MAX_EMAILS_PER_RECIPIENT, HOUR).allowed
