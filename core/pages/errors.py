"""What people see where they are refused something, and where something fails: in their language, without a tenant or a database."""

import base64
import hashlib
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe
from django.utils.translation import gettext, gettext_lazy, ngettext, override

from core.pages.language import language_of
from core.pages.routes import home_path

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
    413: gettext_lazy("You can send at most 1 MiB at once."),
    500: gettext_lazy("It is our fault, and it has been noted."),
    503: gettext_lazy("Nothing is lost. Try again in a few seconds."),
}
# Of what was sent in a form: nothing tells how far it came.
UNCERTAIN = gettext_lazy("What you sent may have been saved: look before you send it again.")

# The page brings its style along: where no forum lives, or the database is away, no file is served.
STYLE = (Path(__file__).parent / "errors.css").read_text()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def respond(
    request: HttpRequest, status: int, *, sentences: list[str] | None = None, headers: dict[str, str] | None = None
) -> HttpResponse:
    """The refusal as a page of its own; of what htmx asked for, as a notice on the page that asked."""
    language = language_of(request)
    is_part = "HTTP_HX_REQUEST" in request.META and "HTTP_HX_BOOSTED" not in request.META
    with override(language):
        context = words(request, status, sentences, headers or {}) | {"status": status, "style": mark_safe(STYLE)}  # noqa: S308
        content = render_to_string("core/error_notice.html" if is_part else "core/error.html", context)
    response = HttpResponse(content, status=status, headers=headers)
    response.headers["Content-Language"] = language
    if is_part:
        response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#messages", "innerHTML"
    else:
        response.headers["Content-Security-Policy"] = POLICY
    return response


def words(request: HttpRequest, status: int, sentences: list[str] | None, headers: dict[str, str]) -> dict:
    # AccountMiddleware knows the addresses that there are.
    if status == 404 and not hasattr(request, "address"):
        explanation = gettext("Check the spelling of the address, or ask whoever gave it to you.")
        return {"heading": gettext("No forum lives at this address"), "sentences": [explanation]}
    if sentences:
        sentences = [gettext(sentence) for sentence in sentences]
    elif "Retry-After" in headers and status == 429:
        seconds = int(headers["Retry-After"])
        sentences = [
            ngettext("Try again in %(seconds)d second.", "Try again in %(seconds)d seconds.", seconds)
            % {"seconds": seconds}
        ]
    else:
        sentences = [EXPLANATIONS[status]] if status in EXPLANATIONS else []
        if status == 500 and request.method not in ("GET", "HEAD"):
            sentences.append(UNCERTAIN)
    again = request.get_full_path() if status in (429, 503) and request.method in ("GET", "HEAD") else ""
    heading = HEADINGS.get(status, HEADINGS[500 if status >= 500 else 400])
    return {"heading": heading, "sentences": sentences, "again": again, "home": "" if status == 503 else home_path()}
