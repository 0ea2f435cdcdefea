"""Limits on the duration of statements: a shorter one where the work grows with the number of rows, or none."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled


class TooSlow(Exception):
    """A statement was cancelled, because it took longer than its limit."""


@contextmanager
def time_limit(milliseconds: int) -> Iterator[None]:
    """Open a transaction whose statements may each take that long. Raise `TooSlow` if one is cancelled.

    An outer transaction has its own limit again afterwards.
    """
    is_nested = connection.in_atomic_block
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('statement_timeout'), set_config('statement_timeout', %s, true)",
                [str(milliseconds)],
            )
            before, _limit = cursor.fetchone()
            yield
            if is_nested:
                cursor.execute("SELECT set_config('statement_timeout', %s, true)", [before])
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise TooSlow from error
        raise


@contextmanager
def without_statement_timeout() -> Iterator[None]:
    """Remove the timeout of statements, of the client and of the server: in a transaction until it ends, otherwise for the block.

    With a pooler, the timeout of the server remains outside of a transaction: the pooler would give the connection and its
    settings to other clients.
    """
    previous_timeout: float | None = getattr(connection, "client_timeout", None)
    scope = "LOCAL" if connection.in_atomic_block else None if settings.DATABASE_POOLER else "SESSION"
    if scope:
        with connection.cursor() as cursor:
            cursor.execute(f"SET {scope} statement_timeout = 0")
    set_client_timeout(None)
    try:
        yield
    finally:
        set_client_timeout(previous_timeout)
        if scope == "SESSION" and connection.connection is not None and not connection.connection.closed:
            with connection.cursor() as cursor:
                cursor.execute("RESET statement_timeout")


def set_client_timeout(seconds: float | None) -> None:
    """Set how long the backend `config.database` waits for a response of the server. Django's own waits without a limit."""
    if hasattr(connection, "set_client_timeout"):
        connection.set_client_timeout(seconds)
