"""A request and its response, with an id, a record and a line in the access log."""

import io
import logging
import re
import secrets
from collections.abc import Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from django.conf import settings

from config.serving.chunked import chunked_bodies
from config.serving.in_flight import InFlight
from core import client_address
from core.logs import ACCESS_LOG, omit_inner_query, redact, redact_query

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

access = logging.getLogger(ACCESS_LOG)

# Methods whose requests may be complete without a body.
METHODS_WITHOUT_BODY = ("GET", "HEAD", "DELETE", "OPTIONS")
INTERNAL_ERROR = "500 Internal Server Error"

# The paths of the APIs, of categories and of the pages of a forum, with one slash at the end.
_TRAILING_SLASH = re.compile(
    r"(?:.+\.(?:json|xml)|/(?!static/)[^/]+|/app/(?:posts|suggestions|roadmap|feed\.atom)(?:/[^/]+)*)/", re.DOTALL
)
# Most paths match this, and are logged unchanged.
_PLAIN = re.compile("[A-Za-z0-9/._~-]+")


class ServerProtocol(Protocol):
    """granian's interface for one response. Any thread may send the response, at any time, but only once."""

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None: ...
    def response_iter(self, status: int, headers: list[tuple[str, str]], body: Iterable[bytes]) -> None: ...


class Exchange:
    """A request from its arrival until `end`. Meanwhile it is recorded in `in_flight`."""

    __slots__ = ("_in_flight", "_record", "_started_at", "environ", "headers", "id", "status_line", "summary")

    def __init__(self, environ: "WSGIEnvironment", in_flight: InFlight) -> None:
        self._started_at = perf_counter()
        if _TRAILING_SLASH.fullmatch(environ["PATH_INFO"]):
            # Some clients append a slash to every path, and people to the name of a category.
            environ["PATH_INFO"] = environ["PATH_INFO"][:-1]
        client_address.apply_proxy(environ)
        self.environ = environ
        self.id = secrets.token_hex(8)
        self.summary = f"{self.id} {environ['REQUEST_METHOD']} {redact(host(environ) + target(environ))}"
        self.status_line = INTERNAL_ERROR
        self.headers: list[tuple[str, str]] = []
        self._in_flight = in_flight
        self._record: int | None = in_flight.add(self.summary)

    def start(self, line: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        """Take the status line and the headers of the response, as `start_response` of WSGI does, and add the id."""
        self.status_line = line
        self.headers = [*headers, ("X-Request-Id", self.id)]

    def has_unread_body(self) -> bool:
        has_body = "HTTP_TRANSFER_ENCODING" in self.environ or self.environ.get("CONTENT_LENGTH", "0") != "0"
        return has_body and not isinstance(self.environ["wsgi.input"], io.BytesIO)

    def body_size(self) -> int:
        """Return how many bytes of the body to read: 0 without a body, or if the body is too long and will be refused.

        A chunked body has no known length. One byte more than the limit is read, which is enough to refuse it.
        """
        if "chunked" in self.environ.get("HTTP_TRANSFER_ENCODING", "").lower():
            return settings.MAX_BODY_BYTES + 1
        try:
            length = int(self.environ.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return 0
        return length if 0 < length <= settings.MAX_BODY_BYTES else 0

    def read_body(self) -> bool:
        """Read the body, and return whether it is complete. An incomplete body must be refused (RFC 9112, section 8)."""
        size = self.body_size()
        body = self.read_chunked() if size > settings.MAX_BODY_BYTES else self.environ["wsgi.input"].read(size)
        if body is None or len(body) < size <= settings.MAX_BODY_BYTES:
            return False
        self.environ["wsgi.input"] = io.BytesIO(body)
        self.environ["CONTENT_LENGTH"] = str(len(body))
        return True

    def read_chunked(self) -> bytes | None:
        """Return the beginning of a chunked body, or None if the body is incomplete."""
        body: bytes = self.environ["wsgi.input"].read(settings.MAX_BODY_BYTES + 1)
        return body

    def end(self) -> None:
        """Write the line in the access log, and remove the record, if this has not been done."""
        if self._record is None:
            return
        access.info(
            "%s %s %s %.1fms %s",
            self.summary,
            self.status_line[:3],
            next((value for name, value in self.headers if name == "Content-Length"), "-"),
            (perf_counter() - self._started_at) * 1000,
            self.environ.get("rostrum.user", "-"),
        )
        self._in_flight.remove(self._record)
        self._record = None


class ServerExchange(Exchange):
    """A request that the server has received, and its response, which any thread may send."""

    __slots__ = ("_protocol",)

    def __init__(self, environ: "WSGIEnvironment", in_flight: InFlight, protocol: ServerProtocol) -> None:
        super().__init__(environ, in_flight)
        self._protocol = protocol

    def read_chunked(self) -> bytes | None:
        """Return the beginning of a chunked body, or None if the body is incomplete.

        A body without content may be incomplete. It is refused, unless the method gives a body no meaning.
        """
        body = chunked_bodies.read(self.environ["wsgi.input"])
        return body if body or self.environ["REQUEST_METHOD"] in METHODS_WITHOUT_BODY else None

    def send(self, content: list[bytes]) -> None:
        """Send a complete response, after `start`."""
        self.end()
        self._protocol.response_bytes(int(self.status_line[:3]), self.headers, b"".join(content))

    def send_stream(self, stream: Iterable[bytes]) -> None:
        """Send a response in chunks, after `start`, and close the stream."""
        self.end()
        self._protocol.response_iter(int(self.status_line[:3]), self.headers, stream)

    def fail(self) -> None:
        """Respond with 500 and without content. If a response has been sent, do nothing."""
        self.status_line, self.headers = INTERNAL_ERROR, []
        self.end()
        # The server ignores it if there has been a response.
        self._protocol.response_bytes(500, [], b"")


def host(environ: "WSGIEnvironment") -> str:
    # The part before an @ would be credentials.
    return quote(environ.get("HTTP_HOST", "").rpartition("@")[2][:260], safe=".:[]-")


def target(environ: "WSGIEnvironment") -> str:
    if not environ.get("QUERY_STRING") and _PLAIN.fullmatch(environ.get("PATH_INFO", "")):
        return environ["PATH_INFO"]
    path = quote(environ.get("PATH_INFO", "").encode("latin-1", "replace"), safe="/:@!$&'()*+,;=~.-_")
    path = omit_inner_query(path)
    query = quote(redact_query(environ.get("QUERY_STRING", "")), safe="=&%+/:@!$'()*,;?~.-_[]")
    return path + ("?" + query if query else "")
