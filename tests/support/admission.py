"""The WSGI application around a stub of Django, with its own limits."""

import io

from config.serving.admission import Admission


def admit(slots=1, capacity=2, queue_timeout=20, max_bodies=1, max_bodies_per_sender=1):
    return Admission(
        slots=slots,
        capacity=capacity,
        queue_timeout=queue_timeout,
        max_bodies=max_bodies,
        max_bodies_per_sender=max_bodies_per_sender,
    )


class Response:
    streaming = False
    content = b"answered"

    def close(self):
        pass


class Call:
    """A request to an application, with its response."""

    def __init__(self, application, path="/", **environ):
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "wsgi.input": io.BytesIO(), **environ}
        self.content = b"".join(application(environ, self.start))

    def start(self, line, headers, exc_info=None):
        self.status, self.headers = line[:3], dict(headers)


def answering(call=lambda environ: None):
    """Return a stub of Django that passes the environment to `call` and responds 200."""

    def django(environ, start):
        call(environ)
        start("200 OK", [("Content-Length", "8")])
        return Response()

    return django
