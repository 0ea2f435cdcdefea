"""The application on a real port of this machine, for clients that bring their own HTTP."""

import contextlib
import threading
from collections.abc import Iterator
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.db import connections

from tests.client import application


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        """The application writes the access log."""


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """Serve from a thread, one request at a time; the port. The test's rows must be committed (`transactional_db`)."""
    with make_server("127.0.0.1", 0, application, handler_class=Quiet) as server:

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
