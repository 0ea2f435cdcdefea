"""The roles of users: which roles may create, invite and manage which others, and the actions that apply these rules."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import record
from core.errors import FieldError

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager

    from accounts.account.models import Account

# Sent in the transaction in which a block of a member ends. Arguments: `user`, and `blocked_at`, the time of the block.
block_ended = Signal()


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    AGENT = "agent"
    MEMBER = "member"


TEAM = (Role.OWNER, Role.ADMIN, Role.AGENT)
# The filter for users who can be responsible for a resource.
ASSIGNABLE: dict[str, Any] = {"role__in": TEAM, "is_active": True}
ADMINS = (Role.OWNER, Role.ADMIN)
ALL_ROLES = frozenset(Role)
ALL_EXCEPT_OWNER = ALL_ROLES - {Role.OWNER}

# For each role, the roles that its holders may give to a new user.
CREATABLE_ROLES: dict[str, frozenset[Role]] = {
    Role.OWNER: ALL_ROLES,
    Role.ADMIN: ALL_EXCEPT_OWNER,
    Role.AGENT: frozenset({Role.MEMBER}),
}
# For each role, the roles that its holders may manage (change the role, deactivate, reactivate, revoke tokens, end
# sessions) and may give to an
# existing user.
MANAGEABLE_ROLES: dict[str, frozenset[Role]] = {Role.OWNER: ALL_ROLES, Role.ADMIN: ALL_EXCEPT_OWNER}
NO_ROLES: frozenset[Role] = frozenset()

ONLY_OWNERS = _("Only an owner can appoint or change owners.")
ONLY_ADMINS = _("Only an admin or an owner can change other users.")


class RoleMixin(models.Model):
    """The methods of `User` that check and change roles. All code that creates or changes users calls them."""

    # True for the user of a session at a custom domain, who has the rights of a member there (`Session.is_limited`). It is not stored.
    acts_as_member = False

    if TYPE_CHECKING:
        # Fields and relations of `User`.
        id: int
        account_id: int
        account: "Account"
        role: str
        is_active: bool
        blocked_at: datetime | None
        erased_at: datetime | None
        sessions: RelatedManager[Any]
        tokens: RelatedManager[Any]

    class Meta:
        abstract = True

    @property
    def effective_role(self) -> str:
        """The role whose rights the user has in this session."""
        return Role.MEMBER if self.acts_as_member else self.role

    @property
    def is_team(self) -> bool:
        return self.effective_role in TEAM

    @property
    def is_admin(self) -> bool:
        return self.effective_role in ADMINS

    @property
    def is_owner(self) -> bool:
        return self.effective_role == Role.OWNER

    def may_create(self, role: str) -> bool:
        return self.is_active and role in CREATABLE_ROLES.get(self.effective_role, NO_ROLES)

    def may_invite(self, role: str) -> bool:
        """Return whether the user may send an invitation with the role. An owner is never invited."""
        return role != Role.OWNER and self.may_create(role)

    def may_manage(self, user: "RoleMixin") -> bool:
        manageable = MANAGEABLE_ROLES.get(self.effective_role, NO_ROLES)
        return self.is_active and user.erased_at is None and user.role in manageable

    def may_block(self, user: "RoleMixin") -> bool:
        """Return whether the user may block the other one: the team may block members."""
        return self.may_create(Role.MEMBER) and user.role == Role.MEMBER and user.erased_at is None

    @property
    def assignable_roles(self) -> list[str]:
        """The roles that the user may give to an existing user."""
        manageable = MANAGEABLE_ROLES.get(self.effective_role, NO_ROLES)
        return [role for role in Role.values if self.is_active and role in manageable]

    def check_may_create(self, role: str) -> None:
        """Raise PermissionDenied unless the user may create a user with the role."""
        if not self.may_create(role):
            if not self.may_create(Role.MEMBER):
                raise PermissionDenied("You may not create users")
            if self.role == Role.AGENT:
                raise PermissionDenied("An agent may create members only")
            raise PermissionDenied(ONLY_OWNERS)

    def check_team_size(self, role: str) -> None:
        """Raise FieldError if a user more with the role does not fit into the plan of the account, whose row stays locked."""
        limit = self.account.team_limit
        if role not in TEAM or limit is None:
            return
        self.account.lock()
        if self.account.users.filter(role__in=TEAM, is_active=True).count() >= limit:
            message = _("can't be given: the plan of the account has {most} users in the team")
            raise FieldError("role", message, "team_limit", {"most": limit})

    @transaction.atomic(savepoint=False)
    def change_role(self, role: str, *, by: Self) -> None:
        """Change the role. Raise PermissionDenied if `by` may not change it, and FieldError if `by` is the same user."""
        self._lock_managed(by)
        self._refuse_self(by)
        if role not in Role.values:
            raise FieldError("role", _("is not one of those that there are"))
        if role not in by.assignable_roles:
            raise PermissionDenied(ONLY_OWNERS)
        if self.role not in TEAM:
            self.check_team_size(role)
        former_role, self.role = self.role, role
        self._save("role")
        self._record("role_changed", by, before=former_role, after=role)
        self._revoke_invitations()

    @transaction.atomic(savepoint=False)
    def deactivate(self, *, by: Self) -> None:
        """Deactivate the user: end the sessions, and disable the password, the tokens and the pending invitations to the team.

        Raise PermissionDenied if `by` may not manage the user, and FieldError if `by` is the same user.
        """
        self._lock_managed(by)
        self._refuse_self(by)
        self.is_active = False
        self._save("is_active")
        self._record("deactivated", by)
        self.sessions.all().delete()
        self._revoke_invitations()

    @transaction.atomic(savepoint=False)
    def reactivate(self, *, by: Self) -> None:
        """Enable sign-in again, which also ends a block. Raise PermissionDenied if `by` may not manage the user."""
        self._lock_managed(by)
        self.check_team_size(self.role)
        self._activate()
        self._record("reactivated", by)

    @transaction.atomic(savepoint=False)
    def block(self, *, by: Self) -> None:
        """Deactivate a member, and record the time. Raise PermissionDenied if `by` may not block the user, and FieldError if the user is
        deactivated already: an agent could otherwise undo the act of an admin.
        """
        self._lock(by)
        self._check_blockable(by)
        if not self.is_active and self.blocked_at is None:
            raise FieldError("user", _("is deactivated"), "deactivated")
        if self.blocked_at is None:
            self.is_active, self.blocked_at = False, timezone.now()
            self._save("is_active", "blocked_at")
            self.sessions.all().delete()
            self._record("blocked", by)

    @transaction.atomic(savepoint=False)
    def unblock(self, *, by: Self) -> None:
        """Undo `block`. Raise PermissionDenied if `by` may not block the user."""
        self._lock(by)
        self._check_blockable(by)
        if self.blocked_at is not None:
            self._activate()
            self._record("unblocked", by)

    @transaction.atomic(savepoint=False)
    def revoke_token(self, id: int, *, by: Self) -> None:
        """Revoke the user's token with the id, if it is not revoked yet.

        Raise PermissionDenied unless `by` is the same user or may manage the user.
        """
        if by.id != self.id:
            self._lock_managed(by)
        for token in self.tokens.filter(id=id, revoked_at=None):
            self.tokens.filter(id=id).update(revoked_at=timezone.now())
            record(self.account_id, "token.revoked", by=by, target=token, user=self.id)

    @transaction.atomic(savepoint=False)
    def end_sessions(self, *, by: Self, keep_family: UUID | None = None) -> None:
        """End the sessions of the user, except those of the given family.

        Raise PermissionDenied unless `by` is the same user or may manage the user.
        """
        if by.id != self.id:
            self._lock_managed(by)
        self.sessions.exclude(family=keep_family).delete()
        self._record("sessions_ended", by)

    def _record(self, act: str, by: Self, **details: object) -> None:
        record(self.account_id, f"user.{act}", by=by, target=self, **details)

    def _activate(self) -> None:
        blocked_at = self.blocked_at
        self.is_active, self.blocked_at = True, None
        self._save("is_active", "blocked_at")
        if blocked_at is not None:
            block_ended.send(type(self), user=self, blocked_at=blocked_at)

    def _save(self, *fields: str) -> None:
        self.save(update_fields=[*fields, "updated_at"])  # type: ignore[misc]  # fields of `User`

    def _lock(self, by: Self) -> None:
        """Lock the rows of both users and reload their roles, so that two owners cannot demote each other in concurrent transactions.

        An account always keeps an active owner this way, because only another active owner may demote or deactivate an owner.
        """
        users = self.account.users.filter(id__in=[self.id, by.id])
        locked = {user.id: user for user in users.order_by("id").select_for_update(no_key=True)}
        for user in (self, by):
            user.role, user.is_active = locked[user.id].role, locked[user.id].is_active
            user.blocked_at = locked[user.id].blocked_at

    def _lock_managed(self, by: Self) -> None:
        """Lock both users. Raise PermissionDenied if `by` may not manage this one."""
        self._lock(by)
        if not by.may_manage(self):
            raise PermissionDenied(ONLY_OWNERS if by.assignable_roles else ONLY_ADMINS)

    def _check_blockable(self, by: Self) -> None:
        if not by.may_block(self):
            raise PermissionDenied(_("Only the team can block somebody, and only members can be blocked."))

    def _revoke_invitations(self) -> None:
        """Delete the user's pending invitations to the team with roles that the user may no longer give.

        Otherwise a demoted admin could rejoin under another e-mail address. Invitations of members stay valid.
        """
        lost_roles = [role for role in Role.values if role != Role.MEMBER and not self.may_invite(role)]
        self.account.invitations.filter(invited_by_id=self.id, role__in=lost_roles).delete()

    def _refuse_self(self, by: Self) -> None:
        """Raise FieldError if `by` is the same user, who could not undo the change."""
        if self.id == by.id:
            raise FieldError("user", _("can't be yourself: somebody else has to do this"))
