"""The WSGI application: Django, with admission control, request ids and the access log around it."""

import io
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterable
from threading import BoundedSemaphore
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.conf import settings
from django.core.cache import close_caches
from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries
from django.http import FileResponse, StreamingHttpResponse

from config.serving.admission import Admission
from config.serving.in_flight import InFlight
from config.serving.streaming import Streaming
from core import client_address
from core.logs import ACCESS_LOG, omit_inner_query, redact, redact_query

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

access = logging.getLogger(ACCESS_LOG)

# The key of a WSGI environment that marks a request with a slot. Clients cannot set it: their headers have keys that begin with HTTP_.
HAS_SLOT = "rostrum.slot"

# Most paths match this, and are logged unchanged.
_PLAIN = re.compile("[A-Za-z0-9/._~-]+")


class Application:
    """The application that the server calls: it gives each request an id, admits or rejects it, and writes the access log."""

    def __init__(self, django: Callable[..., Any], *, admission: Admission, probes: Admission) -> None:
        self.django = django
        self.admission = admission
        self.probes = probes
        # `config.serving.server` replaces this record with a record that the parent process can read.
        self.in_flight = InFlight(settings.THREADS + settings.SLOTS)
        self.streams = BoundedSemaphore(settings.MAX_STREAMS)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        started_at = perf_counter()
        if environ["PATH_INFO"].endswith((".json/", ".xml/")):
            # Some clients append a slash to every path.
            environ["PATH_INFO"] = environ["PATH_INFO"][:-1]
        request_id = secrets.token_hex(8)
        address = redact(self.host(environ) + self.target(environ))
        summary = f"{request_id} {environ['REQUEST_METHOD']} {address}"
        status, length = "500", "-"

        def start(line: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
            nonlocal status, length
            status = line[:3]
            length = next((value for name, value in headers if name == "Content-Length"), "-")
            return start_response(line, [*headers, ("X-Request-Id", request_id)], exc_info)

        record = self.in_flight.add(summary)
        try:
            return self.admit(environ, start)
        finally:
            access.info(
                "%s %s %s %.1fms %s",
                summary,
                status,
                length,
                (perf_counter() - started_at) * 1000,
                environ.get("rostrum.user", "-"),
            )
            self.in_flight.remove(record)

    def admit(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        """Respond to a request within the limits of admission, or reject the request."""
        path = environ["PATH_INFO"]
        # A request within a request (`accounts.pages.example_requests`) uses the same slot. If it waited for another slot, both could
        # wait forever.
        if path == "/healthz" or HAS_SLOT in environ:
            return self.respond(environ, start)
        # Readiness has limits of its own. A load balancer would otherwise remove a service that is only busy.
        if path == "/readyz":
            admission, size = self.probes, 0
        else:
            admission, size = self.admission, self.body_size(environ)
        sender = client_address.from_environ(environ) if size else ""
        if not admission.enter(sender):
            # Clients send the next request as soon as they are rejected. Without a delay, rejections would use most of the CPU.
            sleep(settings.REJECTION_DELAY)
            # If several complete bodies of one sender arrived together, the other bodies have been read during the delay.
            if not (sender and admission.enter(sender)):
                return self.reject(environ, start)
        is_streamed = False
        try:
            # The body is read before a slot is acquired, as the client may send it slowly.
            if size and not self.read_body(environ, size, admission, sender):
                return self.reject(environ, start, 400)
            slot = admission.acquire_slot()
            if slot is None:
                return self.reject(environ, start)
            environ[HAS_SLOT] = True
            try:
                response = self.respond(environ, start)
            finally:
                admission.release_slot(slot)
            if isinstance(response, StreamingHttpResponse) and not isinstance(response, FileResponse):
                if not self.streams.acquire(blocking=False):
                    response.close()
                    return self.reject(environ, start)
                # The stream leaves the admission when it is closed.
                is_streamed = True
                return Streaming(response, admission, self.streams)
            return response
        finally:
            if not is_streamed:
                admission.leave()

    def respond(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        self.remove_charset(environ)
        response = self.django(environ, start)
        # For a static file, this may be the server's file wrapper, which has no such attribute.
        if getattr(response, "streaming", True):
            return response
        # One chunk, so the server does not call back for more.
        content = [response.content]
        response.close()
        return content

    def reject(self, environ: "WSGIEnvironment", start: "StartResponse", status: int = 503) -> Iterable[bytes]:
        """Respond with 503, or with 400 to an incomplete body, without Django's middleware and without the database."""
        from core.error_responses import incomplete_request, unavailable  # after Django's setup

        self.remove_charset(environ)
        request = WSGIRequest(environ)
        response = unavailable(request) if status == 503 else incomplete_request(request)
        headers = {"Content-Length": str(len(response.content)), "Cache-Control": "private, no-store"}
        start(f"{status} {response.reason_phrase}", [*response.items(), *headers.items()])
        return [response.content]

    @staticmethod
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

    @staticmethod
    def body_size(environ: "WSGIEnvironment") -> int:
        """Return how many bytes of the body to read: 0 without a body, or if the body is too long and will be refused.

        A chunked body has no known length. One byte more than the limit is read, which is enough to refuse it.
        """
        if "HTTP_TRANSFER_ENCODING" in environ and "chunked" in environ["HTTP_TRANSFER_ENCODING"].lower():
            return settings.MAX_BODY_BYTES + 1
        try:
            length = int(environ.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return 0
        return length if 0 < length <= settings.MAX_BODY_BYTES else 0

    @staticmethod
    def read_body(environ: "WSGIEnvironment", size: int, admission: Admission, sender: str) -> bool:
        """Read the body and return whether it is complete. An incomplete body must be refused (RFC 9112, section 8).

        The server does not tell whether a chunked body is complete.
        """
        try:
            body = environ["wsgi.input"].read(size)
        finally:
            admission.finish_body(sender)
        environ["wsgi.input"] = io.BytesIO(body)
        if len(body) < size <= settings.MAX_BODY_BYTES:
            return False
        environ["CONTENT_LENGTH"] = str(len(body))
        return True

    @staticmethod
    def host(environ: "WSGIEnvironment") -> str:
        # The part before an @ would be credentials.
        return quote(environ.get("HTTP_HOST", "").rpartition("@")[2][:260], safe=".:[]-")

    @staticmethod
    def target(environ: "WSGIEnvironment") -> str:
        if not environ.get("QUERY_STRING") and _PLAIN.fullmatch(environ.get("PATH_INFO", "")):
            return environ["PATH_INFO"]
        path = quote(environ.get("PATH_INFO", "").encode("latin-1", "replace"), safe="/:@!$&'()*+,;=~.-_")
        path = omit_inner_query(path)
        query = quote(redact_query(environ.get("QUERY_STRING", "")), safe="=&%+/:@!$'()*,;?~.-_[]")
        return path + ("?" + query if query else "")


application = Application(
    get_wsgi_application(),
    admission=Admission(
        slots=settings.SLOTS,
        capacity=settings.QUEUE_CAPACITY,
        queue_timeout=settings.QUEUE_TIMEOUT,
        max_bodies=settings.MAX_BODIES,
        max_bodies_per_sender=settings.MAX_BODIES_PER_SENDER,
    ),
    # Simultaneous probes share one query (`core.api.readiness`), so no probe waits for another.
    probes=Admission(slots=2, capacity=2, queue_timeout=0),
)

# Django's handlers around each request are not needed: there is no log of queries and no cache, and `release_slot` closes old
# connections.
request_started.disconnect(reset_queries)
request_started.disconnect(close_old_connections)
request_finished.disconnect(close_old_connections)
request_finished.disconnect(close_caches)
