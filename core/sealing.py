"""Encryption of values in rows and cookies, such as links in queued e-mails and the secrets of webhooks.

Each purpose has a key of its own, so a value that was sealed for one purpose cannot be used for another.
"""

import base64
import json
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class SealError(Exception):
    """A value that was sealed with an unknown key or for another purpose, or that was changed."""


@lru_cache(maxsize=32)
def _cipher(purpose: str, *secret_keys: str) -> MultiFernet:
    def key(secret: str) -> bytes:
        info = f"rostrum.sealing {purpose}".encode()
        derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info).derive(secret.encode())
        return base64.urlsafe_b64encode(derived)

    return MultiFernet([Fernet(key(secret)) for secret in secret_keys])


def seal(value: object, purpose: str = "job") -> str:
    """Encrypt a JSON value with a key that is derived from `SECRET_KEY`. The result is ASCII text."""
    cipher = _cipher(purpose, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return cipher.encrypt(json.dumps(value).encode()).decode()


def unseal(sealed: str, purpose: str = "job") -> Any:
    """Return the value of `seal`. Raise SealError if no key of the settings decrypts it."""
    cipher = _cipher(purpose, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    try:
        text = cipher.decrypt(sealed.encode())
    except (InvalidToken, UnicodeError) as error:
        raise SealError("sealed with another SECRET_KEY or for another purpose") from error
    return json.loads(text)
