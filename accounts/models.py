import hashlib
import re
import secrets
import string
from collections import Counter
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Self
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import make_password
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop
from psycopg.errors import ForeignKeyViolation
from rest_framework.exceptions import ValidationError

from accounts.changes import Change as Change
from accounts.errors import Conflict
from accounts.hosts import normalize, read
from accounts.idempotency import IdempotentAnswer as IdempotentAnswer
from accounts.ordering import Ordered
from accounts.prepared import prepared
from accounts.roles import Managed, ManagedQuerySet
from accounts.sessions import Invitation as Invitation
from accounts.sessions import Session as Session
from accounts.tenancy import FoldedField, TenantModel, fold
from accounts.trash import Trashable

RESERVED_PREFIXES = frozenset(
    [
        "abuse",
        "account",
        "accounts",
        "admin",
        "api",
        "app",
        "assets",
        "auth",
        "billing",
        "blog",
        "cdn",
        "dashboard",
        "dev",
        "docs",
        "email",
        "ftp",
        "healthz",
        "help",
        "host",
        "hostmaster",
        "imap",
        "info",
        "localhost",
        "login",
        "mail",
        "mx",
        "noc",
        "ns",
        "ns1",
        "ns2",
        "pop",
        "pop3",
        "postmaster",
        "readyz",
        "root",
        "security",
        "settings",
        "signup",
        "smtp",
        "staging",
        "static",
        "status",
        "support",
        "test",
        "webmaster",
        "www",
    ]
)

BIGGEST_POSITION = 2**31 - 1

PREFIX_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])\Z"


def random_account_id() -> int:
    """Random, so that an account's id tells nothing of how many accounts there are; exact in a JSON number."""
    return secrets.randbelow(2**48 - 1) + 1


class AccountQuerySet(models.QuerySet):
    @transaction.atomic
    def create_with_owner(
        self,
        *,
        prefix: str,
        login: str,
        email: str,
        password: str,
        host: str | None = None,
        forum_name: str = "",
        **fields,
    ) -> tuple["Account", "User", str]:
        """Make an account that works: its address, forum, category, statuses, and an owner with a token.

        Returns the account, its owner and the token, which is nowhere to be read again. With `host` the default forum
        lives there, and still answers at the account's own address as well.
        """
        account = self.create(prefix=prefix, **fields)
        own = account.hosts.create(name=prefix)
        forum = account.forums.create(
            name=forum_name or account.name or prefix,
            host_id=account.hosts.create(name=normalize(host)).id if host else own.id,
            is_default=True,
        )
        account.categories.create(forum_id=forum.id, name="General", position=1)
        account.statuses.bulk_create(Status.defaults(account))
        owner = User.objects.create_for(
            account,
            login=login,
            email=email,
            password=password,
            role=User.Role.OWNER,
            notification=User.Notification.ALL,
        )
        _, token = APIToken.objects.make(owner, label="First token")
        return account, owner, token


class Account(models.Model):
    """A tenant."""

    id = models.BigIntegerField(primary_key=True, default=random_account_id, editable=False)
    prefix = models.CharField(max_length=63, validators=[RegexValidator(PREFIX_PATTERN)])
    name = models.CharField(max_length=255, blank=True, default="")
    initial_module = models.CharField(max_length=255, default="forum")
    from_partner = models.CharField(max_length=255, null=True, blank=True)
    # Set, it marks the account as a partner, and is what its new accounts name in `from_partner`.
    partner_key = models.CharField(max_length=255, null=True, blank=True)
    time_zone = models.CharField(max_length=255, default="UTC")
    language = models.CharField(max_length=255, default="en")
    currency = models.CharField(max_length=255, default="EUR")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = AccountQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prefix"], name="account_prefix_unique"),
            models.UniqueConstraint(fields=["partner_key"], name="account_partner_key_unique"),
            models.CheckConstraint(
                condition=Q(prefix__regex=PREFIX_PATTERN.replace(r"\Z", "$")), name="account_prefix_form"
            ),
        ]

    def __str__(self) -> str:
        return self.prefix

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    def change(self, **values: Any) -> None:
        """Name, time zone, language and currency are its admins' to say."""
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=[*values, "updated_at"])

    def default_status(self, kind: str) -> "Status":
        return _first_status.first(account_id=self.id, kind=kind)

    def first_statuses(self, kind: str) -> models.QuerySet:
        return self.statuses.filter(kind=kind).order_by("position", "id")


@prepared(account_id=int, kind=str)
def _first_status(account_id, kind):
    return Account(id=account_id).first_statuses(kind)[:1]


class HostQuerySet(models.QuerySet):
    def claim(self, account: Account, text: str) -> "Host":
        """The account's host of the address that somebody typed, made where there is none.

        Raises ValidationError, which tells nothing of whose another one is.
        """
        name, base = read(text), settings.BASE_DOMAIN
        if name is None or (name.endswith(f".{base}") and name != base):
            raise ValidationError({"host": [gettext_noop("is not an address that a forum can have")]})
        if "." not in name and name != account.prefix:
            if not re.match(PREFIX_PATTERN, name) or len(name) < 2:
                raise ValidationError({"host": [gettext_noop("is not an address that a forum can have")]})
            if name in RESERVED_PREFIXES:
                raise ValidationError({"host": [gettext_noop("is reserved")]})
        # Nor the domains above that of the service, nor numbers: those are not for names.
        if f".{base}".endswith(f".{name}") or name.rpartition(".")[2].isdigit():
            raise ValidationError({"host": [gettext_noop("is not available")]})
        host = self.filter(name=name).first()
        if host is None:
            host = self.create(account=account, name=name)
        elif host.account_id != account.id:
            raise ValidationError({"host": [gettext_noop("is not available")]})
        return host


class Host(models.Model):
    """An address of the service. `name` is one label for an address under BASE_DOMAIN, else a whole domain name.

    Every account has the one that is its prefix; a forum has exactly one, which may be that.
    """

    account = models.ForeignKey(Account, models.CASCADE, related_name="hosts", db_index=False)
    name = models.CharField(max_length=255)

    objects = HostQuerySet.as_manager()

    class Meta:
        constraints = [
            # The one unique constraint without the account: it is what finds the account.
            models.UniqueConstraint(fields=["name"], name="host_name_unique"),
            models.UniqueConstraint(fields=["account", "id"], name="host_of_account"),
        ]

    def __str__(self) -> str:
        return self.name


class UserQuerySet(ManagedQuerySet):
    def team(self) -> Self:
        return self.filter(role__in=User.TEAM, is_active=True)

    def known_as(self, account_id: int, name: str) -> "User | None":
        """The user with that login, or else that e-mail, with the account."""
        return _user_known_as.first(account_id=account_id, key=fold(name))

    def create_for(self, account: Account, *, login: str, email: str, password: str, **fields) -> "User":
        return self.create(
            account=account, login=login, email=email, password=make_password(password), **{"name": login, **fields}
        )

    def check_free(self, account_id: int, *, but: int | None = None, **names: str) -> None:
        """Nobody else in the account has that login or e-mail. Raises ValidationError."""
        taken = Q(*((f"{name}_key", fold(value)) for name, value in names.items()), _connector=Q.OR)
        others = self.filter(taken, account_id=account_id).exclude(id=but)
        keys = set(chain.from_iterable(others.values_list(*(f"{name}_key" for name in names))))
        if faults := {name: "is already taken" for name, value in names.items() if fold(value) in keys}:
            raise ValidationError(faults)

    @transaction.atomic(savepoint=False)
    def sign_up(self, account: Account, *, login: str, email: str, password: str, name: str, **fields) -> "User":
        """Make a member of whoever reads that e-mail. Raises ValidationError."""
        self.check_free(account.id, login=login, email=email)
        return self.create_for(account, login=login, email=email, password=password, name=name, **fields)

    @transaction.atomic(savepoint=False)
    def accept(self, invitation: Invitation, *, login: str, password: str, name: str, **fields) -> "User | None":
        """Make a user with the invitation's role; None if it was accepted or taken back meanwhile. Raises ValidationError."""
        # Whoever comes second waits here, and finds none.
        same = Invitation.objects.open().filter(pk=invitation.pk, digest=invitation.digest)
        if not same.delete()[0]:
            return None
        values = {"login": login, "email": invitation.email, "password": password, "name": name}
        return self.sign_up(invitation.account, role=invitation.role, **values, **fields)

    def free_login(self, account_id: int, email: str) -> str:
        """A login that an e-mail suggests, and that nobody has now."""
        base = re.sub(r"[^\w.-]", "", email.partition("@")[0].partition("+")[0])[:64] or "user"
        tries = [base, *(f"{base}{number}" for number in range(2, 10)), f"{base}{secrets.randbelow(10**6)}"]
        taken = self.filter(account_id=account_id, login_key__in=map(fold, tries)).values_list("login_key", flat=True)
        taken = set(taken)
        return next((login for login in tries if fold(login) not in taken), "")


class User(Managed, TenantModel, AbstractBaseUser):
    class Role(models.TextChoices):
        OWNER = "owner"
        ADMIN = "admin"
        AGENT = "agent"
        MEMBER = "member"

    class Notification(models.TextChoices):
        ALL = "all"
        OWN = "own"
        NONE = "none"

    TEAM = (Role.OWNER, Role.ADMIN, Role.AGENT)
    ADMINS = (Role.OWNER, Role.ADMIN)

    # HTTP Basic ends a login at the first colon.
    LOGIN_PATTERN = r"[^\s:]([^:]*[^\s:])?"

    login = models.CharField(max_length=255)
    login_key = FoldedField(source="login")
    email = models.CharField(max_length=255)
    email_key = FoldedField(source="email")
    name = models.CharField(max_length=255, blank=True, default="")
    role = models.CharField(max_length=255, choices=Role.choices, default=Role.MEMBER)
    notification = models.CharField(max_length=255, choices=Notification.choices, default=Notification.OWN)
    description = models.CharField(max_length=65536, blank=True, null=True, default="")
    www = models.CharField(max_length=255, blank=True, null=True)
    # For the pages; where a user says none, the account's.
    language = models.CharField(max_length=255, blank=True, null=True)
    time_zone = models.CharField(max_length=255, blank=True, null=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = UserQuerySet.as_manager()

    USERNAME_FIELD = "login"
    EMAIL_FIELD = "email"

    class Meta:
        default_related_name = "users"
        constraints = [
            models.UniqueConstraint(fields=["account", "login_key"], name="user_login_unique"),
            models.UniqueConstraint(fields=["account", "email_key"], name="user_email_unique"),
        ]
        indexes = [
            # The team of an account, by name.
            models.Index(
                fields=["account", "name", "id"], name="user_team", condition=Q(role__in=("owner", "admin", "agent"))
            ),
        ]

    def __str__(self) -> str:
        return self.login

    @property
    def is_team(self) -> bool:
        return self.role in self.TEAM

    @property
    def is_admin(self) -> bool:
        return self.role in self.ADMINS

    def may_create(self, role: str) -> bool:
        return self.is_admin or (self.is_team and role == self.Role.MEMBER)

    def subject_of(self, purpose: str) -> tuple[object, ...]:
        """For `accounts.links`: a link is void once it has done its work, or the password or the e-mail is another one."""
        return purpose, self.account_id, self.id, self.password, self.email

    @transaction.atomic(savepoint=False)
    def change_profile(self, *, login: str, **values: Any) -> None:
        """Raises ValidationError if another user has the login."""
        User.objects.check_free(self.account_id, but=self.id, login=login)
        self._change(login=login, **values)

    @transaction.atomic(savepoint=False)
    def change_email(self, email: str) -> None:
        """Raises ValidationError if another user has it."""
        User.objects.check_free(self.account_id, but=self.id, email=email)
        self._change(email=email)

    def change_preferences(self, **values: Any) -> None:
        """Language, time zone, notification."""
        self._change(**values)

    def _change(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        keys = [f"{name}_key" for name in ("login", "email") if name in values]
        self.save(update_fields=[*values, *keys, "updated_at"])

    @transaction.atomic(savepoint=False)
    def change_password(self, password: str, *, but: int | None = None) -> None:
        """Set another password; all sessions of the user end, but the one with that id. Tokens stay."""
        self.password = make_password(password)
        self.save(update_fields=["password", "updated_at"])
        self.sessions.exclude(id=but).delete()

    def upgrade_password(self, password: str) -> None:
        """Store the same password under the present parameters, unless it was changed meanwhile."""
        before, self.password = self.password, make_password(password)
        if not User.objects.filter(pk=self.pk, password=before).update(password=self.password):
            self.refresh_from_db(fields=["password"])


@prepared(account_id=int, key=str)
def _user_known_as(account_id, key):
    by_login_first = models.Case(models.When(login_key=key, then=0), default=1, output_field=models.IntegerField())
    users = User.objects.filter(Q(login_key=key) | Q(email_key=key), account_id=account_id)
    return users.select_related("account").order_by(by_login_first)[:1]


class APITokenQuerySet(models.QuerySet):
    def live(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)

    def expired(self) -> Self:
        return self.filter(expires_at__lte=timezone.now(), revoked_at=None)

    @transaction.atomic(savepoint=False)
    def issue(
        self, user: User, *, label: str, expires_at: datetime | None = None, after: int | None = None
    ) -> tuple["APIToken", str]:
        """Make a token of `user`. The second value is the token itself, which is not stored and cannot be read again.

        With `after`, the id of the newest token that the user had (0 for none), one is made only if that is still so: a form
        that is sent twice makes one. Raises Conflict; ValidationError beyond 50 tokens.
        """
        # One at a time, so that no two count, or look, at once.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        own = self.filter(account_id=user.account_id, user_id=user.id)
        if after is not None and after != own.newest_id():
            raise Conflict("Another token was made meanwhile")
        if own.live().count() >= APIToken.MOST:
            raise ValidationError({"tokens": [gettext_noop("can't be more than 50; revoke one first")]})
        return self.make(user, label=label, expires_at=expires_at)

    def newest_id(self) -> int:
        """0 where there is none."""
        return self.aggregate(newest=models.Max("id"))["newest"] or 0

    def make(self, user: User, *, label: str, expires_at: datetime | None = None) -> tuple["APIToken", str]:
        """As `issue`, for a user who is just being made, and so has none."""
        secret = "".join(secrets.choice(APIToken.ALPHABET) for _ in range(APIToken.SECRET_LENGTH))
        prefix = Account.objects.values_list("prefix", flat=True).get(id=user.account_id)
        return self.adopt(user, f"{secret}/{prefix}", label=label, expires_at=expires_at)

    def adopt(self, user: User, token: str, *, label: str, expires_at=None) -> tuple["APIToken", str]:
        """Store the digest of a token that was made elsewhere."""
        row = self.create(
            account_id=user.account_id,
            user_id=user.id,
            label=label,
            digest=APIToken.digest_of(token),
            hint=token[:3],
            expires_at=expires_at,
        )
        return row, token

    def holding(self, token: str) -> "APIToken | None":
        """The row of `token`, with its user and account, if it may still be used."""
        return _token_of.first(digest=APIToken.digest_of(token), now=timezone.now())


@prepared(digest=bytes, now=datetime)
def _token_of(digest, now):
    usable = Q(expires_at=None) | Q(expires_at__gt=now)
    tokens = APIToken.objects.filter(usable, digest=digest, revoked_at=None, user__is_active=True)
    return tokens.select_related("user", "account")[:1]


class APIToken(TenantModel):
    """A token of one user: what is done with it, that user did. Only its SHA-256 digest is stored."""

    ALPHABET = string.ascii_letters + string.digits
    SECRET_LENGTH = 32  # 190 random bits
    MAX_LENGTH = 255
    USED_EVERY = timedelta(minutes=1)
    # Of one user, at once.
    MOST = 50

    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User,
        models.CASCADE,
        from_fields=["account_id", "user_id"],
        to_fields=["account_id", "id"],
        related_name="tokens",
    )
    label = models.CharField(max_length=255, blank=True, default="")
    digest = models.BinaryField()
    hint = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = APITokenQuerySet.as_manager()

    class Meta:
        default_related_name = "tokens"
        constraints = [
            # Like a host, a digest is what finds the account.
            models.UniqueConstraint(fields=["digest"], name="apitoken_digest_unique"),
        ]
        indexes = [models.Index(fields=["account", "user_id"], name="apitoken_of_user")]

    def __str__(self) -> str:
        return f"{self.hint}… ({self.label})"

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @staticmethod
    def digest_of(token: str) -> bytes:
        return hashlib.sha256(token.encode(errors="surrogatepass")).digest()

    def revoke(self) -> None:
        """From now on it is good for nothing. Doing it again changes nothing."""
        APIToken.objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())

    def touch(self) -> None:
        """Note that it was used, at most once a minute."""
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at >= self.USED_EVERY:
            APIToken.objects.filter(pk=self.pk).update(last_used_at=now)


class StatusQuerySet(models.QuerySet):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))


class Status(Ordered, TenantModel):
    class Kind(models.TextChoices):
        POST = "post"
        DEAL = "deal"
        CLIENT = "client"

    # (kind, code, name, color, closed)
    DEFAULTS = (
        (Kind.POST, "new", "New", "#6b7280", False),
        (Kind.POST, "accepted", "Accepted", "#2563eb", False),
        (Kind.POST, "planned", "Planned", "#7c3aed", False),
        (Kind.POST, "started", "Started", "#d97706", False),
        (Kind.POST, "completed", "Completed", "#16a34a", True),
        (Kind.POST, "rejected", "Rejected", "#dc2626", True),
        (Kind.POST, "duplicate", "Duplicate", "#4b5563", True),
        (Kind.DEAL, "new", "New", "#6b7280", False),
        (Kind.DEAL, "qualified", "Qualified", "#2563eb", False),
        (Kind.DEAL, "proposal", "Proposal", "#7c3aed", False),
        (Kind.DEAL, "won", "Won", "#16a34a", True),
        (Kind.DEAL, "lost", "Lost", "#dc2626", True),
    )

    IN_USE = {
        Kind.POST: gettext_noop("is in use by a post, perhaps one in the trash"),
        Kind.DEAL: gettext_noop("is in use by a deal, perhaps one in the trash"),
        Kind.CLIENT: gettext_noop("is in use by a client, perhaps one in the trash"),
    }

    kind = models.CharField(max_length=255, choices=Kind.choices)
    code = models.CharField(max_length=255)
    name = models.CharField(max_length=255)
    color = models.CharField(max_length=255, blank=True, null=True)
    position = models.IntegerField(default=0)
    closed = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = StatusQuerySet.as_manager()

    class Meta:
        default_related_name = "statuses"
        verbose_name_plural = "statuses"
        constraints = [
            models.UniqueConstraint(fields=["account", "kind", "code"], name="status_code_unique"),
            models.UniqueConstraint(fields=["account", "kind", "name"], name="status_name_unique"),
        ]

    def __str__(self) -> str:
        return self.code

    @classmethod
    def defaults(cls, account: Account) -> list["Status"]:
        return [
            cls(account=account, kind=kind, code=code, name=name, color=color, closed=closed, position=position)
            for position, (kind, code, name, color, closed) in enumerate(cls.DEFAULTS, start=1)
        ]

    def siblings(self) -> models.QuerySet:
        return self.account.statuses.filter(kind=self.kind)

    def write(self, values: dict[str, Any]) -> None:
        """Insert it, behind the others of its kind unless a position is said, or update what `values` names."""
        for name, value in values.items():
            setattr(self, name, value)
        if self._state.adding:
            if "position" not in values:
                last = self.siblings().aggregate(last=models.Max("position"))["last"] or 0
                self.position = min(last + 1, BIGGEST_POSITION)
            self.save(force_insert=True)
        else:
            self.save(update_fields={*values, "updated_at"})

    def erase(self) -> None:
        """Erase it; the caller holds all statuses of the account (`locked`).

        Raises ValidationError for one that something has, and for the last one for posts, as every post has one.
        """
        others = self.siblings().exclude(id=self.id)
        if self.kind == self.Kind.POST and not others.exists():
            raise ValidationError({"status": [gettext_noop("is the last one for posts, and every post has one")]})
        try:
            with transaction.atomic():
                self.delete()
        except IntegrityError as error:
            if not isinstance(error.__cause__, ForeignKeyViolation):
                raise
            raise ValidationError({"status": [self.IN_USE[self.kind]]}) from None


class TagQuerySet(models.QuerySet):
    def named(self, account: Account, names: list[str]) -> list["Tag"]:
        """The tags of these names, new ones made, without regard to case and each once, in the order given."""
        wanted = {fold(name): name for name in reversed(names)}
        if not wanted:
            return []
        found = {tag.name_key: tag for tag in self.filter(account=account, name_key__in=wanted)}
        missing = sorted(wanted.keys() - found.keys())
        if missing:
            self.bulk_create([Tag(account=account, name=wanted[key]) for key in missing], ignore_conflicts=True)
            found |= {tag.name_key: tag for tag in self.filter(account=account, name_key__in=missing)}
        return [found[key] for key in dict.fromkeys(fold(name) for name in names)]

    def in_use(self, kind: str) -> Self:
        """Rows of id, name and count: the tags that resources of this kind have, most used first."""
        return (
            self.filter(counts__kind=kind)
            .values("id", "name")
            .annotate(count=models.Sum("counts__uses"))
            .filter(count__gt=0)
            .order_by("-count", "name_key", "id")
        )


class Tag(TenantModel):
    MAX_LENGTH = 64

    name = models.CharField(max_length=255)
    name_key = FoldedField(source="name")

    objects = TagQuerySet.as_manager()

    class Meta:
        default_related_name = "tags"
        constraints = [models.UniqueConstraint(fields=["account", "name_key"], name="tag_name_unique")]

    def __str__(self) -> str:
        return self.name


class ShardedCount(models.Model):
    """How many there are of something, as a sum over shards.

    With one row to count in, all writes that count the same would wait for each other until commit; a connection counts in
    the shard that its number falls into.
    """

    SHARDS = 16

    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    shard = models.SmallIntegerField()
    uses = models.BigIntegerField()

    class Meta:
        abstract = True

    @classmethod
    def add(cls, account_id: int, column: str, changes: dict[int, int], **of: str) -> None:
        """Add to the counts (id in `column` to difference), always in the order of the ids, so that no two deadlock."""
        rows = [(id, by) for id, by in sorted(changes.items()) if by]
        if not rows:
            return
        key = ", ".join(["account_id", *of, column, "shard"])
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                INSERT INTO {cls._meta.db_table} AS counts ({key}, uses)
                SELECT %s, {"%s, " * len(of)} id, pg_backend_pid() %% {cls.SHARDS}, uses
                FROM unnest(%s::bigint[], %s::bigint[]) AS given (id, uses) ORDER BY id
                ON CONFLICT ({key}) DO UPDATE SET uses = counts.uses + excluded.uses
                """,  # noqa: S608
                [account_id, *of.values(), [id for id, _ in rows], [by for _, by in rows]],
            )


class TagCount(ShardedCount):
    """How many resources of a kind have a tag. A shop gives every one of its customers the same."""

    pk = models.CompositePrimaryKey("account_id", "kind", "tag_id", "shard")
    kind = models.CharField(max_length=255)
    tag_id = models.BigIntegerField()
    tag = models.ForeignObject(
        Tag, models.CASCADE, from_fields=["account_id", "tag_id"], to_fields=["account_id", "id"], related_name="counts"
    )

    @classmethod
    def change(cls, account_id: int, kind: str, changes: dict[int, int]) -> None:
        """Add to the counts of the tags (id to difference)."""
        cls.add(account_id, "tag_id", changes, kind=kind)


class Tagged(Trashable):
    """A resource with tags. The names stand in its own row, so that reading it needs no other; the tags are counted."""

    tags = ArrayField(models.TextField(), default=list)

    class Meta:
        abstract = True

    @classmethod
    def tag_all(cls, account: Account, wanted: list[tuple[Self, list[str]]]) -> None:
        """Replace the set of tags of each; the caller saves the rows, which it has locked, in the same transaction."""
        tags = {
            tag.name_key: tag for tag in Tag.objects.named(account, [name for _, names in wanted for name in names])
        }
        ids = {tag.name: tag.id for tag in tags.values()}
        changes, gone = Counter(), Counter()
        for row, names in wanted:
            before = set(row.tags)
            row.tags = list(dict.fromkeys(tags[fold(name)].name for name in names))
            changes.update(ids[name] for name in row.tags if name not in before)
            gone.update(before.difference(row.tags))
        for tag in Tag.objects.filter(account=account, name__in=gone):
            changes[tag.id] -= gone[tag.name]
        TagCount.change(account.id, cls._meta.model_name, changes)

    def let_go(self) -> None:
        self._count_tags(-1)
        super().let_go()

    def take_back(self) -> None:
        self._count_tags(+1)
        super().take_back()

    def _count_tags(self, by: int) -> None:
        ids = Tag.objects.filter(account_id=self.account_id, name__in=self.tags).values_list("id", flat=True)
        TagCount.change(self.account_id, self._meta.model_name, dict.fromkeys(ids, by))


class RateCountQuerySet(models.QuerySet):
    def ended(self) -> Self:
        """Those whose window is over, by the database's clock, which opened it."""
        return self.filter(ends_at__lte=Now())


class RateCount(models.Model):
    """How much of a limit is used (`accounts.throttling`). The table is unlogged: after a crash the counts begin anew."""

    # Names no login and no address: those are hidden behind an HMAC.
    key = models.CharField(max_length=128, primary_key=True)
    used = models.IntegerField()
    # Without an index, so that counting rewrites none (HOT); housekeeping may well scan.
    ends_at = models.DateTimeField()

    objects = RateCountQuerySet.as_manager()
