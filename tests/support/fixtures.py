"""Fixtures of all tests. The cast: alice owns acme, bob is an agent, carol a member; mallory owns another account."""

import contextlib
import copy
import os
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import sleep

import pytest
from django.contrib.auth.hashers import make_password
from django.core import mail as django_mail
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.test import TransactionTestCase
from django.test.utils import setup_databases, teardown_databases
from pytest_django.plugin import blocking_manager_key

from accounts.account.models import Account
from accounts.hosts.addresses import host_cache
from accounts.mail import sending as mail
from accounts.sessions import passwords
from accounts.users.models import User
from core.http.readiness import readiness
from core.limits import rate_limits
from core.limits.request_shares import shares
from core.search import queries as search_queries
from forum.categories.models import Category
from forum.forums.models import Forum
from team.list_queries import selection as list_selection
from team.reports import catalogue as report_catalogue
from tests.support import database
from tests.support.client import JSONClient, XMLClient
from tests.support.database import OWN_SERVER
from tests.support.factories import PASSWORD, make_account, make_token, make_user
from tests.support.letters import Outbox
from tests.support.pages import Visitor
from tests.support.receiver import LOOPBACK, Receiver, run_receiver

# Real hashing takes 15 ms. tests/accounts/sessions/test_passwords.py asserts the real parameters.
REAL_PARAMETERS = {
    name: getattr(passwords.Argon2idPasswordHasher, name) for name in ("time_cost", "memory_cost", "parallelism")
}
passwords.Argon2idPasswordHasher.time_cost = 1
passwords.Argon2idPasswordHasher.memory_cost = 8
REAL_UNKNOWN_USER_HASH = passwords.UNKNOWN_USER_HASH
passwords.UNKNOWN_USER_HASH = make_password("the password of no user")

# The limits of filters, selections and reports would cancel statements on a busy machine.
search_queries.TIME_LIMIT_MS = list_selection.TIME_LIMIT_MS = report_catalogue.REPORT_TIME_LIMIT_MS = 60_000


def empty_caches() -> None:
    host_cache.clear()
    host_cache.seconds = 3600
    passwords.verified_credentials.clear()
    rate_limits.rate_limiter.clear()
    shares.clear()


@pytest.fixture(autouse=True)
def clear_caches():
    """Clear the caches of the process before each test.

    Cached addresses do not expire within a test: on a busy machine, a lookup could otherwise be among the statements that
    the test counts.
    """
    empty_caches()


# The test during which this process opened a database session, by the pid of the session.
opened_by: dict[int, str] = {}
# The connections of the main thread. After Playwright has run its event loop in this thread, `connection` is another one than before.
main_connections: list[BaseDatabaseWrapper] = []


def note_session(connection, **_arguments) -> None:
    opened_by[connection.connection.info.backend_pid] = os.environ.get("PYTEST_CURRENT_TEST", "no test")
    if threading.current_thread() is threading.main_thread() and connection not in main_connections:
        main_connections.append(connection)


connection_created.connect(note_session)


@pytest.fixture(scope="session")
def django_db_setup(request, django_test_environment, django_db_blocker, django_db_modify_db_settings):
    """Create the database. After the last test, end the sessions that tests have left open, and warn of them.

    This replaces the fixture of pytest-django, which creates no database if all tests of the run use rows of a module
    (`committed`).
    """
    if OWN_SERVER in os.environ:
        # The database of the service in the tests' own cluster has all migrations.
        connection.settings_dict["TEST"]["TEMPLATE"] = connection.settings_dict["NAME"]
    with django_db_blocker.unblock():
        databases = setup_databases(request.config.option.verbose, interactive=False, serialized_aliases=())
    yield
    with django_db_blocker.unblock():
        for other in main_connections:
            other.close()
        sessions = end_other_sessions()
        connection.close()
        # The tests' own server is deleted at the end of the run.
        if OWN_SERVER not in os.environ:
            teardown_databases(databases, request.config.option.verbose)
    if sessions:
        warnings.warn(f"tests have left database sessions open: {'; '.join(sessions)}", stacklevel=1)


def end_other_sessions() -> list[str]:
    """End the sessions of the test database except this one, and return descriptions of them.

    Sessions of closed connections are waited for: on a busy machine, PostgreSQL takes seconds to end them.
    """
    with connection.cursor() as cursor:
        for _ in range(100):
            cursor.execute(OTHER_SESSIONS)
            if not (sessions := cursor.fetchall()):
                break
            sleep(0.1)
        cursor.executemany("SELECT pg_terminate_backend(%s)", [(pid,) for pid, *_description in sessions])
    return [
        f"opened in {opened_by.get(pid, 'another process')}, {state}, last statement: {query}"
        for pid, state, query in sessions
    ]


OTHER_SESSIONS = """
    SELECT pid, state, query FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type IS DISTINCT FROM 'autovacuum worker' AND pid <> pg_backend_pid()
"""


@pytest.fixture
def readiness_probe():
    """Close the connection of `/readyz` after the test, as an open connection prevents dropping the test database."""
    yield
    readiness.close()


@pytest.fixture(autouse=True)
def outbox(request, monkeypatch) -> Outbox:
    """Run the jobs that send e-mails when the test reads `django.core.mail.outbox`. An error of a job fails the test."""
    if rolls_back_or_flushes(request.node):
        # It sets another outbox.
        request.getfixturevalue("_django_db_helper")
    outbox, defer = Outbox(), mail.send_email.defer

    def defer_and_note(**arguments) -> bool:
        outbox.is_behind = True
        return defer(**arguments)

    monkeypatch.setattr(mail.send_email, "defer", defer_and_note)
    monkeypatch.setattr(django_mail, "outbox", outbox, raising=False)
    return outbox


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
        """Return a client of the Forum API as the user, alice by default."""
        return XMLClient(self.host, auth=((user or self.alice).login, PASSWORD))

    def json(self, token: str | None = None) -> JSONClient:
        """Return a client of the Account API with the token, bob's by default."""
        return JSONClient(self.host, token or self.bob_token)

    def page(self, user: User | None = None) -> Visitor:
        """Return a browser session of the user, or of a visitor."""
        return Visitor(self.host).start_session(user) if user else Visitor(self.host)


def make_cast() -> Cast:
    account, alice, token = make_account("acme", login="alice", name="Acme")
    bob = make_user(account, "bob", role=User.Role.AGENT, name="Bob Nowak")
    carol = make_user(account, "carol", name="Carol Member")
    return Cast(account, alice, token, bob, make_token(bob), carol, "acme.example.test")


class CommittedCast:
    """The cast, committed once per process for all tests that roll back.

    Creating the cast takes longer than most tests. It is removed before a test that does not use it or that commits.
    """

    cast: Cast | None = None

    def take(self) -> Cast:
        """Return the cast unchanged. The test rolls its ids back, so ids of new rows are the same in every test."""
        if self.cast is None:
            # The test's transaction is open on this thread's connection.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self.make).result()
        return copy.deepcopy(self.cast)

    def make(self) -> None:
        try:
            # Removing the cast would also remove rows that another fixture committed.
            assert not Account.objects.exists()
            self.cast = make_cast()
        finally:
            connection.close()

    def drop(self) -> None:
        if self.cast is not None:
            database.empty()
            self.cast = None


committed_cast = CommittedCast()
# Replaces Django's flush, which truncates all tables.
TransactionTestCase._fixture_teardown = lambda self: database.empty()


@contextlib.contextmanager
def committed(blocker) -> Iterator[None]:
    """Let a module's fixture commit rows, and remove them at the end.

    Tests of that module may not use `acme`: it would be committed beside those rows.
    """
    with blocker.unblock():
        committed_cast.drop()
        # The fixture of a module runs before `clear_caches`.
        empty_caches()
        try:
            yield
        finally:
            database.empty()


def rolls_back(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("django_db")
    commits = "transactional_db" in item.fixturenames or (marker is not None and marker.kwargs.get("transaction"))
    return not commits


def rolls_back_or_flushes(item: pytest.Item) -> bool:
    """Return whether pytest-django restores the database after the test. It does not restore rows that a module has committed."""
    names = {"db", "transactional_db"}
    return item.get_closest_marker("django_db") is not None or not names.isdisjoint(item.fixturenames)


def uses_database(item: pytest.Item) -> bool:
    return rolls_back_or_flushes(item) or "django_db_setup" in item.fixturenames


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if (
        committed_cast.cast is not None
        and uses_database(item)
        and not ("acme" in item.fixturenames and rolls_back(item))
    ):
        with django_db_blocker_of(item).unblock():
            committed_cast.drop()


def django_db_blocker_of(item: pytest.Item):
    return item.config.stash[blocking_manager_key]


@pytest.fixture
def acme(request, db) -> Cast:
    return committed_cast.take() if rolls_back(request.node) else make_cast()


@pytest.fixture
def statuses(acme) -> dict[str, int]:
    """Return the ids of the statuses of deals by their codes."""
    return {status.code: status.id for status in acme.account.statuses_of_kind("deal")}


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


def make_other() -> Other:
    account, mallory, token = make_account("other", login="mallory")
    return Other(account, mallory, token, "other.example.test")


@pytest.fixture
def other(db) -> Other:
    return make_other()


@pytest.fixture
def receiver(settings) -> Iterator[Receiver]:
    """Run a receiver of webhooks on the loopback interface, and allow its network in the settings."""
    settings.WEBHOOK_ALLOW = LOOPBACK
    with run_receiver() as running:
        yield running
