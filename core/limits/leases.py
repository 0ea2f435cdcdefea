"""Leases: a limited number of holders of a name, in all processes.

A lease is a row in the table of rate limits. Its holder renews it, so a lease of a killed process ends by itself.
"""

import secrets
from dataclasses import dataclass
from time import monotonic

from django.db import connection

from core.limits.rate_limits import RateCount

# A lease ends this number of seconds after it was acquired or renewed.
LEASE_SECONDS = 60

_TABLE = RateCount._meta.db_table

ACQUIRE = f"""
    INSERT INTO {_TABLE} AS lease (key, used, ends_at)
    VALUES (%s, %s, statement_timestamp() + make_interval(secs => {LEASE_SECONDS}))
    ON CONFLICT (key) DO UPDATE SET used = excluded.used, ends_at = excluded.ends_at
    WHERE lease.ends_at <= statement_timestamp() RETURNING key
"""  # noqa: S608
RENEW = f"""
    UPDATE {_TABLE} SET ends_at = statement_timestamp() + make_interval(secs => {LEASE_SECONDS})
    WHERE key = %s AND used = %s RETURNING key
"""  # noqa: S608
RELEASE = f"DELETE FROM {_TABLE} WHERE key = %s AND used = %s RETURNING key"  # noqa: S608


@dataclass
class Lease:
    """A lease that this process holds. `holder` is a random number, which is stored in the row."""

    key: str
    holder: int
    renewed_at: float

    def renew(self) -> bool:
        """Renew the lease if half of its time is over. Return False if it was lost."""
        if monotonic() - self.renewed_at < LEASE_SECONDS / 2:
            return True
        self.renewed_at = monotonic()
        return _execute(RENEW, self.key, self.holder)

    def release(self) -> None:
        _execute(RELEASE, self.key, self.holder)


def acquire(name: str, *, limit: int) -> Lease | None:
    """Return a lease of the name, or None if `limit` leases are held."""
    holder = secrets.randbelow(2**31)
    for number in range(limit):
        key = f"{name}:{number}"
        if _execute(ACQUIRE, key, holder):
            return Lease(key, holder, monotonic())
    return None


def _execute(sql: str, key: str, holder: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(sql, [key, holder])
        return cursor.fetchone() is not None
