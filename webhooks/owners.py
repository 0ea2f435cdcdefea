"""The e-mail to the owners of an account about a webhook that was disabled."""

from django.urls import reverse

from accounts.hosts.names import public_url
from accounts.mail import sending as mail
from accounts.users.models import User
from core.jobs.registry import job
from webhooks.models import Endpoint

TEMPLATES: dict[str | None, str] = {
    Endpoint.DisabledReason.GONE: "webhooks/gone.txt",
    Endpoint.DisabledReason.FAILING: "webhooks/failing.txt",
}


@job()
def tell_owners(*, account_id: int, endpoint_id: int) -> None:
    """Send an e-mail to each owner. Do nothing if the webhook was deleted or enabled meanwhile."""
    endpoint = Endpoint.objects.select_related("account").filter(account_id=account_id, id=endpoint_id).first()
    template = TEMPLATES.get(endpoint.disabled_reason) if endpoint else None
    if endpoint is None or template is None:
        return
    account = endpoint.account
    for owner in account.users.filter(role=User.Role.OWNER, is_active=True):
        mail.send(
            owner.email,
            template,
            account_id=account.id,
            language=owner.language or account.language,
            sender=account.name or account.prefix,
            urgent=False,
            host=f"{endpoint.name} ({endpoint.host})" if endpoint.name else endpoint.host,
            url=public_url(account.prefix) + reverse("webhooks-webhook", args=[endpoint.id]),
        )
