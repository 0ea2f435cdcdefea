"""Drafts: what a visitor has written, until they have signed in and it is published.

A draft belongs to the browser that wrote it. It is a sealed cookie of this browser. A draft that is too long for a cookie is a row, and
the cookie has the secret of the row.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Value
from django.db.models.functions import Now
from django.http import HttpResponse
from django.utils import timezone

from accounts.hosts.requests import PageRequest
from accounts.sessions.cookies import TEXT_COOKIE, delete_cookie, set_cookie
from accounts.users.digests import MAX_SECRET_LENGTH, digest_of, new_secret
from core.db.tenancy import TenantModel
from core.errors import Throttled
from core.http.throttling import HOUR, enforce_limit, hit_address
from core.limits.rate_limits import hit
from core.sealing import SealError, seal, unseal

SEAL_PURPOSE = "draft of a visitor"
LIFETIME = timedelta(hours=2)
# Servers and proxies accept 8 kB of cookies and other headers in one request, so a longer draft is a row.
MAX_DRAFT_COOKIE = 2000
# The drafts of one client address, and the rows of one account, in an hour.
MAX_DRAFTS_PER_ADDRESS = 30
MAX_ROWS_PER_ACCOUNT = 500


@dataclass(frozen=True)
class Draft:
    """The values of a form, and the path to which it is sent."""

    path: str
    values: dict[str, str]


class StoredDraftQuerySet(models.QuerySet["StoredDraft"]):
    def of_browser(self, account_id: int, secret: str) -> Self:
        """Return the draft of the browser with the secret."""
        return self.filter(account_id=account_id, digest=digest_of(secret), expires_at__gt=Now())

    def outdated(self) -> Self:
        """Return the drafts that have expired."""
        return self.filter(expires_at__lte=Now())


class StoredDraft(TenantModel):
    """A draft that is too long for a cookie, sealed, with the digest of the secret in the cookie."""

    digest = models.BinaryField()
    sealed = models.TextField()
    expires_at = models.DateTimeField()

    objects = StoredDraftQuerySet.as_manager()

    class Meta:
        default_related_name = "stored_drafts"
        # There is no index for housekeeping, which may scan the table for expired drafts.
        constraints = [models.UniqueConstraint(fields=["account", "digest"], name="storeddraft_digest_unique")]

    def __str__(self) -> str:
        return f"draft {self.id}"


def keep_draft(request: PageRequest, response: HttpResponse, draft: Draft) -> None:
    """Keep a draft for the browser, in place of an earlier one. Raise Throttled beyond the limits."""
    account = request.account
    if settings.RATE_LIMIT:
        enforce_limit(request, hit_address(request, "draft", MAX_DRAFTS_PER_ADDRESS, HOUR))
    now = int(timezone.now().timestamp())
    value = sealed = seal([account.id, request.site.id, now, draft.path, draft.values], SEAL_PURPOSE)
    if len(sealed) > MAX_DRAFT_COOKIE:
        status = hit(f"drafts:{account.id}", MAX_ROWS_PER_ACCOUNT, HOUR)
        if not status.allowed:
            raise Throttled(status.reset)
        value, digest = new_secret()
        StoredDraft.objects.create(account=account, digest=digest, sealed=sealed, expires_at=Now() + Value(LIFETIME))
    _delete_row(request)
    set_cookie(response, TEXT_COOKIE, value, LIFETIME)


def find_draft(request: PageRequest, path: str | None = None) -> Draft | None:
    """Return the draft of the browser, with `path` only one for this path. Return None if there is none, or if its time is over."""
    sealed = request.COOKIES.get(TEXT_COOKIE, "")
    if 0 < len(sealed) <= MAX_SECRET_LENGTH:
        rows = StoredDraft.objects.of_browser(request.account.id, sealed)
        sealed = rows.values_list("sealed", flat=True).first() or ""
    elif len(sealed) > MAX_DRAFT_COOKIE:
        return None
    try:
        account_id, site_id, at, *values = unseal(sealed, SEAL_PURPOSE)
    except SealError:
        return None
    is_old = timezone.now().timestamp() - at > LIFETIME.total_seconds()
    if is_old or (account_id, site_id) != (request.account.id, request.site.id):
        return None
    draft = Draft(*values)
    return draft if path in (None, draft.path) else None


def forget_draft(request: PageRequest, response: HttpResponse) -> None:
    """Delete the draft of the browser."""
    _delete_row(request)
    delete_cookie(response, TEXT_COOKIE)


def _delete_row(request: PageRequest) -> None:
    if 0 < len(secret := request.COOKIES.get(TEXT_COOKIE, "")) <= MAX_SECRET_LENGTH:
        StoredDraft.objects.of_browser(request.account.id, secret).delete()
