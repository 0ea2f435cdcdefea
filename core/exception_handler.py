"""The exception handler of Django REST framework, which turns exceptions into error responses."""

import logging
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.views import APIView

from core.error_responses import error_response, share_exceeded, throttled, unavailable
from core.errors import Conflict, FieldErrors, ShareExceeded, Throttled
from core.http.errors import CODES

logger = logging.getLogger("rostrum.errors")


def handle(exc: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Return the error response, or None for an unexpected exception, which the view raises again."""
    view: APIView = context["view"]
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
        case PermissionDenied():
            return error_response(request, 403, message=next(iter(exc.args), None))
        case exceptions.APIException() if exc.status_code in CODES:
            return error_response(request, exc.status_code, message=str(exc.detail))
        case OperationalError() | InterfaceError():
            logger.error("the database is unavailable: %s", type(exc).__name__)
            return unavailable(request)
    return None
