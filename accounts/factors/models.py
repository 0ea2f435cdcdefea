"""The second factors of users: an authenticator app (TOTP, RFC 6238), recovery codes, and passkeys (WebAuthn).

A passkey is two factors by itself, because the device asks for a PIN or a fingerprint. The other two follow a password or a code by e-mail.
`User.second_factor_at` says whether the user has an app or a passkey, so that no request needs a further statement.
"""

import hmac
import secrets
from base64 import b32encode
from typing import Self

import pyotp
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from fido2.webauthn import AttestedCredentialData

from accounts.audit.models import record
from accounts.users.digests import digest_of
from accounts.users.models import User
from core.db.tenancy import TenantModel, foreign_object
from core.errors import Conflict, FieldError
from core.sealing import seal, unseal

# The period of a code of an app, in seconds, and how many periods its clock may be ahead or behind.
PERIOD, DRIFT = 30, 1
SEAL_PURPOSE = "second factor"
MAX_CODE_LENGTH = 30


class SecondFactorQuerySet(models.QuerySet["SecondFactor"]):
    def apps(self) -> Self:
        return self.filter(kind=SecondFactor.Kind.APP)

    def passkeys(self) -> Self:
        return self.filter(kind=SecondFactor.Kind.PASSKEY)

    def recovery_codes(self) -> Self:
        """Return the recovery codes that were not used."""
        return self.filter(kind=SecondFactor.Kind.RECOVERY)

    @transaction.atomic(savepoint=False)
    def add_app(self, user: User, secret: str, code: str) -> None:
        """Add the authenticator app that has shown `code` for the secret. It replaces the former one. Raise FieldError for a wrong code."""
        step = matching_step(secret, code, after=0)
        if step is None:
            raise FieldError("code", _("Is not the code that the app shows for this key"))
        lock(user)
        user.second_factors.apps().delete()
        sealed = seal(secret, SEAL_PURPOSE).encode()
        self.create(account_id=user.account_id, user_id=user.id, kind=SecondFactor.Kind.APP, key=sealed, counter=step)
        user.second_factors.record_change("app_added", user)

    @transaction.atomic(savepoint=False)
    def add_passkey(self, user: User, credential: AttestedCredentialData, *, name: str, counter: int) -> None:
        """Add a passkey. Raise FieldError if it is known already, or if the user has `MAX_PASSKEYS`."""
        lock(user)
        if user.second_factors.passkeys().count() >= SecondFactor.MAX_PASSKEYS:
            raise FieldError("name", _("There are as many passkeys as there may be (20): remove one first"))
        id, account_id = credential.credential_id, user.account_id
        if self.filter(account_id=account_id, credential_key=id).exists():
            raise FieldError("name", _("This passkey is added already"))
        values = {"name": name, "key": bytes(credential), "credential_key": id, "counter": counter}
        self.create(account_id=account_id, user_id=user.id, kind=SecondFactor.Kind.PASSKEY, **values)
        user.second_factors.record_change("passkey_added", user)

    @transaction.atomic(savepoint=False)
    def make_recovery_codes(self, user: User) -> list[str]:
        """Replace the recovery codes of the user. Return the new ones, of which only digests are stored."""
        lock(user)
        user.second_factors.recovery_codes().delete()
        codes = [b32encode(secrets.token_bytes(10)).decode().lower() for _number in range(SecondFactor.RECOVERY_CODES)]
        kind = SecondFactor.Kind.RECOVERY
        self.bulk_create(
            SecondFactor(account_id=user.account_id, user_id=user.id, kind=kind, key=digest_of(code)) for code in codes
        )
        record(user.account_id, "user.recovery_codes_made", by=user, target=user)
        return ["-".join(code[start : start + 4] for start in range(0, 16, 4)) for code in codes]

    @transaction.atomic(savepoint=False)
    def remove(self, user: User, id: int) -> None:
        """Remove an app or a passkey. The recovery codes end with the last one."""
        lock(user)
        if user.second_factors.filter(id=id).exclude(kind=SecondFactor.Kind.RECOVERY).delete()[0]:
            user.second_factors.record_change("factor_removed", user)

    @transaction.atomic(savepoint=False)
    def reset(self, user: User, *, by: User | None) -> None:
        """Remove all factors of a user who has lost them, and end the sessions. `by` is None for an operator.

        Raise PermissionDenied if `by` may not manage the user, and Conflict if there is nothing to reset.
        """
        if by is not None and (by.id == user.id or not by.may_manage(user)):
            raise PermissionDenied(_("You may not reset the second factor of this user"))
        lock(user)
        if not user.second_factors.all().delete()[0]:
            raise Conflict(_("The user has no second factor"))
        user.sessions.all().delete()
        user.second_factors.record_change("factors_reset", by, target=user)

    def record_change(self, act: str, by: User | None, *, target: User | None = None) -> None:
        """Store whether the user has a factor, and record the act. `self` are the factors of the user."""
        user = target or by
        if user is None:
            raise ValueError("neither the user nor the one who acts is known")
        first = user.second_factors.exclude(kind=SecondFactor.Kind.RECOVERY).order_by("created_at").first()
        if first is None:
            user.second_factors.recovery_codes().delete()
        user.second_factor_at = None if first is None else first.created_at
        User.objects.filter(pk=user.pk).update(second_factor_at=user.second_factor_at)
        record(user.account_id, f"user.{act}", by=by, target=user)

    def use_code(self, user: User, text: str) -> "SecondFactor | None":
        """Use up the code of the app or a recovery code. Return the factor, or None if the code is wrong or was used before."""
        code, now = "".join(text.split()).replace("-", "").lower(), timezone.now()
        if len(code) == 16:
            rows = user.second_factors.recovery_codes().filter(key=digest_of(code))
            row = rows.first()
            # Of two simultaneous requests, one deletes the row.
            return row if row is not None and rows.filter(pk=row.pk).delete()[0] else None
        app = user.second_factors.apps().first()
        step = None if app is None else matching_step(app.secret, code, after=app.counter)
        if app is None or step is None:
            return None
        used = self.filter(pk=app.pk, counter__lt=step).update(counter=step, last_used_at=now)
        return app if used else None


def lock(user: User) -> None:
    """Lock the row of the user until the transaction ends."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)


def matching_step(secret: str, code: str, *, after: int) -> int | None:
    """Return the number of the period whose code this is, if it is later than `after`. A code counts once."""
    present, totp = int(timezone.now().timestamp()) // PERIOD, pyotp.TOTP(secret, interval=PERIOD)
    steps = range(present - DRIFT, present + DRIFT + 1)
    found = [step for step in steps if hmac.compare_digest(totp.generate_otp(step).encode(), code.encode())]
    return next((step for step in found if step > after), None)


class SecondFactor(TenantModel):
    class Kind(models.TextChoices):
        APP = "app"
        PASSKEY = "passkey"
        RECOVERY = "recovery"

    MAX_PASSKEYS = 20
    RECOVERY_CODES = 10

    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id", related_name="second_factors")
    kind = models.CharField(max_length=255, choices=Kind.choices)
    # What the user calls a passkey.
    name = models.CharField(max_length=255, blank=True, default="")
    # The sealed secret of an app, the public key of a passkey with its id, or the digest of a recovery code.
    key = models.BinaryField()
    credential_key = models.BinaryField(null=True)
    # The last period of an app whose code was used, or the counter of a passkey.
    counter = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    objects = SecondFactorQuerySet.as_manager()

    class Meta:
        default_related_name = "second_factors"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "credential_key"],
                condition=Q(credential_key__isnull=False),
                name="secondfactor_credential_unique",
            )
        ]
        indexes = [models.Index(fields=["account", "user_id", "kind"], name="secondfactor_of_user")]

    def __str__(self) -> str:
        return self.name or self.kind

    @property
    def secret(self) -> str:
        return str(unseal(bytes(self.key).decode(), SEAL_PURPOSE))

    @property
    def credential(self) -> AttestedCredentialData:
        return AttestedCredentialData(bytes(self.key))

    def count_use(self, counter: int) -> None:
        """Store the use of a passkey. Raise FieldError if its counter went back, which happens if the passkey was copied."""
        if counter and counter <= self.counter:
            raise FieldError("passkey", _("The passkey seems to be a copy of another one"))
        SecondFactor.objects.filter(pk=self.pk).update(counter=counter, last_used_at=timezone.now())


def needs_second_factor(user: User) -> bool:
    """Return whether the account requires a second factor of the user. `user.account` is known."""
    return user.role in user.account.second_factor_roles
