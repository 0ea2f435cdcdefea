"""The tenant."""

import secrets
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from accounts.account.exchange_rates import ConvertedSum, change_base, convert, divide
from accounts.audit.models import Audited
from accounts.hosts.names import PREFIX_PATTERN
from core.db.fields import PlainField
from core.db.locks import LockableQuerySet
from core.db.prepared import prepared
from core.errors import Conflict, FieldError
from core.rows.trimmed import TrimmedCharField

# An account is new for this time. Strangers could create accounts to send spam, so some limits are lower for a new one.
NEW_ACCOUNT_AGE = timedelta(weeks=1)

# Sent in the transaction that changes the currency of an account. Arguments: `account`.
currency_changed = Signal()
# Sent in the transaction that closes or opens an account. Arguments: `account`, and `act`, the act in the audit log.
closing_changed = Signal()


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


class AccountKeyField(PlainField, models.BigIntegerField):
    python_arguments = ("default",)


class ReasonsField(PlainField, ArrayField):
    """The reasons that the team can choose when it closes a deal."""

    python_arguments = ("default",)


class AgentsSee(models.TextChoices):
    """The rows of the CRM that the agents of an account can access (`accounts.access.models`)."""

    ALL = "all"
    # The rows that they or a user of their group are responsible for.
    OWN = "own"


class Account(Audited):
    """A tenant, created by `accounts.account_creation.creation`."""

    audit_group = "account"
    audited = (
        *("name", "time_zone", "language", "currency", "agents_see", "confirms_user_links", "link_guests_by_email"),
        *("won_reasons", "lost_reasons", "trash_days", "inactive_member_months", "second_factor_roles"),
        *("exchange_rates", "takes_euro_rates", "start_page", "country"),
    )
    MIN_TRASH_DAYS, MAX_TRASH_DAYS = 7, 365
    MIN_INACTIVE_MONTHS, MAX_INACTIVE_MONTHS = 12, 120
    MAX_SUSPENDED_REASON = 500
    # The time in which an owner can keep an account that is to be deleted.
    DELETION_DELAY = timedelta(days=14)

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
    # The ISO 3166 code of the country whose formats dates and numbers have, or "" for those of the language.
    country = models.CharField(max_length=2, blank=True, default="", db_default="")
    agents_see = models.CharField(
        max_length=255, choices=AgentsSee.choices, default=AgentsSee.ALL, db_default=AgentsSee.ALL
    )
    # Whether links from users to the customers with their verified e-mail need no confirmation by the team.
    confirms_user_links = models.BooleanField(default=False, db_default=False)
    # Whether a client inside a new deal is the only client with its e-mail, even if the request does not ask for it. Accounts that are
    # older than the setting have false, the default of the column.
    link_guests_by_email = models.BooleanField(default=True, db_default=False)
    # The reasons that are offered when a deal is won or lost.
    won_reasons = ReasonsField(
        models.CharField(max_length=255), default=lambda: list(DEFAULT_WON_REASONS), db_default=[]
    )
    lost_reasons = ReasonsField(
        models.CharField(max_length=255), default=lambda: list(DEFAULT_LOST_REASONS), db_default=[]
    )
    # How long deleted resources stay in the trash, in days.
    trash_days = models.SmallIntegerField(default=30, db_default=30)
    # After this time without use, members are erased (`accounts.erasure.inactivity`). None keeps them.
    inactive_member_months = models.SmallIntegerField(null=True)
    # The roles whose users need a second factor (`accounts.factors`).
    second_factor_roles = ArrayField(models.TextField(), default=list, db_default=[])
    # The domains of e-mails whose users sign in by single sign-on only, and the owner who need not (`accounts.oidc`).
    sso_domains = ArrayField(models.TextField(), default=list, db_default=[], editable=False)
    sso_exempt_id = models.BigIntegerField(null=True, editable=False)
    # The rates of other currencies (`accounts.account.exchange_rates`). `takes_euro_rates` replaces them every day by those of the European
    # Central Bank, and `exchange_rates_on` is the day of these.
    exchange_rates = models.JSONField(default=dict, db_default={})
    exchange_rates_on = models.DateField(null=True, editable=False)
    takes_euro_rates = models.BooleanField(default=False, db_default=False)
    # The page at which the team starts (`core.pages.navigation.register_start_page`).
    start_page = models.CharField(max_length=255, default="home", db_default="home")
    # The ids of the examples (`team.home.examples`), by the key of the resource.
    examples = models.JSONField(default=dict, db_default={}, editable=False)
    # The keys of the resources for which the account defines fields. A request that finds none here reads no definitions.
    resources_with_fields = ArrayField(models.TextField(), default=list, db_default=[], editable=False)
    # The plan, and its limits (`accounts.plans`): the bytes of stored files, the requests per minute of each token or user, and the users of the
    # team. None stands for the setting of the installation, or for no limit.
    plan = models.ForeignKey(
        "accounts.Plan",
        models.PROTECT,
        null=True,
        editable=False,
        db_index=False,
        db_constraint=False,
        related_name="+",
    )
    files_quota = models.BigIntegerField(null=True, editable=False)
    rate_limit = models.IntegerField(null=True, editable=False)
    team_limit = models.IntegerField(null=True, editable=False)
    # A closed account is one that an operator has suspended, or an owner deletes at this time (`accounts.closing`).
    suspended_at = models.DateTimeField(null=True, editable=False)
    # Why, for the owners.
    suspended_reason = models.CharField(max_length=500, default="", db_default="", editable=False)
    deletion_at = models.DateTimeField(null=True, editable=False)
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

    @property
    def is_closed(self) -> bool:
        """True if only the owners can use the account, and only to read why, to download it, and to keep it."""
        return self.suspended_at is not None or self.deletion_at is not None

    def suspend(self, reason: str) -> None:
        """Close the account until `restore`. The owners read the reason. Raise FieldError if it is too long, Conflict if it is suspended."""
        if len(reason) > self.MAX_SUSPENDED_REASON:
            raise FieldError(
                "reason",
                _("is too long (maximum is {most} characters)"),
                "too_long",
                {"most": self.MAX_SUSPENDED_REASON},
            )
        self.check_may_be_closed()
        self.lock_for_closing()
        if self.suspended_at is not None:
            raise Conflict(_("The account is suspended already"))
        self._close("suspended", suspended_at=timezone.now(), suspended_reason=reason)

    def restore(self) -> None:
        """Open the account after `suspend`, and keep it if it is to be deleted. Raise Conflict if it is open."""
        self.lock_for_closing()
        if not self.is_closed:
            raise Conflict(_("The account is open"))
        self.check_deletion_has_not_begun()
        self._close("restored", suspended_at=None, suspended_reason="", deletion_at=None)

    def ask_deletion(self) -> None:
        """Close the account, and have it deleted after `DELETION_DELAY`. Raise Conflict if it is to be deleted already."""
        self.check_may_be_closed()
        self.lock_for_closing()
        if self.deletion_at is not None:
            raise Conflict(_("The account is to be deleted already"))
        self._close("deletion_asked", deletion_at=timezone.now() + self.DELETION_DELAY)

    def cancel_deletion(self) -> None:
        """Keep the account. It opens again, unless it is suspended. Raise Conflict if it is not to be deleted."""
        self.lock_for_closing()
        if self.deletion_at is None:
            raise Conflict(_("The account is not to be deleted"))
        self.check_deletion_has_not_begun()
        self._close("kept", deletion_at=None)

    def check_may_be_closed(self) -> None:
        if self.prefix == settings.OPERATOR_ACCOUNT:
            raise Conflict(
                _("This is the account of the operators: the setting OPERATOR_ACCOUNT has to name another one first")
            )

    def check_deletion_has_not_begun(self) -> None:
        if self.deletion_at is not None and self.deletion_at <= timezone.now():
            raise Conflict(_("The account is being deleted: it is too late to keep it"))

    def lock_for_closing(self) -> None:
        """Lock the row until the transaction ends, and read its state."""
        self.refresh_from_db(
            fields=["suspended_at", "suspended_reason", "deletion_at"],
            from_queryset=Account.objects.select_for_update(no_key=True),
        )

    def _close(self, act: str, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        super().save(update_fields=[*values, "updated_at"])
        details = {"reason": self.suspended_reason} if self.suspended_reason else {}
        self.record(act, **details)
        closing_changed.send(Account, account=self, act=act)

    def lock(self) -> None:
        """Lock the row until the transaction ends."""
        Account.objects.select_for_update(no_key=True).get(id=self.id)

    @classmethod
    def keeps_in_trash(cls, days: int) -> bool:
        """Return whether the trash may keep rows for this number of days."""
        return cls.MIN_TRASH_DAYS <= days <= cls.MAX_TRASH_DAYS

    @classmethod
    def keeps_inactive_members(cls, months: int | None) -> bool:
        """Return whether members may be erased after this number of months."""
        return months is None or cls.MIN_INACTIVE_MONTHS <= months <= cls.MAX_INACTIVE_MONTHS

    def change(self, **values: object) -> None:
        """Save the fields that an admin may set. Rates that an admin enters end the daily ones."""
        former_currency, former_months = self.currency, self.inactive_member_months
        if (currency := values.get("currency", former_currency)) != former_currency:
            values.setdefault("exchange_rates", change_base(self.exchange_rates, former_currency, str(currency)))
        elif "exchange_rates" in values:
            values = {"exchange_rates_on": None, "takes_euro_rates": False} | values
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=[*values, "updated_at"])
        if self.currency != former_currency:
            currency_changed.send(Account, account=self)
        if self.inactive_member_months != former_months:
            # Members are told of the new time.
            self.users.exclude(erasure_notice_at=None).update(erasure_notice_at=None)

    def convert(self, amounts: Iterable[tuple[str, Decimal]]) -> ConvertedSum:
        """Return the sum of pairs of a currency and an amount, in the currency of the account."""
        return convert(self.currency, self.exchange_rates, amounts)

    def take_euro_rates(self, day: date, values: Mapping[str, Decimal]) -> None:
        """Replace the exchange rates by those of a day, from the values of currencies in euros. Raise FieldError."""
        if self.currency not in values:
            text = _("are not published for {currency} by the European Central Bank")
            raise FieldError("exchange_rates", text, "missing", {"currency": self.currency})
        rates = divide(values, values[self.currency], self.currency)
        self.change(exchange_rates=rates, exchange_rates_on=day, takes_euro_rates=True)

    def default_status(self, kind: str) -> Any:
        """Return the first status of the kind, or None."""
        return _default_status.first(account_id=self.id, kind=kind)

    def default_pipeline_id(self) -> int | None:
        """Return the id of the first pipeline, to which a new status of deals belongs by default."""
        return self.pipelines.order_by("position", "id").values_list("id", flat=True).first()

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
