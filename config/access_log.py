"""The access log: one line for each request, with its id, which the response has as `X-Request-Id`."""

import logging
import re
import secrets
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from core.logs import ACCESS_LOG, omit_inner_query, redact, redact_query

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

logger = logging.getLogger(ACCESS_LOG)

# Most paths match this, and are logged unchanged.
_PLAIN = re.compile("[A-Za-z0-9/._~-]+")


class AccessLine:
    """The line of one request. `start` is the `start_response` of its application."""

    __slots__ = ("_started_at", "environ", "headers", "id", "status_line")

    def __init__(self, environ: "WSGIEnvironment") -> None:
        self._started_at = perf_counter()
        self.environ = environ
        self.id = secrets.token_hex(8)
        # The status if the application raises an exception.
        self.status_line = "500 Internal Server Error"
        self.headers: list[tuple[str, str]] = []

    def start(self, line: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
        """Take the status line and the headers of the response, and add the id."""
        self.status_line = line
        self.headers = [*headers, ("X-Request-Id", self.id)]

    def write(self) -> None:
        logger.info(
            "%s %s %s %s %s %.1fms %s",
            self.id,
            self.environ["REQUEST_METHOD"],
            redact(host(self.environ) + target(self.environ)),
            self.status_line[:3],
            next((value for name, value in self.headers if name == "Content-Length"), "-"),
            (perf_counter() - self._started_at) * 1000,
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
