"""Serve the application on a local port, for clients with their own HTTP stack."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.db import connections

from tests.support.client import application


class QuietHandler(WSGIRequestHandler):
    # Browsers open connections ahead of time and may send nothing on them.
    timeout = 10

    def handle(self) -> None:
        # A browser may close the connection at any time.
        with contextlib.suppress(ConnectionError, TimeoutError):
            super().handle()

    def log_message(self, *arguments):
        """Do not log: the application writes the access log."""


class Threaded(ThreadingMixIn, WSGIServer):
    """A server with a thread for each connection, as browsers send requests in parallel."""

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            connections.close_all()


@contextlib.contextmanager
def serving(app: Callable = application, *, server_class: type[WSGIServer] = WSGIServer) -> Iterator[int]:
    """Serve from a thread, and return the port. The default class serves one request at a time.

    The test's rows must be committed (`transactional_db`).
    """
    with make_server("127.0.0.1", 0, app, server_class=server_class, handler_class=QuietHandler) as server:

        def serve():
            try:
                server.serve_forever(poll_interval=0.01)
            finally:
                connections.close_all()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
