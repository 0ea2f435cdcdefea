"""The jobs of single sign-on."""

from accounts.oidc.models import OIDCProvider
from core.jobs.registry import has_time_left, periodic_job


@periodic_job(minutes=60, offset=40, time_limit=600)
def check_domains_of_emails() -> None:
    """Check the domains of providers that have not been checked for a day."""
    while has_time_left(60) and (provider := OIDCProvider.objects.due().select_related("account").first()):
        provider.check_domains()
