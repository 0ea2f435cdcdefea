from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit import actions as audit
from accounts.erasure.personal_data import CUSTOMERS
from accounts.erasure.personal_data import register as register_personal_data
from accounts.hosts.requests import is_admin
from core.health.checks import WAIT_FAULT, WAIT_WARNING, Finding, level_of
from core.health.checks import register as register_check
from core.jobs.registry import register_loop
from core.pages.navigation import MenuEntry, register, register_panel
from core.registry import newest_id, registry
from webhooks.dispatcher import deliver_webhooks
from webhooks.models import DELIVERIES, FOLLOWER, Delivery, DeliveryQuerySet

audit.register("webhook", _("Webhook"), *audit.CRUD, "disabled", "secret_rotated")
register_loop("webhooks", deliver_webhooks)
register("settings", MenuEntry("webhooks", _("Webhooks"), "webhooks-webhooks", "webhook", order=65, is_shown=is_admin))
registry.register_sample("webhooks", "webhook", lambda request: newest_id(request.account.webhooks.all()))
register_personal_data(
    DELIVERIES,
    _("Requests and responses in the log of webhooks"),
    Delivery.objects.about,
    subjects=("user", *CUSTOMERS),
    delete=DeliveryQuerySet.erase_bodies,
    is_first=True,
)

# What operators see: the lag in `manage.py doctor`, and the failing webhooks of an account in the console

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


register_check("webhooks", "webhooks", check_lag)
register_panel("operator", render_operator_panel)
