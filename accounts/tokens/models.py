"""API tokens, with which API clients authenticate."""

import hashlib
import secrets
import string
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import record
from accounts.tokens.scopes import clean_networks, clean_scopes
from accounts.users.models import User
from core.db.availability import is_read_only
from core.db.prepared import prepared
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from core.rows.scopes import READ, WRITE
from core.rows.trimmed import TrimmedCharField


class APITokenQuerySet(models.QuerySet["APIToken"]):
    def usable(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)

    def expired(self) -> Self:
        return self.filter(expires_at__lte=timezone.now(), revoked_at=None)

    @transaction.atomic(savepoint=False)
    def issue(
        self,
        user: User,
        *,
        label: str,
        expires_at: datetime | None = None,
        scopes: Sequence[str] | None = None,
        networks: Sequence[str] | None = None,
    ) -> tuple["APIToken", str]:
        """Create a token of the user. Return its row and the token itself, of which only the digest is stored.

        Raise FieldErrors for invalid scopes or networks, and if the user has 50 tokens already.
        """
        scopes, networks = clean_scopes(scopes), clean_networks(networks)
        # Lock the user, so that concurrent requests count their tokens one after another.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        user_tokens = self.filter(account_id=user.account_id, user_id=user.id)
        if user_tokens.usable().count() >= APIToken.MAX_PER_USER:
            raise FieldError("tokens", _("can't be more than 50; revoke one first"))
        return self.make(user, label=label, expires_at=expires_at, scopes=scopes, networks=networks)

    @transaction.atomic(savepoint=False)
    def make(
        self,
        user: User,
        *,
        label: str,
        expires_at: datetime | None = None,
        token: str = "",
        scopes: Sequence[str] | None = None,
        networks: Sequence[str] | None = None,
    ) -> tuple["APIToken", str]:
        """Create a token as `issue` does, without its checks. Use it for a user created in the same transaction.

        `token` is a token that the caller has created. By default it is random.
        """
        if not token:
            secret = "".join(secrets.choice(APIToken.ALPHABET) for _ in range(APIToken.SECRET_LENGTH))
            token = f"{secret}/{user.account.prefix}"
        row = self.create(
            account_id=user.account_id,
            user_id=user.id,
            label=label,
            digest=APIToken.digest_of(token),
            hint=token[:3],
            expires_at=expires_at,
            scopes=scopes,
            networks=networks,
        )
        expiry = expires_at and expires_at.isoformat()
        limits = {"expires_at": expiry, "scopes": scopes, "networks": networks}
        record(user.account_id, "token.created", target=row, user=user.id, **limits)
        return row, token

    def find_by_token(self, token: str) -> "APIToken | None":
        """Return the row of a usable token, with its user and account, or None."""
        row: APIToken | None = _usable_token.first(digest=APIToken.digest_of(token), now=timezone.now())
        return row


@prepared(digest=bytes, now=datetime)
def _usable_token(digest: bytes, now: datetime) -> models.QuerySet["APIToken"]:
    not_expired = Q(expires_at=None) | Q(expires_at__gt=now)
    tokens = APIToken.objects.filter(not_expired, digest=digest, revoked_at=None, user__is_active=True)
    return tokens.select_related("user", "account")[:1]


class APIToken(TenantModel):
    """An API token of a user. Requests with the token act as this user. Only the SHA-256 digest of the token is stored."""

    ALPHABET = string.ascii_letters + string.digits
    SECRET_LENGTH = 32  # 190 random bits
    MAX_LENGTH = 255
    # The time after which a use of the token is stored again.
    TOUCH_INTERVAL = timedelta(minutes=1)
    MAX_PER_USER = 50

    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id", on_delete=models.CASCADE, related_name="tokens")
    label = TrimmedCharField(max_length=255, blank=True, default="")
    digest = models.BinaryField()
    hint = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # What the token may be used for (`accounts.tokens.scopes`), or None for all that its user may do.
    scopes = ArrayField(models.CharField(max_length=20), null=True, blank=True)
    # The networks of the clients that may use it, or None for all.
    networks = ArrayField(models.CharField(max_length=43), null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    # The client address of the last use, as the audit log has it: the network of an IPv6 address.
    last_used_from = models.CharField(max_length=50, blank=True, default="", db_default="")
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = APITokenQuerySet.as_manager()

    class Meta:
        default_related_name = "tokens"
        constraints = [
            # Unique among all accounts, because the token determines the account.
            models.UniqueConstraint(fields=["digest"], name="apitoken_digest_unique")
        ]
        indexes = [models.Index(fields=["account", "user_id"], name="apitoken_of_user")]

    def __str__(self) -> str:
        return f"{self.hint}… ({self.label})"

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @staticmethod
    def digest_of(token: str) -> bytes:
        return hashlib.sha256(token.encode(errors="surrogatepass")).digest()

    def find_missing_scopes(self, areas: Iterable[str], *, writes: bool) -> list[str]:
        """Return the scopes that the token lacks for a request to these areas."""
        needed = [WRITE if writes else READ, *areas]
        return [] if self.scopes is None else [scope for scope in needed if scope not in self.scopes]

    def touch(self, address: str) -> None:
        """Store the time of use and the client address, at most once a minute."""
        now = timezone.now()
        is_due = self.last_used_at is None or now - self.last_used_at >= self.TOUCH_INTERVAL
        if is_due and not is_read_only():
            APIToken.objects.filter(pk=self.pk).update(last_used_at=now, last_used_from=address)
