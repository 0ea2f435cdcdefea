from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WebhooksConfig(AppConfig):
    name = "webhooks"
    field_labels = {
        "delivery": _("delivery"),
        "events": _("events"),
        "webhook": _("webhook"),
    }

    def ready(self) -> None:
        from core.jobs.registration import register_loop
        from core.registry import newest_id, registry
        from webhooks import jobs  # noqa: F401
        from webhooks.dispatcher import deliver_webhooks
        from webhooks.pages import register_entries

        register_loop("webhooks", deliver_webhooks)
        register_entries()
        registry.register_sample("webhooks", "webhook", lambda request: newest_id(request.account.webhooks.all()))
