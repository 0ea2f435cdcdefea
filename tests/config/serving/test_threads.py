"""The limit of the server's threads that compete for the interpreter: `config.serving.threads`."""

import threading
from queue import SimpleQueue

import pytest

from config.serving.threads import Threads
from tests.support.admission import wait_until

MIN_ACTIVE, MAX_ACTIVE = 1, 2


class Server:
    """A server whose threads take requests from a queue. A request is a function."""

    def __init__(self):
        self.threads = Threads(min_active=MIN_ACTIVE, max_active=MAX_ACTIVE)
        self.requests = SimpleQueue()
        self.started = []

    def start_thread(self):
        def run():
            while (request := self.requests.get()) is not None:
                self.threads.register()
                request()
                self.threads.park()

        self.started.append(threading.Thread(target=run))
        self.started[-1].start()

    def wait_for(self, *, active, parked):
        wait_until(lambda: (self.threads._active, len(self.threads._parked)) == (active, parked))

    def stop(self):
        while self.threads._parked:
            self.threads._parked.pop().release()
        for _ in self.started:
            self.requests.put(None)
        for thread in self.started:
            thread.join(20)


@pytest.fixture
def server():
    server = Server()
    yield server
    server.stop()


class SlowClient:
    """A request for which a thread waits until `end` is set."""

    def __init__(self, server):
        self.threads = server.threads
        self.begun, self.end = threading.Event(), threading.Event()
        server.requests.put(self.wait)
        assert self.begun.wait(20)

    def wait(self):
        with self.threads.waiting():
            self.begun.set()
            assert self.end.wait(20)


def start_threads(server, number):
    """Start threads that have each answered a request."""
    together = threading.Barrier(number)
    for _ in range(number):
        server.start_thread()
        server.requests.put(together.wait)
    server.wait_for(active=min(number, MAX_ACTIVE), parked=max(0, number - MAX_ACTIVE))


def test_it_works(server):
    start_threads(server, 4)
    first = SlowClient(server)
    server.wait_for(active=1, parked=2)
    # Another thread takes the place of the second one, as too few would be left.
    second = SlowClient(server)
    server.wait_for(active=1, parked=1)
    third = SlowClient(server)
    server.wait_for(active=1, parked=0)
    fourth = SlowClient(server)
    server.wait_for(active=0, parked=0)
    for client in (first, second, third, fourth):
        client.end.set()
    server.wait_for(active=2, parked=2)


def test_a_thread_is_counted_until_it_ends(server):
    start_threads(server, 2)
    for _ in range(10):
        server.requests.put(lambda: None)
    wait_until(server.requests.empty)
    server.wait_for(active=2, parked=0)
    server.stop()
    server.wait_for(active=0, parked=0)
