"""Accounts that visitors ask for, until the code from the e-mail proves their address, and the limits on them.

A draft is stored nowhere but in a sealed cookie of the browser, with its code. So a request for a code writes no row, and nobody else can
enter the code.
"""

import hmac
import secrets
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from django.conf import settings
from django.utils.translation import gettext, override
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.account_creation.creation import create_account_without_token, find_prefix_error
from accounts.account_creation.models import AccountInvitation
from accounts.hosts.requests import PageRequest
from accounts.sign_in.models import SignInCode
from accounts.statuses.models import Status
from accounts.users.models import User
from core.errors import FieldError
from core.http.throttling import DAY, HOUR, enforce_limit, hit_address
from core.limits.rate_limits import hashed_key, hit
from core.rows.trimmed import fold_email
from core.sealing import SealError, seal, unseal

SEAL_PURPOSE = "account draft"
MAX_NAME_LENGTH = 80
# A longer cookie is not read. Browsers store at most 4,096 bytes.
MAX_COOKIE_LENGTH = 4096
# The messages for the values of `find_prefix_error`.
PREFIX_ERRORS = {
    "form": _("must be 2-63 letters a-z, digits and hyphens, neither first nor last a hyphen"),
    "reserved": _("is reserved"),
    "taken": _("is already taken"),
}
# Accounts that one client address may create in a day, and those with one domain of e-mail addresses in an hour, beyond which new ones
# are suspended until a review.
MAX_ACCOUNTS_PER_ADDRESS = 5
MAX_ACCOUNTS_PER_EMAIL_DOMAIN = 10
# Beyond this multiple of SIGN_UP_LIMIT, no account is created.
REFUSAL_FACTOR = 5
# Parts of the name of an account that spam has.
SUSPICIOUS_PARTS = ("://", "www.", "@")


@dataclass
class AccountDraft:
    name: str
    prefix: str
    email: str
    owner_name: str
    language: str
    time_zone: str
    currency: str
    country: str = ""
    # The secret of an invitation, or "".
    invitation: str = ""
    code: str = field(default_factory=lambda: f"{secrets.randbelow(10**SignInCode.DIGITS):0{SignInCode.DIGITS}}")
    # Identifies the draft in the count of its attempts.
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    created_at: float = field(default_factory=time.time)

    LIFETIME = SignInCode.LIFETIME

    @classmethod
    def read(cls, cookie: str) -> "AccountDraft | None":
        """Return the draft of a cookie, or None if there is none or its time is over."""
        if not 0 < len(cookie) <= MAX_COOKIE_LENGTH:
            return None
        try:
            draft = cls(**unseal(cookie, SEAL_PURPOSE))
        except (SealError, TypeError):
            # Another version of the code may have sealed other fields.
            return None
        return draft if time.time() < draft.created_at + cls.LIFETIME.total_seconds() else None

    def seal(self) -> str:
        return seal(asdict(self), SEAL_PURPOSE)

    def count_attempt(self) -> bool:
        """Count an attempt to enter the code. Return False if there were too many."""
        window = int(self.LIFETIME.total_seconds())
        return hit(hashed_key("draft-code", self.nonce), SignInCode.MAX_ATTEMPTS, window).allowed

    def has_code(self, code: str) -> bool:
        return hmac.compare_digest(code, self.code)

    def find_owner(self) -> User | None:
        """Return the owner of the account that an earlier request has created from this draft, for example before a double click."""
        began_at = datetime.fromtimestamp(self.created_at, UTC)
        accounts = Account.objects.filter(prefix=self.prefix, created_at__gte=began_at)
        owners = User.objects.filter(account__in=accounts, role=User.Role.OWNER, email_key=fold_email(self.email))
        return owners.select_related("account").first()

    def create(self, *, is_held: bool) -> User:
        """Create the account, suspended until a review if it `is_held`. Return its owner. Raise FieldError if the address was taken."""
        if (owner := self.find_owner()) is not None:
            return owner
        if error := find_prefix_error(self.prefix):
            raise FieldError("prefix", PREFIX_ERRORS[error])
        if self.invitation and not AccountInvitation.objects.with_secret(self.invitation).delete()[0]:
            raise FieldError("invitation", _("is used or has expired"))
        owner = create_account_without_token(
            prefix=self.prefix,
            login=User.objects.suggest_login(0, self.email).replace(".", "-"),
            email=self.email,
            owner_name=self.owner_name,
            name=self.name,
            language=self.language,
            time_zone=self.time_zone,
            currency=self.currency,
            country=self.country,
        )
        account = owner.account
        account.statuses.bulk_create(Status.defaults(account, rows=Status.DEFAULTS_OF_CLIENTS))
        if is_held:
            with override(self.language):
                owner.account.suspend(
                    gettext("We look at some new accounts first. You get an e-mail when yours is open.")
                )
        return owner

    def count_creation(self, request: PageRequest) -> bool:
        """Count the account that is about to be created, unless its owner is invited. Return whether it must be reviewed.

        Raise Throttled beyond the limits.
        """
        if self.invitation:
            return False
        is_suspicious = any(part in self.name.lower() for part in SUSPICIOUS_PARTS)
        limit = settings.SIGN_UP_LIMIT
        if not limit:
            return is_suspicious
        enforce_limit(request, hit_address(request, "new-account", MAX_ACCOUNTS_PER_ADDRESS, DAY))
        total = hit("new-accounts", limit * REFUSAL_FACTOR, HOUR)
        enforce_limit(request, total, _("Too many accounts are being created at the moment. Try again in an hour."))
        domain = fold_email(self.email).rpartition("@")[2]
        of_domain = hit(hashed_key("new-account-domain", domain), MAX_ACCOUNTS_PER_EMAIL_DOMAIN, HOUR)
        return is_suspicious or not of_domain.allowed or total.used > limit
