"""The signatures of Standard Webhooks 1.0, and the headers of a request.

Each request has two kinds of signatures. `v1` is symmetric: the receiver verifies it with the secret (`whsec_…`). `v1a` is asymmetric: a
program that has only the public key (`whpk_…`) verifies it, and cannot sign.

The key pair of `v1a` is derived from the secret, so it is stored, and replaced, with the secret.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from functools import lru_cache

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SECRET_PREFIX, PUBLIC_KEY_PREFIX = "whsec_", "whpk_"
SECRET_BYTES = 32


def new_secret() -> str:
    return SECRET_PREFIX + _base64(secrets.token_bytes(SECRET_BYTES))


def public_key(secret: str) -> str:
    """Return the public key of the key pair of a secret."""
    return PUBLIC_KEY_PREFIX + _base64(_private_key(secret).public_key().public_bytes_raw())


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> list[str]:
    """Return the signatures with one secret, in the form `v1,<base64>` and `v1a,<base64>`."""
    content = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    symmetric = hmac.digest(_secret_bytes(secret), content, hashlib.sha256)
    return [f"v1,{_base64(symmetric)}", f"v1a,{_base64(_private_key(secret).sign(content))}"]


def signed_headers(valid_secrets: Iterable[str], message_id: str, timestamp: int, body: bytes) -> list[tuple[str, str]]:
    """Return the headers of a request. The timestamp is that of the attempt, in seconds since 1970."""
    signatures = " ".join(
        signature for secret in valid_secrets for signature in sign(secret, message_id, timestamp, body)
    )
    return [("webhook-id", message_id), ("webhook-timestamp", str(timestamp)), ("webhook-signature", signatures)]


@lru_cache(maxsize=2000)
def _private_key(secret: str) -> Ed25519PrivateKey:
    """Return the private key of the key pair of a secret. It is cached, because each request needs it."""
    derivation = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"rostrum.webhooks ed25519")
    return Ed25519PrivateKey.from_private_bytes(derivation.derive(_secret_bytes(secret)))


def _secret_bytes(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
