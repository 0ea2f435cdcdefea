"""Sessions of the pages. The cookie holds a secret, of which only the digest is stored."""

from datetime import datetime, timedelta
from typing import Self
from uuid import UUID, uuid4

from django.contrib.postgres.functions import RandomUUID
from django.db import models, transaction
from django.utils import timezone

from accounts.audit.models import record
from accounts.users.digests import MAX_SECRET_LENGTH, digest_of, new_secret
from accounts.users.models import User
from core.db.availability import is_read_only
from core.db.prepared import prepared
from core.db.tenancy import TenantModel, foreign_object
from core.db.text import replace_non_xml

# (name, substring of User-Agent). The first match counts, because most browsers also send the names of other browsers.
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
    def start(
        self,
        user: User,
        *,
        agent: str = "",
        address: str = "",
        family: UUID | None = None,
        domain: str = "",
        is_verified: bool = False,
    ) -> tuple["Session", str]:
        """Start a session of the user. Return the session and the secret for the cookie.

        `family` is that of the session from which this one was handed over. Without it, a new family begins. All sessions of a family
        end at the latest `MAX_LIFETIME` after the sign-in. `domain` is the custom domain at which the session is used, or "" for the
        addresses under BASE_DOMAIN.
        """
        secret, digest = new_secret()
        now = began_at = timezone.now()
        if family is not None:
            sessions = self.active_for(user).filter(family=family)
            began_at = sessions.aggregate(began_at=models.Min("created_at"))["began_at"] or now
        row = self.create(
            account_id=user.account_id,
            user_id=user.id,
            digest=digest,
            family=family or uuid4(),
            domain=domain,
            agent=replace_non_xml(agent)[:255],
            address=address,
            created_at=began_at,
            seen_at=now,
            confirmed_at=now,
            is_verified=is_verified,
            expires_at=Session.expiry(began_at, now),
        )
        user.acts_as_member = row.is_limited
        if user.last_login is None or now - user.last_login > Session.LOGIN_INTERVAL:
            user.last_login = now
            User.objects.filter(pk=user.pk).update(last_login=now)
        return row, secret

    def find_by_secret(self, account_id: int, secret: str, *, domain: str) -> "Session | None":
        """Return the account's active session with the secret, with its user and account, or None.

        `domain` is that of the request. The person who manages a custom domain can read the cookies there, so a session is found only
        at the domain at which it began.
        """
        if len(secret) > MAX_SECRET_LENGTH:
            return None
        now = timezone.now()
        session: Session | None = _active_session.first(
            account_id=account_id, digest=digest_of(secret), domain=domain, now=now, oldest=now - Session.MAX_LIFETIME
        )
        if session is not None:
            session.user.account = session.account
            session.user.acts_as_member = session.is_limited
        return session

    def active(self) -> Self:
        """Return the sessions that have not expired."""
        now = timezone.now()
        return self.filter(expires_at__gt=now, created_at__gt=now - Session.MAX_LIFETIME)

    def active_for(self, user: User) -> Self:
        """Return the user's sessions that have not expired."""
        return self.filter(account_id=user.account_id, user_id=user.id).active()

    def newest_of_families(self, user: User, *, limit: int) -> list["Session"]:
        """Return the session of each family that was used last, the most recently used first."""
        newest = self.active_for(user).order_by("family", "-seen_at", "-id").distinct("family")
        rows = self.filter(account_id=user.account_id, id__in=newest.values("id"))
        return list(rows.order_by("-seen_at", "-id")[:limit])

    def outdated(self) -> Self:
        """Return the sessions that have expired."""
        return self.filter(expires_at__lte=timezone.now())


@prepared(account_id=int, digest=bytes, domain=str, now=datetime, oldest=datetime)
def _active_session(
    account_id: int, digest: bytes, domain: str, now: datetime, oldest: datetime
) -> "models.QuerySet[Session]":
    sessions = Session.objects.filter(
        account_id=account_id,
        digest=digest,
        domain=domain,
        expires_at__gt=now,
        created_at__gt=oldest,
        user__is_active=True,
    )
    return sessions.select_related("user", "account")[:1]


class Session(TenantModel):
    """A browser in which a user is signed in at a host.

    It ends when it has not been used for 30 days, 90 days after the sign-in in any case, and when the password changes.
    """

    LIFETIME = timedelta(days=30)
    MAX_LIFETIME = timedelta(days=90)
    # The time in which the user need not confirm again that it is they.
    CONFIRMED_FOR = timedelta(minutes=15)
    # The time after which a use of the session is stored again.
    TOUCH_INTERVAL = timedelta(hours=1)
    # The time after which a sign-in is stored again in `User.last_login`.
    LOGIN_INTERVAL = timedelta(days=1)

    user_id = models.BigIntegerField()
    user = foreign_object("accounts.User", "user_id", on_delete=models.CASCADE, related_name="sessions")
    digest = models.BinaryField()
    # The same for all sessions that hand-overs started from one sign-in, at several hosts. They end together.
    family = models.UUIDField(default=uuid4, db_default=RandomUUID(), editable=False)
    # The custom domain at which the session is valid, or "" for the addresses of the account under BASE_DOMAIN.
    domain = models.CharField(max_length=255, blank=True, default="", db_default="")
    agent = models.CharField(max_length=255, blank=True, default="")
    # The client address of the last use, as the audit log has it: the network of an IPv6 address. It is deleted with the session.
    address = models.CharField(max_length=50, blank=True, default="", db_default="")
    # The time of the sign-in, which is the same for the whole family.
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    seen_at = models.DateTimeField()
    # When the user last confirmed that it is they (`accounts.confirmation`): the sign-in, or later.
    confirmed_at = models.DateTimeField(null=True, editable=False)
    # True if the user has signed in with two factors.
    is_verified = models.BooleanField(default=False, db_default=False)
    expires_at = models.DateTimeField()

    # Set by the middleware of pages: True if this request has extended the session.
    was_extended = False

    objects = SessionQuerySet.as_manager()

    class Meta:
        default_related_name = "sessions"
        constraints = [models.UniqueConstraint(fields=["account", "digest"], name="session_digest_unique")]
        indexes = [
            # There is no index for housekeeping, which may scan the table for expired sessions.
            models.Index(fields=["account", "user_id"], name="session_of_user")
        ]

    def __str__(self) -> str:
        return f"session {self.id} of user {self.user_id}"

    @property
    def is_limited(self) -> bool:
        """True for a session at a custom domain. It has the rights of a member, even if its user is an owner."""
        return self.domain != ""

    @property
    def is_confirmed(self) -> bool:
        return self.confirmed_at is not None and timezone.now() - self.confirmed_at < self.CONFIRMED_FOR

    @property
    def lacks_second_factor(self) -> bool:
        """True if the account requires a second factor of the user, who has signed in without one. `user` and `account` are known."""
        return not self.is_verified and not self.is_limited and self.user.role in self.account.second_factor_roles

    def confirm(self) -> None:
        self.confirmed_at = timezone.now()
        Session.objects.filter(pk=self.pk).update(confirmed_at=self.confirmed_at)

    @property
    def browser(self) -> str:
        """The name of the browser, or "" if it is unknown."""
        return next((name for name, pattern in BROWSERS if pattern in self.agent), "")

    @property
    def system(self) -> str:
        """The name of the operating system, or "" if it is unknown."""
        return next((name for name, pattern in SYSTEMS if pattern in self.agent), "")

    @staticmethod
    def expiry(began_at: datetime, seen_at: datetime) -> datetime:
        """Return the time at which a session expires that began with a sign-in, and was last used, at these times."""
        return min(seen_at + Session.LIFETIME, began_at + Session.MAX_LIFETIME)

    @transaction.atomic(savepoint=False)
    def end(self) -> None:
        """Sign the user out of this browser, at all hosts of the account."""
        Session.objects.filter(account_id=self.account_id, user_id=self.user_id, family=self.family).delete()
        record(self.account_id, "sign_in.signed_out")

    def touch(self, address: str) -> bool:
        """Store the time of use and the client address, and extend the session, at most once an hour. Return whether it was stored."""
        now = timezone.now()
        if now - self.seen_at < self.TOUCH_INTERVAL or is_read_only():
            return False
        self.seen_at, self.expires_at = now, self.expiry(self.created_at, now)
        Session.objects.filter(pk=self.pk).update(seen_at=self.seen_at, expires_at=self.expires_at, address=address)
        return True
