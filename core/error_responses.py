"""Error responses: HTML, JSON or XML, depending on the path and the headers of the request."""

from collections.abc import Sequence

from django.core.exceptions import RequestDataTooBig
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from core.errors import RETRY_AFTER, FieldError, Throttled
from core.http.errors import json_response, xml_response
from core.http.negotiation import expects_html
from core.pages.errors import error_page

# The message for a failed request with an unsafe method, which may have committed something.
UNCERTAIN_MESSAGE = "The service failed; the request may have been carried out"
# The message for a connection that was lost during or after a commit.
CONNECTION_LOST_MESSAGE = gettext_lazy("The connection to the database was lost; the request may have been carried out")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def error_response(
    request: HttpRequest,
    status: int,
    *,
    message: str | Promise | None = None,
    errors: Sequence[FieldError] = (),
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    """Return the response in the format of the request. Only pages translate a lazy `message`."""
    if expects_html(request):
        return error_page(request, status, message=message, errors=errors, headers=headers)
    if status == 500 and request.method not in SAFE_METHODS:
        message = UNCERTAIN_MESSAGE
    render = json_response if request.path_info.endswith(".json") else xml_response
    return render(status, message=message, errors=errors, headers=headers)


def throttled(request: HttpRequest, refused: Throttled) -> HttpResponse:
    return error_response(request, 429, message=refused.message, headers={"Retry-After": str(refused.wait)})


def unavailable(request: HttpRequest) -> HttpResponse:
    """Return the response for an unavailable database or an overloaded service.

    The message says whether the request may have committed something.
    """
    commits_before = getattr(request, "commits_before", None)
    is_uncertain = (
        request.method not in SAFE_METHODS
        and commits_before is not None
        and commits_before != getattr(connection, "commits", None)
    )
    message = CONNECTION_LOST_MESSAGE if is_uncertain else None
    return error_response(request, 503, message=message, headers={"Retry-After": str(RETRY_AFTER)})


def share_exceeded(request: HttpRequest) -> HttpResponse:
    """Return the response to a request that was not carried out, because too many of the account or the user are in progress."""
    message = gettext_lazy("Too many requests are in progress; send this one again in a moment")
    return error_response(request, 503, message=message, headers={"Retry-After": "1"})


def incomplete_request(request: HttpRequest) -> HttpResponse:
    message = gettext_lazy("The request was cut off on its way; send it again")
    return error_response(request, 400, message=message)


# Error views, for `config.urls`


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(request, 413 if isinstance(exception, RequestDataTooBig) else 400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(request, 403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    return error_response(request, 500)
