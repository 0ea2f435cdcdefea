"""Functions and filters for the templates of all rooms."""

import re
from datetime import datetime
from functools import cache, lru_cache
from urllib.parse import urlencode

import lucide
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, ngettext
from jinja2 import pass_context
from jinja2.runtime import Context

from core.api.routing import path_with_id
from core.pages.creation import FORM_KEY, form_key_of
from core.pages.formatting import amount_text, date_text, number_text, time_text
from core.pages.navigation import MenuEntry, count_entries, entries, home_path, render_panels, start_path
from core.pages.number_fields import number_question
from core.pages.templates import template_filter, template_function
from core.pages.undo import undo_of

# The highest number that a menu shows.
MAX_COUNT = 99

template_filter(date_text, name="day")
template_filter(time_text, name="day_and_time")
template_filter(number_text, name="number")
template_filter(amount_text, name="amount")
template_function(number_question)


@template_function
def home_url() -> str:
    return home_path()


@template_function
@pass_context
def start_url(context: Context) -> str:
    """Return the path of the page at which the user of the request starts."""
    request = context["request"]
    return start_path(request.account, request.user)


@template_filter
def path_to(id: int, route: str) -> str:
    """Return the path of a route with one id. In a list of many rows, this filter is faster than `url`."""
    return path_with_id(route, id)


@template_function
@cache
def icon(name: str, size: int = 20) -> SafeString:
    """Return an icon of Lucide in the colour of the text. Screen readers ignore it, so it needs a text beside it."""
    drawing = lucide._render_icon(name, size, **{"class": "icon", "aria-hidden": "true", "focusable": "false"})
    return mark_safe(re.sub(r"\s+", " ", drawing))  # noqa: S308, the package's own file


@template_function
@cache
def icon_symbols(*names: str) -> SafeString:
    """Return the drawings of icons, without showing them, for `repeated_icon`."""
    symbols = (
        icon(name, 24).replace("<svg ", f'<symbol id="icon-{name}" ').replace("</svg>", "</symbol>") for name in names
    )
    attributes = re.compile(r' (?:width="24" height|class|aria-hidden|focusable)="[^"]*"')
    drawings = "".join(attributes.sub("", symbol, count=4) for symbol in symbols)
    return mark_safe(f'<svg class="unseen" aria-hidden="true" focusable="false">{drawings}</svg>')  # noqa: S308, the package's own files


@template_function
@cache
def repeated_icon(name: str, size: int = 20) -> SafeString:
    """Return an icon that the page repeats many times. It refers to the drawing of `icon_symbols`, so it is short."""
    return format_html(
        '<svg class="icon" width="{0}" height="{0}" aria-hidden="true" focusable="false"><use href="#icon-{1}"/></svg>',
        size,
        name,
    )


@template_function
@pass_context
def menu(context: Context, name: str) -> list[MenuEntry]:
    """Return the entries of a menu that the user of the request may see."""
    return entries(name, context["request"])


@template_function
@pass_context
def new_entry_path(context: Context, entry: MenuEntry) -> str:
    """Return the path of an entry of the menu "new", for the rows that the page is about (`about`)."""
    return entry.path_for(context.get("about") or {})


@template_function
@pass_context
def panels(context: Context, page: str, row: object) -> SafeString:
    """Return the panels that other rooms add to a page (`core.pages.navigation`). `row` is the row that the page shows."""
    return render_panels(page, context["request"], row)


@template_function
@pass_context
def entry_count(context: Context, entry: MenuEntry) -> str:
    """Return the number beside an entry of a menu, at most 99 with a plus sign, or "" for 0."""
    request = context["request"]
    if not hasattr(request, "menu_numbers"):
        request.menu_numbers = count_entries(request)
    count = request.menu_numbers.get(entry.name, 0)
    return f"{MAX_COUNT}+" if count > MAX_COUNT else str(count or "")


@template_function
@pass_context
def form_key(context: Context) -> SafeString:
    """Return the hidden field that identifies a form which creates a row (`core.pages.creation`)."""
    return format_html('<input type="hidden" name="{}" value="{}">', FORM_KEY, form_key_of(context["request"]))


@template_filter
def ago(moment: datetime) -> SafeString:
    """Return the time since a moment in a single unit, as a `<time>` element with the moment in its attributes."""
    seconds = max(0, int((timezone.now() - moment).total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 1:
        text = gettext("just now")
    elif hours < 1:
        text = ngettext("%(n)d minute ago", "%(n)d minutes ago", minutes) % {"n": minutes}
    elif days < 1:
        text = ngettext("%(n)d hour ago", "%(n)d hours ago", hours) % {"n": hours}
    elif days < 30:
        text = ngettext("%(n)d day ago", "%(n)d days ago", days) % {"n": days}
    elif days < 365:
        text = ngettext("%(n)d month ago", "%(n)d months ago", days // 30) % {"n": days // 30}
    else:
        text = ngettext("%(n)d year ago", "%(n)d years ago", days // 365) % {"n": days // 365}
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(timespec="seconds"), time_text(moment), text
    )


@template_function
@lru_cache(maxsize=1_000)
def color_dot(color: str | None) -> SafeString:
    """Return a dot in the colour of a status. The dot is an SVG, because the Content-Security-Policy forbids inline styles."""
    fill = color if color and re.fullmatch(r"#[0-9a-fA-F]{3,8}", color) else "#6b7280"
    return format_html(
        '<svg class="dot" width="10" height="10" viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" fill="{}"/></svg>',
        fill,
    )


@template_function
@pass_context
def query_with(context: Context, **changes: object) -> str:
    """Return the query string of the request with `changes`. Empty parameters are omitted, and so is `page` unless `changes` has it."""
    query = {name: value for name, value in context["request"].GET.items() if name != "page"} | changes
    return "?" + urlencode({name: value for name, value in query.items() if value not in ("", None)})


template_filter(undo_of)


@template_filter
def initials(name: str) -> str:
    """Return one or two letters that represent a user without a picture."""
    words = re.findall(r"\w+", name)
    return "".join(word[0] for word in (words[:1] + words[-1:] if len(words) > 1 else words[:1])).upper() or "?"


@template_function
def code_spans(text: str) -> SafeString:
    """Return plain text as HTML, with the parts between backticks as code."""
    parts = enumerate(text.split("`"))
    return format_html_join("", "{}", ((format_html("<code>{}</code>", part) if n % 2 else part,) for n, part in parts))


@template_function
def api_text(text: str) -> SafeString:
    """Return a text of the OpenAPI document in the active language, with the parts between backticks as code.

    The text stays in English, and is marked as English, if the catalogue has no translation.
    """
    translated = gettext(text) if text else ""
    html = code_spans(translated)
    is_english = translated == text and get_language() != "en"
    return format_html('<span lang="en">{}</span>', html) if is_english and text else html
