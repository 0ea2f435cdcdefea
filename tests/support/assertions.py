"""Assertions about a whole response: status, headers and body."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import httpx

from core.errors import FieldErrors

# Headers of every response, and headers without meaning for clients.
COMMON_HEADERS = frozenset(
    [
        "cache-control",
        "content-length",
        "cross-origin-opener-policy",
        "etag",
        "last-modified",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "referrer-policy",
        "x-content-type-options",
        "x-frame-options",
        "x-request-id",
    ]
)

REFUSALS = {
    "bad_request": "The request can't be read",
    "unauthenticated": "No valid credentials were given",
    "forbidden": "You may not do this",
    "not_found": "There is no such thing here",
    "method_not_allowed": "This method can't be used here",
    "unsupported_media_type": "The Content-Type of the body is not supported here",
    "precondition_failed": "The resource has changed, or does not exist",
    "payload_too_large": "The body is too large (maximum is 1 MiB)",
    "rate_limited": "Too many requests",
    "unavailable": "The service is not available at the moment; try again",
}
# The header that a status requires.
REQUIRED_HEADERS = {401: "www-authenticate", 405: "allow", 409: "retry-after", 429: "retry-after", 503: "retry-after"}


def headers_of(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name not in COMMON_HEADERS}


def read(response: httpx.Response):
    """Return the JSON body, with numbers as `Decimal` or `int` exactly as written."""
    return json.loads(response.content, parse_float=Decimal)


def outline(value):
    """Return the keys of a JSON value in order, with the types of their values: 1, true and 1.0 all differ."""
    if isinstance(value, dict):
        return [(key, outline(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return [outline(inner) for inner in value]
    return type(value)


def assert_answered(response: httpx.Response, status: int, body, **headers: str) -> None:
    """Assert status, headers and body of a JSON response.

    `headers` are those besides Content-Type, with underscores for hyphens.
    """
    assert response.status_code == status, response.text
    assert read(response) == body
    assert outline(read(response)) == outline(body)
    expected = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    assert headers_of(response) == expected


def assert_refused(
    response: httpx.Response,
    status: int,
    code: str,
    errors: dict[str, list[str]] | None = None,
    *,
    message: str | None = None,
    **headers: str,
) -> None:
    """Assert a whole error response in JSON.

    The message is the first field error as a sentence, or the message of the code if there is no field error.
    """
    assert response.status_code == status, response.text
    if errors:
        field, rules = next(iter(errors.items()))
        message = message or sentence(field, rules[0])
    body = {"code": code, "message": message or REFUSALS[code]}
    if errors:
        body["errors"] = errors
    assert read(response) == body
    assert outline(read(response)) == outline(body)
    expected = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    if status == 401:
        expected.setdefault("www-authenticate", 'Bearer realm="account"')
    headers_sent = headers_of(response)
    assert headers_sent == expected
    assert (status not in REQUIRED_HEADERS) or REQUIRED_HEADERS[status] in headers_sent
    assert ("errors" in read(response)) is (status == 422)


def sentence(field: str, rule: str) -> str:
    name = field.removesuffix("_id").replace("_ids", " ids").replace(".", " ").replace("_", " ")
    return f"{name[:1].upper()}{name[1:]} {rule}"


def on_the_wire(moment: datetime) -> str:
    """Return a time as the JSON API writes it for an account in UTC."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat()


def errors_of(raised: FieldErrors) -> dict[str, list[str]]:
    """Return the messages of the errors by field."""
    messages: dict[str, list[str]] = {}
    for error in raised.errors:
        messages.setdefault(error.field, []).append(error.text)
    return messages
