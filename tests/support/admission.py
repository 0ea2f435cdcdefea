"""A dispatcher around a stub of Django, with its own limits, and requests to it."""

import io
import threading
from time import monotonic, sleep

from config.serving.admission import Admission
from config.serving.dispatcher import Dispatcher
from config.serving.threads import Threads
from config.wsgi import Application


def dispatcher_of(
    django,
    *,
    slots=1,
    capacity=2,
    queue_timeout=20,
    max_bodies=1,
    max_bodies_per_sender=1,
    min_active=1,
    max_active=1000,
):
    admission = Admission(
        slots=slots,
        capacity=capacity,
        queue_timeout=queue_timeout,
        max_bodies=max_bodies,
        max_bodies_per_sender=max_bodies_per_sender,
    )
    return Dispatcher(
        Application(django), admission=admission, threads=Threads(min_active=min_active, max_active=max_active)
    )


def wait_until(condition):
    give_up_at = monotonic() + 20
    while not condition():
        assert monotonic() < give_up_at
        sleep(0.001)


class Response:
    streaming = False
    content = b"answered"

    def close(self):
        pass


def answering(call=lambda environ: None):
    """Return a stub of Django that passes the environment to `call` and responds 200."""

    def django(environ, start):
        call(environ)
        start("200 OK", [("Content-Length", "8")])
        return Response()

    return django


class Call:
    """A request to a dispatcher, with its response. It takes the place of the server's protocol."""

    def __init__(self, dispatcher, path="/", *, wait=True, **environ):
        """Send the request, and by default wait for the response up to 20 seconds."""
        self.is_answered = threading.Event()
        dispatcher(self, {"REQUEST_METHOD": "GET", "PATH_INFO": path, "wsgi.input": io.BytesIO(), **environ})
        for _ in range(2000 if wait else 0):
            if self.is_answered.wait(0.01):
                break
            # In a service, a thread does this.
            dispatcher.reject_next(timeout=0)
        assert self.is_answered.is_set() or not wait

    def response_bytes(self, status, headers, body):
        if not self.is_answered.is_set():
            self.status, self.headers, self.content = str(status), dict(headers), body
            self.is_answered.set()

    def response_iter(self, status, headers, body):
        self.status, self.headers, self.content = str(status), dict(headers), b""
        try:
            while True:
                self.content += body.__next__()
        except StopIteration:
            pass
        finally:
            body.close()
            self.is_answered.set()
