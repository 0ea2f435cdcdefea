"""The error responses of the APIs, as JSON or XML. They are always in English: `override(None)` leaves lazy messages untranslated."""

from collections.abc import Sequence

import orjson
from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import override

from core.db.text import escape, replace_non_xml
from core.errors import FieldError

# The code and the default message of each status.
ERRORS = {
    400: ("bad_request", "The request can't be read"),
    401: ("unauthenticated", "No valid credentials were given"),
    403: ("forbidden", "You may not do this"),
    404: ("not_found", "There is no such thing here"),
    405: ("method_not_allowed", "This method can't be used here"),
    409: ("conflict", "The request conflicts with another one"),
    412: ("precondition_failed", "The resource has changed, or does not exist"),
    413: ("payload_too_large", "The body is too large (maximum is 1 MiB)"),
    415: ("unsupported_media_type", "The Content-Type of the body is not supported here"),
    422: ("validation_failed", "The request is not valid"),
    429: ("rate_limited", "Too many requests"),
    500: ("internal_error", "The service failed"),
    503: ("unavailable", "The service is not available at the moment; try again"),
}
# The code of a 403 for a token that lacks a scope.
SCOPE = "scope"
CODES, DEFAULT_MESSAGES = ({status: pair[n] for status, pair in ERRORS.items()} for n in (0, 1))


def field_label(error: FieldError) -> str:
    """Return the name of the error's field in English words, such as "forum" for `forum_id`."""
    field = error.field or "request"
    words = field.removesuffix("_id").replace("_ids", " ids").replace(".", " ").replace("_", " ").split()
    return " ".join(words) or field


def sentence_of(error: FieldError) -> str:
    """Return the message of an error as a sentence that begins with the name of its field."""
    label = field_label(error)
    return f"{label[:1].upper()}{label[1:]} {error.text}"


def envelope(
    status: int, *, message: str | Promise | None = None, errors: Sequence[FieldError] = (), code: str = ""
) -> dict[str, object]:
    """Return the JSON object of an error response. The default of `code` is that of the status."""
    with override(None):
        sentence = sentence_of(errors[0]) if errors else str(message or DEFAULT_MESSAGES[status])
        body: dict[str, object] = {"code": code or CODES[status], "message": replace_non_xml(sentence)}
        if errors:
            texts: dict[str, list[str]] = {}
            body["errors"] = texts
            for error in errors:
                texts.setdefault(replace_non_xml(error.field or "request"), []).append(replace_non_xml(error.text))
    return body


def json_response(
    status: int,
    *,
    message: str | Promise | None = None,
    errors: Sequence[FieldError] = (),
    headers: dict[str, str] | None = None,
    code: str = "",
) -> HttpResponse:
    content = orjson.dumps(envelope(status, message=message, errors=errors, code=code))
    return HttpResponse(content, status=status, content_type="application/json", headers=headers)


def xml_response(
    status: int,
    *,
    message: str | Promise | None = None,
    errors: Sequence[FieldError] = (),
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    with override(None):
        sentences = [sentence_of(error) for error in errors] or [str(message or DEFAULT_MESSAGES[status])]
    lines = "".join(f"  <error>{escape(replace_non_xml(sentence))}</error>\n" for sentence in sentences)
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n{lines}</errors>\n'.encode()
    return HttpResponse(content, status=status, content_type="application/xml; charset=utf-8", headers=headers)
