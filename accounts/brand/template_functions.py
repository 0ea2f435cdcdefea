from jinja2 import pass_context
from jinja2.runtime import Context

from accounts.brand.models import Branding
from core.pages.base import base_url
from core.pages.templates import template_function


@template_function
@pass_context
def branding(context: Context) -> Branding:
    """Return the brand of the account of the request. It takes no statement."""
    return Branding.loaded(getattr(context.get("request"), "account", None))


@template_function
@pass_context
def share_image_url(context: Context) -> str:
    """Return the URL of the picture for links to the pages of the account, or "" without one."""
    path = branding(context).url_of("share_image")
    return base_url(context["request"]) + path if path else ""
