"""Password hashing. tests/forum/xml/test_basic_auth.py tests how signing in uses the hashes."""

import threading

import pytest
from django.contrib.auth.hashers import identify_hasher, make_password

from accounts.sessions import passwords
from accounts.users.models import User
from accounts.users.names import is_common
from tests.support.fixtures import REAL_PARAMETERS, REAL_UNKNOWN_USER_HASH
from tests.support.tables import table

PREFIX = "argon2$argon2id$v=19$m=19456,t=2,p=1$"


@pytest.fixture
def real_parameters(monkeypatch):
    for name, value in REAL_PARAMETERS.items():
        monkeypatch.setattr(passwords.Argon2idPasswordHasher, name, value)


def test_it_works(real_parameters):
    assert REAL_PARAMETERS == {"time_cost": 2, "memory_cost": 19456, "parallelism": 1}
    first, second = make_password("correct horse battery"), make_password("correct horse battery")
    assert first.startswith(PREFIX)
    # Each hash has its own salt.
    assert first != second
    assert identify_hasher(first).verify("correct horse battery", first)
    assert not identify_hasher(first).must_update(first)


def test_it_rejects_other_passwords():
    stored = make_password("correct horse battery")
    for other in ("correct horse", "correct horse battery ", "Correct horse battery", "", "\x00"):
        assert not identify_hasher(stored).verify(other, stored)


def test_the_hash_of_an_unknown_user_has_the_same_cost(monkeypatch):
    monkeypatch.setattr(passwords, "UNKNOWN_USER_HASH", REAL_UNKNOWN_USER_HASH)
    assert passwords.UNKNOWN_USER_HASH.startswith(PREFIX)
    assert not passwords.verify(None, "correct horse battery")


def test_no_password_costs_as_much_as_a_wrong_one(acme, monkeypatch):
    """A password that is normalized is hashed twice. Otherwise the time would tell who has no password."""
    hashes = []

    def count(method):
        return lambda *args: [hashes.append(1), method(*args)][1]

    hasher = passwords.Argon2PasswordHasher
    for name in ("encode", "verify"):
        monkeypatch.setattr(hasher, name, count(getattr(hasher, name)))
    without = acme.account.users.get(pk=acme.carol.pk)
    without.set_unusable_password()
    costs = []
    for user in (None, acme.bob, without):
        hashes.clear()
        assert not passwords.verify(user, "a wrong\u00a0pass phrase")
        costs.append(len(hashes))
    assert costs == [2, 2, 2]


def test_simultaneous_hashes_are_limited(monkeypatch):
    """The limit bounds the memory that requests with wrong passwords can use."""
    running, peak, lock = 0, 0, threading.Lock()
    barrier = threading.Barrier(passwords.MAX_CONCURRENT_HASHES, timeout=60)

    def check(*args, **kwargs):
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        barrier.wait()
        with lock:
            running -= 1
        return False

    monkeypatch.setattr(passwords, "check_password", check)
    threads = [
        threading.Thread(target=passwords.verify, args=(None, "x")) for _ in range(4 * passwords.MAX_CONCURRENT_HASHES)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert peak == passwords.MAX_CONCURRENT_HASHES


@table(
    ("password", "typed"),
    [
        ("pa\u0308sswo\u0308rd", "p\u00e4ssw\u00f6rd"),
        ("p\u00e4ssw\u00f6rd", "pa\u0308sswo\u0308rd"),
        ("correct\u00a0horse", "correct horse"),
        ("correct horse", "correct\u3000horse"),
    ],
)
def test_forms_of_one_password(password, typed):
    stored = make_password(password)
    assert identify_hasher(stored).verify(typed, stored)
    assert not identify_hasher(stored).verify(typed.upper(), stored)


@table("password", ["pa\u0308sswo\u0308rd", "correct\u00a0horse"])
def test_a_hash_of_a_password_as_it_was_typed_stays_valid(password):
    stored = super(passwords.Argon2idPasswordHasher, passwords.Argon2idPasswordHasher()).encode(
        password, "saltsaltsalt"
    )
    assert identify_hasher(stored).verify(password, stored)
    assert not identify_hasher(stored).verify("other", stored)


@table("password", ["pässwörd 😀", "a" * 1000, "\x00\x01", " "])
def test_any_text_may_be_a_password(password):
    stored = make_password(password)
    assert identify_hasher(stored).verify(password, stored)


@table(
    ("password", "is_refused"),
    [
        # Of Django's list, in any case.
        ("password", True),
        ("trustno1", True),
        # Longer ones from breaches. "Iloveyou123" is only there in small letters.
        ("correcthorsebatterystaple", True),
        ("ILOVEYOU123", True),
        ("correct horse battery", False),
        ("zażółć gęślą", False),
        ("x" * 1024, False),
    ],
)
def test_passwords_of_breaches_are_refused(password, is_refused):
    assert is_common(password, User(login="eve", email="eve@example.com")) == is_refused
