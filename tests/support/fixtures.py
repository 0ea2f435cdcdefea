"""The cast: alice owns acme, bob is her agent, carol signed up at her forum; mallory owns other, another account."""

from dataclasses import dataclass

import pytest

from accounts import mail, passwords
from accounts.middleware import address_book
from accounts.models import Account, User
from core.api import throttling
from core.api.readiness import readiness
from forum.models import Category, Forum
from tests.support.client import JSONClient, XMLClient
from tests.support.factories import PASSWORD, make_account, make_token, make_user
from tests.support.pages import Visitor

# Real hashing takes 15 ms; what the parameters really are is asserted in tests/accounts/test_passwords.py.
REAL_PARAMETERS = {
    name: getattr(passwords.Argon2idPasswordHasher, name) for name in ("time_cost", "memory_cost", "parallelism")
}
passwords.Argon2idPasswordHasher.time_cost = 1
passwords.Argon2idPasswordHasher.memory_cost = 8


@pytest.fixture(autouse=True)
def nothing_remembered():
    """Clear the caches of the process before each test.

    Cached addresses do not expire within a test. On a busy machine they would otherwise be looked up again between the
    statements that the test counts.
    """
    address_book.clear()
    address_book.seconds = 3600
    passwords.verified.clear()
    throttling.limiter.clear()


@pytest.fixture
def readiness_probe():
    """A database that `/readyz` has a connection to cannot be dropped after the tests."""
    yield
    readiness.close()


@pytest.fixture(autouse=True)
def letters_arrive(monkeypatch):
    """An e-mail is in `django.core.mail.outbox` at once, and a fault in writing it fails the test."""
    monkeypatch.setattr(mail.postman, "take", mail.Letter.send)


@dataclass
class Cast:
    account: Account
    alice: User
    alice_token: str
    bob: User
    bob_token: str
    carol: User
    host: str

    @property
    def forum(self) -> Forum:
        return self.account.forums.get(is_default=True)

    @property
    def category(self) -> Category:
        return self.account.categories.of_forum(self.forum.id).first()

    def xml(self, user: User | None = None) -> XMLClient:
        """Generation A as that user; alice unless another is named."""
        return XMLClient(self.host, auth=((user or self.alice).login, PASSWORD))

    def json(self, token: str | None = None) -> JSONClient:
        """Generation B with that token; bob's unless another is named."""
        return JSONClient(self.host, token or self.bob_token)

    def page(self, user: User | None = None) -> Visitor:
        """The pages as that user; as a visitor unless one is named."""
        return Visitor(self.host).sign_in(user.login) if user else Visitor(self.host)


@pytest.fixture
def acme(db) -> Cast:
    account, alice, token = make_account("acme", login="alice", name="Acme")
    bob = make_user(account, "bob", role=User.Role.AGENT, name="Bob Nowak")
    carol = make_user(account, "carol", name="Carol Member")
    return Cast(account, alice, token, bob, make_token(bob), carol, "acme.example.test")


@dataclass
class Other:
    account: Account
    mallory: User
    token: str
    host: str

    def xml(self) -> XMLClient:
        return XMLClient(self.host, auth=("mallory", PASSWORD))

    def json(self) -> JSONClient:
        return JSONClient(self.host, self.token)


@pytest.fixture
def other(db) -> Other:
    account, mallory, token = make_account("other", login="mallory")
    return Other(account, mallory, token, "other.example.test")
