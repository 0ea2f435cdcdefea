"""The e-mails to the owners of an account that is closed or opened."""

from django.urls import reverse
from django.utils import timezone, translation

from accounts.account.models import Account
from accounts.hosts.names import public_url
from accounts.mail import sending as mail
from accounts.users.models import User
from core.pages.formatting import date_text

TEMPLATES = {
    "suspended": "accounts/mail/account_suspended.txt",
    "restored": "accounts/mail/account_open.txt",
    "deletion_asked": "accounts/mail/account_deletion.txt",
    "kept": "accounts/mail/account_open.txt",
}


def email_owners(account: Account, act: str) -> None:
    """Tell all owners of an act."""
    for owner in account.users.filter(role=User.Role.OWNER, is_active=True).order_by("id"):
        language = mail.supported_language(owner.language or account.language)
        with translation.override(language), timezone.override(owner.time_zone or account.time_zone):
            day = date_text(timezone.localdate(account.deletion_at)) if account.deletion_at else ""
        mail.send(
            owner.email,
            TEMPLATES[act],
            account_id=account.id,
            language=language,
            sender=account.name or account.prefix,
            urgent=False,
            date=day,
            reason=account.suspended_reason,
            url=public_url(account.prefix) + reverse("accounts-closing"),
        )
