"""What one user may do to another: roles, and whether somebody may come in at all (decisions, section 2)."""

from typing import Self

from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext_noop
from rest_framework.exceptions import PermissionDenied, ValidationError


class Managed:
    """A user as the admins of the account see him. Who else holds a role is locked while it changes hands."""

    def may_be_managed_by(self, user) -> bool:
        """Admins manage everybody but owners, whom owners alone do."""
        return user.is_admin and (self.role != self.Role.OWNER or user.role == self.Role.OWNER)

    @classmethod
    def roles_given_by(cls, user) -> list[str]:
        """The roles that the user may give to others."""
        if not user.is_admin:
            return []
        return [role for role in cls.Role.values if role != cls.Role.OWNER or user.role == cls.Role.OWNER]

    @transaction.atomic(savepoint=False)
    def change_role(self, role: str, *, by) -> None:
        """Raises ValidationError for oneself and for the last owner, PermissionDenied for what is not `by`'s to give or to
        take."""
        self._hold(by)
        self._refuse_oneself(by)
        if role not in self.Role.values:
            raise ValidationError({"role": [gettext_noop("is not one of those that there are")]})
        if role not in self.roles_given_by(by):
            raise PermissionDenied(gettext_noop("Only an owner can appoint or remove owners."))
        if role != self.Role.OWNER:
            self._refuse_last_owner("role")
        self.role = role
        self.save(update_fields=["role", "updated_at"])
        if not self.is_admin:
            self._withdraw_invitations()

    @transaction.atomic(savepoint=False)
    def deactivate(self, *, by) -> None:
        """Let him in no longer: sessions end, and passwords, tokens and invitations to the team are good for nothing. What he
        wrote stays.

        Raises ValidationError for oneself and for the last owner, PermissionDenied for an owner unless `by` is one.
        """
        self._hold(by)
        self._refuse_oneself(by)
        self._refuse_last_owner("user")
        self.is_active = False
        self.save(update_fields=["is_active", "updated_at"])
        self.sessions.all().delete()
        self._withdraw_invitations()

    @transaction.atomic(savepoint=False)
    def reactivate(self, *, by) -> None:
        self._hold(by)
        self.is_active = True
        self.save(update_fields=["is_active", "updated_at"])

    def _hold(self, by) -> None:
        """Hold the rows that decide, read anew: two owners could otherwise unmake each other at the same time."""
        users = self.account.users.filter(Q(id__in=[self.id, by.id]) | Q(role=self.Role.OWNER))
        held = {user.id: user for user in users.order_by("id").select_for_update(no_key=True)}
        for user in (self, by):
            user.role, user.is_active = held[user.id].role, held[user.id].is_active
        self._owners = [user.id for user in held.values() if user.role == self.Role.OWNER and user.is_active]
        if not self.may_be_managed_by(by):
            raise PermissionDenied(gettext_noop("Only an owner can appoint or remove owners."))

    def _withdraw_invitations(self) -> None:
        """Whoever may invite no more has nobody come to the team later, such as oneself under another e-mail."""
        invitations = self.account.invitations.filter(invited_by_id=self.id)
        invitations.exclude(role=self.Role.MEMBER).delete()

    def _refuse_oneself(self, by) -> None:
        """What one could not undo by oneself."""
        if self.id == by.id:
            raise ValidationError({"user": [gettext_noop("can't be yourself: somebody else has to do this")]})

    def _refuse_last_owner(self, field: str) -> None:
        if self._owners == [self.id]:
            raise ValidationError({field: [gettext_noop("can't be taken from the only owner: make another one first")]})


class ManagedQuerySet(models.QuerySet):
    def staff(self) -> Self:
        """The team, those who were deactivated too, in the order of their names."""
        return self.filter(role__in=self.model.TEAM).order_by("name", "id")

    def members(self) -> Self:
        """Whoever signed up or was made a member, the latest first."""
        return self.filter(role=self.model.Role.MEMBER).order_by("-id")
