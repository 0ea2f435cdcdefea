"""The codes and the hand-overs with which people sign in without a password."""

import hashlib
import hmac
import secrets
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Value
from django.db.models.functions import Now
from django.utils import timezone

from accounts.account.models import Account
from accounts.sessions.models import Session
from accounts.users.digests import MAX_SECRET_LENGTH, digest_of, new_secret
from core.db.tenancy import TenantModel, foreign_object


class CodeExpired(Exception):
    """The browser has no usable code: the code has expired or was used, or all attempts were wrong."""


class SignInCodeQuerySet(models.QuerySet["SignInCode"]):
    @transaction.atomic
    def make(
        self, account: Account, email: str, *, typed_email: str = "", replaces: str = "", purpose: str = ""
    ) -> tuple[str, str]:
        """Store a code for an e-mail address. Delete the code of the browser whose secret is `replaces`.

        Return the code, and the secret for the browser. A code with a purpose works for this purpose only, and signs nobody in.
        `typed_email` is the address as it was typed, for the page of the code.
        """
        self._of_browser(account.id, replaces, purpose).delete()
        secret, _digest = new_secret()
        code = f"{secrets.randbelow(10**SignInCode.DIGITS):0{SignInCode.DIGITS}}"
        self.create(
            account=account,
            email=email,
            typed_email=typed_email,
            browser=_hmac("browser", purpose, account.id, secret),
            digest=_hmac("code", account.id, secret, code),
            # Use the clock of the database, which is the same for all processes.
            expires_at=Now() + Value(SignInCode.LIFETIME),
        )
        return code, secret

    @transaction.atomic(savepoint=False)
    def use(self, account_id: int, secret: str, code: str, *, purpose: str = "") -> str:
        """Count an attempt of the browser with the secret. Return the e-mail address of the code, or "" if the code is wrong.

        A code that was right is deleted. Raise CodeExpired if the browser has no usable code.
        """
        # Concurrent attempts wait here for the lock of the row.
        row = self.usable(account_id, secret, purpose=purpose).select_for_update().first()
        if row is None:
            raise CodeExpired
        if hmac.compare_digest(bytes(row.digest), _hmac("code", account_id, secret, code)):
            self.filter(pk=row.pk).delete()
            return row.email
        self.filter(pk=row.pk).update(attempts=F("attempts") + 1)
        return ""

    def usable(self, account_id: int, secret: str, *, purpose: str = "") -> "SignInCodeQuerySet":
        """Return the code that the browser with the secret may still try."""
        codes = self._of_browser(account_id, secret, purpose)
        return codes.filter(attempts__lt=SignInCode.MAX_ATTEMPTS, expires_at__gt=Now())

    def outdated(self) -> Self:
        """Return the codes that have expired."""
        return self.filter(expires_at__lte=Now())

    def _of_browser(self, account_id: int, secret: str, purpose: str) -> "SignInCodeQuerySet":
        if not 0 < len(secret) <= MAX_SECRET_LENGTH:
            return self.none()
        return self.filter(account_id=account_id, browser=_hmac("browser", purpose, account_id, secret))


def _hmac(purpose: str, *parts: object) -> bytes:
    message = "\0".join([purpose, *map(str, parts)]).encode(errors="surrogatepass")
    return hmac.digest(b"sign-in-codes" + settings.SECRET_KEY.encode(), message, hashlib.sha256)


class SignInCode(TenantModel):
    """A code of six digits that was sent to an e-mail address, whether or not a user has it. People sign in or join with it, or confirm an act.

    It is valid for ten minutes, for five attempts, once, and only in the browser that asked for it. That browser has a secret in a
    cookie. The table contains HMACs of the secret and of the code, with a key of the service. Therefore a copy of the table does not
    reveal a code.
    """

    DIGITS = 6
    LIFETIME = timedelta(minutes=10)
    MAX_ATTEMPTS = 5

    email = models.CharField(max_length=255)
    # The page of the code shows what was typed. `email` would tell how a user has spelled the same address.
    typed_email = models.CharField(max_length=255, default="", db_default="")
    # HMACs of the secret of the browser, and of the code.
    browser = models.BinaryField()
    digest = models.BinaryField()
    attempts = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()

    objects = SignInCodeQuerySet.as_manager()

    class Meta:
        default_related_name = "sign_in_codes"
        # There is no index for housekeeping, which may scan the table for expired codes.
        constraints = [models.UniqueConstraint(fields=["account", "browser"], name="signincode_browser_unique")]

    def __str__(self) -> str:
        return f"code {self.id}"


def switch_token(session: Session, host: str) -> str:
    """Return the token of the links to a host that pages show to the user of the session."""
    key = b"handovers" + settings.SECRET_KEY.encode()
    message = b"\0".join([bytes(session.digest), f"{session.account_id}:{session.id}:{host}".encode()])
    return hmac.digest(key, message, hashlib.sha256).hex()


def is_switch_token(token: str, session: Session, host: str) -> bool:
    """Return whether the token is that of links to the host for the session."""
    return token.isascii() and hmac.compare_digest(token, switch_token(session, host))


# The value of `Handover.nonce` before the target has sent one.
NO_NONCE = b""


class HandoverQuerySet(models.QuerySet["Handover"]):
    @transaction.atomic
    def begin(self, session: Session, *, host: str) -> str:
        """Store a hand-over of the session to a host of the account, and return its ticket. It replaces an earlier one to that host."""
        self.filter(account_id=session.account_id, session_id=session.id, host=host).delete()
        ticket, digest = new_secret()
        self.create(
            account_id=session.account_id,
            session_id=session.id,
            host=host,
            nonce=NO_NONCE,
            digest=digest,
            expires_at=Now() + Value(Handover.LIFETIME),
        )
        return ticket

    def approve(self, session: Session, ticket: str, *, host: str, nonce: bytes) -> str | None:
        """Use up the ticket of a hand-over, and return its code, which is valid for the browser with this nonce.

        Return None if the ticket is unknown, used or expired, or was made for another session or another host.
        """
        if not 0 < len(ticket) <= MAX_SECRET_LENGTH:
            return None
        rows = self.filter(account_id=session.account_id, session_id=session.id, host=host, expires_at__gt=Now())
        code, digest = new_secret()
        is_approved = rows.filter(digest=digest_of(ticket), nonce=NO_NONCE).update(nonce=nonce, digest=digest)
        return code if is_approved else None

    @transaction.atomic
    def use(self, account_id: int, code: str, *, host: str, nonce: str) -> Session | None:
        """Use up the code of a hand-over, and return the session at the source, with its user.

        Return None if the code is unknown, used or expired, was made for another host or another browser, or if the session has
        ended. A request without the nonce of the browser does not use up the code.
        """
        if not 0 < len(code) <= MAX_SECRET_LENGTH or not 0 < len(nonce) <= MAX_SECRET_LENGTH:
            return None
        rows = self.filter(account_id=account_id, digest=digest_of(code), nonce=digest_of(nonce), expires_at__gt=Now())
        # A concurrent request waits here for the lock of the row, and then finds none.
        row = rows.select_for_update().first()
        if row is None:
            return None
        # Delete the code also if the host is wrong.
        self.filter(pk=row.pk).delete()
        if row.host != host:
            return None
        now = timezone.now()
        limits = {"expires_at__gt": now, "created_at__gt": now - Session.MAX_LIFETIME}
        sessions = Session.objects.filter(account_id=account_id, id=row.session_id, **limits)
        return sessions.filter(user__is_active=True).select_related("user", "account").first()

    def outdated(self) -> Self:
        """Return the hand-overs that have expired."""
        return self.filter(expires_at__lte=Now())


class Handover(TenantModel):
    """A hand-over of a session from one host of an account to another, because a cookie belongs to one host.

    It is valid once, for a minute, and while the session lasts.

    1. The *source* host, where the user is signed in, stores a hand-over, and redirects to the *target* host with a one-time ticket.
    2. The target sets a cookie with a random nonce, and redirects to the source with the ticket and the digest of the nonce.
    3. The source replaces the ticket by a one-time code for this nonce, and redirects to the target with the code.
    4. The target checks the code, its own name and the nonce of the browser, and starts a session of the same family.

    The nonce makes the code worthless in any browser but the one that asked for it, so nobody can sign another person in as themselves.
    The links of the switcher lead to the source and have a token for the session and the target. Without this token, the source stores
    no hand-over. Otherwise a mere visit to a domain of the account would sign the user in there. The token never leaves the source.

    The person who manages a custom domain receives all that is sent there, codes and nonces as well, and can use them in place of the
    user. So a code is valid only at its own target, the session that it starts has the rights of a member (`Session.is_limited`), and
    such a session is not handed over further.
    """

    LIFETIME = timedelta(seconds=60)

    session_id = models.BigIntegerField()
    session = foreign_object(Session, "session_id")
    # The stored name of the target host.
    host = models.CharField(max_length=255)
    # The digests of the nonce in the browser's cookie, and of the ticket or, once there is a nonce, of the code.
    nonce = models.BinaryField()
    digest = models.BinaryField()
    expires_at = models.DateTimeField()

    objects = HandoverQuerySet.as_manager()

    class Meta:
        default_related_name = "handovers"
        constraints = [models.UniqueConstraint(fields=["account", "digest"], name="handover_digest_unique")]
        indexes = [models.Index(fields=["account", "session_id"], name="handover_of_session")]

    def __str__(self) -> str:
        return f"hand-over {self.id} of session {self.session_id}"
