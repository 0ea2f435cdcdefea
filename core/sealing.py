"""Encryption of values that rows keep for a short time, such as links in queued e-mails."""

import base64
import json
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class SealError(Exception):
    """A value that was sealed with an unknown key, or changed since."""


@lru_cache(maxsize=8)
def _cipher(*secret_keys: str) -> MultiFernet:
    def key(secret: str) -> bytes:
        derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"rostrum.sealing").derive(secret.encode())
        return base64.urlsafe_b64encode(derived)

    return MultiFernet([Fernet(key(secret)) for secret in secret_keys])


def seal(value: Any) -> str:
    """Encrypt a JSON value with a key that is derived from `SECRET_KEY`."""
    return _cipher(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).encrypt(json.dumps(value).encode()).decode()


def unseal(sealed: str) -> Any:
    """Return the value of `seal`. Raise SealError if no key of the settings opens it."""
    try:
        text = _cipher(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).decrypt(sealed)
    except InvalidToken as error:
        raise SealError("sealed with another SECRET_KEY") from error
    return json.loads(text)
