"""A receiver of webhooks on the loopback interface, and deliveries without a worker process."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Network
from typing import Any

from django.db import connection

from core.changes import followers as changes
from webhooks.dispatcher import Dispatcher
from webhooks.models import Endpoint

LOOPBACK = ((IPv4Network("127.0.0.0/8"), tuple(range(1, 65536))),)


class Received:
    """A request to the receiver."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path, self.headers, self.body = path, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Receiver:
    """An HTTP server that records requests. `respond` returns the status, headers and body of the response to a request."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.lock = threading.Lock()
        self.respond: Callable[[Received], tuple[int, dict[str, str], bytes]] = lambda request: (204, {}, b"")
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                with receiver.lock:
                    receiver.requests.append(request)
                status, headers, content = receiver.respond(request)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def answer(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        """Answer all later requests with this response."""
        self.respond = lambda request: (status, headers or {}, body)

    @property
    def types(self) -> list[str]:
        return [request.json["type"] for request in self.requests]

    @property
    def numbers(self) -> list[int]:
        return [request.json["number"] for request in self.requests]


@contextlib.contextmanager
def run_receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        thread.join()
        receiver.server.server_close()


def add_endpoint(account: Any, url: str, **values: Any) -> tuple[Endpoint, str]:
    """Add an endpoint that has received all changes so far. Return it and its secret."""
    connection.check_constraints()
    account.changes.assign_all_numbers(account.id)
    return Endpoint.objects.all().add(account, url=url, **values)


def deliver() -> None:
    """Number all changes, and send all events that are due, one request at a time for each endpoint."""
    connection.check_constraints()
    while changes.assign_numbers():
        pass
    dispatcher = Dispatcher()
    stop = threading.Event()
    thread = threading.Thread(target=dispatcher.loop.run_forever, daemon=True)
    thread.start()
    try:
        leases = dispatcher.lease_due()
        while leases or dispatcher.in_flight:
            dispatcher.start(leases)
            if not dispatcher.in_flight:
                leases = dispatcher.lease_due()
                continue
            leases = dispatcher.store([dispatcher.results.get(timeout=30)])
            leases += dispatcher.lease_due()
    finally:
        stop.set()
        dispatcher.loop.call_soon_threadsafe(dispatcher.loop.stop)
        thread.join()
        dispatcher.loop.close()
