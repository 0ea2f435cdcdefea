"""The requests to a provider of OpenID Connect, and the check of its tokens (OpenID Connect Core 1.0, RFC 7636, RFC 9207)."""

import asyncio
import base64
import hashlib
import json
import re
import secrets
from datetime import timedelta
from math import isfinite
from typing import Any
from urllib.parse import quote, urlencode

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from accounts.identities.models import Identity
from accounts.oidc.models import OIDCProvider
from core import outbound
from core.db.text import is_xml_text, replace_non_xml

# Algorithms of signatures. Others, such as `none` and those with a shared secret, are refused.
ALGORITHMS = ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"]
CACHED_FOR = timedelta(hours=24)
# Seconds by which the clocks may differ.
LEEWAY = 60
MAX_BODY_BYTES = 200_000
OPTIONAL_METADATA = (
    "userinfo_endpoint",
    "token_endpoint_auth_methods_supported",
    "authorization_response_iss_parameter_supported",
)
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class ProviderError(Exception):
    """A provider that does not answer as OpenID Connect demands. The message is for the admins of the account."""

    def __init__(self, message: str | Promise) -> None:
        super().__init__(str(message))
        self.message = message


def fetch(provider: OIDCProvider, method: str, url: str, **options: Any) -> Any:
    """Return the JSON at a URL. Addresses of private networks are refused. Raise ProviderError."""
    try:
        response = asyncio.run(
            outbound.fetch(method, url, account_id=provider.account_id, max_bytes=MAX_BODY_BYTES, **options)
        )
    except outbound.OutboundError as error:
        raise ProviderError(outbound.ERROR_MESSAGES[error.code]) from None
    try:
        content = storable(json.loads(response.body))
    except (ValueError, RecursionError):
        content = None
    if response.status != 200 or not isinstance(content, dict):
        code = content.get("error") if isinstance(content, dict) else None
        raise ProviderError(f"{url.partition('?')[0]}: {response.status} {str(code or '')[:100]}".strip())
    return content


def discover(provider: OIDCProvider, *, is_fresh: bool = False) -> None:
    """Read what the provider publishes about itself, and its keys, unless both are fresh. Raise ProviderError."""
    if not is_fresh and provider.fetched_at is not None and timezone.now() - provider.fetched_at < CACHED_FOR:
        return
    metadata = fetch(provider, "GET", f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
    if metadata.get("issuer") != provider.issuer:
        raise ProviderError(_("The document of the provider names another issuer."))
    for name in ENDPOINTS:
        outbound.check_url(str(metadata.get(name)))
    provider.metadata = {name: metadata.get(name) for name in (*ENDPOINTS, *OPTIONAL_METADATA)}
    provider.keys = {"keys": fetch(provider, "GET", metadata["jwks_uri"]).get("keys", [])}
    provider.fetched_at = timezone.now()
    columns = {name: getattr(provider, name) for name in ("metadata", "keys", "fetched_at")}
    OIDCProvider.objects.filter(pk=provider.pk).update(**columns)


def begin(provider: OIDCProvider, redirect_uri: str) -> tuple[str, dict[str, str]]:
    """Return the address of the provider to which the browser goes, and the values that the browser keeps for `finish`."""
    discover(provider)
    kept = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
    challenge = base64.urlsafe_b64encode(hashlib.sha256(kept["verifier"].encode()).digest()).decode().rstrip("=")
    query = {
        "response_type": "code",
        "client_id": provider.client_identifier,
        "redirect_uri": redirect_uri,
        "scope": "openid email profile",
        "state": kept["state"],
        "nonce": kept["nonce"],
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    url = provider.metadata["authorization_endpoint"]
    return url + ("&" if "?" in url else "?") + urlencode(query), kept


def finish(provider: OIDCProvider, code: str, kept: dict[str, str], redirect_uri: str) -> dict[str, Any]:
    """Exchange the code, and return the claims of the id token. Raise ProviderError."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": kept["verifier"],
    }
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    methods = provider.metadata.get("token_endpoint_auth_methods_supported")
    if not isinstance(methods, list) or "client_secret_basic" in methods:
        credentials = f"{quote(provider.client_identifier, safe='')}:{quote(provider.secret, safe='')}"
        headers.append(("Authorization", f"Basic {base64.b64encode(credentials.encode()).decode()}"))
    else:
        form |= {"client_id": provider.client_identifier, "client_secret": provider.secret}
    url, body = provider.metadata["token_endpoint"], urlencode(form).encode()
    answer = fetch(provider, "POST", url, headers=headers, body=body)
    claims = read_id_token(provider, str(answer.get("id_token", "")))
    check_claims(provider, claims, kept["nonce"])
    try:
        claims = storable(claims)
    except RecursionError:
        raise ProviderError(_("The answer of the provider is nested too deeply.")) from None
    userinfo, token = provider.metadata.get("userinfo_endpoint"), str(answer.get("access_token"))
    if "email" not in claims and userinfo and re.fullmatch("[!-~]+", token):
        # Some providers keep the e-mail out of the token.
        headers = [("Authorization", f"Bearer {token}"), ("Accept", "application/json")]
        further = fetch(provider, "GET", str(userinfo), headers=headers)
        if further.get("sub") == claims["sub"]:
            claims = {**further, **claims}
    return claims


def storable(value: Any) -> Any:
    """Return JSON without what PostgreSQL does not store: NUL, lone surrogates, NaN and infinite numbers."""
    if isinstance(value, str):
        return replace_non_xml(value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {replace_non_xml(name): storable(item) for name, item in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value


def read_id_token(provider: OIDCProvider, token: str) -> dict[str, Any]:
    """Return the claims of a token with a valid signature. If it fits no key, the provider may have other keys by now."""
    for is_fresh in (False, True):
        discover(provider, is_fresh=is_fresh)
        try:
            keys = KeySet.import_key_set(provider.keys)
            return dict(jwt.decode(token, keys, algorithms=ALGORITHMS).claims)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # Also keys of another form than RFC 7517 demands.
            continue
    raise ProviderError(_("The signature of the token is not valid."))


def check_claims(provider: OIDCProvider, claims: dict[str, Any], nonce: str) -> None:
    now, audience = timezone.now().timestamp(), claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    subject, expires, issued = claims.get("sub"), claims.get("exp"), claims.get("iat")
    is_valid = (
        claims.get("iss") == provider.issuer
        and provider.client_identifier in audiences
        and (len(audiences) == 1 or claims.get("azp") == provider.client_identifier)
        and claims.get("nonce") == nonce
        and isinstance(subject, str)
        and 0 < len(subject) <= Identity.MAX_SUBJECT
        and is_xml_text(subject)
        and isinstance(expires, int | float)
        and expires > now - LEEWAY
        and isinstance(issued, int | float)
        and issued < now + LEEWAY
    )
    if not is_valid:
        raise ProviderError(_("The token is for another service, another browser or another time."))
