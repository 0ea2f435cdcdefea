"""The hosts of accounts."""

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.functions import RandomUUID
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import Audited
from accounts.hosts.names import PREFIX_PATTERN, full_name, is_domain, is_reserved, own_name, read
from core.errors import FieldError

if TYPE_CHECKING:
    from accounts.account.models import Account

# Sent in the transaction in which an account loses a host: before the host is deleted, and after the proof of a domain has ended. Arguments: `host`.
host_lost = Signal()

# The value of the setting FORUM_DOMAINS for an installation whose operator adds the domains.
TRUSTED = "trusted"


class HostQuerySet(models.QuerySet["Host"]):
    def proven(self) -> Self:
        """Return the hosts that count as hosts of their accounts: addresses under BASE_DOMAIN, and proven domains."""
        return self.filter(proven_at__isnull=False)

    def unproven(self) -> Self:
        return self.filter(proven_at=None)

    def due(self, now: datetime) -> Self:
        """Return the proven domains whose proof has to be checked again, the longest unchecked first."""
        hosts = self.proven().filter(name__contains=".", checked_at__lte=now - Host.CHECK_INTERVAL)
        return hosts.order_by("checked_at", "id")

    def get_or_create_for(self, account: "Account", text: str) -> "Host":
        """Return the account's host for a typed address, and create it if there is none.

        Raise FieldError if the address is invalid, reserved, or belongs to another account, without naming that account, and for another
        domain if the account claims `MAX_UNPROVEN` domains that it has not proven.
        The claims of other accounts to a domain that they have not proven do not count.
        """
        name, base = read(text), settings.BASE_DOMAIN
        if name is None or (name.endswith(f".{base}") and name != base):
            raise FieldError("host", _("is not an address that a forum can have"))
        if (host := self.filter(account=account, name=name).first()) is not None:
            return host
        if not is_domain(name):
            if not re.match(PREFIX_PATTERN, name) or len(name) < 2:
                raise FieldError("host", _("is not an address that a forum can have"))
            if is_reserved(name) or FormerPrefix.objects.is_reserved(name):
                raise FieldError("host", _("is reserved"))
        # Refuse the parent domains of the service, and IP addresses.
        if f".{base}".endswith(f".{name}") or name.rpartition(".")[2].isdigit():
            raise FieldError("host", _("is not available"))
        if is_domain(name) and settings.FORUM_DOMAINS != TRUSTED:
            account.lock()
            if self.filter(account=account).unproven().count() >= Host.MAX_UNPROVEN:
                raise FieldError("host", _("can't be added: prove the domains that you have added, or remove one"))
        elif self.proven().filter(name=name).exists():
            raise FieldError("host", _("is not available"))
        return self.create(account=account, name=name)

    @transaction.atomic(savepoint=False)
    def release(self, account: "Account", id: int) -> None:
        """Delete a host of the account and end the sessions there. Keep the account's own host."""
        for host in self.filter(account=account, id=id).exclude(name=account.prefix):
            host_lost.send(Host, host=host)
            host.delete()


class Host(Audited):
    """A host at which an account answers. `name` is one label for an address under BASE_DOMAIN, otherwise a whole domain name.

    Every account has a host named after its prefix. Each site has exactly one host, which may be that one.

    A domain counts as a host of the account while it is proven (`accounts.hosts.domains`). Several accounts may claim a domain, but only one
    can have proven it. An address under BASE_DOMAIN needs no proof.
    """

    audit_group, audited = "address", ("name",)

    # The time between two checks of a proven domain. Without its proof, a domain still counts for the time of `GRACE`.
    CHECK_INTERVAL = timedelta(hours=24)
    GRACE = timedelta(days=7)
    MAX_UNPROVEN = 10

    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="hosts", db_index=False)
    name = models.CharField(max_length=255)
    # The value that proves the domain, in its DNS record or its file.
    token = models.UUIDField(default=uuid4, db_default=RandomUUID(), editable=False)
    # The time of the first proof, or None for a domain that does not count. The default of the database is for the previous version of
    # the code, which writes rows without it during an upgrade.
    proven_at = models.DateTimeField(null=True, default=None, db_default=Now(), editable=False)
    checked_at = models.DateTimeField(null=True, default=None, db_default=Now(), editable=False)
    # The time of the first failed check after the last successful one of a proven domain.
    failing_since = models.DateTimeField(null=True, editable=False)

    objects = HostQuerySet.as_manager()

    class Meta:
        constraints = [
            # Unique among all accounts, because the host determines the account.
            models.UniqueConstraint(fields=["name"], condition=Q(proven_at__isnull=False), name="host_name_unique"),
            models.UniqueConstraint(fields=["account", "name"], name="host_name_of_account"),
            models.UniqueConstraint(fields=["account", "id"], name="host_of_account"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self._state.adding and (not self.is_domain or settings.FORUM_DOMAINS == TRUSTED):
            self.proven_at = self.checked_at = timezone.now()
        super().save(*args, **kwargs)

    @property
    def is_domain(self) -> bool:
        """True for a custom domain."""
        return is_domain(self.name)

    @property
    def is_proven(self) -> bool:
        return self.proven_at is not None

    @property
    def lapses_at(self) -> datetime | None:
        """The time at which the domain stops counting if no check succeeds, or None if the last check succeeded."""
        return self.failing_since + self.GRACE if self.is_proven and self.failing_since else None

    @property
    def address(self) -> str:
        return full_name(self.name)

    def own_name(self, account: "Account") -> str:
        """Return the stored name of the address under BASE_DOMAIN at which the site is shown: the team works there."""
        return own_name(account.prefix, self.id, self.name)

    def link_name(self, account: "Account") -> str:
        """Return the stored name of the host to which links for visitors lead. No link leads to a domain that is not proven."""
        return self.name if self.is_proven else self.own_name(account)

    def succeed(self) -> bool:
        """Record that the domain was proven. Return False if another account has proven it at the same time."""
        now = timezone.now()
        try:
            with transaction.atomic():
                if self.proven_at is None:
                    self.record("proven")
                self._record(checked_at=now, failing_since=None, proven_at=self.proven_at or now)
        except IntegrityError:
            self.proven_at = None
            return False
        return True

    def fail(self) -> None:
        """Record that a check did not find the proof. The domain lapses at the end of `GRACE`."""
        now = timezone.now()
        self._record(checked_at=now, failing_since=(self.failing_since or now) if self.is_proven else None)
        if self.lapses_at is not None and self.lapses_at <= now:
            self.lapse()

    @transaction.atomic
    def lapse(self) -> None:
        """End the proof of the domain and the sessions there. Another account can prove it from now on."""
        self._record(proven_at=None, failing_since=None)
        self.record("lapsed")
        host_lost.send(Host, host=self)

    def _record(self, **values: object) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        Host.objects.filter(id=self.id).update(**values)


class FormerPrefixQuerySet(models.QuerySet["FormerPrefix"]):
    def reserve(self, prefix: str) -> None:
        self.create(prefix=prefix, free_at=timezone.now() + FormerPrefix.RESERVED_FOR)

    def is_reserved(self, prefix: str) -> bool:
        return self.filter(prefix=prefix, free_at__gt=timezone.now()).exists()

    def outdated(self) -> Self:
        """Return the prefixes that are free again."""
        return self.filter(free_at__lte=timezone.now())


class FormerPrefix(models.Model):
    """The prefix of a deleted account. No other account gets it for a while, because links and programs still lead there."""

    RESERVED_FOR = timedelta(days=90)

    prefix = models.CharField(max_length=63)
    free_at = models.DateTimeField()

    objects = FormerPrefixQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "former prefixes"
        constraints = [models.UniqueConstraint(fields=["prefix"], name="former_prefix_unique")]

    def __str__(self) -> str:
        return self.prefix
