"""Calls to an application whose admission and `django` are the test's."""

import io

from config.admission import Admission


def admit(turns=1, places=2, patience=20, bodies=1, share=1):
    return Admission(turns=turns, places=places, patience=patience, bodies=bodies, share=share)


class Answer:
    streaming = False
    content = b"answered"

    def close(self):
        pass


class Call:
    """One request to an application, whose `django` is the test's."""

    def __init__(self, application, path="/", **environ):
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "wsgi.input": io.BytesIO(), **environ}
        self.content = b"".join(application(environ, self.start))

    def start(self, line, headers, exc_info=None):
        self.status, self.headers = line[:3], dict(headers)


def answering(act=lambda environ: None):
    """Django, as far as the application knows."""

    def django(environ, start):
        act(environ)
        start("200 OK", [("Content-Length", "8")])
        return Answer()

    return django
