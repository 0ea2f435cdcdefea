"""Error messages on pages, and error pages.

An error page is in the language of the reader. If the request has reached the pages of a site, the error page has the header of the
site, with the user's menu. Otherwise, and while the service is unavailable, it needs neither a tenant nor the database.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.safestring import mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, ngettext, override

from core.errors import FieldError
from core.http.errors import field_label
from core.pages.formatting import language_of
from core.pages.navigation import home_path

HEADINGS = {
    400: gettext_lazy("The request can't be read"),
    403: gettext_lazy("You may not do this"),
    404: gettext_lazy("There is nothing here"),
    405: gettext_lazy("This can't be done here"),
    413: gettext_lazy("That is too large"),
    422: gettext_lazy("That is not valid"),
    429: gettext_lazy("Too many requests"),
    500: gettext_lazy("Something went wrong here"),
    503: gettext_lazy("The service is not available at the moment"),
}
EXPLANATIONS = {
    400: gettext_lazy("Go back, reload the page, and try again."),
    403: gettext_lazy("You may lack the permission, or the page may have expired."),
    404: gettext_lazy("The address may be mistyped, or what was here may be gone."),
    413: gettext_lazy("You can send at most 1 MiB of text and 25 MiB of files at once."),
    500: gettext_lazy("It is our fault, and it has been noted."),
    503: gettext_lazy("Nothing is lost. Try again in a few seconds."),
}
# A further explanation for a form, which may have been saved.
UNCERTAIN_EXPLANATION = gettext_lazy("What you sent may have been saved: look before you send it again.")

# The style is inline, because static files are not served for an unknown host or without a database.
STYLE = (Path(__file__).parent / "errors.css").read_text()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


# Messages on a page


@cache
def field_labels() -> Mapping[str, str]:
    """Return the lazily translated names of fields, which each room declares in its module `apps`."""
    labels: dict[str, str] = {}
    for config in apps.get_app_configs():
        labels |= getattr(config, "field_labels", {})
    return labels


def field_message(error: FieldError) -> str:
    """Return the message of an error to be shown next to its form field."""
    return capfirst(error.text)


def error_sentence(error: FieldError) -> str:
    """Return the message of an error with the label of its field, as a sentence.

    A field without a label is called by its name in English.
    """
    label = field_labels().get((error.field or "request").removesuffix("_id")) or field_label(error)
    words = {"subject": capfirst(label), "rule": error.text}
    # Translators: the sentence of an error, such as "Name" and "is already taken". A language may need a colon between them.
    return gettext("%(subject)s %(rule)s") % words


# Error pages


def error_page(
    request: HttpRequest,
    status: int,
    *,
    message: str | Promise | None = None,
    errors: Sequence[FieldError] = (),
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    """Return the page for an error. For a request by htmx, return a notice that is inserted into the current page."""
    language = language_of(request)
    is_part = "HTTP_HX_REQUEST" in request.META and "HTTP_HX_BOOSTED" not in request.META
    in_site = None
    with override(language):
        sentences = [error_sentence(error) for error in errors] or ([str(message)] if message else [])
        context = context_of(request, status, sentences, headers or {}) | {"status": status, "style": mark_safe(STYLE)}  # noqa: S308
        if not is_part and status != 503 and getattr(request, "site", None) is not None:
            in_site = render_in_site(request, context)
        content = in_site or render_to_string(
            "core/pages/error_notice.html" if is_part else "core/pages/error.html", context
        )
    response = HttpResponse(content, status=status, headers=headers)
    response.headers["Content-Language"] = language
    if is_part:
        response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#messages", "innerHTML"
    elif in_site is None:
        response.headers["Content-Security-Policy"] = POLICY
    return response


class StatementRefusedError(Exception):
    """An error page tried to use the database, which may be the reason for the error."""


def refuse_statement(*args: object) -> object:
    raise StatementRefusedError


def render_in_site(request: HttpRequest, context: dict[str, object]) -> str | None:
    """Return the page with the header of the site, or None if that fails. The page executes no statement."""
    context = context | {"page_template": settings.PAGE_TEMPLATE, "minimal": True}
    with connection.execute_wrapper(refuse_statement):
        try:
            return render_to_string("core/pages/error_in_site.html", context, request=request)
        except Exception:  # noqa: BLE001, the error page must not fail, and the error that it reports is logged already
            return None


def context_of(
    request: HttpRequest, status: int, sentences: Sequence[str | Promise], headers: dict[str, str]
) -> dict[str, object]:
    """Return the context for the error templates."""
    # AccountMiddleware sets `address` for known hosts.
    if status == 404 and not hasattr(request, "address"):
        explanation = gettext("Check the spelling of the address, or ask the person who gave it to you.")
        return {"heading": gettext("No forum lives at this address"), "sentences": [explanation]}
    if not sentences:
        sentences = explanations_of(request, status, headers)
    again = request.get_full_path() if status in (429, 503) and request.method in ("GET", "HEAD") else ""
    heading = HEADINGS.get(status, HEADINGS[500 if status >= 500 else 400])
    return {"heading": heading, "sentences": sentences, "again": again, "home": "" if status == 503 else home_path()}


def explanations_of(request: HttpRequest, status: int, headers: dict[str, str]) -> list[str | Promise]:
    """Return the sentences for an error without a message."""
    if "Retry-After" in headers and status == 429:
        seconds = int(headers["Retry-After"])
        words = ngettext("Try again in %(seconds)d second.", "Try again in %(seconds)d seconds.", seconds)
        return [words % {"seconds": seconds}]
    sentences: list[str | Promise] = [EXPLANATIONS[status]] if status in EXPLANATIONS else []
    if status == 500 and request.method not in ("GET", "HEAD"):
        sentences.append(UNCERTAIN_EXPLANATION)
    return sentences
