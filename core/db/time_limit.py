"""A limit on the duration of statements whose work grows with the number of rows."""

from collections.abc import Iterator
from contextlib import contextmanager

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
