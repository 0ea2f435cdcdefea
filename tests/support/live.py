"""Serve the application on a local port, for clients with their own HTTP stack."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.db import connections

from tests.support.client import application
from tests.support.plain import PLAIN


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

    The test's rows must be committed (`transactional_db`). `make test PLAIN=on` replaces the server by gunicorn.
    """
    if PLAIN:
        with serving_by_gunicorn(app) as port:
            yield port
        return
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


@contextlib.contextmanager
def serving_by_gunicorn(app: Callable) -> Iterator[int]:
    """Serve from a worker of gunicorn with threads, which runs in a thread of this process, where the tests change settings."""
    from gunicorn.app.base import BaseApplication
    from gunicorn.workers.gthread import ThreadWorker

    class Served(BaseApplication):
        def load_config(self) -> None:
            for name, value in {"threads": 8, "keepalive": 1, "graceful_timeout": 1, "loglevel": "warning"}.items():
                self.cfg.set(name, value)

        def load(self) -> Callable:
            return with_closed_connections

    class Worker(ThreadWorker):
        def init_signals(self) -> None:
            """Leave the signals alone: only the main thread can set their handlers."""

    def with_closed_connections(environ, start_response):
        try:
            return [b"".join(app(environ, start_response))]
        finally:
            connections.close_all()

    served = Served()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        log = served.cfg.logger_class(served.cfg)
        worker = Worker(0, os.getppid(), [listener], served, 30, served.cfg, log)
        thread = threading.Thread(target=worker.init_process)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            worker.handle_exit(None, None)
            thread.join()
            worker.tmp.close()
