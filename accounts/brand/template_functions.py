from jinja2 import pass_context
from jinja2.runtime import Context

from accounts.brand.models import Branding
from core.pages.templates import template_function


@template_function
@pass_context
def branding(context: Context) -> Branding:
    """Return the brand of the account of the request. It takes no statement."""
    return Branding.loaded(getattr(context.get("request"), "account", None))
