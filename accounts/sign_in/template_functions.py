"""Functions for templates: the switcher between the sites of an account."""

from jinja2 import pass_context
from jinja2.runtime import Context

from accounts.hosts.requests import PageRequest
from accounts.sign_in.pages.handover import switch_url
from core.pages.templates import template_function


@template_function
@pass_context
def other_sites(context: Context) -> list[tuple[str, str]]:
    """Return names and URLs of the account's other sites that the user may see. For a visitor the list is empty.

    Visitors get no list, because an account may have forums for customers who should not know of each other.
    """
    request: PageRequest = context["request"]
    # A page of an error may be shown before the user and the site are known.
    user, site = getattr(request, "user", None), getattr(request, "site", None)
    if user is None or site is None or not site.has_siblings:
        return []
    return [(name, switch_url(request, host)) for name, host in site.siblings_for(user)]


@template_function
@pass_context
def switch_to(context: Context, host: str) -> str:
    """Return the URL of a link to a host of the account, with a hand-over of the sign-in."""
    return switch_url(context["request"], host)
