"""The timeouts of the database backend."""

import contextlib
import threading
import time

import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction

from core.db.prepared import fetch
from core.db.time_limit import without_statement_timeout
from core.http.readiness import TIMEOUT, Readiness


@pytest.fixture
def short_client_timeout(transactional_db):
    """Give the connection a client timeout of 0.2 seconds."""
    before = connection.client_timeout
    connection.set_client_timeout(0.2)
    yield
    connection.set_client_timeout(before)
    connection.close()
    with connection.cursor() as cursor:
        # The statements continue on the server, and block the truncation of tables.
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def server_timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return cursor.fetchone()[0]


@pytest.mark.machinery
def test_it_works(db):
    """The client timeout is the server's statement timeout plus one second for the response."""
    connection.ensure_connection()
    assert connection.client_timeout == connection.connection.client_timeout == settings.STATEMENT_TIMEOUT + 1


@pytest.mark.machinery
@pytest.mark.parametrize("block", [contextlib.nullcontext, transaction.atomic])
def test_an_unanswered_statement_fails_and_ends_its_connection(short_client_timeout, block):
    started_at = time.monotonic()
    with pytest.raises(OperationalError, match="did not answer in time"), block():
        fetch("SELECT pg_sleep(50)", [])
    # The statement was not retried.
    assert time.monotonic() - started_at < 30
    connection.close_if_unusable_or_obsolete()
    # No other connection was opened, which could take long too.
    assert connection.connection is None
    connection.set_client_timeout(60)
    assert fetch("SELECT 1", []) == [(1,)]


@pytest.fixture
def slow_commits(transactional_db):
    """Create a table whose rows take 50 seconds to commit."""
    with connection.cursor() as cursor:
        cursor.execute("""
            CREATE TABLE slow (id integer);
            CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(50); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER sleep AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION sleep();
        """)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION sleep CASCADE; DROP TABLE slow")


def insert():
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO slow VALUES (1)")
        connection.set_client_timeout(0.2)


@pytest.mark.machinery
def test_an_unanswered_commit_fails(slow_commits, short_client_timeout):
    connection.set_client_timeout(60)
    with pytest.raises(OperationalError, match="did not answer in time"):
        insert()


@pytest.mark.machinery
@pytest.mark.django_db(transaction=True)
def test_the_timeouts_can_be_lifted():
    before, limit = server_timeout(), connection.client_timeout
    with without_statement_timeout():
        assert (server_timeout(), connection.connection.client_timeout) == ("0", None)
    assert (server_timeout(), connection.connection.client_timeout) == (before, limit)
    with transaction.atomic():
        with without_statement_timeout():
            assert (server_timeout(), connection.connection.client_timeout) == ("0", None)
        assert connection.client_timeout == limit
    assert server_timeout() == before
    # If the connection is lost within the block, its replacement has the default settings.
    with without_statement_timeout():
        connection.close()
    assert (server_timeout(), connection.connection.client_timeout) == (before, limit)


def test_readiness_responds_in_time_while_a_query_is_running():
    readiness, query_ended, queries = Readiness(), threading.Event(), []

    def check():
        queries.append(1)
        return query_ended.wait(60)

    readiness._check = check
    started_at = time.monotonic()
    assert not readiness.is_ready()
    assert time.monotonic() - started_at >= TIMEOUT
    assert queries == [1]
    # The next request waits for the same result.
    query_ended.set()
    assert readiness.is_ready()
    assert queries == [1]
