"""Users: the team of an account and the members of its forums."""

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, Self
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import make_password
from django.db import models, transaction
from django.db.models import Case, F, Q, Value, When
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account, AgentsSee
from accounts.audit.models import record
from accounts.roles.models import ADMINS, TEAM, Role, RoleMixin
from accounts.users.delivery import NotificationDelivery
from accounts.users.invitations import Invitation
from accounts.users.names import (
    SkeletonField,
    check_visible,
    check_without_website,
    looks_like_any,
    public_name,
    skeleton,
)
from core.db import locks
from core.db.prepared import prepared
from core.db.tenancy import FoldedField, TenantModel, fold
from core.errors import FieldError, FieldErrors
from core.rows.access import ALL_ROWS, Access
from core.rows.trimmed import EmailKeyField, TrimmedCharField, fold_email
from core.search.declaration import Search

# Sent in the transaction in which a person joins an account by signing up or by an invitation. Arguments: `user`, and `site_ids`, the ids of the
# sites to which the user was invited.
user_joined = Signal()
# Sent in the transaction in which a user changes to another verified e-mail. Arguments: `user`.
email_changed = Signal()
# Sent in the transaction in which a user ends all access that works without the password, beyond sessions and tokens. Arguments: `user`.
access_ended = Signal()


class AdmittingSite(Protocol):
    """The attributes of a site (`accounts.hosts.addresses.Site`) that decide who signs in there."""

    id: int
    account: Account

    def admits(self, email: str, user: "User | None") -> bool:
        """Return whether the person with a confirmed e-mail, who may be a user, may sign in or sign up at the site."""


# The password hash of a user who is not stored. It is as long as a real hash, so that signing takes the same time.
PLACEHOLDER_HASH = "!" * 97


@dataclass(frozen=True)
class CodeRecipient:
    """The address that gets a sign-in code."""

    email: str
    # The user with the address, or None.
    user: "User | None" = None
    # Whether `find_or_join` finds or creates a user for the address.
    may_sign_in: bool = False


# The fields with which a user signs in. Only the team sees those of others.
PRIVATE_NAMES = ("email", "login")


class UserQuerySet(models.QuerySet[Any]):
    def all_team(self) -> Self:
        """Return the team including deactivated users, ordered by name."""
        return self.filter(role__in=TEAM, erased_at=None).order_by("name", "id")

    def members(self) -> Self:
        """Return the users with the role member, newest first."""
        return self.filter(role=Role.MEMBER, erased_at=None).order_by("-id")

    def with_private_names_for(self, reader: "User") -> Self:
        """Annotate `shown_login` and `shown_email`, which are blank for a reader who may not see the values of this user."""
        if reader.is_team:
            return self.annotate(**{f"shown_{name}": F(name) for name in PRIVATE_NAMES})
        is_own = Q(id=reader.id)
        return self.annotate(
            **{f"shown_{name}": Case(When(is_own, then=F(name)), default=Value("")) for name in PRIVATE_NAMES}
        )

    def team(self) -> Self:
        """Return the active users of the team."""
        return self.filter(role__in=User.TEAM, is_active=True)

    def find_by_login(self, account_id: int, name: str) -> "User | None":
        """Return the user with the login, or else the user with the e-mail, together with the account."""
        user: User | None = _user_by_login.first(account_id=account_id, key=fold(name), email_key=fold_email(name))
        return user

    def find_for_password_reset(self, account: Account, name: str) -> tuple["User", bool]:
        """Return the active user with the login, or else with the e-mail, and True. If there is no such user, return a user who
        is not stored, and False.

        Both cases do the same work and read one row, so that the response time does not show whether the name exists.
        """
        row = _user_for_password_reset.first(account_id=account.id, key=fold(name), email_key=fold_email(name))
        is_known = row[0] is not None and row[-1]
        placeholder = (0, name, name, PLACEHOLDER_HASH, None, True)
        id, login, email, password, language, _is_active = row if is_known else placeholder
        user = User(account=account, id=id, login=login, email=email, password=password, language=language)
        return user, is_known

    def create_for(self, account: Account, *, login: str, email: str, password: str | None, **fields: object) -> "User":
        """Create a user without checking whether the names are free. Raise FieldErrors for names with format characters or a website.

        A user without a password (None) signs in with codes (`accounts.sign_in.models`).
        """
        check_visible(login=login, email=email)
        # Everyone sees the name. A login may be an e-mail address, of which only the team may see more than the local part.
        values: dict[str, Any] = {"name": login.partition("@")[0] or login, **fields}
        check_without_website(login=login, name=values["name"])
        values |= {"login": login, "email": email, "password": make_password(password)}
        User(account=account).check_team_size(values.get("role", Role.MEMBER))
        user: User = self.create(account=account, **values)
        record(account.id, "user.created", target=user, role=user.role)
        return user

    def check_free(self, account_id: int, *, exclude_id: int | None = None, **names: str) -> None:
        """Raise FieldErrors for names that have format characters, and for names that equal or look like a name of another user.

        `names` maps the field of each name to the name. `exclude_id` is the id of the user who gets the names.
        """
        check_visible(**names)
        taken = self.find_taken_names(account_id, names.values(), exclude_id=exclude_id)
        message = _("is already taken")
        if errors := [FieldError(name, message, "taken") for name, value in names.items() if value in taken]:
            raise FieldErrors(errors)

    def find_taken_names(self, account_id: int, names: Iterable[str], *, exclude_id: int | None = None) -> set[str]:
        """Return those of the names that equal or look like a login or an e-mail of another user of the account.

        The names, and all names that look like them, stay locked until the transaction ends.
        """
        keys_of = {name: {fold(name), fold_email(name)} for name in names}
        keys: set[str] = set().union(*keys_of.values())
        skeletons = {skeleton(key) for key in keys}
        locks.acquire(*(("user", account_id, skeleton) for skeleton in skeletons))
        # Look up the keys as well, because during an upgrade the previous version writes rows without skeletons.
        same = Q(login_key__in=keys) | Q(email_key__in=keys)
        similar = Q(login_skeleton__in=skeletons) | Q(email_skeleton__in=skeletons)
        users = self.filter(same | similar, account_id=account_id).exclude(id=exclude_id)
        others = set(chain.from_iterable(users.values_list("login_key", "email_key")))
        taken = {key for key in keys if looks_like_any(key, others)}
        return {name for name, name_keys in keys_of.items() if name_keys & taken}

    @transaction.atomic(savepoint=False)
    def sign_up(
        self,
        account: Account,
        *,
        login: str,
        email: str,
        password: str | None,
        name: str,
        role: str = Role.MEMBER,
        site_ids: Sequence[int] = (),
        **fields: object,
    ) -> "User":
        """Create a user, by default a member. Raise FieldErrors for a login or an e-mail that is taken.

        `site_ids` are the sites to which the user was invited.
        """
        self.check_free(account.id, login=login, email=email)
        user = self.create_for(account, login=login, email=email, password=password, name=name, role=role, **fields)
        user.is_new = True
        user_joined.send(User, user=user, site_ids=site_ids)
        return user

    @transaction.atomic(savepoint=False)
    def accept(
        self, invitation: Invitation, *, login: str, password: str | None, name: str, **fields: object
    ) -> "User | None":
        """Create a user with the invitation's role.

        Return None if the invitation was accepted or revoked meanwhile, or if its sender may no longer give the role. Raise
        FieldErrors for a login or an e-mail that is taken.
        """
        # Lock the sender, so that a role does not change before this transaction ends.
        senders = self.filter(account_id=invitation.account_id, id=invitation.invited_by_id)
        sender = senders.select_for_update(no_key=True).first()
        if sender is None or not invitation.is_authorized_by(sender):
            return None
        # A concurrent transaction waits here for the lock of the row, and then deletes nothing.
        same = Invitation.objects.pending().filter(pk=invitation.pk, digest=invitation.digest)
        if not same.delete()[0]:
            return None
        return self.sign_up(
            invitation.account,
            login=login,
            email=invitation.email,
            password=password,
            name=name,
            role=invitation.role,
            site_ids=invitation.site_ids,
            **fields,
        )

    @transaction.atomic(savepoint=False)
    def find_or_join(self, site: AdmittingSite, *, email: str, name: str, language: str | None = None) -> "User | None":
        """Return the user with a confirmed e-mail. If there is none, accept the invitation of the e-mail, or else create a member.

        A new user without a name is a guest with a number, and pages ask for the name later (`asks_name`).

        `email` is the address that received the code. Return None if the user with an equal e-mail is deactivated or has it in
        another spelling, which may be another mailbox, for a user whom the site does not admit, and for such an e-mail without an
        invitation. A new user has no password. Raise FieldErrors for an e-mail that looks like a name of another user.
        """
        account = site.account
        # With the lock, two concurrent requests with the same e-mail create only one user.
        locks.acquire(("user", account.id, skeleton(fold_email(email))))
        user: User | None = self.filter(account_id=account.id, email_key=fold_email(email)).first()
        if user is not None:
            return user if user.is_active and user.email == email and site.admits(email, user) else None
        invited = account.invitations.pending().for_site(site.id)
        invitation = invited.filter(email_key=fold_email(email), email=email).first()
        is_admitted = site.admits(email, None)
        if invitation is None and not is_admitted:
            return None
        fields: dict[str, Any] = {"language": language, "asks_name": not name}
        name = name or gettext("Guest %(number)d") % {"number": secrets.randbelow(9000) + 1000}
        # Do not derive them from the e-mail: everyone sees the name, and can search for the login to mention the user.
        login = f"user-{secrets.randbelow(10**9)}"
        if invitation is not None:
            user = self.accept(invitation, login=login, password=None, name=name, **fields)
        if user is None and is_admitted:
            user = self.sign_up(account, login=login, email=email, password=None, name=name, **fields)
        return user

    def find_for_code(self, site: AdmittingSite, email: str) -> "CodeRecipient":
        """Return the recipient of a sign-in code for a typed e-mail.

        It takes the same statements for every e-mail, so that the response time does not show whether somebody has it. The code goes to
        the stored address of the user or of the invitation. Two addresses that are equal without regard to case may be different
        mailboxes: `K` (KELVIN SIGN) and `k` are the same letter only in our comparison (CVE-2019-19844).
        """
        account, key = site.account, fold_email(email)
        user: User | None = self.filter(account_id=account.id, email_key=key).first()
        invitations = account.invitations.pending().for_site(site.id).filter(email_key=key)
        invited = invitations.values_list("email", flat=True).first()
        is_admitted = site.admits(email, user)
        if user is not None:
            return CodeRecipient(user.email, user, may_sign_in=user.is_active and is_admitted)
        return CodeRecipient(invited or email, may_sign_in=invited is not None or is_admitted)

    def suggest_login(self, account_id: int, email: str) -> str:
        """Return an unused login derived from the e-mail, or "" if all candidates are in use."""
        base = re.sub(r"[^\w.-]", "", email.partition("@")[0].partition("+")[0])[:64] or "user"
        candidates = [base, *(f"{base}{number}" for number in range(2, 10)), f"{base}{secrets.randbelow(10**6)}"]
        users = self.filter(account_id=account_id, login_key__in=map(fold, candidates))
        used = set(users.values_list("login_key", flat=True))
        return next((login for login in candidates if fold(login) not in used), "")


class User(RoleMixin, TenantModel, AbstractBaseUser):
    """A person who can sign in. Logins and e-mails are unique within the account, ignoring case."""

    Role = Role

    class Notification(models.TextChoices):
        ALL = "all"
        OWN = "own"
        NONE = "none"

    TEAM, ADMINS = TEAM, ADMINS
    # The number of permanent rejections by the mail server after which an e-mail address gets no more notifications.
    MAX_BOUNCES = 3

    # In HTTP Basic the first colon ends the login.
    LOGIN_PATTERN = r"[^\s:]([^:]*[^\s:])?"

    login = models.CharField(max_length=255)
    login_key = FoldedField(source="login")
    email = TrimmedCharField(max_length=255)
    email_key = EmailKeyField(source="email")
    login_skeleton = SkeletonField(source="login", default="", db_default="")
    email_skeleton = SkeletonField(source="email", default="", db_default="")
    name = TrimmedCharField(max_length=255, blank=True, default="")
    role = models.CharField(max_length=255, choices=Role.choices, default=Role.MEMBER)
    group_id = models.BigIntegerField(null=True)
    notification = models.CharField(max_length=255, choices=Notification.choices, default=Notification.OWN)
    # Whether visitors and members see the user's name beside the user's votes. The team always does.
    shows_votes = models.BooleanField(default=False, db_default=False)
    description = models.CharField(max_length=65536, blank=True, null=True, default="")
    www = models.CharField(max_length=255, blank=True, null=True)
    # Preferences for the pages. The default is that of the account.
    language = models.CharField(max_length=255, blank=True, null=True)
    time_zone = models.CharField(max_length=255, blank=True, null=True)
    # The delivery of notifications by e-mail. `digest_weekday` is 0 for Monday.
    delivery = models.CharField(
        max_length=255,
        choices=NotificationDelivery.choices,
        default=NotificationDelivery.AT_ONCE,
        db_default=NotificationDelivery.AT_ONCE,
    )
    digest_hour = models.SmallIntegerField(default=8, db_default=8)
    digest_weekday = models.SmallIntegerField(default=0, db_default=0)
    # Events that only the team is notified of.
    notify_new_posts = models.BooleanField(default=True, db_default=True)
    notify_sign_ups = models.BooleanField(default=False, db_default=False)
    # A trigger on the table of notifications maintains this number.
    unread_notifications = models.IntegerField(default=0, db_default=0, editable=False)
    # The permanent rejections of the e-mail address. At `MAX_BOUNCES`, `bounced_at` is set, and the address gets no more notifications.
    bounces = models.SmallIntegerField(default=0, db_default=0, editable=False)
    bounced_at = models.DateTimeField(null=True, editable=False)
    # Whether single keys act on the pages that have keyboard shortcuts.
    shortcuts = models.BooleanField(default=True, db_default=True)
    # What pages remember (`accounts.users.preferences`).
    preferences = models.JSONField(default=dict, db_default={}, editable=False)
    # Whether pages ask for the name. It is asked for once, of users who joined without one.
    asks_name = models.BooleanField(default=False, db_default=False, editable=False)
    is_active = models.BooleanField(default=True)
    # When the team blocked the member. A blocked user is not active.
    blocked_at = models.DateTimeField(null=True, editable=False)
    # When the personal data were erased (`accounts.erasure`). Such a user has no login, and only the name of a deleted user.
    erased_at = models.DateTimeField(null=True, editable=False)
    # When the member was told that they will be erased, because they are inactive (`accounts.erasure.inactivity`).
    erasure_notice_at = models.DateTimeField(null=True, editable=False)
    # Since when the user has a second factor (`accounts.factors`), which signing in then demands.
    second_factor_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    search = Search(
        short=("login", "email"),
        long=("description",),
        condition=Q(role__in=("owner", "admin", "agent")),
        # The team has a separate index, because an account may have a million members.
        more_indexes={"member": Q(role="member")},
        not_searched={
            "password": "a hash",
            "www": "rarely known to those who search for a user",
            "language": "a code that most users share",
            "time_zone": "a name that most users share",
        },
    )

    objects = UserQuerySet.as_manager()

    # Set by `sign_up`: True if this request has created the user.
    is_new = False

    USERNAME_FIELD = "login"
    EMAIL_FIELD = "email"

    class Meta:
        default_related_name = "users"
        constraints = [
            models.UniqueConstraint(fields=["account", "login_key"], name="user_login_unique"),
            models.UniqueConstraint(fields=["account", "email_key"], name="user_email_unique"),
        ]
        indexes = [
            models.Index(fields=["account", "login_skeleton"], name="user_login_skeleton"),
            models.Index(fields=["account", "email_skeleton"], name="user_email_skeleton"),
            # For the list of the team, ordered by name.
            models.Index(
                fields=["account", "name", "id"], name="user_team", condition=Q(role__in=("owner", "admin", "agent"))
            ),
            # The users who are notified of everything.
            models.Index(fields=["account", "id"], name="user_notified_of_all", condition=Q(notification="all")),
            models.Index(fields=["account", "group_id"], name="user_of_group", condition=Q(group_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.login

    @property
    def public_name(self) -> str:
        """The name for readers who may not see the login (`PRIVATE_NAMES`)."""
        return public_name(self.name)

    @cached_property
    def access(self) -> Access:
        """The clients, contacts, deals and tasks that the user may access. It takes a statement for a limited agent with a group."""
        if self.is_admin or self.account.agents_see == AgentsSee.ALL:
            return ALL_ROWS
        if self.group_id is None:
            return Access((self.id,))
        # Deactivated users are included, so that the group keeps their rows.
        colleagues = User.objects.filter(account_id=self.account_id, group_id=self.group_id)
        return Access((self.id, *colleagues.exclude(id=self.id).order_by("id").values_list("id", flat=True)))

    @property
    def must_use_sso(self) -> bool:
        """True if the account enforces single sign-on for the user. `account` is known."""
        domains = self.account.sso_domains
        return bool(domains) and self.id != self.account.sso_exempt_id and self.email_key.rpartition("@")[2] in domains

    def link_subject(self, purpose: str) -> tuple[object, ...]:
        """Return the subject of links for the purpose (see `accounts.mail.sending`). A change of password or e-mail invalidates them."""
        return purpose, self.account_id, self.id, self.password, self.email

    @transaction.atomic(savepoint=False)
    def change_profile(self, *, login: str, name: str | None = None, **values: object) -> None:
        """Save the profile. Raise FieldErrors if the login equals or looks like that of another user, or if a name contains a website."""
        name = self.name if name is None else name
        changed = {"login": login, "name": name}
        check_without_website(**{field: text for field, text in changed.items() if text != getattr(self, field)})
        # An unchanged login is not checked, because it may be older than the check for lookalikes.
        if fold(login) != self.login_key:
            User.objects.check_free(self.account_id, exclude_id=self.id, login=login)
        if login != self.login:
            record(self.account_id, "user.login_changed", by=self, target=self, before=self.login, after=login)
        self.change(login=login, name=name, **values)

    def answer_name(self, name: str) -> None:
        """Save the name that a page has asked for, or keep the present one for "". Raise FieldErrors for a website."""
        check_without_website(name=name)
        self.change(name=name or self.name, asks_name=False)

    @transaction.atomic(savepoint=False)
    def change_email(self, email: str) -> None:
        """Save the e-mail. Raise FieldErrors if it equals or looks like that of another user."""
        if fold_email(email) != self.email_key:
            User.objects.check_free(self.account_id, exclude_id=self.id, email=email)
        if email != self.email:
            record(self.account_id, "user.email_changed", by=self, target=self, before=self.email, after=email)
        self.change(email=email)
        self.reset_bounces()
        email_changed.send(User, user=self)

    @transaction.atomic(savepoint=False)
    def change_group(self, group_id: int | None, *, by: "User") -> None:
        """Move the user to the group with the id, or out of the group for None.

        Raise PermissionDenied if `by` may not manage the user, and FieldError if there is no such group.
        """
        self._lock_managed(by)
        # The lock keeps the group until the transaction ends.
        if group_id is not None and not self.account.user_groups.locked().filter(id=group_id).exists():
            raise FieldError("group_id", _("can't be found"), "missing")
        former_id, self.group_id = self.group_id, group_id
        self._save("group_id")
        self._record("group_changed", by, before=former_id, after=group_id)

    def record_bounce(self) -> None:
        """Count a permanent rejection of the e-mail address. At `MAX_BOUNCES`, stop sending notifications until `reset_bounces`."""
        self.bounces += 1
        if self.bounces >= self.MAX_BOUNCES:
            self.bounced_at = timezone.now()
        self.save(update_fields=["bounces", "bounced_at"])

    def reset_bounces(self) -> None:
        """Clear the rejections, so that notifications are sent to the e-mail address again."""
        self.bounces, self.bounced_at = 0, None
        self.save(update_fields=["bounces", "bounced_at"])

    def change(self, **values: object) -> None:
        """Save fields, such as preferences, without any checks."""
        for name, value in values.items():
            setattr(self, name, value)
        keys = [f"{name}_{kind}" for name in ("login", "email") if name in values for kind in ("key", "skeleton")]
        self.save(update_fields=[*values, *keys, "updated_at"])

    @transaction.atomic(savepoint=False)
    def change_password(self, password: str, *, keep_family: UUID | None = None, ends_access: bool = False) -> None:
        """Set the password and end the user's sessions, except those of the given family.

        With `ends_access`, also revoke the user's tokens and the addresses that work without the password. Otherwise they stay valid.
        """
        self.password = make_password(password)
        self.save(update_fields=["password", "updated_at"])
        self.sessions.exclude(family=keep_family).delete()  # type: ignore[misc]  # exclude(family=None) excludes nothing
        if ends_access:
            self.tokens.filter(revoked_at=None).update(revoked_at=timezone.now())
            access_ended.send(User, user=self)
        # A page keeps the session of its user. A link to set a password has none.
        act = "password_reset" if keep_family is None else "password_changed"
        self._record(act, self, ends_access=ends_access)

    def upgrade_password(self, password: str) -> None:
        """Hash the verified password with the current parameters, unless it was changed meanwhile."""
        old_hash, self.password = self.password, make_password(password)
        if not User.objects.filter(pk=self.pk, password=old_hash).update(password=self.password):
            self.refresh_from_db(fields=["password"])


@prepared(account_id=int, key=str, email_key=str)
def _user_for_password_reset(account_id: int, key: str, email_key: str) -> models.QuerySet[Any, Any]:
    """Return one row in any case: the user's columns, or nulls if no user has the name."""
    known = Q(users__login_key=key) | Q(users__email_key=email_key)
    by_login_first = Case(When(known__login_key=key, then=0), default=1, output_field=models.IntegerField())
    accounts = Account.objects.filter(id=account_id)
    rows = accounts.annotate(known=models.FilteredRelation("users", condition=known)).order_by(by_login_first)
    columns = ("id", "login", "email", "password", "language", "is_active")
    return rows.values_list(*(f"known__{column}" for column in columns))[:1]


@prepared(account_id=int, key=str, email_key=str)
def _user_by_login(account_id: int, key: str, email_key: str) -> models.QuerySet[User]:
    by_login_first = Case(When(login_key=key, then=0), default=1, output_field=models.IntegerField())
    users = User.objects.filter(Q(login_key=key) | Q(email_key=email_key), account_id=account_id)
    return users.select_related("account").order_by(by_login_first)[:1]
