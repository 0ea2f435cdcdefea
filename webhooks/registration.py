from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.erasure.personal_data import CUSTOMERS
from accounts.erasure.personal_data import register as register_personal_data
from accounts.hosts.requests import is_admin
from core.jobs.registry import register_loop
from core.pages.navigation import MenuEntry, register
from core.registry import newest_id, registry
from webhooks import operating  # noqa: F401  # it registers a check and a panel
from webhooks.dispatcher import deliver_webhooks
from webhooks.models import DELIVERIES, Delivery, DeliveryQuerySet

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
