"""Every refusal of both generations: one exception handler that knows both shapes (decisions, sections 3 and 4)."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import orjson
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_noop
from rest_framework import exceptions
from rest_framework.views import APIView

from core.api.negotiation import is_for_people
from core.db.text import cleaned, escape
from core.errors import Conflict
from core.pages import errors as refusal

logger = logging.getLogger("rostrum.errors")

CODES = {
    400: "bad_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "validation_failed",
    429: "rate_limited",
    500: "internal_error",
    503: "unavailable",
}

SENTENCES = {
    400: "The request can't be read",
    401: "No valid credentials were given",
    403: "You may not do this",
    404: "There is no such thing here",
    405: "This method can't be used here",
    409: "The request conflicts with another one",
    413: "The body is too large (maximum is 1 MiB)",
    415: "The Content-Type of the body is not supported here",
    422: "The request is not valid",
    429: "Too many requests",
    500: "The service failed",
    503: "The service is not available at the moment; try again",
}

# Of a request that writes: nothing tells how far it came.
UNCERTAIN = "The service failed; the request may have been carried out"
# The connection was lost while a transaction was being committed, or after that.
LOST = gettext_noop("The connection to the database was lost; the request may have been carried out")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

RETRY_AFTER = 5  # seconds, when the database is away, or more is asked than can be answered


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one field. `field` is dotted where it is nested; `rule` goes on from its name."""

    field: str
    rule: str

    @property
    def subject(self) -> str:
        words = self.field.removesuffix("_id").replace("_ids", " ids").replace(".", " ").replace("_", " ").split()
        return " ".join(words) or self.field

    @property
    def sentence(self) -> str:
        return f"{self.subject[:1].upper()}{self.subject[1:]} {self.rule}"


def faults(detail, field: str = "") -> Iterator[Fault]:
    """The faults in a ValidationError's detail, in order, however it is nested."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from faults(inner, f"{field}.{name}" if field else str(name))
    elif isinstance(detail, list | tuple):
        for inner in detail:
            yield from faults(inner, field)
    else:
        yield Fault(field or "request", str(detail))


def envelope(status: int, *, message: str | None = None, found: list[Fault] | None = None) -> dict:
    """A refusal as generation B writes it."""
    body = {"code": CODES[status], "message": cleaned(found[0].sentence if found else message or SENTENCES[status])}
    if found:
        body["errors"] = errors = {}
        for fault in found:
            errors.setdefault(cleaned(fault.field), []).append(cleaned(fault.rule))
    return body


def respond(
    request: HttpRequest,
    status: int,
    *,
    message: str | None = None,
    found: list[Fault] | None = None,
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    """A refusal in the format that the path asks for."""
    if is_for_people(request):
        sentences = [fault.sentence for fault in found] if found else [message] if message else []
        return refusal.respond(request, status, sentences=sentences, headers=headers)
    if status == 500 and request.method not in SAFE_METHODS:
        message = UNCERTAIN
    if request.path_info.endswith(".json"):
        content = orjson.dumps(envelope(status, message=message, found=found))
        content_type = "application/json"
    else:
        sentences = [cleaned(fault.sentence) for fault in found] if found else [cleaned(message or SENTENCES[status])]
        lines = "".join(f"  <error>{escape(sentence)}</error>\n" for sentence in sentences)
        content = f'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n{lines}</errors>\n'.encode()
        content_type = "application/xml; charset=utf-8"
    return HttpResponse(content, status=status, content_type=content_type, headers=headers)


def unavailable(request: HttpRequest) -> HttpResponse:
    """A refusal for want of the database, or of room; it says so where the request may have been carried out nevertheless."""
    is_uncertain = (
        request.method not in SAFE_METHODS and hasattr(request, "commits") and request.commits != connection.commits
    )
    return respond(request, 503, message=LOST if is_uncertain else None, headers={"Retry-After": str(RETRY_AFTER)})


def cut_off(request: HttpRequest) -> HttpResponse:
    return respond(request, 400, message=gettext_noop("The request was cut off on its way; send it again"))


def handle(exc: Exception, context: dict) -> HttpResponse | None:
    """DRF's exception handler. None leaves the exception to `server_error`, which is for defects alone."""
    view: APIView = context["view"]
    request = view.request._request
    match exc:
        case exceptions.ValidationError():
            return respond(request, 422, found=list(faults(exc.detail)))
        case exceptions.MethodNotAllowed():
            return respond(request, 405, headers={"Allow": ", ".join(view.allowed_methods)})
        case exceptions.UnsupportedMediaType():
            return respond(request, 415)
        case exceptions.AuthenticationFailed() | exceptions.NotAuthenticated():
            challenge = view.get_authenticate_header(view.request)
            # One sentence for all, so that it does not tell which part was wrong.
            return respond(request, 401, headers={"WWW-Authenticate": challenge} if challenge else None)
        case exceptions.Throttled():
            return respond(request, 429, headers={"Retry-After": str(int(exc.wait or 1))})
        case exceptions.NotFound() | Http404():
            return respond(request, 404)
        case RequestDataTooBig():
            return respond(request, 413)
        case TooManyFieldsSent():
            return respond(request, 400)
        case Conflict():
            return respond(request, 409, message=str(exc.detail), headers={"Retry-After": "1"})
        case exceptions.APIException() if exc.status_code in CODES:
            return respond(request, exc.status_code, message=str(exc.detail))
        case OperationalError() | InterfaceError():
            logger.error("the database is away: %s", type(exc).__name__)
            return unavailable(request)
    return None


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return respond(request, 404)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return respond(request, 413 if isinstance(exception, RequestDataTooBig) else 400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return respond(request, 403)


def server_error(request: HttpRequest) -> HttpResponse:
    return respond(request, 500)
