"""The names of statuses in templates."""

from django import template
from django.utils.translation import gettext

from accounts.models import Status

register = template.Library()

# The names that statuses are made with are translated; those that a team gave itself stay as they are.
DEFAULT_NAMES = {(kind, code): name for kind, code, name, *_ in Status.DEFAULTS}
FORMER_NAMES = frozenset(DEFAULT_NAMES.values())


@register.filter
def called(status: Status | str) -> str:
    """A status's name, in the reader's language where it is one of those that an account begins with. A name alone is one
    that a status had."""
    if isinstance(status, str):
        return gettext(status) if status in FORMER_NAMES else status
    return gettext(status.name) if DEFAULT_NAMES.get((status.kind, status.code)) == status.name else status.name
