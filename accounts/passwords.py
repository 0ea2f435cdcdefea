"""Hashing and checking passwords: Argon2id, few at once, and never twice for the same request after request."""

import hashlib
import threading
from collections import OrderedDict
from functools import lru_cache
from time import monotonic

from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password

from accounts.throttling import LoginAttempt

# The parameters below use 19 MiB for about 15 ms; this many at once in a process keep a burst of wrong passwords from
# taking all of its memory and every core.
HASHES_AT_ONCE = 2
_slots = threading.BoundedSemaphore(HASHES_AT_ONCE)

# The hash of a password that nobody knows, with the parameters below: what an unknown login is checked against.
NOBODYS = "argon2$argon2id$v=19$m=19456,t=2,p=1$AfutZf1GF6EIJ2ru2XjYBA$0GT+3j0xgrNiW3xX19+z2RbvzbdVyul91Xpwgtf7gfk"


class Argon2idPasswordHasher(Argon2PasswordHasher):
    """OWASP's smaller recommendation; a hash with other parameters is replaced when its user next signs in."""

    time_cost = 2
    memory_cost = 19456
    parallelism = 1


class VerifiedCredentials:
    """A cache of credentials that were verified in the last minutes, in the memory of the process.

    HTTP Basic sends the password with each request, and checking it with Argon2id takes 15 ms of CPU by design.

    The key is a keyed hash (BLAKE2, RFC 7693) of the account, the user, the stored hash and the password under the server's
    key: a changed password or a renamed user simply is another key. Only successes are kept, at most `size` of them.
    """

    def __init__(self, *, size: int = 10_000, seconds: float = 300):
        self.size = size
        self.seconds = seconds
        self._until: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def key(self, user, password: str) -> bytes:
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


verified = VerifiedCredentials()


def is_right(user, password: str, *, attempt: LoginAttempt | None = None) -> bool:
    """Whether `password` is the password of `user`, who may be None: an unknown user takes as long as a wrong password.

    `attempt` is counted before the hashing, and given back if the password was right; counting it may raise Throttled. A
    password that was found right lately is no attempt.
    """
    if user is not None and not user.is_active:
        user = None
    if user is not None and verified.key(user, password) in verified:
        return True

    with _slots:
        if attempt is not None:
            attempt.count(user)
        if user is None:
            check_password(password, NOBODYS)
            return False
        right = check_password(password, user.password, setter=user.upgrade_password)
        if right:
            # Computed again: an upgrade has just replaced the stored hash.
            verified.add(verified.key(user, password))
            if attempt is not None:
                # Before the next one begins, so that a burst of right passwords does not look like an attack.
                attempt.give_back()
    return right
