"""Groups of users of the team, who access each other's rows if agents see only their own (`accounts.access.rows`)."""

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.db.tenancy import TenantModel, folded_fields
from core.registry import Resource
from core.rows.trimmed import NameKeyField, TrimmedCharField
from core.search.declaration import Search


class GroupQuerySet(models.QuerySet["Group"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))


class Group(TenantModel):
    """A named group of users. A user is in at most one group."""

    api_resource = Resource("group", _("Group"), _("Groups"), icon="users")

    name = TrimmedCharField(max_length=255)
    name_key = NameKeyField(source="name", null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    search = Search(condition=Q())

    objects = GroupQuerySet.as_manager()

    class Meta:
        default_related_name = "user_groups"
        constraints = [models.UniqueConstraint(fields=["account", "name_key"], name="group_name_key_unique")]

    def __str__(self) -> str:
        return self.name

    def write(self, values: dict[str, Any]) -> None:
        """Insert the group, or update the fields in `values`."""
        for name, value in values.items():
            setattr(self, name, value)
        if self._state.adding:
            self.save(force_insert=True)
        else:
            self.updated_at = timezone.now()
            self.save(update_fields={*values, *folded_fields(Group, values), "updated_at"})
