"""E-mails to the owners of an account."""

from typing import Any

from django.utils import timezone, translation

from accounts.account.models import Account
from accounts.mail import sending as mail
from accounts.users.models import User


def email_owners(account: Account, template: str, **context: Any) -> None:
    """Send an e-mail to all owners. Lazy texts of the context are in the language and the time zone of each."""
    for owner in account.users.filter(role=User.Role.OWNER, is_active=True).order_by("id"):
        language = mail.supported_language(owner.language or account.language)
        with translation.override(language), timezone.override(owner.time_zone or account.time_zone):
            mail.send(
                owner.email,
                template,
                account_id=account.id,
                language=language,
                sender=account.name or account.prefix,
                urgent=False,
                **context,
            )
