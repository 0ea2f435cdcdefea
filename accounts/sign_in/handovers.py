"""Hand-overs of a sign-in from one host of an account to another, because a cookie belongs to one host.

1. The *source* host, where the user is signed in, stores a hand-over, and redirects to the *target* host with a one-time ticket.
2. The target sets a cookie with a random nonce, and redirects to the source with the ticket and the digest of the nonce.
3. The source replaces the ticket by a one-time code for this nonce, and redirects to the target with the code.
4. The target checks the code, its own name and the nonce of the browser, and starts a session of the same family.

The nonce makes the code worthless in any browser but the one that asked for it, so nobody can sign another person in as themselves.
The links of the switcher lead to the source and have a token for the session and the target. Without this token, the source stores no
hand-over. Otherwise a mere visit to a domain of the account would sign the user in there. The token never leaves the source.

The person who manages a custom domain receives all that is sent there, codes and nonces as well, and can use them in place of the user.
So a code is valid only at its own target, the session that it starts has the rights of a member (`Session.is_limited`), and such a
session is not handed over further.
"""

import hashlib
import hmac
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models, transaction
from django.db.models import Value
from django.db.models.functions import Now
from django.utils import timezone

from accounts.sessions.models import Session
from accounts.users.digests import MAX_SECRET_LENGTH, digest_of, new_secret
from core.db.tenancy import TenantModel, foreign_object


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
    """A hand-over of a session to another host of its account. It is valid once, for a minute, and while the session lasts."""

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
