"""The engine of all templates: Jinja2, with the functions and filters of the rooms.

A subject registers functions and filters in its module `template_functions`, which is imported with the first template. Templates are in
the directory `templates` of their subject. The engine escapes all values in HTML and XML, and none in the texts of e-mails (`.txt`).
"""

from collections.abc import Callable
from datetime import date, datetime
from typing import TypeVar

import jinja2
from django.conf import settings
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template import defaultfilters
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.html import format_html, strip_spaces_between_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import is_aware, localtime
from django.utils.translation import get_language, get_language_info, gettext, ngettext, npgettext, pgettext

from core.pages.formatting import date_text, time_text
from core.rooms import find_parts, import_modules

Function = TypeVar("Function", bound=Callable[..., object])

_functions: dict[str, Callable[..., object]] = {}
_filters: dict[str, Callable[..., object]] = {}


def template_function(function: Function) -> Function:
    """Make a function available to templates, by its name. With `jinja2.pass_context`, its first argument is the context."""
    _functions[function.__name__] = function
    return function


def template_filter(function: Function, *, name: str = "") -> Function:
    """Make a function available to templates as a filter, by its name or another: `value|name(arguments)`."""
    _filters[name or function.__name__] = function
    return function


@template_function
def url(route: str, *arguments: object) -> str:
    return reverse(route, args=arguments)


@template_function
def languages() -> list[tuple[str, str]]:
    """Return the codes and the names of the languages that a visitor can choose."""
    return list(settings.LANGUAGES)


def csrf(request: HttpRequest) -> dict[str, object]:
    """Return the CSRF token and its form field, as a context processor. Django's engine would mask the token anew for each form of a page."""
    token = SimpleLazyObject(lambda: get_token(request))
    field = '<input type="hidden" name="csrfmiddlewaretoken" value="{}">'
    return {"csrf_token": token, "csrf_input": SimpleLazyObject(lambda: format_html(field, token))}


def in_local_time(text_of: Callable[..., str]) -> Callable[..., str]:
    """Return a filter of Django's that formats a time, for a time in any time zone."""

    def format_local(value: date | datetime | None, pattern: str) -> str:
        is_moment = isinstance(value, datetime) and is_aware(value)
        return text_of(localtime(value) if is_moment else value, pattern)  # type: ignore[arg-type]  # a time

    return format_local


def formatted_date(value: date | datetime | None, pattern: str) -> str:
    """Return a date or a time in a named format of Django's languages, as the region has it, or in a pattern."""
    if value is None or not pattern.endswith("_FORMAT"):
        return str(defaultfilters.date(value, pattern))
    return time_text(value, pattern) if isinstance(value, datetime) and is_aware(value) else date_text(value, pattern)


def render_part(template: str, context: dict[str, object], request: HttpRequest | None = None) -> SafeString:
    """Return the HTML of a template, to be a part of a page."""
    return mark_safe(render_to_string(template, context, request))  # noqa: S308, the engine escapes all values


def template_loader() -> jinja2.BaseLoader:
    """Return the loader of the templates of all subjects. `forum/posts/list.html` is the file `forum/posts/templates/list.html`."""
    rooms: dict[str, dict[str, jinja2.BaseLoader]] = {}
    for package, path in find_parts("templates"):
        room, _, subject = package.partition("/")
        rooms.setdefault(room, {})[subject] = jinja2.FileSystemLoader(path)
    # A room without subjects has the templates itself.
    return jinja2.PrefixLoader({name: found.get("") or jinja2.PrefixLoader(found) for name, found in rooms.items()})


def environment(*, auto_reload: bool, **options: object) -> jinja2.Environment:
    list(import_modules("template_functions"))
    engine = jinja2.Environment(
        loader=template_loader(),
        auto_reload=auto_reload,
        autoescape=jinja2.select_autoescape(["html", "xml"]),
        extensions=["jinja2.ext.i18n"],
        # A missing value is empty, and so are its attributes, as on a page without a user.
        undefined=jinja2.ChainableUndefined,
    )
    engine.policies["ext.i18n.trimmed"] = True
    engine.install_gettext_callables(  # type: ignore[attr-defined]  # of the extension
        gettext, ngettext, newstyle=True, pgettext=pgettext, npgettext=npgettext
    )
    engine.globals |= {"static": static, "get_language": get_language, "language_info": get_language_info, **_functions}
    django_filters = ("capfirst", "linebreaksbr", "truncatechars", "urlencode", "urlize", "yesno")
    engine.filters |= {name: getattr(defaultfilters, name) for name in django_filters}
    engine.filters["spaceless"] = strip_spaces_between_tags
    engine.filters |= {"date": in_local_time(formatted_date), "time": in_local_time(defaultfilters.time)}
    engine.filters |= _filters
    return engine
