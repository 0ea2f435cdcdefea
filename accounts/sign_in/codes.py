"""Codes of six digits in e-mails, with which people sign in without a password, or join.

A code is valid for ten minutes, for five attempts, once, and only in the browser that asked for it. That browser has a secret in a
cookie. The table contains HMACs of the secret and of the code, with a key of the service. Therefore a copy of the table does not reveal
a code.
"""

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
from accounts.users.digests import MAX_SECRET_LENGTH, new_secret
from core.db.tenancy import TenantModel


class CodeExpired(Exception):
    """The browser has no usable code: the code has expired or was used, or all attempts were wrong."""


class SignInCodeQuerySet(models.QuerySet["SignInCode"]):
    @transaction.atomic
    def make(self, account: Account, email: str, *, replaces: str = "") -> tuple[str, str]:
        """Store a code for an e-mail address. Delete the code of the browser whose secret is `replaces`.

        Return the code, and the secret for the browser.
        """
        self._of_browser(account.id, replaces).delete()
        secret, _digest = new_secret()
        code = f"{secrets.randbelow(10**SignInCode.DIGITS):0{SignInCode.DIGITS}}"
        self.create(
            account=account,
            email=email,
            browser=_hmac("browser", account.id, secret),
            digest=_hmac("code", account.id, secret, code),
            # Use the clock of the database, which is the same for all processes.
            expires_at=Now() + Value(SignInCode.LIFETIME),
        )
        return code, secret

    @transaction.atomic(savepoint=False)
    def use(self, account_id: int, secret: str, code: str) -> str:
        """Count an attempt of the browser with the secret. Return the e-mail address of the code, or "" if the code is wrong.

        A code that was right is deleted. Raise CodeExpired if the browser has no usable code.
        """
        # Concurrent attempts wait here for the lock of the row.
        row = self.usable(account_id, secret).select_for_update().first()
        if row is None:
            raise CodeExpired
        if hmac.compare_digest(bytes(row.digest), _hmac("code", account_id, secret, code)):
            self.filter(pk=row.pk).delete()
            return row.email
        self.filter(pk=row.pk).update(attempts=F("attempts") + 1)
        return ""

    def usable(self, account_id: int, secret: str) -> "SignInCodeQuerySet":
        """Return the code that the browser with the secret may still try."""
        return self._of_browser(account_id, secret).filter(attempts__lt=SignInCode.MAX_ATTEMPTS, expires_at__gt=Now())

    def outdated(self) -> Self:
        """Return the codes that have expired."""
        return self.filter(expires_at__lte=Now())

    def _of_browser(self, account_id: int, secret: str) -> "SignInCodeQuerySet":
        if not 0 < len(secret) <= MAX_SECRET_LENGTH:
            return self.none()
        return self.filter(account_id=account_id, browser=_hmac("browser", account_id, secret))


def _hmac(purpose: str, *parts: object) -> bytes:
    message = "\0".join([purpose, *map(str, parts)]).encode(errors="surrogatepass")
    return hmac.digest(b"sign-in-codes" + settings.SECRET_KEY.encode(), message, hashlib.sha256)


class SignInCode(TenantModel):
    """A code that was sent to an e-mail address, whether or not a user has it."""

    DIGITS = 6
    LIFETIME = timedelta(minutes=10)
    MAX_ATTEMPTS = 5

    email = models.CharField(max_length=255)
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
