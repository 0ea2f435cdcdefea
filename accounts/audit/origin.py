"""Where the running code was called from: a request with its user, a command of an operator, or else a job.

The middleware and the authentication set it, so that models know no request.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.tenants import TenantUser


class Interface(models.TextChoices):
    PAGE = "page", _("Page")
    JSON = "json", "JSON"
    XML = "xml", "XML"
    COMMAND = "command", pgettext_lazy("of an operator", "Command")
    JOB = "job", _("Job")
    CONSOLE = "console", pgettext_lazy("of an operator", "Console")


@dataclass(slots=True)
class Origin:
    interface: str
    address: str = ""
    agent: str = ""
    user: TenantUser | None = None
    # The label of the token, or None if the user has signed in.
    token_label: str | None = None


_origin: ContextVar[Origin | None] = ContextVar("origin", default=None)
_JOB = Origin(Interface.JOB)


def current_origin() -> Origin:
    return _origin.get() or _JOB


@contextmanager
def called_from(origin: Origin) -> Iterator[None]:
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


def set_caller(user: TenantUser | None, *, token_label: str | None = None, interface: str | None = None) -> None:
    """Set the user of the request, and its interface if it is not the one that the middleware assumed."""
    if (origin := _origin.get()) is not None:
        origin.user, origin.token_label = user, token_label
        origin.interface = interface or origin.interface
