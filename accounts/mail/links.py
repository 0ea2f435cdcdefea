"""Signed links in e-mails. They are not stored: the signature covers the purpose, the subject and the time."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core import signing

# Enough for an e-mail address and the path of a page.
MAX_TOKEN_LENGTH = 6000


def sign(payload: Mapping[str, object], *subject: object) -> str:
    """Return a token that holds the payload. It is valid only together with an equal `subject`."""
    return signing.dumps(payload, salt=_salt(subject), compress=True)


def read(token: str, *subject: object, expires: bool = True) -> dict[str, Any] | None:
    """Return the payload of the token, or None if it is invalid, expired, or signed for another subject."""
    if len(token) > MAX_TOKEN_LENGTH or not token.isascii():
        return None
    max_age = settings.PASSWORD_RESET_TIMEOUT if expires else None
    try:
        payload: dict[str, Any] = signing.loads(token, salt=_salt(subject), max_age=max_age)
    except signing.BadSignature:
        return None
    return payload


def _salt(subject: tuple[object, ...]) -> str:
    return "\0".join(["link", *map(str, subject)])
