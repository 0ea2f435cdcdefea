"""Links in e-mails that nobody has to keep: signed for one purpose and whomever it is about, and good for a day."""

from typing import Any

from django.conf import settings
from django.core import signing

# As long as an e-mail, and a path to go on to, make it at most.
MAX_LENGTH = 6000


def sign(what: dict[str, Any], *subject: object) -> str:
    """A token that says `what` about `subject`. With anything else of the subject (a new password, say) it says nothing."""
    return signing.dumps(what, salt=_salt(subject), compress=True)


def read(token: str, *subject: object) -> dict[str, Any] | None:
    if len(token) > MAX_LENGTH or not token.isascii():
        return None
    try:
        return signing.loads(token, salt=_salt(subject), max_age=settings.PASSWORD_RESET_TIMEOUT)
    except signing.BadSignature:
        return None


def _salt(subject: tuple[object, ...]) -> str:
    return "\0".join(["link", *map(str, subject)])
