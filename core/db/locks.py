"""Locks of rows, and advisory locks, each named by a tuple of values. PostgreSQL releases them at the end of the transaction."""

import hashlib
from typing import Self, TypeVar

from django.db import connection, models

Row = TypeVar("Row", bound=models.Model)


class LockableQuerySet(models.QuerySet[Row]):
    def locked(self) -> Self:
        """Lock the rows until the end of the transaction, but not the rows of other tables that the query joins."""
        return self.select_for_update(no_key=True, of=("self",))


def acquire(*names: tuple[object, ...]) -> None:
    """Acquire the locks of all names, and wait for each. The order is fixed, so that two such calls cannot deadlock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(n) FROM unnest(%s::bigint[]) AS n", [sorted(map(_key, names))])


def try_acquire(name: tuple[object, ...]) -> bool:
    """Acquire the lock and return True, or return False if another transaction holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s::bigint)", [_key(name)])
        [is_acquired] = cursor.fetchone()
        return bool(is_acquired)


def _key(name: tuple[object, ...]) -> int:
    digest = hashlib.sha256(repr(name).encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], signed=True)
