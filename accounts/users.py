"""Who may sign in: the team of an account, and the members of its forums."""

import re
import secrets
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import make_password
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.names import SkeletonField, check_visible, looks_like_any, skeleton
from accounts.roles import ADMINS, TEAM, Managed, ManagedQuerySet, Role
from accounts.sessions import Invitation
from core.db import locks
from core.db.prepared import prepared
from core.db.tenancy import FoldedField, TenantModel, fold
from core.errors import FieldError, FieldErrors
from core.search.declaration import Search

if TYPE_CHECKING:
    from accounts.account import Account

# As long as a hash of a password, for signing as much text.
NO_HASH = "!" * 97


class UserQuerySet(ManagedQuerySet):
    def team(self) -> Self:
        return self.filter(role__in=User.TEAM, is_active=True)

    def known_as(self, account_id: int, name: str) -> "User | None":
        """The user with that login, or else that e-mail, with the account."""
        return _user_known_as.first(account_id=account_id, key=fold(name))

    def addressee(self, account: "Account", name: str) -> tuple["User", bool]:
        """Return the active user with that login, or else that e-mail, and True. If there is none, return a user who is not
        stored, and False.

        Both take the same work, down to the number of rows, for answers whose time must not tell whether the name is known.
        """
        known = _addressee.first(account_id=account.id, key=fold(name))
        is_known = known[0] is not None and known[-1]
        id, login, email, password, language, _is_active = known if is_known else (0, name, name, NO_HASH, None, True)
        values = {"id": id, "login": login, "email": email, "password": password, "language": language}
        return User(account=account, **values), is_known

    def create_for(self, account: "Account", *, login: str, email: str, password: str, **fields) -> "User":
        check_visible(login=login, email=email)
        return self.create(
            account=account, login=login, email=email, password=make_password(password), **{"name": login, **fields}
        )

    def check_free(self, account_id: int, *, but: int | None = None, **names: str) -> None:
        """Raise FieldErrors for names with format characters, and for those that somebody else in the account has, or that
        look like theirs.
        """
        check_visible(**names)
        taken = self.taken(account_id, names.values(), but=but)
        message = _("is already taken")
        if errors := [FieldError(name, message, "taken") for name, value in names.items() if fold(value) in taken]:
            raise FieldErrors(errors)

    def taken(self, account_id: int, names: Iterable[str], *, but: int | None = None) -> set[str]:
        """Return those of the names, folded, that somebody else in the account signs in with, or that look like one of theirs.

        A login is no other user's e-mail either. Transactions that ask for the same names, or for lookalikes of them, wait for
        each other.
        """
        keys = {fold(name) for name in names}
        skeletons = {skeleton(key) for key in keys}
        locks.acquire(*(("user", account_id, each) for each in skeletons))
        # The keys are looked up as well: a server of the version before, during an upgrade, writes no skeletons.
        same = Q(login_key__in=keys) | Q(email_key__in=keys)
        similar = Q(login_skeleton__in=skeletons) | Q(email_skeleton__in=skeletons)
        known = self.filter(same | similar, account_id=account_id).exclude(id=but)
        known = set(chain.from_iterable(known.values_list("login_key", "email_key")))
        return {key for key in keys if looks_like_any(key, known)}

    @transaction.atomic(savepoint=False)
    def sign_up(self, account: "Account", *, login: str, email: str, password: str, name: str, **fields) -> "User":
        """Create a member with that e-mail. Raises FieldErrors."""
        self.check_free(account.id, login=login, email=email)
        return self.create_for(account, login=login, email=email, password=password, name=name, **fields)

    @transaction.atomic(savepoint=False)
    def accept(self, invitation: Invitation, *, login: str, password: str, name: str, **fields) -> "User | None":
        """Create a user with the invitation's role.

        Return None if the invitation was accepted or revoked meanwhile, or if its sender may no longer give the role. Raise
        FieldErrors for a login or an e-mail that is taken.
        """
        # Lock the sender, so that their role does not change before this transaction ends.
        senders = self.filter(account_id=invitation.account_id, id=invitation.invited_by_id)
        sender = senders.select_for_update(no_key=True).first()
        if sender is None or not invitation.is_authorized_by(sender):
            return None
        # A second transaction waits here, and then finds no invitation.
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
    Role = Role

    class Notification(models.TextChoices):
        ALL = "all"
        OWN = "own"
        NONE = "none"

    TEAM, ADMINS = TEAM, ADMINS

    # HTTP Basic ends a login at the first colon.
    LOGIN_PATTERN = r"[^\s:]([^:]*[^\s:])?"

    login = models.CharField(max_length=255)
    login_key = FoldedField(source="login")
    email = models.CharField(max_length=255)
    email_key = FoldedField(source="email")
    login_skeleton = SkeletonField(source="login", default="", db_default="")
    email_skeleton = SkeletonField(source="email", default="", db_default="")
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

    search = Search(
        short=("login", "email"),
        long=("description",),
        condition=Q(role__in=("owner", "admin", "agent")),
        # Members may be a million, so the team has an index of its own.
        more_indexes={"member": Q(role="member")},
        not_searched={
            "password": "a hash",
            "www": "rarely known to those who search for a user",
            "language": "a code that most users share",
            "time_zone": "a name that most users share",
        },
    )

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
            models.Index(fields=["account", "login_skeleton"], name="user_login_skeleton"),
            models.Index(fields=["account", "email_skeleton"], name="user_email_skeleton"),
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

    def subject_of(self, purpose: str) -> tuple[object, ...]:
        """For `accounts.links`: a link is void once it has done its work, or the password or the e-mail is another one."""
        return purpose, self.account_id, self.id, self.password, self.email

    @transaction.atomic(savepoint=False)
    def change_profile(self, *, login: str, **values: Any) -> None:
        """Raises FieldErrors if another user has the login."""
        # What the user has stays theirs, even where it was written before names that look alike were refused.
        if fold(login) != self.login_key:
            User.objects.check_free(self.account_id, but=self.id, login=login)
        self._change(login=login, **values)

    @transaction.atomic(savepoint=False)
    def change_email(self, email: str) -> None:
        """Raises FieldErrors if another user has it."""
        if fold(email) != self.email_key:
            User.objects.check_free(self.account_id, but=self.id, email=email)
        self._change(email=email)

    def change_preferences(self, **values: Any) -> None:
        """Language, time zone, notification."""
        self._change(**values)

    def _change(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        keys = [f"{name}_{kind}" for name in ("login", "email") if name in values for kind in ("key", "skeleton")]
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
def _addressee(account_id, key):
    """Always one row: that of the account, beside the user's columns or nulls."""
    accounts = User._meta.get_field("account").related_model.objects.filter(id=account_id)
    known = Q(users__login_key=key) | Q(users__email_key=key)
    by_login_first = models.Case(
        models.When(known__login_key=key, then=0), default=1, output_field=models.IntegerField()
    )
    rows = accounts.annotate(known=models.FilteredRelation("users", condition=known)).order_by(by_login_first)
    columns = ("id", "login", "email", "password", "language", "is_active")
    return rows.values_list(*(f"known__{column}" for column in columns))[:1]


@prepared(account_id=int, key=str)
def _user_known_as(account_id, key):
    by_login_first = models.Case(models.When(login_key=key, then=0), default=1, output_field=models.IntegerField())
    users = User.objects.filter(Q(login_key=key) | Q(email_key=key), account_id=account_id)
    return users.select_related("account").order_by(by_login_first)[:1]
