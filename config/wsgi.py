"""The WSGI application: Django, with the limits of a process and the access log around it.

The access log has one line for each request, with its id, which the response has as `X-Request-Id`.
"""

import io
import logging
import os
import re
import secrets
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from time import monotonic, perf_counter
from typing import IO, TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.db import InterfaceError, OperationalError
from django.http import FileResponse, StreamingHttpResponse
from django.urls import Resolver404, resolve

from core.db.availability import allow_standby
from core.limits import client_address
from core.limits.request_shares import is_answering
from core.logs import ACCESS_LOG, omit_inner_query, redact, redact_query, request_id

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# A static file of this size or more is streamed.
MAX_FILE_BYTES = 2 * 1024 * 1024
# Paths that need no slot: a load balancer would otherwise remove a service that is only busy.
PROBES = ("/healthz", "/readyz")
# Methods whose requests may be complete without a body.
METHODS_WITHOUT_BODY = ("GET", "HEAD", "DELETE", "OPTIONS")

logger = logging.getLogger(ACCESS_LOG)

# Most paths match this, and are logged unchanged.
_PLAIN = re.compile("[A-Za-z0-9/._~-]+")
# The paths of the APIs, of categories and of the pages of a forum, with one slash at the end.
_TRAILING_SLASH = re.compile(
    r"(?:.+\.(?:json|xml)|/(?!static/)[^/]+|/app/(?:posts|suggestions|roadmap|feed\.atom)(?:/[^/]+)*)/", re.DOTALL
)


class AccessLine:
    """The line of one request. `start` is the `start_response` of its application."""

    __slots__ = ("_started_at", "environ", "headers", "id", "seconds", "status_line")

    def __init__(self, environ: "WSGIEnvironment") -> None:
        self._started_at = perf_counter()
        self.environ = environ
        self.id = secrets.token_hex(8)
        # The status if the application raises an exception.
        self.status_line = "500 Internal Server Error"
        self.headers: list[tuple[str, str]] = []
        # The time until the response, without the sending of a stream.
        self.seconds = 0.0

    def start(self, line: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
        """Take the status line and the headers of the response, and add the id."""
        self.status_line = line
        self.headers = [*headers, ("X-Request-Id", self.id)]

    def write(self) -> None:
        self.seconds = perf_counter() - self._started_at
        logger.info(
            "%s %s %s %s %s %.1fms %s",
            self.id,
            self.environ["REQUEST_METHOD"],
            redact(host(self.environ) + target(self.environ)),
            self.status_line[:3],
            next((value for name, value in self.headers if name == "Content-Length"), "-"),
            self.seconds * 1000,
            self.environ.get("rostrum.user", "-"),
        )


def host(environ: "WSGIEnvironment") -> str:
    # The part before an @ would be credentials.
    return quote(environ.get("HTTP_HOST", "").rpartition("@")[2][:260], safe=".:[]-")


def target(environ: "WSGIEnvironment") -> str:
    if not environ.get("QUERY_STRING") and _PLAIN.fullmatch(environ.get("PATH_INFO", "")):
        return str(environ["PATH_INFO"])
    path = quote(environ.get("PATH_INFO", "").encode("latin-1", "replace"), safe="/:@!$&'()*+,;=~.-_")
    path = omit_inner_query(path)
    query = quote(redact_query(environ.get("QUERY_STRING", "")), safe="=&%+/:@!$'()*,;?~.-_[]")
    return path + ("?" + query if query else "")


class RequestObserver(Protocol):
    """An observer of requests, which `config.monitoring` adds to an application."""

    def start(self, line: AccessLine) -> None: ...

    def end(self, line: AccessLine) -> None: ...


class Slots:
    """A limit of the requests that run at a time.

    The server has more threads than there are slots. A thread that finds no slot waits while other requests end. When none has ended
    for `timeout` seconds, such as while the database does not answer, all waiting requests are rejected. So the threads without a slot
    soon answer `/healthz` and `/readyz`, however many requests arrive.
    """

    def __init__(self, number: int, timeout: float) -> None:
        self.timeout = timeout
        self.waiting = 0
        self.free = number
        self._changed_at = monotonic()
        self._released = threading.Condition()

    def acquire(self) -> bool:
        """Take a slot and return True, or return False if none is released in time."""
        with self._released:
            while not self.free:
                remaining = self._changed_at + self.timeout - monotonic()
                if remaining <= 0:
                    return False
                self.waiting += 1
                self._released.wait(remaining)
                self.waiting -= 1
            self.free -= 1
            if not self.free:
                self._changed_at = monotonic()
            return True

    def release(self) -> None:
        with self._released:
            self.free += 1
            self._changed_at = monotonic()
            self._released.notify()


class Stream:
    """A streamed response. `release` is called once, when the response is closed."""

    def __init__(self, response: StreamingHttpResponse, release: Callable[[], None]) -> None:
        self.response, self.release = response, release
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.response)

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.response.close()
            self.release()

    def __del__(self) -> None:
        # The server does not close a response that it cannot begin to send.
        self.close()


class Application:
    """Django, with limits, a request id and a line in the access log for each request."""

    def __init__(self, django: Callable[..., Any]) -> None:
        self.django = django
        self.slots = Slots(settings.REQUEST_THREADS, settings.SLOT_TIMEOUT)
        self.streams = threading.BoundedSemaphore(settings.MAX_STREAMS)
        self.observers: list[RequestObserver] = []

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        # A copy, because a server may read its own environment after the response, as gunicorn does.
        environ = environ.copy()
        environ.pop("wsgi.file_wrapper", None)  # `respond` reads files itself
        if _TRAILING_SLASH.fullmatch(environ["PATH_INFO"]):
            # Some clients append a slash to every path, and people to the name of a category.
            environ["PATH_INFO"] = environ["PATH_INFO"][:-1]
        client_address.apply_proxy(environ)
        line = AccessLine(environ)
        previous_id = request_id.set(line.id)
        for observer in self.observers:
            observer.start(line)
        try:
            response = self.admit(line)
        finally:
            line.write()
            for observer in self.observers:
                observer.end(line)
            if is_answering.get():
                request_id.reset(previous_id)
        start_response(line.status_line, line.headers)
        return response

    def admit(self, line: AccessLine) -> Iterable[bytes]:
        """Respond if a slot is free and the body is complete. A body is read first, as the client may send it slowly."""
        if line.environ["PATH_INFO"] in PROBES:
            return self.respond(line)
        if (limit := long_body_limit(line.environ)) is not None:
            if int(line.environ["CONTENT_LENGTH"]) <= limit:
                return self.admit_upload(line, limit)
            # `AccountMiddleware` refuses it.
            line.environ["rostrum.max_body_bytes"] = limit
        if not read_body(line.environ):
            return reject(line, 400, "incomplete_body")
        if is_answering.get():
            # A request within a request (`accounts.examples.requests`) uses the slot of the outer request.
            return self.respond(line)
        return self.respond_in_slot(line)

    def respond_in_slot(self, line: AccessLine) -> Iterable[bytes]:
        if not self.slots.acquire():
            return reject(line, 503, "no_slot")
        try:
            return self.respond(line)
        finally:
            self.slots.release()

    def admit_upload(self, line: AccessLine, limit: int) -> Iterable[bytes]:
        """Receive a long body of a user, which occupies the thread of a stream, and then respond in a slot.

        The body of any other caller is not read. The view responds as to an empty body, and refuses the caller.
        """
        from accounts.tokens.authentication import find_account_of_upload  # after Django's setup
        from core.http.uploads import holding_lease, receive

        environ = line.environ
        if not self.streams.acquire(blocking=False):
            return reject(line, 503, "no_stream")
        with ExitStack() as stack:
            is_receiving = stack.enter_context(ExitStack())
            is_receiving.callback(self.streams.release)
            remove_charset(environ)
            body: IO[bytes] | None = io.BytesIO()
            try:
                if (account_id := find_account_of_upload(WSGIRequest(without_body(environ)))) is not None:
                    lease = stack.enter_context(holding_lease(account_id))
                    if lease is None:
                        return reject(line, 429, "uploads_of_account")
                    body = receive(environ["wsgi.input"], int(environ["CONTENT_LENGTH"]), lease)
            except (OperationalError, InterfaceError):
                return reject(line, 503, "unavailable")
            if body is None:
                return reject(line, 400, "incomplete_body")
            stack.enter_context(body)
            is_receiving.close()
            line.environ = {**environ, "wsgi.input": body, "rostrum.max_body_bytes": limit}
            if account_id is None:
                line.environ = without_body(environ)
            return self.respond_in_slot(line)

    def respond(self, line: AccessLine) -> Iterable[bytes]:
        """Return the content of the response, or a stream: an export from the database, or a large file."""
        remove_charset(line.environ)
        allow_standby(line.environ["REQUEST_METHOD"] in ("GET", "HEAD"))
        response = self.django(line.environ, line.start)
        if response.streaming and not is_small_file(response):
            # A client that receives a streamed response slowly occupies a thread.
            if self.streams.acquire(blocking=False):
                return Stream(response, self.streams.release)
            response.close()
            return reject(line, 503, "no_stream")
        content = [b"".join(response)] if response.streaming else [response.content]
        response.close()
        return content


def is_small_file(response: StreamingHttpResponse) -> bool:
    return (
        isinstance(response, FileResponse) and int(response.get("Content-Length", str(MAX_FILE_BYTES))) < MAX_FILE_BYTES
    )


def long_body_limit(environ: "WSGIEnvironment") -> int | None:
    """Return the limit of the view, if the body is longer than those of other requests and the view accepts such bodies, or None."""
    length = environ.get("CONTENT_LENGTH") or ""
    if not length.isdecimal() or len(length) > 12 or int(length) <= settings.MAX_BODY_BYTES:
        return None
    if "HTTP_TRANSFER_ENCODING" in environ or not environ.get("CONTENT_TYPE", "").lower().startswith(
        "multipart/form-data"
    ):
        return None
    try:
        callback = resolve(environ["PATH_INFO"]).func
    except Resolver404:
        return None
    view = getattr(callback, "view_class", None) or getattr(callback, "cls", None)
    limit: int | None = getattr(view, "max_body_bytes", None)
    return limit


def read_body(environ: "WSGIEnvironment") -> bool:
    """Read the body, and return whether it is complete. An incomplete body must be refused (RFC 9112, section 8).

    A body whose length is too large is not read, because it will be refused.
    """
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        # granian returns nothing for an incomplete or invalid body if the whole body is requested, and a part of it otherwise.
        # The proxy limits the size.
        body = environ["wsgi.input"].read()
        if not body and environ["REQUEST_METHOD"] not in METHODS_WITHOUT_BODY:
            return False
    else:
        try:
            length = int(environ.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return True  # `AccountMiddleware` refuses it
        if not 0 < length <= settings.MAX_BODY_BYTES:
            return True
        body = environ["wsgi.input"].read(length)
        if len(body) < length:
            return False
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
    return True


def without_body(environ: "WSGIEnvironment") -> "WSGIEnvironment":
    return {**environ, "wsgi.input": io.BytesIO(), "CONTENT_LENGTH": "0"}


def reject(line: AccessLine, status: int, cause: str) -> list[bytes]:
    """Return the content of a response with 503, 429 to an upload, or 400 to an incomplete body. Neither middleware nor the database are used.

    `cause` is for the metrics.
    """
    from core import error_responses  # after Django's setup

    line.environ["rostrum.rejection"] = cause
    remove_charset(line.environ)
    respond = {
        503: error_responses.unavailable,
        429: error_responses.too_many_uploads,
        400: error_responses.incomplete_request,
    }
    response = respond[status](WSGIRequest(line.environ))
    headers = {"Content-Length": str(len(response.content)), "Cache-Control": "private, no-store"}
    line.start(f"{status} {response.reason_phrase}", [*response.items(), *headers.items()])
    return [response.content]


def remove_charset(environ: "WSGIEnvironment") -> None:
    """Move the charset from CONTENT_TYPE to a key of its own, for the parsers.

    Django would decode the query with it, and raise an error for some values.
    """
    media_type, _, parameters = environ.get("CONTENT_TYPE", "").partition(";")
    if parameters:
        kept_parts = [media_type.strip()]
        for parameter in parameters.split(";"):
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "charset":
                environ["rostrum.charset"] = value.strip().strip("\"'")
            elif name.strip().lower() == "boundary":
                kept_parts.append(parameter.strip())
        environ["CONTENT_TYPE"] = "; ".join(kept_parts)


application = Application(get_wsgi_application())

# A thread that waits for the interpreter gets it after this time, in seconds. After the default of 5 ms, the short requests of one account,
# which wait for the interpreter after each statement, would take many times as long while another account sends long ones.
SWITCH_INTERVAL = 0.0005
sys.setswitchinterval(SWITCH_INTERVAL)
