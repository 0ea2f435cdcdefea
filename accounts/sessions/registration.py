from django.dispatch import receiver

from accounts.hosts.models import Host, host_lost
from accounts.sessions.models import Session


@receiver(host_lost)
def end_sessions_at(*, host: Host, **_options: object) -> None:
    """End the sessions at a host that the account loses."""
    Session.objects.filter(account_id=host.account_id, domain=host.name).delete()
