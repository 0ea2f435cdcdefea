"""Sessions of the pages and invitations. The cookie or the link holds a secret, of which only the digest is stored."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.names import check_visible
from accounts.roles import Role
from core.db.prepared import prepared
from core.db.tenancy import FoldedField, TenantModel, fold
from core.db.text import replace_non_xml
from core.errors import FieldError

if TYPE_CHECKING:
    from accounts.account import Account
    from accounts.users import User


def new_secret() -> tuple[str, bytes]:
    """Return a secret of 256 random bits and its SHA-256 digest, which is stored."""
    secret = secrets.token_urlsafe(32)
    return secret, digest_of(secret)


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


# (name, substring of User-Agent). The first match counts, because most browsers also name others for compatibility.
BROWSERS = (
    ("Edge", "Edg"),
    ("Opera", "OPR/"),
    ("Samsung Internet", "SamsungBrowser/"),
    ("Vivaldi", "Vivaldi/"),
    ("Firefox", "Firefox/"),
    ("Firefox", "FxiOS/"),
    ("Chrome", "CriOS/"),
    ("Chrome", "Chrome/"),
    ("Safari", "Safari/"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("ChromeOS", "CrOS"),
    ("macOS", "Mac OS X"),
    ("Linux", "Linux"),
)


class SessionQuerySet(models.QuerySet["Session"]):
    def start(self, user: "User", *, agent: str = "") -> tuple["Session", str]:
        """Start a session of the user. Return the session and the secret for the cookie."""
        secret, digest = new_secret()
        now = timezone.now()
        row = self.create(
            account_id=user.account_id,
            user_id=user.id,
            digest=digest,
            agent=replace_non_xml(agent)[:255],
            seen_at=now,
            expires_at=now + Session.LIFETIME,
        )
        return row, secret

    def find_by_secret(self, account_id: int, secret: str) -> "Session | None":
        """Return the account's active session with the secret, with its user and account, or None."""
        if len(secret) > Session.MAX_SECRET_LENGTH:
            return None
        session = _active_session.first(account_id=account_id, digest=digest_of(secret), now=timezone.now())
        if session is not None:
            session.user.account = session.account
        return session

    def active_for(self, user: "User") -> Self:
        """Return the user's sessions that have not expired."""
        return self.filter(account_id=user.account_id, user_id=user.id, expires_at__gt=timezone.now())

    def expired(self) -> Self:
        return self.filter(expires_at__lte=timezone.now())

    def clean_up(self) -> None:
        self.expired().delete()


@prepared(account_id=int, digest=bytes, now=datetime)
def _active_session(account_id: int, digest: bytes, now: datetime) -> "models.QuerySet[Session]":
    sessions = Session.objects.filter(account_id=account_id, digest=digest, expires_at__gt=now, user__is_active=True)
    return sessions.select_related("user", "account")[:1]


class Session(TenantModel):
    """A browser in which a user is signed in. It ends when it has not been used for 30 days, or when the password changes."""

    LIFETIME = timedelta(days=30)
    # The time after which a use of the session is stored again.
    TOUCH_INTERVAL = timedelta(hours=1)
    MAX_SECRET_LENGTH = 64

    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        "accounts.User",
        models.CASCADE,
        from_fields=["account_id", "user_id"],
        to_fields=["account_id", "id"],
        related_name="sessions",
    )
    digest = models.BinaryField()
    agent = models.CharField(max_length=255, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    seen_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    # Set by the middleware of pages: True if this request has extended the session.
    was_extended = False

    objects = SessionQuerySet.as_manager()

    class Meta:
        default_related_name = "sessions"
        constraints = [models.UniqueConstraint(fields=["account", "digest"], name="session_digest_unique")]
        indexes = [
            # There is no index for housekeeping, which may scan the table for expired sessions.
            models.Index(fields=["account", "user_id"], name="session_of_user"),
        ]

    def __str__(self) -> str:
        return f"session {self.id} of user {self.user_id}"

    @property
    def browser(self) -> str:
        """The name of the browser, or "" if it is unknown."""
        return next((name for name, pattern in BROWSERS if pattern in self.agent), "")

    @property
    def system(self) -> str:
        """The name of the operating system, or "" if it is unknown."""
        return next((name for name, pattern in SYSTEMS if pattern in self.agent), "")

    def touch(self) -> bool:
        """Store the time of use and extend the session, at most once an hour. Return whether it was stored."""
        now = timezone.now()
        if now - self.seen_at < self.TOUCH_INTERVAL:
            return False
        self.seen_at, self.expires_at = now, now + self.LIFETIME
        Session.objects.filter(pk=self.pk).update(seen_at=self.seen_at, expires_at=self.expires_at)
        return True


class InvitationQuerySet(models.QuerySet["Invitation"]):
    @transaction.atomic
    def invite(self, account: "Account", *, email: str, role: str, by: "User") -> tuple["Invitation", str]:
        """Create an invitation for an e-mail address, or replace the earlier one. Return it and the secret for the link.

        Raise PermissionDenied if `by` may not give the role. Raise FieldError if a user has the address, and if the account has
        too many invitations.
        """
        # Lock and reload the sender, so that a concurrent demotion either is seen here or sees the invitation.
        by = account.users.select_for_update(no_key=True).get(id=by.id)
        if not by.may_invite(role):
            raise PermissionDenied(_("You may not invite somebody with this role"))
        check_visible(email=email)
        if account.users.taken(account.id, [email]):
            raise FieldError("email", _("is of somebody who is a user here already"))
        if account.invitations.count() >= Invitation.MAX_PER_ACCOUNT:
            raise FieldError("email", _("is one too many: revoke some invitations first"))
        secret, digest = new_secret()
        now = timezone.now()
        row, _is_new = self.update_or_create(
            account=account,
            email_key=fold(email),
            defaults={
                "email": email,
                "role": role,
                "invited_by_id": by.id,
                "digest": digest,
                "created_at": now,
                "expires_at": now + Invitation.LIFETIME,
            },
        )
        return row, secret

    def pending(self) -> Self:
        return self.filter(expires_at__gt=timezone.now())

    def expired(self) -> Self:
        return self.filter(expires_at__lte=timezone.now())

    def clean_up(self) -> None:
        self.expired().delete()

    def find_by_secret(self, account_id: int, secret: str) -> "Invitation | None":
        if len(secret) > Session.MAX_SECRET_LENGTH:
            return None
        rows = self.pending().filter(account_id=account_id, digest=digest_of(secret))
        row = rows.select_related("invited_by").first()
        return row if row is not None and row.is_authorized_by(row.invited_by) else None


class Invitation(TenantModel):
    """An e-mail address invited to become a user with a role. The link in the e-mail is valid for a week."""

    LIFETIME = timedelta(days=7)
    MAX_PER_ACCOUNT = 1000

    email = models.CharField(max_length=255)
    email_key = FoldedField(source="email")
    role = models.CharField(max_length=255)
    digest = models.BinaryField()
    invited_by_id = models.BigIntegerField()
    invited_by = models.ForeignObject(
        "accounts.User",
        models.CASCADE,
        from_fields=["account_id", "invited_by_id"],
        to_fields=["account_id", "id"],
        related_name="+",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()

    objects = InvitationQuerySet.as_manager()

    class Meta:
        default_related_name = "invitations"
        constraints = [
            models.UniqueConstraint(fields=["account", "email_key"], name="invitation_email_unique"),
            models.CheckConstraint(condition=Q(role__in=("admin", "agent", "member")), name="invitation_role"),
        ]

    def __str__(self) -> str:
        return self.email

    def is_authorized_by(self, sender: "User") -> bool:
        """Return whether the sender may still give the role. Invitations of members stay valid when the sender loses rights."""
        return self.role == Role.MEMBER or sender.may_invite(self.role)
