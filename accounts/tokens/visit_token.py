"""The API token that a user created during this visit, for the code of the examples.

Only the digest of a token is stored. Until the browser is closed or the user signs out, the token itself is in an encrypted cookie
that scripts cannot read. It is valid only together with the session in which the token was created.
"""

from django.http import HttpResponse

from accounts.hosts.requests import UserRequest
from accounts.sessions.cookies import VISIT_TOKEN_COOKIE, set_cookie
from accounts.tokens.models import APIToken
from core.sealing import SealError, seal, unseal

PURPOSE = "visit token"
# The cookies that this module sets are shorter.
MAX_COOKIE_LENGTH = 1000


def set_visit_token(request: UserRequest, response: HttpResponse, token: str) -> None:
    """Store a token for the rest of the visit."""
    sealed = seal([request.account.id, request.session.id, token], PURPOSE)
    set_cookie(response, VISIT_TOKEN_COOKIE, sealed, None, samesite="Strict")


def read_visit_token(request: UserRequest) -> str:
    """Return the token of this visit. Return "" if there is none, or if it has been revoked or has expired."""
    sealed = request.COOKIES.get(VISIT_TOKEN_COOKIE, "")
    if not 0 < len(sealed) <= MAX_COOKIE_LENGTH:
        return ""
    try:
        account_id, session_id, token = unseal(sealed, PURPOSE)
    except SealError:
        return ""
    if (account_id, session_id) != (request.account.id, request.session.id):
        return ""
    row = APIToken.objects.find_by_token(token)
    return token if row is not None and row.user.pk == request.user.pk else ""
