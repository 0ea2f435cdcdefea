"""The signatures of Standard Webhooks 1.0: symmetric keys (`whsec_…`) and the headers of a request."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature with one secret, in the form `v1,<base64>`."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.digest(key, b"%b.%d.%b" % (message_id.encode(), timestamp, body), hashlib.sha256)
    return "v1," + base64.b64encode(digest).decode()


def signed_headers(valid_secrets: Iterable[str], message_id: str, timestamp: int, body: bytes) -> list[tuple[str, str]]:
    """Return the headers of a request. The timestamp is that of the attempt, in seconds since 1970."""
    signatures = " ".join(sign(secret, message_id, timestamp, body) for secret in valid_secrets)
    return [
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp)),
        ("webhook-signature", signatures),
    ]
