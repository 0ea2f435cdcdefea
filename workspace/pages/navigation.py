"""The menu entries of the team's pages."""

from django.utils.translation import gettext_lazy as _

from accounts.pages.navigation import is_admin
from core.pages.navigation import Entry, register


def register_entries() -> None:
    """Register the entries in `core.pages.navigation`."""
    register(
        "settings", Entry("fields", _("Fields"), "workspace-fields", "text-cursor-input", order=62, is_shown=is_admin)
    )
