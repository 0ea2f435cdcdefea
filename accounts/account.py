"""The tenant."""

import secrets
from typing import Any
from zoneinfo import ZoneInfo

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from core.db.prepared import prepared

PREFIX_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])\Z"


def random_account_id() -> int:
    """Return a random id, which does not tell how many accounts there are, and which is exact in a JSON number."""
    return secrets.randbelow(2**48 - 1) + 1


class Account(models.Model):
    """A tenant. `accounts.opening` creates accounts."""

    id = models.BigIntegerField(primary_key=True, default=random_account_id, editable=False)
    prefix = models.CharField(max_length=63, validators=[RegexValidator(PREFIX_PATTERN)])
    name = models.CharField(max_length=255, blank=True, default="")
    initial_module = models.CharField(max_length=255, default="forum")
    from_partner = models.CharField(max_length=255, null=True, blank=True)
    # Marks the account as a partner. `from_partner` of the accounts that the partner creates has the same value.
    partner_key = models.CharField(max_length=255, null=True, blank=True)
    time_zone = models.CharField(max_length=255, default="UTC")
    language = models.CharField(max_length=255, default="en")
    currency = models.CharField(max_length=255, default="EUR")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prefix"], name="account_prefix_unique"),
            models.UniqueConstraint(fields=["partner_key"], name="account_partner_key_unique"),
            models.CheckConstraint(
                condition=Q(prefix__regex=PREFIX_PATTERN.replace(r"\Z", "$")), name="account_prefix_form"
            ),
        ]

    def __str__(self) -> str:
        return self.prefix

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    def change(self, **values: Any) -> None:
        """Save the fields that an admin may set: name, time zone, language and currency."""
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=[*values, "updated_at"])

    def default_status(self, kind: str) -> Any:
        """Return the first `Status` of the kind, or None."""
        return _first_status.first(account_id=self.id, kind=kind)

    def first_statuses(self, kind: str) -> models.QuerySet:
        """Return the statuses of the kind in their order."""
        return self.statuses.filter(kind=kind).order_by("position", "id")


@prepared(account_id=int, kind=str)
def _first_status(account_id, kind):
    return Account(id=account_id).first_statuses(kind)[:1]
