"""Long bodies: they are received outside of the slots of requests, from users only, and complete."""

import io
from types import SimpleNamespace

import pytest
from django.http import HttpResponse

from accounts.sessions.cookies import SESSION_COOKIE
from config import wsgi
from config.wsgi import Application
from core.http import uploads
from core.limits import leases, pace

LIMIT = 3 * 1024 * 1024
BODY = b"x" * (2 * 1024 * 1024)


@pytest.fixture(autouse=True)
def view(monkeypatch):
    """A view that takes long bodies at every path."""
    view = SimpleNamespace(func=SimpleNamespace(view_class=SimpleNamespace(max_body_bytes=LIMIT)))
    monkeypatch.setattr(wsgi, "resolve", lambda path: view)


class Upload:
    """A request with a long body. The stub of Django keeps the body that reaches it."""

    def __init__(self, acme, *, body=BODY, length=None, application=None, **environ):
        self.received, self.limit = None, None
        self.application = application or Application(self.django)
        self.application.django = self.django
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": "/app/attachments.json",
            "HTTP_HOST": acme.host,
            "CONTENT_TYPE": "multipart/form-data; boundary=b",
            "CONTENT_LENGTH": str(len(body) if length is None else length),
            "HTTP_AUTHORIZATION": f"Bearer {acme.bob_token}",
            "wsgi.input": io.BytesIO(body),
            **environ,
        }
        self.content = b"".join(self.application(environ, self.start))

    def django(self, environ, start):
        assert environ["wsgi.input"].tell() == 0
        self.received = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        self.limit = environ.get("rostrum.max_body_bytes")
        start("200 OK", [])
        return HttpResponse("answered")

    def start(self, line, headers):
        self.status, self.headers = int(line[:3]), dict(headers)


def test_it_works(acme):
    upload = Upload(acme)
    assert (upload.status, upload.received == BODY, upload.limit) == (200, True, LIMIT)
    cookie = f"{SESSION_COOKIE}={acme.page(acme.carol).cookies[SESSION_COOKIE]}"
    upload = Upload(acme, HTTP_AUTHORIZATION="", HTTP_COOKIE=cookie)
    assert (upload.status, upload.received == BODY) == (200, True)
    # The lease of each has ended.
    for _ in range(uploads.MAX_UPLOADS):
        assert leases.acquire(f"upload:{acme.account.id}", limit=uploads.MAX_UPLOADS)


def test_the_body_of_others_is_not_read(acme, other):
    """The view gets an empty body, and refuses the caller."""

    class Unread:
        def read(self, size):
            raise AssertionError

    for values in (
        {"HTTP_AUTHORIZATION": ""},
        {"HTTP_AUTHORIZATION": f"Bearer {other.token}"},
        {"HTTP_HOST": "x.test"},
    ):
        upload = Upload(acme, **{**values, "wsgi.input": Unread()})
        assert (upload.status, upload.received, upload.limit) == (200, b"", None)


def test_it_rejects_an_incomplete_body(acme):
    for length in (len(BODY) + 1, LIMIT):
        upload = Upload(acme, length=length)
        assert (upload.status, upload.received) == (400, None)


def test_it_rejects_a_slow_body(acme, monkeypatch):
    """The time for which the client has sent nothing counts."""
    now = 0.0

    class Slow(io.BytesIO):
        rate = 0.0

        def read(self, size):
            nonlocal now
            now += size / self.rate
            return super().read(size)

    monkeypatch.setattr(uploads, "monotonic", lambda: now)
    for rate, status in ((pace.MIN_RATE, 200), (pace.MIN_RATE * 0.9, 400)):
        body = Slow(BODY)
        body.rate = rate
        assert Upload(acme, **{"wsgi.input": body}).status == status


def test_it_rejects_more_uploads_than_an_account_may_have(acme):
    held = [leases.acquire(f"upload:{acme.account.id}", limit=uploads.MAX_UPLOADS) for _ in range(uploads.MAX_UPLOADS)]
    upload = Upload(acme)
    assert (upload.status, upload.headers["Retry-After"], upload.received) == (429, "10", None)
    held[0].release()
    assert Upload(acme).status == 200


def test_it_rejects_uploads_while_all_streams_are_in_use(acme, settings):
    application = Application(None)
    for _ in range(settings.MAX_STREAMS):
        application.streams.acquire()
    assert Upload(acme, application=application).status == 503
    for _ in range(settings.MAX_STREAMS):
        application.streams.release()
    for _ in range(settings.MAX_STREAMS + 1):
        assert Upload(acme, application=application).status == 200
        assert Upload(acme, application=application, length=LIMIT).status == 400


def test_other_bodies_are_received_as_before(acme, monkeypatch):
    """They are short, not a form with files, longer than the limit of the view, or for another view."""
    monkeypatch.setattr(uploads, "receive", lambda *arguments: 1 / 0)
    for values in ({"body": b"x" * 1024}, {"CONTENT_TYPE": "application/json"}):
        assert Upload(acme, **values).limit is None
    # The middleware refuses it, and names the limit.
    assert Upload(acme, length=LIMIT + 1).limit == LIMIT
    monkeypatch.undo()
    assert Upload(acme, PATH_INFO="/app/clients.json").limit is None
    assert Upload(acme, PATH_INFO="/unknown").limit is None
