"""The WSGI application: Django, behind what must happen before Django sees a request and after it has answered."""

import io
import logging
import os
import re
import secrets
from time import perf_counter
from urllib.parse import quote

from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries

from accounts.text import redact_query

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

access = logging.getLogger("rostrum.access")

BODY_LIMIT = 1024 * 1024


# What a path mostly consists of, and is logged as it is.
_PLAIN = re.compile("[A-Za-z0-9/._~-]+")


class Application:
    """Makes a request safe to parse, gives it an id, and writes its line in the access log."""

    def __init__(self, django):
        self.django = django

    def __call__(self, environ, start_response):
        began = perf_counter()
        request_id = secrets.token_hex(8)
        self.tame_content_type(environ)
        self.measure_body(environ)
        status, length = "500", "-"

        def start(line, headers, exc_info=None):
            nonlocal status, length
            status = line[:3]
            length = next((value for name, value in headers if name == "Content-Length"), "-")
            return start_response(line, [*headers, ("X-Request-Id", request_id)], exc_info)

        try:
            return self.django(environ, start)
        finally:
            access.info(
                "%s %s %s%s %s %s %.1fms %s",
                request_id,
                environ["REQUEST_METHOD"],
                self.host(environ),
                self.target(environ),
                status,
                length,
                (perf_counter() - began) * 1000,
                environ.get("rostrum.user", "-"),
            )

    @staticmethod
    def tame_content_type(environ) -> None:
        """Keep the charset from Django, which would decode the query with it, whatever it names; the parsers read it."""
        media_type, _, parameters = environ.get("CONTENT_TYPE", "").partition(";")
        if parameters:
            environ["CONTENT_TYPE"] = media_type.strip()
            for parameter in parameters.split(";"):
                name, _, value = parameter.partition("=")
                if name.strip().lower() == "charset":
                    environ["rostrum.charset"] = value.strip().strip("\"'")

    @staticmethod
    def measure_body(environ) -> None:
        """A body that comes in chunks has no length: read it, no further than one byte beyond what is accepted."""
        if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
            body = environ["wsgi.input"].read(BODY_LIMIT + 1)
            environ["wsgi.input"] = io.BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))

    @staticmethod
    def host(environ) -> str:
        # What stands before an @ would be credentials.
        return quote(environ.get("HTTP_HOST", "").rpartition("@")[2][:260], safe=".:[]-")

    @staticmethod
    def target(environ) -> str:
        if not environ.get("QUERY_STRING") and _PLAIN.fullmatch(environ.get("PATH_INFO", "")):
            return environ["PATH_INFO"]
        path = quote(environ.get("PATH_INFO", "").encode("latin-1", "replace"), safe="/:@!$&'()*+,;=~.-_")
        query = quote(redact_query(environ.get("QUERY_STRING", "")), safe="=&%+/:@!$'()*,;?~.-_[]")
        return path + ("?" + query if query else "")


application = Application(get_wsgi_application())

# What Django does around each request for what is not used here: a log of statements, and caches. A connection that has grown old
# is closed after a request, which is enough.
request_started.disconnect(reset_queries)
request_started.disconnect(close_old_connections)
request_finished.disconnect(close_caches)
