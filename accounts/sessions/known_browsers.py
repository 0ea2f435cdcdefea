"""Browsers in which a user has signed in before. A signed cookie names these users, for one host.

Strangers who use up the limits of a person's codes, links and passwords do not affect such a browser: it has counts of its own. A
sign-in from any other browser is reported to the user by e-mail.
"""

import secrets
from datetime import timedelta
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse

from accounts.hosts.requests import PageRequest, address_of
from accounts.sessions.cookies import KNOWN_BROWSER_COOKIE, set_cookie
from accounts.users.models import User
from core.http.throttling import AnyRequest, django_request

LIFETIME = timedelta(days=365)
# The users that one browser remembers. Further ones replace the oldest.
MAX_USERS = 10
# The cookies that this module sets are shorter.
MAX_COOKIE_LENGTH = 1000


def find_browser(request: AnyRequest, user_id: int | None = None) -> str:
    """Return the id of a browser in which the user has signed in at this host, or "". For None, any user of the account counts."""
    payload = _read(django_request(request))
    user_ids = payload["users"] if payload is not None else []
    return payload["id"] if payload is not None and (user_id in user_ids or (user_id is None and user_ids)) else ""


def remember_browser(request: PageRequest, response: HttpResponse, user: User) -> None:
    """Set the cookie by which `find_browser` finds the user in this browser for a year from now."""
    payload = _read(request) or {"id": secrets.token_urlsafe(12), "users": []}
    users = [user.id, *(id for id in payload["users"] if id != user.id)][:MAX_USERS]
    value = signing.dumps({"id": payload["id"], "users": users}, salt=_salt(request))
    set_cookie(response, KNOWN_BROWSER_COOKIE, value, LIFETIME)


def _read(request: HttpRequest) -> dict[str, Any] | None:
    value = request.COOKIES.get(KNOWN_BROWSER_COOKIE, "")
    if not (0 < len(value) <= MAX_COOKIE_LENGTH and value.isascii()):
        return None
    try:
        payload: dict[str, Any] = signing.loads(value, salt=_salt(request), max_age=LIFETIME)
    except signing.BadSignature:
        return None
    return payload


def _salt(request: HttpRequest) -> str:
    """Return the salt of the signature. A cookie of another host or account is not valid, even if that host's operator copied it."""
    address = address_of(request)
    return f"known browser\0{address.account_id}\0{address.host}"
