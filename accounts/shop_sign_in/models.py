"""The signed hand-over of customers who are signed in at a shop: a JSON Web Token with the claims that Canny and Nolt use."""

import hashlib
import secrets
import warnings
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey, OKPKey

from accounts.account.models import Account
from accounts.audit.models import Audited
from accounts.identities.models import Identity
from accounts.users.models import AdmittingSite, User
from core.db.text import is_xml_text
from core.errors import FieldError
from core.limits.rate_limits import hashed_key, hit
from core.sealing import seal, unseal

SEAL_PURPOSE = "shop sign-in"
# Seconds after its time in which a token is valid, and by which the clock of the shop may be wrong.
LIFETIME, LEEWAY = 60, 10
# No time in seconds is later. NaN is not less than it, as than any number.
MAX_TIME = 10**11
# Seconds for which a used token is remembered.
REMEMBERED = 300
MAX_TOKEN_LENGTH, MAX_EMAIL_LENGTH = 4000, 255
ALGORITHMS = ("HS256", "EdDSA", "Ed25519")


# RFC 9864 renames EdDSA to Ed25519, but the libraries of shops still write EdDSA.
warnings.filterwarnings("ignore", message="EdDSA is deprecated")


class TokenRefused(Exception):
    """A token that signs nobody in. The message tells the developer of the shop why."""


class ShopSignIn(Audited):
    """The keys with which the shop of an account signs its tokens: a secret, a public key of Ed25519, or both."""

    audit_group, audited = "shop_sign_in", ("secret", "public_key", "trusts_emails")
    audit_hidden = ("secret",)
    # The time in which the former secret is valid after it was replaced.
    OVERLAP = timedelta(hours=24)
    MAX_REFUSALS = 20

    account = models.OneToOneField(Account, models.CASCADE, primary_key=True, related_name="shop_sign_in")
    secret = models.TextField(default="")
    previous_secret = models.TextField(default="")
    previous_until = models.DateTimeField(null=True)
    public_key = models.TextField(default="")
    # True if the account says that the shop verifies the e-mails of its customers.
    trusts_emails = models.BooleanField(default=False)
    # The last refused tokens: the time and the reason of each, for the developer of the shop.
    refusals = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"shop sign-in of account {self.account_id}"

    @classmethod
    def get_or_new(cls, account: Account) -> "ShopSignIn":
        return cls.objects.filter(account_id=account.id).first() or cls(account_id=account.id)

    @transaction.atomic(savepoint=False)
    def rotate(self) -> str:
        """Replace the secret, and return the new one. The former is valid for `OVERLAP`."""
        secret = secrets.token_urlsafe(32)
        self.previous_secret, self.previous_until = self.secret, timezone.now() + self.OVERLAP
        self.secret = seal(secret, SEAL_PURPOSE)
        self.save()
        return secret

    @transaction.atomic(savepoint=False)
    def disable(self) -> None:
        """Make all tokens invalid at once."""
        self.secret = self.previous_secret = self.public_key = ""
        self.save()

    @transaction.atomic(savepoint=False)
    def write(self, *, public_key: str, trusts_emails: bool) -> None:
        """Set the public key, a PEM, or remove it with "", and whether the shop verifies e-mails. Raise FieldError for another key."""
        text = public_key
        try:
            is_valid = not text or OKPKey.import_key(text.strip()).as_dict(private=False).get("crv") == "Ed25519"
        except (JoseError, ValueError, TypeError):
            is_valid = False
        if not is_valid or "PRIVATE" in text:
            raise FieldError("public_key", _("is not a public key of Ed25519 in the PEM format"))
        self.public_key, self.trusts_emails = text.strip(), trusts_emails
        self.save()

    def note_refusal(self, reason: str) -> None:
        """Remember why a token was refused. There is nothing to remember without keys."""
        if self.is_enabled:
            entry = {"at": timezone.now().isoformat(timespec="seconds"), "reason": reason[:255]}
            refusals = [entry, *self.refusals][: self.MAX_REFUSALS]
            ShopSignIn.objects.filter(account_id=self.account_id).update(refusals=refusals)

    @property
    def is_enabled(self) -> bool:
        return bool(self.secret or self.public_key)

    def keys(self, algorithm: str) -> list[OctKey | OKPKey]:
        if algorithm != "HS256":
            return [OKPKey.import_key(self.public_key)] if self.public_key else []
        sealed = [self.secret]
        if self.previous_until is not None and self.previous_until > timezone.now():
            sealed.append(self.previous_secret)
        return [OctKey.import_key(unseal(text, SEAL_PURPOSE)) for text in sealed if text]

    def read_claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a token that is valid now. Raise TokenRefused."""
        if not 0 < len(token) <= MAX_TOKEN_LENGTH:
            raise TokenRefused("the token is missing or too long")
        for algorithm in ALGORITHMS:
            for key in self.keys(algorithm):
                try:
                    claims = jwt.decode(token, key, algorithms=[algorithm]).claims
                except (JoseError, ValueError, TypeError, UnicodeError):
                    continue
                check_times(claims)
                return dict(claims)
        raise TokenRefused("the signature fits no key of this account (HS256 or EdDSA)")

    def sign_in(self, site: AdmittingSite, token: str, *, language: str | None) -> User:
        """Return the member for whom the token was signed, who joins with the first one. Raise TokenRefused, and FieldErrors for a taken e-mail.

        Users of the team sign in themselves: a person with the secret must not become an admin.
        """
        claims = self.read_claims(token)
        subject, email, name = read_person(claims)
        # Without the signature, as another text of the same signature may be valid, too.
        digest = hashlib.sha256(token.rpartition(".")[0].encode()).hexdigest()
        if not hit(hashed_key("shop-token", self.account_id, digest), 1, REMEMBERED).allowed:
            raise TokenRefused("the token was used already")
        user = Identity.objects.find_user(self.account_id, Identity.SHOP, subject)
        is_known = user is not None
        if user is None and not self.trusts_emails:
            raise TokenRefused("the settings do not say that the shop verifies the e-mails of its customers")
        if user is None:
            user = User.objects.find_or_join(site, email=email, name=name, language=language)
        if user is None or not user.is_active:
            raise TokenRefused("the forum does not admit this person")
        user.account = site.account
        if user.is_team:
            raise TokenRefused("users of the team sign in with their password")
        if not site.admits(user.email, user):
            raise TokenRefused("the forum does not admit this person")
        if not is_known:
            Identity.objects.create(
                account_id=self.account_id, user_id=user.id, provider=Identity.SHOP, subject=subject
            )
        return user


def check_times(claims: dict[str, Any]) -> None:
    """Raise TokenRefused unless the token was issued in the last minute, and has not expired."""
    now, issued, expires = timezone.now().timestamp(), claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int | float) or isinstance(issued, bool) or not 0 <= issued < MAX_TIME:
        raise TokenRefused("iat is missing: the time of the token in seconds since 1970")
    if not now - LIFETIME - LEEWAY <= issued <= now + LEEWAY:
        raise TokenRefused(f"iat is {round(now - issued)} seconds ago: a token is valid for {LIFETIME} seconds")
    if expires is not None and not (isinstance(expires, int | float) and expires >= now - LEEWAY):
        raise TokenRefused("the token has expired (exp)")


def read_person(claims: dict[str, Any]) -> tuple[str, str, str]:
    """Return the id, the e-mail and the name in the claims. Raise TokenRefused."""
    subject, email, name = (claims.get(key) for key in ("id", "email", "name"))
    subject = str(subject) if isinstance(subject, int | str) and not isinstance(subject, bool) else ""
    if not 0 < len(subject) <= Identity.MAX_SUBJECT or not is_xml_text(subject):
        raise TokenRefused("id is missing or too long: the id of the customer in the shop")
    try:
        if not isinstance(email, str) or len(email) > MAX_EMAIL_LENGTH:
            raise ValidationError("")
        validate_email(email)
    except ValidationError:
        raise TokenRefused("email is missing or is no e-mail address") from None
    if name is not None and (not isinstance(name, str) or not is_xml_text(name)):
        raise TokenRefused("name is not a text")
    return subject, email, " ".join((name or "").split())[:255]
