"""The application on a real port of this machine, for clients that bring their own HTTP."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.db import connections

from tests.support.client import application


class Quiet(WSGIRequestHandler):
    # For a connection that a browser opens ahead and then sends nothing on.
    timeout = 10

    def handle(self) -> None:
        # A browser may hang up at any time.
        with contextlib.suppress(ConnectionError, TimeoutError):
            super().handle()

    def log_message(self, *arguments):
        """The application writes the access log."""


class Threaded(ThreadingMixIn, WSGIServer):
    """Answers several requests at once, as browsers make them."""

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            connections.close_all()


@contextlib.contextmanager
def serving(app: Callable = application, *, server_class: type[WSGIServer] = WSGIServer) -> Iterator[int]:
    """Serve from a thread, one request at a time unless the class says otherwise; the port.

    The test's rows must be committed (`transactional_db`).
    """
    with make_server("127.0.0.1", 0, app, server_class=server_class, handler_class=Quiet) as server:

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
