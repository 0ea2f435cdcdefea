"""The ceremonies of WebAuthn with the library fido2. The challenge is in a sealed cookie of the browser.

Passkeys belong to the account's own host, such as `acme.example.com`: a browser offers them nowhere else.
"""

import json
import struct
from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from fido2.server import Fido2Server
from fido2.webauthn import (
    AuthenticationResponse,
    AuthenticatorData,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from accounts.factors.models import SecondFactor
from accounts.hosts.requests import PageRequest
from accounts.sessions.cookies import MAX_COOKIE_LENGTH, PASSKEY_COOKIE, set_cookie
from accounts.users.models import User
from core.errors import FieldError
from core.limits.rate_limits import hashed_key, hit
from core.pages.base import base_url
from core.sealing import SealError, seal, unseal

SEAL_PURPOSE = "passkey"
# The time in which the browser has to answer, in seconds.
LIFETIME = 600
MAX_RESPONSE_LENGTH = 20_000
# What the library raises for a response that is not valid, as it expects one of a browser.
INVALID = (AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error)


def serves_passkeys(request: PageRequest) -> bool:
    """Return whether this is the account's own host."""
    return request.address.host == request.account.prefix


def _server(request: PageRequest) -> Fido2Server:
    host, origin = request.get_host().partition(":")[0], base_url(request)
    entity = PublicKeyCredentialRpEntity(id=host, name=request.account.name or request.account.prefix)
    return Fido2Server(entity, verify_origin=lambda found: found == origin)


def begin_registration(request: PageRequest, user: User) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of `navigator.credentials.create` and the state for `set_state`."""
    entity = PublicKeyCredentialUserEntity(
        id=f"{user.account_id}.{user.id}".encode(), name=user.login, display_name=user.public_name
    )
    options, state = _server(request).register_begin(
        entity,
        [row.credential for row in user.second_factors.passkeys()],
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return dict(options), state


def finish_registration(request: PageRequest, text: str) -> AuthenticatorData:
    """Return the new passkey of the response of the browser. Raise FieldError if the response is not valid."""
    try:
        return _server(request).register_complete(_read_state(request), _parse(text))
    except INVALID:
        raise FieldError("passkey", _("The passkey could not be added: try again")) from None


def begin_authentication(request: PageRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of `navigator.credentials.get` and the state for `set_state`. The browser chooses the passkey."""
    options, state = _server(request).authenticate_begin(user_verification=UserVerificationRequirement.REQUIRED)
    return dict(options), state


def authenticate(request: PageRequest, text: str, user: User | None = None) -> User | None:
    """Return the active user of the passkey with which the browser has responded, or None if the response is not valid.

    With `user`, the passkey has to be one of this user.
    """
    try:
        response = AuthenticationResponse.from_dict(_parse(text))
        rows = request.account.second_factors.passkeys().filter(credential_key=response.raw_id)
        row: SecondFactor | None = rows.select_related("user").first()
        if row is None or not row.user.is_active or (user is not None and row.user_id != user.id):
            return None
        state = _read_state(request)
        _server(request).authenticate_complete(state, [row.credential], response)
        key = hashed_key("passkey", request.account.id, state["challenge"])
        if not hit(key, 1, LIFETIME, is_required=True).allowed:
            # Somebody has recorded the response.
            return None
        row.count_use(response.response.authenticator_data.counter)
    except (*INVALID, FieldError):
        return None
    owner: User = row.user
    owner.account = request.account
    return owner


def _parse(text: str) -> dict[str, Any]:
    parsed = json.loads(text[:MAX_RESPONSE_LENGTH])
    if not isinstance(parsed, dict):
        raise TypeError
    return parsed


def set_state(request: PageRequest, response: HttpResponse, state: dict[str, Any]) -> None:
    """Store the challenge in the browser."""
    sealed = seal([request.account.id, int(timezone.now().timestamp()), state], SEAL_PURPOSE)
    set_cookie(response, PASSKEY_COOKIE, sealed, timedelta(seconds=LIFETIME), samesite="Strict")


def _read_state(request: PageRequest) -> dict[str, Any]:
    """Return the challenge of the browser. Raise ValueError if there is none, or if it is too old."""
    sealed = request.COOKIES.get(PASSKEY_COOKIE, "")
    try:
        account_id, at, state = unseal(sealed[:MAX_COOKIE_LENGTH], SEAL_PURPOSE)
    except SealError as error:
        raise ValueError("no challenge") from error
    if account_id != request.account.id or timezone.now().timestamp() - at > LIFETIME:
        raise ValueError("an old challenge")
    found: dict[str, Any] = state
    return found
