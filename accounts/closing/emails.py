"""The e-mails to the owners of an account that is closed or opened."""

from django.urls import reverse

from accounts.account.models import Account
from accounts.hosts.names import public_url
from accounts.users.owners import email_owners
from core.pages.formatting import lazy_date

TEMPLATES = {
    "suspended": "accounts/mail/account_suspended.txt",
    "restored": "accounts/mail/account_open.txt",
    "deletion_asked": "accounts/mail/account_deletion.txt",
    "kept": "accounts/mail/account_open.txt",
}


def announce(account: Account, act: str) -> None:
    """Tell all owners of an act."""
    email_owners(
        account,
        TEMPLATES[act],
        date=lazy_date(account.deletion_at) if account.deletion_at else "",
        reason=account.suspended_reason,
        url=public_url(account.prefix) + reverse("accounts-closing"),
    )
