"""The tenant."""

import secrets
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.hosts.names import PREFIX_PATTERN
from core.db.fields import PlainField
from core.db.locks import LockableQuerySet
from core.db.prepared import prepared
from core.rows.trimmed import TrimmedCharField

# An account is new for this time. Strangers could create accounts to send spam, so some limits are lower for a new one.
NEW_ACCOUNT_AGE = timedelta(weeks=1)

# Sent in the transaction that changes the currency of an account. Arguments: `account`.
currency_changed = Signal()


def random_account_id() -> int:
    """Return a random id that does not reveal the number of accounts and is exact in a JSON number."""
    return secrets.randbelow(2**48 - 1) + 1


# Pages translate these reasons (`reason_text`), but not those that a team has written.
DEFAULT_WON_REASONS = (gettext_noop("Price"), gettext_noop("Features"), gettext_noop("Recommendation"))
DEFAULT_LOST_REASONS = (
    gettext_noop("Too expensive"),
    gettext_noop("Chose a competitor"),
    gettext_noop("Not the right time"),
    gettext_noop("No longer needed"),
    gettext_noop("No answer"),
)
MAX_REASONS = 50


def default_won_reasons() -> list[str]:
    return list(DEFAULT_WON_REASONS)


def default_lost_reasons() -> list[str]:
    return list(DEFAULT_LOST_REASONS)


class AccountKeyField(PlainField, models.BigIntegerField):
    """The primary key of an account, with a random default."""

    python_arguments = ("default",)


class ReasonsField(PlainField, ArrayField):
    """The reasons that the team can choose when it closes a deal."""

    python_arguments = ("default",)


class AgentsSee(models.TextChoices):
    """The rows of the CRM that the agents of an account can access (`accounts.access.models`)."""

    ALL = "all"
    # The rows that they or a user of their group are responsible for.
    OWN = "own"


class Account(models.Model):
    """A tenant, created by `accounts.account_creation.creation`."""

    id = AccountKeyField(primary_key=True, default=random_account_id, editable=False)
    prefix = models.CharField(max_length=63, validators=[RegexValidator(PREFIX_PATTERN)])
    name = TrimmedCharField(max_length=255, blank=True, default="")
    initial_module = models.CharField(max_length=255, default="forum")
    from_partner = models.CharField(max_length=255, null=True, blank=True)
    # Set for partners. Accounts that the partner creates have the same value in `from_partner`.
    partner_key = models.CharField(max_length=255, null=True, blank=True)
    time_zone = models.CharField(max_length=255, default="UTC")
    language = models.CharField(max_length=255, default="en")
    currency = models.CharField(max_length=255, default="EUR")
    agents_see = models.CharField(
        max_length=255, choices=AgentsSee.choices, default=AgentsSee.ALL, db_default=AgentsSee.ALL
    )
    # Whether links from users to the customers with their verified e-mail need no confirmation by the team.
    confirms_user_links = models.BooleanField(default=False, db_default=False)
    # Whether a client inside a new deal is the only client with its e-mail, even if the request does not ask for it. Accounts that are
    # older than the setting have false, the default of the column.
    link_guests_by_email = models.BooleanField(default=True, db_default=False)
    # The reasons that are offered when a deal is won or lost.
    won_reasons = ReasonsField(models.CharField(max_length=255), default=default_won_reasons, db_default=[])
    lost_reasons = ReasonsField(models.CharField(max_length=255), default=default_lost_reasons, db_default=[])
    # The keys of the resources for which the account defines fields. A request that finds none here reads no definitions.
    resources_with_fields = ArrayField(models.TextField(), default=list, db_default=[], editable=False)
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

    @property
    def is_new(self) -> bool:
        return self.created_at > timezone.now() - NEW_ACCOUNT_AGE

    def lock(self) -> None:
        """Lock the row until the transaction ends."""
        Account.objects.select_for_update(no_key=True).get(id=self.id)

    def change(self, **values: object) -> None:
        """Save the fields that an admin may set."""
        former_currency = self.currency
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=[*values, "updated_at"])
        if self.currency != former_currency:
            currency_changed.send(Account, account=self)

    def default_status(self, kind: str) -> Any:
        """Return the first status of the kind, or None."""
        return _default_status.first(account_id=self.id, kind=kind)

    def default_pipeline_id(self) -> int | None:
        """Return the id of the first pipeline, to which a new status of deals belongs by default."""
        ids = self.pipelines.order_by("position", "id").values_list("id", flat=True)
        return ids.first()

    def statuses_of_kind(self, kind: str) -> LockableQuerySet[Any]:
        """Return the statuses of the kind, ordered by position."""
        statuses: LockableQuerySet[Any] = self.statuses.all()
        return statuses.filter(kind=kind).order_by("position", "id")

    def deal_statuses(self) -> list[Any]:
        """Return the statuses of deals, ordered by position. Before them comes `Status.make_placeholder`, which stands for no status."""
        statuses: list[Any] = _deal_statuses(account_id=self.id)
        for status in statuses:
            status.account = self
        pipeline_id = statuses[0].first_pipeline_id if statuses else self.default_pipeline_id()
        return [self.statuses.model.make_placeholder(pipeline_id), *statuses]


@prepared(account_id=int)
def _deal_statuses(account_id: int) -> models.QuerySet[Any]:
    account = Account(id=account_id)
    first_pipeline = account.pipelines.order_by("position", "id").values("id")[:1]
    return account.statuses_of_kind("deal").annotate(first_pipeline_id=models.Subquery(first_pipeline))


@prepared(account_id=int, kind=str)
def _default_status(account_id: int, kind: str) -> models.QuerySet[Any]:
    return Account(id=account_id).statuses_of_kind(kind)[:1]
