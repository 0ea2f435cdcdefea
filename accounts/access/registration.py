"""The registration of groups and of the page for what agents see (`core.rooms`)."""

from django.utils.translation import gettext_lazy as _

from accounts.access.models import Group
from accounts.layout.navigation import is_admin
from core.pages.navigation import MenuEntry, register
from core.registry import Resource, newest_id, registry

registry.register(
    Resource(
        "group",
        Group,
        "accounts.access.api.GroupViewSet",
        label=_("Group"),
        plural_label=_("Groups"),
        icon="users",
        collection="groups",
        samples={"group": lambda request: newest_id(request.account.user_groups.all())},
    )
)
register("settings", MenuEntry("access", _("What agents see"), "accounts-access", "eye", order=35, is_shown=is_admin))
