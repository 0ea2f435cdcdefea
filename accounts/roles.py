"""The rules on which users may create, invite and manage which other users, and the actions that follow them."""

from typing import Self

from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.errors import FieldError


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    AGENT = "agent"
    MEMBER = "member"


TEAM = (Role.OWNER, Role.ADMIN, Role.AGENT)
# The users who may be made responsible for something, as a filter.
ASSIGNABLE = {"role__in": TEAM, "is_active": True}
ADMINS = (Role.OWNER, Role.ADMIN)
EVERYBODY = frozenset(Role)
EXCEPT_OWNERS = EVERYBODY - {Role.OWNER}

# The roles that the users of a role may give to a new user.
CREATES = {Role.OWNER: EVERYBODY, Role.ADMIN: EXCEPT_OWNERS, Role.AGENT: frozenset({Role.MEMBER})}
# The roles whose holders they may manage (change the role, deactivate, reactivate, revoke tokens), and that they may give
# to an existing user.
MANAGES = {Role.OWNER: EVERYBODY, Role.ADMIN: EXCEPT_OWNERS}

ONLY_OWNERS = _("Only an owner can appoint or change owners.")
ONLY_ADMINS = _("Only an admin or an owner can change other users.")


class Managed:
    """The part of a user that is about roles. Every path that creates or changes a user asks these methods."""

    def may_create(self, role: str) -> bool:
        return self.is_active and role in CREATES.get(self.role, ())

    def may_invite(self, role: str) -> bool:
        """Return whether the user may invite somebody with that role. Owners are appointed, not invited."""
        return role != Role.OWNER and self.may_create(role)

    def may_manage(self, user) -> bool:
        return self.is_active and user.role in MANAGES.get(self.role, ())

    @property
    def assignable_roles(self) -> list[str]:
        """The roles that the user may give to an existing user."""
        return [role for role in Role.values if self.is_active and role in MANAGES.get(self.role, ())]

    def check_may_create(self, role: str) -> None:
        """Raise PermissionDenied unless the user may create a user with that role."""
        if not self.may_create(role):
            if not self.may_create(Role.MEMBER):
                raise PermissionDenied("You may not create users")
            if self.role == Role.AGENT:
                raise PermissionDenied("An agent may create members only")
            raise PermissionDenied(ONLY_OWNERS)

    @transaction.atomic(savepoint=False)
    def change_role(self, role: str, *, by) -> None:
        """Change the role. Raise PermissionDenied if `by` may not, FieldError for oneself."""
        self._lock(by)
        self._check_managed(by)
        self._refuse_oneself(by)
        if role not in Role.values:
            raise FieldError("role", _("is not one of those that there are"))
        if role not in by.assignable_roles:
            raise PermissionDenied(ONLY_OWNERS)
        self.role = role
        self.save(update_fields=["role", "updated_at"])
        self._revoke_invitations()

    @transaction.atomic(savepoint=False)
    def deactivate(self, *, by) -> None:
        """End the sessions, and refuse the password, the tokens and the invitations to the team. What they wrote stays.

        Raise PermissionDenied if `by` may not, FieldError for oneself.
        """
        self._lock(by)
        self._check_managed(by)
        self._refuse_oneself(by)
        self.is_active = False
        self.save(update_fields=["is_active", "updated_at"])
        self.sessions.all().delete()
        self._revoke_invitations()

    @transaction.atomic(savepoint=False)
    def reactivate(self, *, by) -> None:
        """Let the user sign in again. Raise PermissionDenied if `by` may not."""
        self._lock(by)
        self._check_managed(by)
        self.is_active = True
        self.save(update_fields=["is_active", "updated_at"])

    @transaction.atomic(savepoint=False)
    def revoke_token(self, id: int, *, by) -> None:
        """Revoke the user's token with that id. Revoking it again changes nothing. Everybody may revoke their own tokens.

        Raise PermissionDenied if `by` may not.
        """
        if by.id != self.id:
            self._lock(by)
            self._check_managed(by)
        self.tokens.filter(id=id, revoked_at=None).update(revoked_at=timezone.now())

    def _lock(self, by) -> None:
        """Lock and reload both rows: without that, two owners could demote each other at the same time.

        So an account always keeps an owner: only another active owner demotes or deactivates one.
        """
        users = self.account.users.filter(id__in=[self.id, by.id])
        locked = {user.id: user for user in users.order_by("id").select_for_update(no_key=True)}
        for user in (self, by):
            user.role, user.is_active = locked[user.id].role, locked[user.id].is_active

    def _check_managed(self, by) -> None:
        if not by.may_manage(self):
            raise PermissionDenied(ONLY_OWNERS if by.assignable_roles else ONLY_ADMINS)

    def _revoke_invitations(self) -> None:
        """Delete the pending invitations to the team whose roles the user may no longer give.

        Otherwise a demoted admin could come back under another e-mail address. Invitations of members stay.
        """
        lost = [role for role in Role.values if role != Role.MEMBER and not self.may_invite(role)]
        self.account.invitations.filter(invited_by_id=self.id, role__in=lost).delete()

    def _refuse_oneself(self, by) -> None:
        """Refuse what nobody could undo for themselves."""
        if self.id == by.id:
            raise FieldError("user", _("can't be yourself: somebody else has to do this"))


class ManagedQuerySet(models.QuerySet):
    def staff(self) -> Self:
        """The team, those who were deactivated too, in the order of their names."""
        return self.filter(role__in=TEAM).order_by("name", "id")

    def members(self) -> Self:
        """Whoever signed up or was made a member, the latest first."""
        return self.filter(role=Role.MEMBER).order_by("-id")
