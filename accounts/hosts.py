"""The hosts of accounts."""

import re

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.account import PREFIX_PATTERN, Account
from accounts.host_names import is_reserved, read
from core.errors import FieldError


class HostQuerySet(models.QuerySet["Host"]):
    def get_or_create_for(self, account: Account, text: str) -> "Host":
        """Return the account's host for a typed address, and create it if there is none.

        Raise FieldError if the address is invalid, reserved, or belongs to another account. The error does not name that account.
        """
        name, base = read(text), settings.BASE_DOMAIN
        if name is None or (name.endswith(f".{base}") and name != base):
            raise FieldError("host", _("is not an address that a forum can have"))
        if "." not in name and name != account.prefix:
            if not re.match(PREFIX_PATTERN, name) or len(name) < 2:
                raise FieldError("host", _("is not an address that a forum can have"))
            if is_reserved(name):
                raise FieldError("host", _("is reserved"))
        # Refuse the parent domains of the service, and IP addresses.
        if f".{base}".endswith(f".{name}") or name.rpartition(".")[2].isdigit():
            raise FieldError("host", _("is not available"))
        host = self.filter(name=name).first()
        if host is None:
            return self.create(account=account, name=name)
        if host.account_id != account.id:
            raise FieldError("host", _("is not available"))
        return host


class Host(models.Model):
    """A host at which an account answers. `name` is one label for an address under BASE_DOMAIN, otherwise a whole domain name.

    Every account has a host named after its prefix. Each site has exactly one host, which may be that one.
    """

    account = models.ForeignKey(Account, models.CASCADE, related_name="hosts", db_index=False)
    name = models.CharField(max_length=255)

    objects = HostQuerySet.as_manager()

    class Meta:
        constraints = [
            # Unique among all accounts, because the host determines the account.
            models.UniqueConstraint(fields=["name"], name="host_name_unique"),
            models.UniqueConstraint(fields=["account", "id"], name="host_of_account"),
        ]

    def __str__(self) -> str:
        return self.name
