"""Secrets of session cookies and invitation links, of which only the digest is stored."""

import hashlib
import secrets

# The maximum length of a secret that a request sends.
MAX_SECRET_LENGTH = 64


def new_secret() -> tuple[str, bytes]:
    """Return a secret of 256 random bits and its SHA-256 digest, which is stored."""
    secret = secrets.token_urlsafe(32)
    return secret, digest_of(secret)


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
