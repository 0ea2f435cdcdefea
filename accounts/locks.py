"""Advisory locks of the database, by what they are about. They are let go when the transaction ends."""

import hashlib

from django.db import connection


def hold(*about: object) -> None:
    """Wait until no other transaction holds the lock, and hold it."""
    _ask("pg_advisory_xact_lock", about)


def try_to_hold(*about: object) -> bool:
    """Hold the lock, unless another transaction does."""
    return _ask("pg_try_advisory_xact_lock", about)


def _ask(function: str, about: tuple[object, ...]):
    digest = hashlib.sha256(repr(about).encode(errors="surrogatepass")).digest()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s::bigint)", [int.from_bytes(digest[:8], signed=True)])
        return cursor.fetchone()[0]
