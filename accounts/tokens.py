"""What programs sign in with."""

import hashlib
import secrets
import string
from datetime import datetime, timedelta
from typing import Self

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.users import User
from core.db.prepared import prepared
from core.db.tenancy import TenantModel
from core.errors import Conflict, FieldError


class APITokenQuerySet(models.QuerySet):
    def live(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)

    def expired(self) -> Self:
        return self.filter(expires_at__lte=timezone.now(), revoked_at=None)

    @transaction.atomic(savepoint=False)
    def issue(
        self, user: User, *, label: str, expires_at: datetime | None = None, after: int | None = None
    ) -> tuple["APIToken", str]:
        """Make a token of `user`. The second value is the token itself, which is not stored and cannot be read again.

        With `after`, the id of the newest token that the user had (0 for none), one is made only if that is still so: a form
        that is sent twice makes one. Raises Conflict; FieldError beyond 50 tokens.
        """
        # One at a time, so that no two count, or look, at once.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        own = self.filter(account_id=user.account_id, user_id=user.id)
        if after is not None and after != own.newest_id():
            raise Conflict("Another token was made meanwhile")
        if own.live().count() >= APIToken.MOST:
            raise FieldError("tokens", _("can't be more than 50; revoke one first"))
        return self.make(user, label=label, expires_at=expires_at)

    def newest_id(self) -> int:
        """0 where there is none."""
        return self.aggregate(newest=models.Max("id"))["newest"] or 0

    def make(self, user: User, *, label: str, expires_at: datetime | None = None) -> tuple["APIToken", str]:
        """As `issue`, for a user who is just being made, and so has none."""
        secret = "".join(secrets.choice(APIToken.ALPHABET) for _ in range(APIToken.SECRET_LENGTH))
        return self.adopt(user, f"{secret}/{user.account.prefix}", label=label, expires_at=expires_at)

    def adopt(self, user: User, token: str, *, label: str, expires_at=None) -> tuple["APIToken", str]:
        """Store the digest of a token that was made elsewhere."""
        row = self.create(
            account_id=user.account_id,
            user_id=user.id,
            label=label,
            digest=APIToken.digest_of(token),
            hint=token[:3],
            expires_at=expires_at,
        )
        return row, token

    def holding(self, token: str) -> "APIToken | None":
        """The row of `token`, with its user and account, if it may still be used."""
        return _token_of.first(digest=APIToken.digest_of(token), now=timezone.now())


@prepared(digest=bytes, now=datetime)
def _token_of(digest, now):
    usable = Q(expires_at=None) | Q(expires_at__gt=now)
    tokens = APIToken.objects.filter(usable, digest=digest, revoked_at=None, user__is_active=True)
    return tokens.select_related("user", "account")[:1]


class APIToken(TenantModel):
    """A token of one user: what is done with it, that user did. Only its SHA-256 digest is stored."""

    ALPHABET = string.ascii_letters + string.digits
    SECRET_LENGTH = 32  # 190 random bits
    MAX_LENGTH = 255
    USED_EVERY = timedelta(minutes=1)
    # Of one user, at once.
    MOST = 50

    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User,
        models.CASCADE,
        from_fields=["account_id", "user_id"],
        to_fields=["account_id", "id"],
        related_name="tokens",
    )
    label = models.CharField(max_length=255, blank=True, default="")
    digest = models.BinaryField()
    hint = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = APITokenQuerySet.as_manager()

    class Meta:
        default_related_name = "tokens"
        constraints = [
            # Like a host, a digest is what finds the account.
            models.UniqueConstraint(fields=["digest"], name="apitoken_digest_unique"),
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

    def touch(self) -> None:
        """Note that it was used, at most once a minute."""
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at >= self.USED_EVERY:
            APIToken.objects.filter(pk=self.pk).update(last_used_at=now)
