"""The time limit of lists with filters that no index may serve."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

# The milliseconds that each statement of a filtered list may take. The table may have millions of rows.
TIME_LIMIT_MS = 1000


class TooSlow(Exception):
    """A statement that took more than `TIME_LIMIT_MS`. No index serves the filters, and too many rows would have to be compared."""


@contextmanager
def time_limit() -> Iterator[None]:
    """Open a transaction whose statements may take `TIME_LIMIT_MS` each. Raise `TooSlow` if PostgreSQL canceled one of them."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(TIME_LIMIT_MS)])
            yield
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise TooSlow from error
        raise
