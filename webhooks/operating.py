"""What operators see of webhooks: their lag in `manage.py doctor`, and the failing ones of an account in the console."""

from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from accounts.account.models import Account
from core.health.checks import WAIT_FAULT, WAIT_WARNING, Finding, level_of, register
from core.pages.navigation import register_panel
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


MAX_SHOWN = 20


def render_operator_panel(request: Any, account: Account) -> SafeString | str:
    failing = Q(failing_since__isnull=False) | Q(disabled_reason__isnull=False)
    rows = list(account.webhooks.filter(failing).order_by("id")[:MAX_SHOWN])
    if not rows:
        return ""
    html = render_to_string("webhooks/operator_panel.html", {"rows": rows}, request=request)
    return mark_safe(html)  # noqa: S308  # the template has escaped its values


register("webhooks", "webhooks", check_lag)
register_panel("operator", render_operator_panel)
