"""An account and its addresses. The other models of the app are each in a module of its own, and named here for Django."""

import re
import secrets
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.hosts import normalize, read
from accounts.sessions import Invitation as Invitation
from accounts.sessions import Session as Session
from accounts.statuses import Status as Status
from accounts.tags import Tag as Tag
from accounts.tags import TagCount as TagCount
from accounts.tokens import APIToken as APIToken
from accounts.users import User as User
from core.db.prepared import prepared
from core.errors import FieldError

RESERVED_PREFIXES = frozenset(
    [
        "abuse",
        "account",
        "accounts",
        "admin",
        "api",
        "app",
        "assets",
        "auth",
        "billing",
        "blog",
        "cdn",
        "dashboard",
        "dev",
        "docs",
        "email",
        "ftp",
        "healthz",
        "help",
        "host",
        "hostmaster",
        "imap",
        "info",
        "localhost",
        "login",
        "mail",
        "mx",
        "noc",
        "ns",
        "ns1",
        "ns2",
        "pop",
        "pop3",
        "postmaster",
        "readyz",
        "root",
        "security",
        "settings",
        "signup",
        "smtp",
        "staging",
        "static",
        "status",
        "support",
        "test",
        "webmaster",
        "www",
    ]
)
PREFIX_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])\Z"


def is_reserved(label: str) -> bool:
    """Return whether nobody may have an address with that label under BASE_DOMAIN.

    A label in Punycode is shown in other letters, which can look like the address of another account.
    """
    return label in RESERVED_PREFIXES or label.startswith("xn--")


def random_account_id() -> int:
    """Random, so that an account's id tells nothing of how many accounts there are; exact in a JSON number."""
    return secrets.randbelow(2**48 - 1) + 1


class AccountQuerySet(models.QuerySet):
    @transaction.atomic
    def create_with_owner(
        self,
        *,
        prefix: str,
        login: str,
        email: str,
        password: str,
        owner_name: str = "",
        host: str | None = None,
        forum_name: str = "",
        **fields,
    ) -> tuple["Account", "User", str]:
        """Make an account that works: its address, forum, category, statuses, and an owner with a token.

        Returns the account, its owner and the token, which is nowhere to be read again. With `host` the default forum
        lives there, and still answers at the account's own address as well.
        """
        account = self.create(prefix=prefix, **fields)
        own = account.hosts.create(name=prefix)
        forum = account.forums.create(
            name=forum_name or account.name or prefix,
            host_id=account.hosts.create(name=normalize(host)).id if host else own.id,
            is_default=True,
        )
        account.categories.create(forum_id=forum.id, name="General", position=1)
        account.statuses.bulk_create(Status.defaults(account))
        owner = User.objects.create_for(
            account,
            login=login,
            email=email,
            password=password,
            name=owner_name or login,
            role=User.Role.OWNER,
            notification=User.Notification.ALL,
        )
        _row, token = APIToken.objects.make(owner, label="First token")
        return account, owner, token


class Account(models.Model):
    """A tenant."""

    id = models.BigIntegerField(primary_key=True, default=random_account_id, editable=False)
    prefix = models.CharField(max_length=63, validators=[RegexValidator(PREFIX_PATTERN)])
    name = models.CharField(max_length=255, blank=True, default="")
    initial_module = models.CharField(max_length=255, default="forum")
    from_partner = models.CharField(max_length=255, null=True, blank=True)
    # Set, it marks the account as a partner, and is what its new accounts name in `from_partner`.
    partner_key = models.CharField(max_length=255, null=True, blank=True)
    time_zone = models.CharField(max_length=255, default="UTC")
    language = models.CharField(max_length=255, default="en")
    currency = models.CharField(max_length=255, default="EUR")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = AccountQuerySet.as_manager()

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
        """Name, time zone, language and currency are its admins' to say."""
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=[*values, "updated_at"])

    def default_status(self, kind: str) -> "Status":
        return _first_status.first(account_id=self.id, kind=kind)

    def first_statuses(self, kind: str) -> models.QuerySet:
        return self.statuses.filter(kind=kind).order_by("position", "id")


@prepared(account_id=int, kind=str)
def _first_status(account_id, kind):
    return Account(id=account_id).first_statuses(kind)[:1]


class HostQuerySet(models.QuerySet):
    def claim(self, account: Account, text: str) -> "Host":
        """The account's host of the address that somebody typed, made where there is none.

        Raises FieldError, which tells nothing of whose another one is.
        """
        name, base = read(text), settings.BASE_DOMAIN
        if name is None or (name.endswith(f".{base}") and name != base):
            raise FieldError("host", _("is not an address that a forum can have"))
        if "." not in name and name != account.prefix:
            if not re.match(PREFIX_PATTERN, name) or len(name) < 2:
                raise FieldError("host", _("is not an address that a forum can have"))
            if is_reserved(name):
                raise FieldError("host", _("is reserved"))
        # Nor the domains above that of the service, nor numbers: those are not for names.
        if f".{base}".endswith(f".{name}") or name.rpartition(".")[2].isdigit():
            raise FieldError("host", _("is not available"))
        host = self.filter(name=name).first()
        if host is None:
            host = self.create(account=account, name=name)
        elif host.account_id != account.id:
            raise FieldError("host", _("is not available"))
        return host


class Host(models.Model):
    """An address of the service. `name` is one label for an address under BASE_DOMAIN, else a whole domain name.

    Every account has the one that is its prefix; a forum has exactly one, which may be that.
    """

    account = models.ForeignKey(Account, models.CASCADE, related_name="hosts", db_index=False)
    name = models.CharField(max_length=255)

    objects = HostQuerySet.as_manager()

    class Meta:
        constraints = [
            # The one unique constraint without the account: it is what finds the account.
            models.UniqueConstraint(fields=["name"], name="host_name_unique"),
            models.UniqueConstraint(fields=["account", "id"], name="host_of_account"),
        ]

    def __str__(self) -> str:
        return self.name
