"""The check of the lag of webhooks, for `manage.py doctor`."""

from collections.abc import Iterable

from django.db import connection

from core.health.checks import WAIT_FAULT, WAIT_WARNING, Finding, level_of, register
from webhooks.models import FOLLOWER

LAG = """
SELECT coalesce(extract(epoch FROM max(now() - due_at)), 0)::float8 FROM core_follower
WHERE name = %s AND due_at <= now() AND failures = 0
"""


def check_lag() -> Iterable[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(LAG, [FOLLOWER])
        [lag] = cursor.fetchone()
    yield level_of(lag, WAIT_WARNING, WAIT_FAULT), f"the oldest due webhook has waited for {lag:.0f} s"


register("webhooks", "webhooks", check_lag)
