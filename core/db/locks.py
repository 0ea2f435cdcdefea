"""Advisory locks of the database, by what they are about. They are let go when the transaction ends."""

import hashlib

from django.db import connection


def acquire(*abouts: tuple[object, ...]) -> None:
    """Wait until no other transaction holds any of the locks, and hold them all; always in the same order."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(n) FROM unnest(%s::bigint[]) AS n", [sorted(map(_number, abouts))])


def try_acquire(*about: object) -> bool:
    """Hold the lock, unless another transaction does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s::bigint)", [_number(about)])
        return cursor.fetchone()[0]


def _number(about: tuple[object, ...]) -> int:
    digest = hashlib.sha256(repr(about).encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], signed=True)
