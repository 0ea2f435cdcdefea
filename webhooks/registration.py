"""The registration of webhooks (`core.rooms`)."""

from core.jobs.registry import register_loop
from core.registry import newest_id, registry
from webhooks.dispatcher import deliver_webhooks
from webhooks.pages import register_entries

register_loop("webhooks", deliver_webhooks)
register_entries()
registry.register_sample("webhooks", "webhook", lambda request: newest_id(request.account.webhooks.all()))
