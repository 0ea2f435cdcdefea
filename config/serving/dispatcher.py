"""How a worker process answers requests: at once, from the queue, or with a rejection.

The threads of the server call the `Dispatcher`. They take few requests at a time to Django. A request that has to wait is put in a
queue, without its thread, and a thread that has answered a request continues with the next one in the queue.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http import StreamingHttpResponse

from config.serving.admission import Admission, connected
from config.serving.exchange import ServerExchange, ServerProtocol
from config.serving.streaming import Streaming
from config.serving.threads import Threads
from core import client_address

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

    from config.wsgi import Application

logger = logging.getLogger("rostrum.server")

# How often to look for requests that have waited too long in the queue, in seconds.
OVERDUE_INTERVAL = 0.1

ENVIRON = {
    "SCRIPT_NAME": "",
    "wsgi.version": (1, 0),
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
}


class Dispatcher:
    """The callback of the server: it answers, queues or rejects a request.

    A thread has to call `reject_next` again and again.
    """

    def __init__(self, application: "Application", *, admission: Admission, threads: Threads) -> None:
        self.application = application
        self.admission = admission
        self.threads = threads
        self.probes = threading.BoundedSemaphore(settings.MAX_PROBES)
        self.streams = threading.BoundedSemaphore(settings.MAX_STREAMS)
        self.second_tries = threading.BoundedSemaphore(settings.MAX_SECOND_TRIES)
        # Rejected requests, each with the earliest time of its response.
        self._rejected: SimpleQueue[tuple[float, ServerExchange]] = SimpleQueue()

    def __call__(self, protocol: ServerProtocol, environ: "WSGIEnvironment") -> None:
        self.threads.register()
        exchange = ServerExchange(ENVIRON | environ, self.application.in_flight, protocol)
        with failing(exchange):
            self.dispatch(exchange)
        # The server discards an unread body when this method returns. Until then, the connection accepts no further request.
        if not exchange.has_unread_body():
            self.threads.park()

    def dispatch(self, exchange: ServerExchange) -> None:
        path = exchange.environ["PATH_INFO"]
        if path == "/healthz":
            self.answer(exchange)
        elif path == "/readyz":
            self.answer_probe(exchange)
        elif exchange.body_size():
            self.read_body(exchange)
        elif self.admission.enter():
            self.answer_or_queue(exchange)
        else:
            self.reject_later(exchange)

    def answer(self, exchange: ServerExchange) -> StreamingHttpResponse | None:
        """Answer a request, or return a response that has to be streamed."""
        with failing(exchange):
            response = self.application.respond(exchange)
            if isinstance(response, StreamingHttpResponse):
                return response
            exchange.send(response)
        return None

    def answer_probe(self, exchange: ServerExchange) -> None:
        """Answer a question for readiness. It needs no slot: a load balancer would otherwise remove a service that is only busy."""
        if not self.probes.acquire(blocking=False):
            self.reject_later(exchange)
            return
        try:
            with self.threads.waiting():
                self.answer(exchange)
        finally:
            self.probes.release()

    def read_body(self, exchange: ServerExchange) -> None:
        """Read the body of a request, and then answer or queue it. Reject it if its body is one too many, or incomplete.

        The body is read before a slot is acquired, as the client may send it slowly.
        """
        sender = client_address.from_environ(exchange.environ)
        if not self.admission.enter(sender) and not self.enter_later(sender):
            self.reject_later(exchange)
            return
        is_complete = False
        try:
            with self.threads.waiting():
                is_complete = exchange.read_body()
        finally:
            self.admission.finish_body(sender)
            if not is_complete:
                self.admission.leave()
        if is_complete:
            self.answer_or_queue(exchange)
        else:
            self.reject(exchange, 400)

    def enter_later(self, sender: str) -> bool:
        """Admit a request after a short delay, if the limits allow it then.

        If several complete bodies of one sender arrived together, the other bodies have been read during the delay.
        """
        if not self.second_tries.acquire(blocking=False):
            return False
        try:
            with self.threads.waiting():
                sleep(settings.REJECTION_DELAY)
        finally:
            self.second_tries.release()
        return self.admission.enter(sender)

    def answer_or_queue(self, exchange: ServerExchange) -> None:
        """Answer an admitted request if a slot is free. Otherwise the request waits for one in the queue, but not this thread."""
        slot = self.admission.acquire_or_queue(exchange)
        if slot is not None:
            self.answer_all(exchange, slot)

    def answer_all(self, exchange: ServerExchange, slot: BaseDatabaseWrapper) -> None:
        """Answer an admitted request with a slot, and then those of the queue, until none is left or this thread has to do something else."""
        following: ServerExchange | None = exchange
        while following is not None:
            exchange, stream = following, None
            try:
                with connected(slot):
                    stream = self.answer(exchange)
            except Exception:
                logger.exception("The connection of a slot can't be closed")
            if stream is not None:
                self.release(slot)
                self.send_stream(exchange, stream)
                return
            self.admission.leave()
            if exchange.has_unread_body():
                # This thread has to return to the server, which then discards the body.
                self.release(slot)
                return
            following = self.admission.release(slot)

    def send_stream(self, exchange: ServerExchange, response: StreamingHttpResponse) -> None:
        """Send a streamed response, which may take long, in this thread."""
        if not self.streams.acquire(blocking=False):
            response.close()
            self.admission.leave()
            self.reject(exchange)
            return

        def leave() -> None:
            self.streams.release()
            self.admission.leave()

        # The server closes the stream too, unless it can't begin to send it.
        with self.threads.waiting(), failing(exchange), closing(Streaming(response, self, leave)) as stream:
            exchange.send_stream(stream)

    def acquire(self) -> BaseDatabaseWrapper | None:
        """Wait for a slot in this thread, for a stream."""
        return self.admission.acquire()

    def release(self, slot: BaseDatabaseWrapper) -> None:
        """Release a slot. If a request gets it, another thread answers this request, as this one has something else to do."""
        exchange = self.admission.release(slot)
        if exchange is None:
            return
        try:
            threading.Thread(target=self.answer_all, args=(exchange, slot), name="request", daemon=True).start()
        except RuntimeError:  # no memory, or too many threads
            self.answer_all(exchange, slot)

    def reject_later(self, exchange: ServerExchange) -> None:
        """Reject a request after a delay: most clients send the next request as soon as they are rejected.

        Without a delay, rejections would use most of the CPU time.
        """
        # Clients that disconnect at once could make the queue grow.
        if self._rejected.qsize() < settings.MAX_CLIENT_CONNECTIONS:
            self._rejected.put((monotonic() + settings.REJECTION_DELAY, exchange))
        else:
            self.reject(exchange)

    def reject_next(self, timeout: float = OVERDUE_INTERVAL) -> None:
        """Reject the requests that have waited too long in the queue, and the next request that was not admitted.

        Wait `timeout` seconds at most for such a request.
        """
        for exchange in self.admission.take_overdue():
            self.admission.leave()
            self.reject(exchange)
        try:
            time, exchange = self._rejected.get(timeout=timeout)
        except Empty:
            return
        sleep(max(settings.REJECTION_INTERVAL, time - monotonic()))
        self.reject(exchange)

    def reject_all(self) -> None:
        while True:
            self.reject_next()

    def reject(self, exchange: ServerExchange, status: int = 503) -> None:
        with failing(exchange):
            exchange.send(self.application.reject(exchange, status))


@contextmanager
def failing(exchange: ServerExchange) -> Iterator[None]:
    """If the block raises an exception, log it, and respond with 500 unless there has been a response."""
    try:
        yield
    except Exception:
        logger.exception("request %s failed", exchange.summary)
        exchange.fail()
