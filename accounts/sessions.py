"""Whoever signed in on the pages: a cookie holds a secret, a row its digest; and invitations, which work the same way."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Self

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


def new_secret() -> tuple[str, bytes]:
    """A secret of 256 random bits for whoever is to hold it, and its SHA-256 digest, which is what is stored."""
    secret = secrets.token_urlsafe(32)
    return secret, digest_of(secret)


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


# What a User-Agent contains; the first that fits, as most pretend to be others too.
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


class SessionQuerySet(models.QuerySet):
    def open(self, user, *, agent: str = "") -> tuple["Session", str]:
        """Begin a session of the user. The second value is the secret for the cookie."""
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

    def holding(self, account_id: int, secret: str) -> "Session | None":
        """The session of that secret in that account, with its user and account; one of another account is none."""
        if len(secret) > Session.MAX_LENGTH:
            return None
        session = _session_of.first(account_id=account_id, digest=digest_of(secret), now=timezone.now())
        if session is not None:
            session.user.account = session.account
        return session

    def of(self, user) -> Self:
        """Those of the user that have not ended."""
        return self.filter(account_id=user.account_id, user_id=user.id, expires_at__gt=timezone.now())

    def ended(self) -> Self:
        return self.filter(expires_at__lte=timezone.now())

    def clean_up(self) -> None:
        self.ended().delete()


@prepared(account_id=int, digest=bytes, now=datetime)
def _session_of(account_id, digest, now):
    sessions = Session.objects.filter(account_id=account_id, digest=digest, expires_at__gt=now, user__is_active=True)
    return sessions.select_related("user", "account")[:1]


class Session(TenantModel):
    """A browser in which a user is signed in. It ends 30 days after it was last seen, or with a new password."""

    LIFETIME = timedelta(days=30)
    SEEN_EVERY = timedelta(hours=1)
    MAX_LENGTH = 64

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

    objects = SessionQuerySet.as_manager()

    class Meta:
        default_related_name = "sessions"
        constraints = [models.UniqueConstraint(fields=["account", "digest"], name="session_digest_unique")]
        indexes = [
            # Housekeeping may well scan the rows for those that have ended.
            models.Index(fields=["account", "user_id"], name="session_of_user"),
        ]

    def __str__(self) -> str:
        return f"session {self.id} of user {self.user_id}"

    @property
    def browser(self) -> str:
        """What it calls itself, as people know it; "" where that says nothing."""
        return next((name for name, mark in BROWSERS if mark in self.agent), "")

    @property
    def system(self) -> str:
        return next((name for name, mark in SYSTEMS if mark in self.agent), "")

    def touch(self) -> bool:
        """Note that it is used, at most once an hour; whether it was noted."""
        now = timezone.now()
        if now - self.seen_at < self.SEEN_EVERY:
            return False
        self.seen_at, self.expires_at = now, now + self.LIFETIME
        Session.objects.filter(pk=self.pk).update(seen_at=self.seen_at, expires_at=self.expires_at)
        return True


class InvitationQuerySet(models.QuerySet):
    @transaction.atomic
    def invite(self, account, *, email: str, role: str, by) -> tuple["Invitation", str]:
        """Invite an address; an earlier invitation of it no longer counts. The second value is the secret for the link.

        Raise PermissionDenied if `by` may not give the role, FieldError for an address that a user has and for too many
        invitations.
        """
        # Lock and reload the sender, so that a demotion at the same time finds the invitation, or this finds the demotion.
        by = account.users.select_for_update(no_key=True).get(id=by.id)
        if not by.may_invite(role):
            raise PermissionDenied(_("You may not invite somebody with this role"))
        check_visible(email=email)
        if account.users.taken(account.id, [email]):
            raise FieldError("email", _("is of somebody who is a user here already"))
        if account.invitations.count() >= Invitation.MOST:
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

    def open(self) -> Self:
        return self.filter(expires_at__gt=timezone.now())

    def ended(self) -> Self:
        return self.filter(expires_at__lte=timezone.now())

    def clean_up(self) -> None:
        self.ended().delete()

    def holding(self, account_id: int, secret: str) -> "Invitation | None":
        if len(secret) > Session.MAX_LENGTH:
            return None
        rows = self.open().filter(account_id=account_id, digest=digest_of(secret))
        row = rows.select_related("invited_by").first()
        return row if row is not None and row.is_authorized_by(row.invited_by) else None


class Invitation(TenantModel):
    """An address that was asked to become a user with a role. Whoever has the link in the e-mail may, for a week."""

    LIFETIME = timedelta(days=7)
    MOST = 1000

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

    def is_authorized_by(self, sender) -> bool:
        """Return whether the sender may still give the role. Invitations of members outlast the sender's rights."""
        return self.role == Role.MEMBER or sender.may_invite(self.role)
