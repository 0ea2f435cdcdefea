"""Creation of an account together with the rows that it needs, and the limit on the accounts that a partner creates."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from django.conf import settings
from django.db import transaction
from django.dispatch import Signal

from accounts.account.models import Account
from accounts.hosts.names import normalize
from accounts.statuses.models import Pipeline, Status
from accounts.tokens.models import APIToken
from accounts.users.models import User
from core.http.throttling import MINUTE, AnyRequest, enforce_limit
from core.limits.rate_limits import hit, increment

# Sent in the transaction that creates an account, after its hosts and before its statuses and owner. Arguments: `account`, and
# `host`, the `Host` of the account's first site. An exception in a receiver rolls back the transaction.
account_created = Signal()


@transaction.atomic
def create_account(
    *,
    prefix: str,
    login: str,
    email: str,
    password: str,
    owner_name: str = "",
    host: str | None = None,
    **fields: object,
) -> tuple[Account, User, str]:
    """Create an account with its hosts, statuses and owner, and send `account_created`, with which other apps add their rows.

    Return the account, its owner and the owner's API token, which is stored only as a digest. `host` is the host of the account's
    first site, which the caller has validated. The default is the account's own host, which is named after the prefix.
    """
    account = Account.objects.create(prefix=prefix, **fields)
    site_host = account.hosts.create(name=prefix)
    if host:
        site_host = account.hosts.create(name=cast(str, normalize(host)))
    account_created.send(Account, account=account, host=site_host)
    account.statuses.bulk_create(Status.defaults(account, Pipeline.create_first(account)))
    owner = User.objects.create_for(
        account,
        login=login,
        email=email,
        password=password,
        **({"name": owner_name} if owner_name else {}),
        role=User.Role.OWNER,
        notification=User.Notification.ALL,
    )
    _, token = APIToken.objects.make(owner, label="First token")
    return account, owner, token


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
