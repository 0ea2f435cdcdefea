"""The WSGI application: Django, behind what must happen before Django sees a request and after it has answered."""

import io
import logging
import os
import re
import secrets
from time import perf_counter, sleep
from urllib.parse import quote

from django.conf import settings
from django.core.cache import close_caches
from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries

from config.admission import Admission
from config.in_flight import InFlight
from core import client_address as addresses
from core.logs import ACCESS_LOG, omit_inner_query, redact, redact_query

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

access = logging.getLogger(ACCESS_LOG)

# No line tells its thread, process or place in the code, and finding them out is half of what a line takes.
logging._srcfile = None
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False

# Marks a request that has its turn. No client can say so: what they send stands under names of HTTP's.
HAS_TURN = "rostrum.turn"

# What a path mostly consists of, and is logged as it is.
_PLAIN = re.compile("[A-Za-z0-9/._~-]+")


class Application:
    """Makes a request safe to parse, gives it an id, lets it in or turns it away, and writes its line in the access log."""

    def __init__(self, django, *, admission: Admission, probes: Admission):
        self.django = django
        self.admission = admission
        self.probes = probes
        # A worker process has one that its parent can read (`config.server`).
        self.in_flight = InFlight(settings.THREADS + settings.TURNS)

    def __call__(self, environ, start_response):
        began = perf_counter()
        if environ["PATH_INFO"].endswith((".json/", ".xml/")):
            # Some clients put a slash behind every path.
            environ["PATH_INFO"] = environ["PATH_INFO"][:-1]
        request_id = secrets.token_hex(8)
        address = redact(self.host(environ) + self.target(environ))
        summary = f"{request_id} {environ['REQUEST_METHOD']} {address}"
        status, length = "500", "-"

        def start(line, headers, exc_info=None):
            nonlocal status, length
            status = line[:3]
            length = next((value for name, value in headers if name == "Content-Length"), "-")
            return start_response(line, [*headers, ("X-Request-Id", request_id)], exc_info)

        slot = self.in_flight.add(summary)
        try:
            return self.admit(environ, start)
        finally:
            access.info(
                "%s %s %s %.1fms %s",
                summary,
                status,
                length,
                (perf_counter() - began) * 1000,
                environ.get("rostrum.user", "-"),
            )
            self.in_flight.remove(slot)

    def admit(self, environ, start):
        path = environ["PATH_INFO"]
        # What is asked within a turn (`accounts.pages.running`) is a part of it: another turn may never come while this one waits.
        if path == "/healthz" or HAS_TURN in environ:
            return self.answer(environ, start)
        # Whether it reaches its database is told under any load, or whoever asks would take away a service that is only busy.
        if path == "/readyz":
            admission, size = self.probes, 0
        else:
            admission, size = self.admission, self.body_size(environ)
        sender = addresses.sender(environ) if size else ""
        if not admission.take_place(sender):
            # A refusal at once only makes room for the next one, and giving them would take all the strength there is.
            sleep(settings.REFUSAL_SECONDS)
            # Bodies that came in one burst have been read by now, if they were all there.
            if not (sender and admission.take_place(sender)):
                return self.turn_away(environ, start)
        try:
            # Before its turn: a client may be slow to send it.
            if size and not self.read_body(environ, size, admission, sender):
                return self.turn_away(environ, start, 400)
            turn = admission.take_turn()
            if turn is None:
                return self.turn_away(environ, start)
            environ[HAS_TURN] = True
            try:
                return self.answer(environ, start)
            finally:
                admission.leave_turn(turn)
        finally:
            admission.leave_place()

    def answer(self, environ, start):
        self.tame_content_type(environ)
        response = self.django(environ, start)
        # A file that the server's own wrapper sends says nothing about it.
        if getattr(response, "streaming", True):
            return response
        # In one piece, for which the server need not come back.
        content = [response.content]
        response.close()
        return content

    def turn_away(self, environ, start, status=503):
        """By 503, or by 400 whose body was cut off, before Django's middleware. None of it asks the database."""
        from core.api import errors  # once Django is set up

        self.tame_content_type(environ)
        request = WSGIRequest(environ)
        response = errors.unavailable(request) if status == 503 else errors.cut_off(request)
        headers = {"Content-Length": str(len(response.content)), "Cache-Control": "private, no-store"}
        start(f"{status} {response.reason_phrase}", [*response.items(), *headers.items()])
        return [response.content]

    @staticmethod
    def tame_content_type(environ) -> None:
        """Keep the charset from Django, which would decode the query with it, whatever it names; the parsers read it."""
        media_type, _, parameters = environ.get("CONTENT_TYPE", "").partition(";")
        if parameters:
            kept = [media_type.strip()]
            for parameter in parameters.split(";"):
                name, _, value = parameter.partition("=")
                if name.strip().lower() == "charset":
                    environ["rostrum.charset"] = value.strip().strip("\"'")
                elif name.strip().lower() == "boundary":
                    kept.append(parameter.strip())
            environ["CONTENT_TYPE"] = "; ".join(kept)

    @staticmethod
    def body_size(environ) -> int:
        """How much of a body to read: none of one that will be refused for its length, nor where there is none. A body that
        comes in chunks has no length: no further than one byte beyond what would be accepted."""
        if "HTTP_TRANSFER_ENCODING" in environ and "chunked" in environ["HTTP_TRANSFER_ENCODING"].lower():
            return settings.MAX_BODY_BYTES + 1
        try:
            length = int(environ.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return 0
        return length if 0 < length <= settings.MAX_BODY_BYTES else 0

    @staticmethod
    def read_body(environ, size: int, admission: Admission, sender: str) -> bool:
        """Whether all of it came. What was cut off must not be taken for the whole (RFC 9112, section 8); of a body in chunks
        the server does not tell."""
        try:
            body = environ["wsgi.input"].read(size)
        finally:
            admission.end_body(sender)
        environ["wsgi.input"] = io.BytesIO(body)
        if len(body) < size <= settings.MAX_BODY_BYTES:
            return False
        environ["CONTENT_LENGTH"] = str(len(body))
        return True

    @staticmethod
    def host(environ) -> str:
        # What stands before an @ would be credentials.
        return quote(environ.get("HTTP_HOST", "").rpartition("@")[2][:260], safe=".:[]-")

    @staticmethod
    def target(environ) -> str:
        if not environ.get("QUERY_STRING") and _PLAIN.fullmatch(environ.get("PATH_INFO", "")):
            return environ["PATH_INFO"]
        path = quote(environ.get("PATH_INFO", "").encode("latin-1", "replace"), safe="/:@!$&'()*+,;=~.-_")
        path = omit_inner_query(path)
        query = quote(redact_query(environ.get("QUERY_STRING", "")), safe="=&%+/:@!$'()*,;?~.-_[]")
        return path + ("?" + query if query else "")


application = Application(
    get_wsgi_application(),
    admission=Admission(
        turns=settings.TURNS,
        places=settings.PLACES,
        patience=settings.PATIENCE_SECONDS,
        bodies=settings.BODIES,
        share=settings.BODIES_OF_ONE,
    ),
    # Probes ask the database together (`core.api.readiness`), so none has to wait for another.
    probes=Admission(turns=2, places=2, patience=0),
)

# What Django does around each request for what is not used here, a log of statements and caches, or what is done when a turn
# ends: closing a connection that has grown old.
request_started.disconnect(reset_queries)
request_started.disconnect(close_old_connections)
request_finished.disconnect(close_old_connections)
request_finished.disconnect(close_caches)
