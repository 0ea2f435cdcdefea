"""Which rows of the CRM a user may access, and the groups of users who access each other's rows.

An account may limit its agents to the rows that they, or a user of their group, are responsible for (`Account.agents_see`). Every query of
clients, contacts, deals and tasks for a user starts at `accessible_to`, so the limit holds for the APIs, pages, searches, counts and
exports alike. Admins and owners access all rows.

A link to a row that the user may not access shows its id and nothing else. A user cannot set a new link to it.
"""

from collections.abc import Mapping
from typing import Self, TypeVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import Audited
from accounts.users.models import User
from core.db.locks import LockableQuerySet
from core.db.tenancy import TenantModel, folded_fields
from core.registry import Resource
from core.rows.trash import LimitedQuerySet, Trashable
from core.rows.trimmed import NameKeyField, TrimmedCharField
from core.search.declaration import Search

Row = TypeVar("Row", bound=Trashable)


class Group(Audited, TenantModel):
    """A named group of users. A user is in at most one group."""

    api_resource = Resource("group", _("Group"), _("Groups"), icon="users")
    audit_group, audited = "group", ("name",)

    name = TrimmedCharField(max_length=255)
    name_key = NameKeyField(source="name", null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    search = Search(condition=Q())

    objects = LockableQuerySet.as_manager()

    class Meta:
        default_related_name = "user_groups"
        constraints = [models.UniqueConstraint(fields=["account", "name_key"], name="group_name_key_unique")]

    def __str__(self) -> str:
        return self.name

    def write(self, values: Mapping[str, object]) -> None:
        """Insert the group, or update the fields in `values`."""
        for name, value in values.items():
            setattr(self, name, value)
        if self._state.adding:
            self.save(force_insert=True)
        else:
            self.updated_at = timezone.now()
            self.save(update_fields={*values, *folded_fields(Group, values), "updated_at"})


class AccessQuerySet(LimitedQuerySet[Row]):
    """A queryset of rows with the column `responsible_id`."""

    def accessible_to(self, user: User) -> Self:
        return self.limited_to(user.access)
