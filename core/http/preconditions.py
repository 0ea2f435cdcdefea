"""Conditional writes (RFC 9110, section 13): If-Match, If-Unmodified-Since and If-None-Match of PUT, PATCH and DELETE.

The condition is about the response of a GET of the same URL. A write with a condition locks the resource, reads that response, and is
carried out in the same transaction.
"""

from collections.abc import Callable, Mapping
from copy import copy
from hashlib import blake2b

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.utils.http import parse_etags, parse_http_date_safe
from rest_framework.exceptions import APIException

from core.db import locks
from core.db.transactions import in_transaction
from core.errors import FieldErrors
from core.http.requests import ViewOfAPI

METHODS = ("PUT", "PATCH", "DELETE")
HEADERS = ("HTTP_IF_MATCH", "HTTP_IF_UNMODIFIED_SINCE", "HTTP_IF_NONE_MATCH")
# The end of the tag of a compressed response. A strong tag differs between encodings (RFC 9110, section 8.8.1).
GZIP_SUFFIX = "-gzip"


class PreconditionFailed(APIException):
    status_code = 412
    default_detail = "The resource has changed, or does not exist"


def etag_of(content: bytes) -> str:
    """Return the strong ETag of a response that is not compressed."""
    return f'"{blake2b(content, digest_size=12).hexdigest()}"'


def gzip_etag(etag: str) -> str:
    """Return the ETag of the same response in gzip."""
    return f'{etag[:-1]}{GZIP_SUFFIX}"'


def remove_suffix(etags: str) -> str:
    """Return a list of ETags with those of uncompressed responses instead of those in gzip."""
    return etags.replace(f'{GZIP_SUFFIX}"', '"')


def has_conditions(view: ViewOfAPI) -> bool:
    request = view.request
    return request.method in METHODS and any(name in request.META for name in HEADERS)


def respond_if_met(view: ViewOfAPI, handler: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the response of the handler. Raise PreconditionFailed if the conditions of the request do not hold."""

    def act() -> HttpResponse:
        # Routes without a row to lock at least exclude other conditional requests.
        locks.acquire(("conditional write", view.account.id, view.request.path))
        view.lock_row()
        try:
            current = current_response(view)
        except (Http404, PermissionDenied, APIException, FieldErrors):
            # The error of the write itself comes first (section 13.2.1). If there is none, `check` undoes the write.
            response = handler()
            check(view.request.META, None)
            return response
        check(view.request.META, current)
        return handler()

    return in_transaction(act)


def current_response(view: ViewOfAPI) -> HttpResponse | None:
    """Return the response of a GET of the same URL, or None if the URL has no GET. Raise the exception of the GET."""
    action = view.action_map.get("get")
    if action is None:
        return None
    reader = copy(view)
    reader.prepare_reading(action)
    request = view.request._request
    method, request.method = request.method, "GET"
    try:
        return reader.render(getattr(reader, action)(view.request, *view.args, **view.kwargs))
    finally:
        request.method = method


def check(headers: Mapping[str, str], current: HttpResponse | None) -> None:
    """Raise PreconditionFailed if a condition does not hold for the current response (RFC 9110, section 13.2.2)."""
    etag = None if current is None else etag_of(current.content)
    if "HTTP_IF_MATCH" in headers:
        if not matches(headers["HTTP_IF_MATCH"], etag):
            raise PreconditionFailed
    elif is_modified(headers.get("HTTP_IF_UNMODIFIED_SINCE", ""), current):
        raise PreconditionFailed
    if "HTTP_IF_NONE_MATCH" in headers and matches(headers["HTTP_IF_NONE_MATCH"], etag, weakly=True):
        raise PreconditionFailed


def matches(text: str, etag: str | None, *, weakly: bool = False) -> bool:
    """Return whether a list of ETags, or `*`, includes the ETag. By the strong comparison, a weak ETag matches nothing."""
    etags = parse_etags(remove_suffix(text))
    if weakly:
        etags = [etag.removeprefix("W/") for etag in etags]
    return etag is not None and (etags == ["*"] or etag in etags)


def is_modified(text: str, current: HttpResponse | None) -> bool:
    """Return whether the current response is newer than a date. Invalid dates, and responses without a date, are not."""
    date = parse_http_date_safe(text) if text else None
    modified = parse_http_date_safe(current.headers.get("Last-Modified", "")) if current is not None else None
    return date is not None and modified is not None and modified > date
