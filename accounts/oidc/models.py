"""Single sign-on with the OpenID Connect provider of an account.

A provider begins as a draft, which only a test of an owner uses. After a successful test it can be *on*, which offers it on the sign-in page, and
*enforced*: users with an e-mail of a proven domain then sign in in no other way, except one owner.
"""

import asyncio
from collections.abc import Collection
from datetime import datetime
from typing import Any, Self
from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models, transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import Audited, record
from accounts.hosts.domains import RECORD_LABEL, read_records
from accounts.hosts.models import Host
from accounts.hosts.names import is_domain, public_url, read
from accounts.identities.models import Identity
from accounts.users.models import User
from accounts.users.owners import email_owners
from core.db.locks import LockableQuerySet
from core.errors import FieldError
from core.pages.formatting import lazy_date
from core.rows.trimmed import fold_email
from core.sealing import seal, unseal

SEAL_PURPOSE = "oidc client secret"
MAX_DOMAINS, MAX_GROUPS = 10, 50
# The roles that a group of the provider can give, the strongest first.
GROUP_ROLES = (User.Role.ADMIN, User.Role.AGENT, User.Role.MEMBER)


STATE_SENTENCES = {
    "draft": _("It is a draft now, which nobody signs in with."),
    "on": _("It is on now: the sign-in page offers it."),
    "enforced": _("It is enforced now: people with an e-mail of its domains sign in in no other way."),
}


class SignInRefused(Exception):
    """The provider knows the person, but the account does not admit them. The message tells why."""


class OIDCProviderQuerySet(LockableQuerySet["OIDCProvider"]):
    def due(self) -> Self:
        """Return the providers whose domains have to be checked again, the longest unchecked first."""
        is_old = Q(checked_at__lte=timezone.now() - Host.CHECK_INTERVAL)
        return self.filter(Q(checked_at=None) | is_old).order_by(F("checked_at").asc(nulls_first=True))


class OIDCProvider(Audited):
    class State(models.TextChoices):
        DRAFT = "draft", _("Draft: only your test uses it")
        ON = "on", _("On: the sign-in page offers it")
        ENFORCED = "enforced", _("Enforced: users of the domains sign in with it only")

    audit_group = "oidc"
    audited = (
        "issuer",
        "client_identifier",
        "state",
        "domains",
        "groups_claim",
        "group_roles",
        "default_role",
        "trusts_factors",
    )

    account = models.OneToOneField(Account, models.CASCADE, primary_key=True, related_name="oidc_provider")
    issuer = models.CharField(max_length=500)
    client_identifier = models.CharField(max_length=500)
    client_secret = models.TextField(default="")
    state = models.CharField(max_length=20, choices=State.choices, default=State.DRAFT)
    # The domains of e-mails that the account has proven, and the value of the DNS record that proves them.
    domains = ArrayField(models.CharField(max_length=255), default=list)
    # By domain, the time of the first failed check after the last successful one.
    missing_since = models.JSONField(default=dict, db_default={})
    checked_at = models.DateTimeField(null=True)
    token = models.UUIDField(default=uuid4, editable=False)
    groups_claim = models.CharField(max_length=255, default="groups")
    # By the name of a group, the role that it gives. Without any, roles are changed in the settings only.
    group_roles = models.JSONField(default=dict)
    default_role = models.CharField(max_length=20, default=User.Role.MEMBER)
    # True if the provider asks for a second factor itself.
    trusts_factors = models.BooleanField(default=False)
    # The last successful test: its time, and the claims of its owner.
    tested_at = models.DateTimeField(null=True)
    tested_claims = models.JSONField(null=True)
    # What the provider publishes about itself, and its keys.
    metadata = models.JSONField(default=dict)
    keys = models.JSONField(default=dict)
    fetched_at = models.DateTimeField(null=True)

    objects = OIDCProviderQuerySet.as_manager()

    def __str__(self) -> str:
        return self.issuer

    @property
    def secret(self) -> str:
        return str(unseal(self.client_secret, SEAL_PURPOSE)) if self.client_secret else ""

    @property
    def record_name(self) -> str:
        """The label of the DNS record that proves a domain. The domain follows."""
        return RECORD_LABEL

    @property
    def record_value(self) -> str:
        return f"rostrum-domain={self.token}"

    @property
    def lapses_at(self) -> dict[str, datetime]:
        """By domain without its record, the time from which it does not count, as for the domains of forums (`Host.GRACE`)."""
        return {name: datetime.fromisoformat(since) + Host.GRACE for name, since in self.missing_since.items()}

    @transaction.atomic(savepoint=False)
    def write(self, *, secret: str = "", **values: Any) -> None:
        """Save the settings. Another provider is a draft again, which has to be tested. A new secret of the same one changes nothing else."""
        is_new = self._state.adding
        is_other = any(
            values.get(name, getattr(self, name)) != getattr(self, name) for name in ("issuer", "client_identifier")
        )
        for name, value in values.items():
            setattr(self, name, value)
        if secret:
            self.client_secret = seal(secret, SEAL_PURPOSE)
        if is_other:
            self.metadata, self.keys, self.fetched_at, self.tested_at, self.tested_claims = {}, {}, None, None, None
            self.state = self.State.DRAFT
            Identity.objects.filter(account_id=self.account_id, provider=Identity.OIDC).delete()
        self.save()
        self.apply()
        if is_other and not is_new:
            self.tell_owners(_("The provider has changed. It is a draft again, which nobody signs in with."))
        elif secret and not is_new:
            self.tell_owners(_("The client secret was replaced."))

    @transaction.atomic(savepoint=False)
    def change_state(self, state: str, *, by: User | None = None) -> None:
        """Change the state. Raise FieldError if the provider was not tested, or if nobody could get in should it fail."""
        if state != self.State.DRAFT and self.tested_at is None:
            raise FieldError("state", _("can't be this before a successful test"))
        if state == self.State.ENFORCED:
            if not self.domains:
                raise FieldError("state", _("needs a proven domain of e-mails"))
            if by is None or not by.has_usable_password() or by.second_factor_at is None:
                raise FieldError(
                    "state", _("needs you to have a password and a second factor, with which you can always come in")
                )
            if self.state != self.State.ENFORCED:
                self.account.sso_exempt_id = by.id
        self.state = state
        self.save()
        self.apply()
        self.tell_owners(STATE_SENTENCES[state])

    def apply(self) -> None:
        """Copy to the account what each request reads there."""
        is_enforced = self.state == self.State.ENFORCED
        self.account.sso_domains = self.domains if is_enforced else []
        if not is_enforced:
            self.account.sso_exempt_id = None
        columns = {name: getattr(self.account, name) for name in ("sso_domains", "sso_exempt_id")}
        Account.objects.filter(pk=self.account_id).update(**columns)

    @transaction.atomic(savepoint=False)
    def remove(self) -> None:
        """Delete the provider. Everybody signs in in the other ways again."""
        self.state = self.State.DRAFT
        self.apply()
        Identity.objects.filter(account_id=self.account_id, provider=Identity.OIDC).delete()
        self.tell_owners(_("It was removed. Everybody signs in in the other ways again."))
        self.delete()

    def tell_owners(self, change: str | Promise) -> None:
        url = public_url(self.account.prefix) + reverse("accounts-oidc")
        email_owners(self.account, "accounts/mail/sso_changed.txt", change=change, url=url)

    def prove_domain(self, text: str) -> None:
        """Add a domain of e-mails whose DNS has the record. Raise FieldError. Call this outside of a transaction."""
        name = read(text)
        if name is None or not is_domain(name):
            raise FieldError("domain", _("is not a domain such as example.com"))
        if name not in self.find_proven([name]):
            raise FieldError("domain", _("does not have the record yet: DNS can take an hour"))
        with transaction.atomic():
            provider = self.lock()
            if provider is None:
                raise FieldError("domain", _("can't be added: the provider was removed"))
            if len({*provider.domains, name}) > MAX_DOMAINS:
                raise FieldError("domain", _("can't be added: there are 10 already"))
            is_new = name not in provider.domains
            provider.missing_since.pop(name, None)
            provider.change_domains({*provider.domains, name})
            if is_new:
                sentence = _("The domain {name} was proven. People with its e-mails can join.")
                provider.tell_owners(format_lazy(sentence, name=name))

    def lock(self) -> "OIDCProvider | None":
        """Lock the row until the transaction ends, and return it as it is now, or None if it was deleted."""
        provider = OIDCProvider.objects.locked().filter(pk=self.pk).first()
        if provider is not None:
            provider.account = self.account
        return provider

    def change_domains(self, names: Collection[str]) -> None:
        self.domains = sorted(names)
        if not names and self.state == self.State.ENFORCED:
            self.state = self.State.ON
            self.tell_owners(STATE_SENTENCES[self.state])
        self.save()
        self.apply()

    def find_proven(self, names: Collection[str]) -> set[str]:
        """Return the domains whose DNS has the record."""

        async def read_all() -> list[list[str]]:
            return await asyncio.gather(*(read_records(f"{self.record_name}.{name}") for name in names))

        found = zip(names, asyncio.run(read_all()), strict=True)
        return {name for name, records in found if self.record_value in records}

    def check_domains(self) -> None:
        """Check the proof of each domain, as a domain can pass to another owner. Call this outside of a transaction.

        Owners are told of a missing record at once. The domain counts for `Host.GRACE` more.
        """
        names = list(self.domains)
        missing = set(names) - self.find_proven(names)
        with transaction.atomic():
            provider, now = self.lock(), timezone.now()
            if provider is None:
                return
            before, provider.checked_at = provider.missing_since, now
            provider.missing_since = {name: before.get(name, now.isoformat()) for name in missing & {*provider.domains}}
            lapsed = {name for name, at in provider.lapses_at.items() if at <= now}
            url = public_url(provider.account.prefix) + reverse("accounts-oidc")
            for name in sorted(missing & provider.missing_since.keys() - before.keys() | lapsed):
                date = "" if name in lapsed else lazy_date(provider.lapses_at[name])
                email_owners(provider.account, "accounts/mail/sso_domain.txt", domain=name, date=date, url=url)
            for name in lapsed:
                del provider.missing_since[name]
            provider.change_domains({*provider.domains} - lapsed)

    def role_of(self, claims: dict[str, Any]) -> str:
        """Return the strongest role of the groups of a person, or the default."""
        groups = claims.get(self.groups_claim)
        names = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        given = {self.group_roles[name] for name in names if isinstance(name, str) and name in self.group_roles}
        return next((role for role in GROUP_ROLES if role in given), self.default_role)

    @transaction.atomic(savepoint=False)
    def find_user(self, claims: dict[str, Any], *, language: str | None) -> User:
        """Return the user for the claims of the provider, who joins with the first sign-in. Raise SignInRefused, and FieldErrors for a taken e-mail.

        `sub` identifies a person, because an e-mail may pass to another one. Only the first sign-in compares the e-mail.
        """
        subject = claims["sub"]
        user = Identity.objects.find_user(self.account_id, Identity.OIDC, subject)
        role = self.role_of(claims)
        if user is None:
            email = self.verified_email(claims)
            user = User.objects.filter(account_id=self.account_id, email_key=fold_email(email)).first()
            if user is None:
                name = claims.get("name")
                login = User.objects.suggest_login(self.account_id, email) or f"user-{uuid4().hex[:8]}"
                user = User.objects.sign_up(
                    self.account,
                    login=login,
                    email=email,
                    password=None,
                    name=(name if isinstance(name, str) else "") or login,
                    role=role,
                    language=language,
                )
            values = {"account_id": self.account_id, "user_id": user.id, "provider": Identity.OIDC, "subject": subject}
            Identity.objects.create(**values)
        user.account = self.account
        if not user.is_active:
            raise SignInRefused(_("Your user is deactivated."))
        if self.group_roles and user.role not in (User.Role.OWNER, role):
            user.check_team_size(role)
            record(self.account_id, "user.role_changed", target=user, before=user.role, after=role)
            user.role = role
            user.save(update_fields=["role", "updated_at"])
        return user

    def verified_email(self, claims: dict[str, Any]) -> str:
        email = claims.get("email")
        try:
            if not isinstance(email, str) or len(email) > 255 or claims.get("email_verified") not in (True, "true"):
                raise ValidationError("")
            validate_email(email)
        except ValidationError:
            sentence = _("The provider does not say that your e-mail is verified (email, email_verified).")
            raise SignInRefused(sentence) from None
        if domain_of(email) not in self.domains:
            raise SignInRefused(_("Your e-mail is of no domain of this account."))
        return email


def domain_of(email: str) -> str:
    return fold_email(email).rpartition("@")[2]


def clean_group_roles(text: str) -> dict[str, str]:
    """Return the roles by group of lines such as `forum-admins = admin`. Raise FieldError."""
    roles: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, role = (part.strip() for part in line.rpartition("="))
        if not equals or not name or role not in choices(GROUP_ROLES):
            raise FieldError("group_roles", _("needs a group and a role in each line, such as: forum-team = agent"))
        roles[name[:255]] = role
    if len(roles) > MAX_GROUPS:
        raise FieldError("group_roles", _("can't have more than 50 groups"))
    return roles


def choices(roles: Collection[Any]) -> list[str]:
    return [str(role.value) for role in roles]
