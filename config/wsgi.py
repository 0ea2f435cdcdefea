"""The WSGI application: Django, with request ids and the access log around it. `config.serving` limits the requests that reach it."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.cache import close_caches
from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries
from django.http import FileResponse, StreamingHttpResponse

from config.serving.exchange import Exchange
from config.serving.in_flight import InFlight

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# A static file of this size or more is streamed.
MAX_FILE_BYTES = 256 * 1024


class Application:
    """Django, with a request id and a line in the access log for each request."""

    def __init__(self, django: Callable[..., Any]) -> None:
        self.django = django
        # `config.serving.server` replaces this record with a record that the parent process can read.
        self.in_flight = InFlight(settings.MAX_IN_FLIGHT)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer a request without limits, as plain WSGI.

        Requests within a request (`accounts.pages.example_requests`) come here: they use the slot of the outer request.
        """
        environ.pop("wsgi.file_wrapper", None)  # `respond` reads files itself
        exchange = Exchange(environ, self.in_flight)
        try:
            is_complete = not exchange.body_size() or exchange.read_body()
            response = self.respond(exchange) if is_complete else self.reject(exchange, 400)
            start_response(exchange.status_line, exchange.headers)
        finally:
            exchange.end()
        return response

    def respond(self, exchange: Exchange) -> list[bytes] | StreamingHttpResponse:
        """Return the content of the response, or a response that has to be streamed: a large file, or an export from the database."""
        remove_charset(exchange.environ)
        response = self.django(exchange.environ, exchange.start)
        if response.streaming and not is_small_file(response):
            return response
        # A client that receives a streamed response slowly occupies a thread.
        content = [b"".join(response)] if response.streaming else [response.content]
        response.close()
        return content

    @staticmethod
    def reject(exchange: Exchange, status: int) -> list[bytes]:
        """Return the content of a response with 503, or 400 to an incomplete body. Neither middleware nor the database are used."""
        from core.error_responses import incomplete_request, unavailable  # after Django's setup

        remove_charset(exchange.environ)
        request = WSGIRequest(exchange.environ)
        response = unavailable(request) if status == 503 else incomplete_request(request)
        headers = {"Content-Length": str(len(response.content)), "Cache-Control": "private, no-store"}
        exchange.start(f"{status} {response.reason_phrase}", [*response.items(), *headers.items()])
        return [response.content]


def is_small_file(response: StreamingHttpResponse) -> bool:
    return (
        isinstance(response, FileResponse) and int(response.get("Content-Length", str(MAX_FILE_BYTES))) < MAX_FILE_BYTES
    )


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

# Django's handlers around each request are not needed: there is no log of queries and no cache, and `release_slot` closes old
# connections.
request_started.disconnect(reset_queries)
request_started.disconnect(close_old_connections)
request_finished.disconnect(close_old_connections)
request_finished.disconnect(close_caches)
