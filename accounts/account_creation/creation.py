"""Creation of an account together with the rows that it needs, the rules for its prefix, and the limit of a partner."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.conf import settings
from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from accounts.account.models import Account
from accounts.hosts.models import FormerPrefix, Host
from accounts.hosts.names import PREFIX_PATTERN, is_reserved, normalize
from accounts.statuses.models import Pipeline, Status
from accounts.tokens.models import APIToken
from accounts.users.models import User
from core.http.throttling import MINUTE, AnyRequest, enforce_limit
from core.limits.rate_limits import hit, increment

# Sent in the transaction that creates an account, after its hosts and before its statuses and owner. Arguments: `account`, and
# `host`, the `Host` of the account's first site. An exception in a receiver rolls back the transaction.
account_created = Signal()


def find_prefix_error(prefix: str) -> str:
    """Return why no account can get the prefix: "form", "reserved" or "taken". Return "" if one can."""
    if len(prefix) < 2 or not re.match(PREFIX_PATTERN, prefix):
        return "form"
    if is_reserved(prefix) or prefix == settings.BASE_DOMAIN:
        return "reserved"
    return "taken" if find_taken_prefixes([prefix]) else ""


def find_taken_prefixes(prefixes: Iterable[str]) -> set[str]:
    """Return those of the prefixes that other accounts have, or had until recently."""
    names = list(prefixes)
    accounts = Account.objects.filter(prefix__in=names).values_list("prefix")
    hosts = Host.objects.filter(name__in=names).values_list("name")
    former = FormerPrefix.objects.filter(prefix__in=names, free_at__gt=timezone.now()).values_list("prefix")
    return {name for (name,) in accounts.union(hosts, former)}


@transaction.atomic
def create_account(*, prefix: str, login: str, email: str, password: str, **options: Any) -> tuple[Account, User, str]:
    """Create an account as `create_account_without_token` does. Return the account, its owner and the owner's API token.

    The token is stored only as a digest.
    """
    owner = create_account_without_token(prefix=prefix, login=login, email=email, password=password, **options)
    _, token = APIToken.objects.make(owner, label="First token")
    return owner.account, owner, token


@transaction.atomic
def create_account_without_token(
    *,
    prefix: str,
    login: str,
    email: str,
    password: str | None = None,
    owner_name: str = "",
    host: str | None = None,
    **fields: object,
) -> User:
    """Create an account with its hosts, statuses and owner, and send `account_created`, with which other apps add their rows.

    Return the owner. `host` is the host of the account's first site, which the caller has validated. The default is the account's own
    host, which is named after the prefix.
    """
    account = Account.objects.create(prefix=prefix, **fields)
    site_host = account.hosts.create(name=prefix)
    if host:
        site_host = account.hosts.create(name=cast(str, normalize(host)))
    account_created.send(Account, account=account, host=site_host)
    account.statuses.bulk_create(Status.defaults(account, Pipeline.create_first(account)))
    return User.objects.create_for(
        account,
        login=login,
        email=email,
        password=password,
        **({"name": owner_name} if owner_name else {}),
        role=User.Role.OWNER,
        notification=User.Notification.ALL,
    )


@contextmanager
def limit_new_accounts(request: AnyRequest, partner_id: int) -> Iterator[None]:
    """Count the account that the block creates, unless it raises. Raise Throttled beyond ACCOUNT_LIMIT."""
    if not settings.ACCOUNT_LIMIT:
        yield
        return
    key = f"partner:{partner_id}"
    status = hit(key, settings.ACCOUNT_LIMIT, MINUTE)
    if not status.allowed:
        enforce_limit(request, status)
    try:
        yield
    except BaseException:
        increment(key, -1, MINUTE)
        raise
    enforce_limit(request, status)
