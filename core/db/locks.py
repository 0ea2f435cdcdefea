"""Advisory locks, each named by a tuple of values. PostgreSQL releases them at the end of the transaction."""

import hashlib

from django.db import connection


def acquire(*names: tuple[object, ...]) -> None:
    """Wait for the locks and hold them. They are taken in a fixed order, so that two transactions cannot wait for each other."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(n) FROM unnest(%s::bigint[]) AS n", [sorted(map(_key, names))])


def try_acquire(*name: object) -> bool:
    """Take the lock and return True, or return False if another transaction holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s::bigint)", [_key(name)])
        [is_acquired] = cursor.fetchone()
        return bool(is_acquired)


def _key(name: tuple[object, ...]) -> int:
    digest = hashlib.sha256(repr(name).encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], signed=True)
