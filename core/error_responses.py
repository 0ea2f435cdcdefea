"""Error responses: HTML, JSON or XML, depending on the path and the headers of the request."""

import logging
from collections.abc import Sequence

from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from rest_framework import exceptions
from rest_framework.views import APIView

from core.errors import (
    RETRY_AFTER,
    Conflict,
    FieldError,
    FieldErrors,
    MissingScopes,
    ShareExceeded,
    StoreUnavailable,
    Throttled,
)
from core.http.errors import CODES, SCOPE, json_response, xml_response
from core.http.formats import expects_html
from core.pages.errors import error_page

logger = logging.getLogger("rostrum.errors")

# The message for a failed request with an unsafe method, which may have committed something.
UNCERTAIN_MESSAGE = "The service failed; the request may have been carried out"
# The message for a connection that was lost during or after a commit.
CONNECTION_LOST_MESSAGE = gettext_lazy("The connection to the database was lost; the request may have been carried out")
SCOPE_MESSAGE = "The token lacks the scope %s"
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
    request.META["rostrum.rejection"] = "share"
    message = gettext_lazy("Too many requests are in progress; send this one again in a moment")
    return error_response(request, 503, message=message, headers={"Retry-After": "1"})


def scope_missing(scopes: Sequence[str]) -> HttpResponse:
    """Return the response to a token that lacks scopes (RFC 6750). Only the Account API accepts tokens."""
    challenge = f'Bearer error="insufficient_scope", scope="{" ".join(scopes)}"'
    return json_response(
        403, message=SCOPE_MESSAGE % ", ".join(scopes), code=SCOPE, headers={"WWW-Authenticate": challenge}
    )


def too_many_uploads(request: HttpRequest) -> HttpResponse:
    message = gettext_lazy(
        "Your account is sending as many files as it may; send this one again when another one has arrived"
    )
    return error_response(request, 429, message=message, headers={"Retry-After": "10"})


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


def handle_exception(exc: Exception, context: dict[str, APIView]) -> HttpResponse | None:
    """Return the error response of an API view, or None for an unexpected exception, which the view raises again."""
    view = context["view"]
    request = view.request._request
    match exc:
        case FieldErrors():
            return error_response(request, 422, errors=exc.errors)
        case exceptions.MethodNotAllowed():
            return error_response(request, 405, headers={"Allow": ", ".join(view.allowed_methods)})
        case exceptions.UnsupportedMediaType():
            return error_response(request, 415)
        case exceptions.AuthenticationFailed() | exceptions.NotAuthenticated():
            challenge = view.get_authenticate_header(view.request)
            # The message is always the same, so that it does not reveal which part of the credentials was wrong.
            return error_response(request, 401, headers={"WWW-Authenticate": challenge} if challenge else None)
        case Throttled():
            return throttled(request, exc)
        case ShareExceeded():
            return share_exceeded(request)
        case exceptions.NotFound() | Http404():
            return error_response(request, 404)
        case RequestDataTooBig():
            return error_response(request, 413)
        case TooManyFieldsSent():
            return error_response(request, 400)
        case Conflict():
            return error_response(request, 409, message=exc.message, headers={"Retry-After": "1"})
        case MissingScopes():
            return scope_missing(exc.scopes)
        case PermissionDenied():
            return error_response(request, 403, message=next(iter(exc.args), None))
        case exceptions.APIException() if exc.status_code in CODES:
            return error_response(request, exc.status_code, message=str(exc.detail))
        case StoreUnavailable():
            return unavailable(request)
        case OperationalError() | InterfaceError():
            logger.error("the database is unavailable: %s", type(exc).__name__)
            return unavailable(request)
    return None
