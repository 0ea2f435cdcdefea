"""The check of overdue deletions, for `manage.py doctor`."""

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone

from accounts.account.models import Account
from core.health.checks import FAULT, OK, Finding, register

OVERDUE = timedelta(days=1)


def check_deletions() -> Iterable[Finding]:
    overdue = Account.objects.filter(deletion_at__lt=timezone.now() - OVERDUE).count()
    yield (FAULT, f"{overdue} accounts should have been deleted") if overdue else (OK, "no deletion is overdue")


register("deletions", "suspend-delete-and-restore", check_deletions)
