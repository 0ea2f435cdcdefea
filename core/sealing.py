"""Encryption of values that are stored outside of the process, with keys derived from `SECRET_KEY`.

Each purpose has a key of its own, so a value that was sealed for one purpose cannot be used for another.
"""

from base64 import urlsafe_b64encode
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def seal(value: str, purpose: str) -> str:
    """Return the value, encrypted and authenticated, as ASCII text."""
    return _fernet(purpose, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).encrypt(value.encode()).decode()


def unseal(sealed: str, purpose: str) -> str | None:
    """Return the value that was sealed for the purpose. Return None if it is not authentic."""
    try:
        return _fernet(purpose, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).decrypt(sealed.encode()).decode()
    except (InvalidToken, UnicodeError):
        return None


@lru_cache(maxsize=64)
def _fernet(purpose: str, *secrets: str) -> MultiFernet:
    return MultiFernet([Fernet(_key(secret, purpose)) for secret in secrets])


def _key(secret: str, purpose: str) -> bytes:
    """Return the key of a purpose (RFC 5869)."""
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"rostrum sealing {purpose}".encode())
    return urlsafe_b64encode(derivation.derive(secret.encode()))
