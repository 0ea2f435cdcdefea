"""The application without a server: its limits, and the responses to requests that do not reach Django."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from config.wsgi import MAX_FILE_BYTES, Application, Slots
from core.limits.request_shares import is_answering

# At the end of each response, Django closes old database connections.
pytestmark = pytest.mark.django_db

XML = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n'
    b"  <error>The service is not available at the moment; try again</error>\n</errors>\n"
)
JSON = b'{"code":"unavailable","message":"The service is not available at the moment; try again"}'


def answering(make_response=lambda environ: HttpResponse("answered")):
    """Return a stub of Django that responds to every path with 200."""

    def django(environ, start):
        response = make_response(environ)
        start("200 OK", [])
        return response

    return Application(django)


class Call:
    """A request to an application, with its response. `read` reads and closes a streamed one."""

    def __init__(self, application, path="/", **environ):
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "wsgi.input": io.BytesIO(), **environ}
        self.parts = application(environ, self.start)
        self.content = b"".join(self.parts) if isinstance(self.parts, list) else None

    def start(self, line, headers):
        self.status, self.headers = line[:3], dict(headers)

    def read(self):
        content = b"".join(self.parts)
        self.parts.close()
        return content


@pytest.fixture
def busy(settings):
    """An application whose only slot is in use."""
    settings.REQUEST_THREADS, settings.SLOT_TIMEOUT = 1, 0.01
    application = answering()
    assert application.slots.acquire()
    return application


def test_it_works(busy):
    assert Call(busy).status == "503"
    busy.slots.release()
    for _ in range(2):
        response = Call(busy)
        assert (response.status, response.content) == ("200", b"answered")


def test_it_rejects_a_request_that_gets_no_slot(busy, caplog):
    caplog.set_level("INFO", "rostrum.access")
    for path, content_type, content in (
        ("/app/posts.xml", "application/xml; charset=utf-8", XML),
        ("/app/clients.json", "application/json", JSON),
    ):
        caplog.clear()
        response = Call(busy, path)
        assert (response.status, response.content) == ("503", content)
        request_id = response.headers.pop("X-Request-Id")
        assert response.headers == {
            "Content-Type": content_type,
            "Content-Length": str(len(content)),
            "Cache-Control": "private, no-store",
            "Retry-After": "5",
        }
        [line] = [record.getMessage() for record in caplog.records if record.name == "rostrum.access"]
        assert line.startswith(f"{request_id} GET {path} 503 {len(content)} ")


def test_the_environment_of_the_server_is_unchanged():
    """gunicorn reads it again after the response."""
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/a.json/", "wsgi.input": io.BytesIO(), "wsgi.file_wrapper": list}
    before = environ.copy()
    assert b"".join(answering()(environ, lambda *arguments: None)) == b"answered"
    assert environ == before


def test_probes_and_requests_within_a_request_need_no_slot(busy):
    assert [Call(busy, path).status for path in ("/healthz", "/readyz", "/")] == ["200", "200", "503"]
    token = is_answering.set(True)
    try:
        assert Call(busy).status == "200"
    finally:
        is_answering.reset(token)


def test_a_request_waits_while_others_end():
    """It is rejected only when no request has ended for some time."""
    slots = Slots(1, 60)
    assert slots.acquire()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(slots.acquire)
        slots.release()
        assert waiting.result(20)
        slots.timeout = 0
        assert not pool.submit(slots.acquire).result(20)


def test_an_error_releases_the_slot_and_is_logged(settings, caplog):
    caplog.set_level("INFO", "rostrum.access")
    settings.REQUEST_THREADS, settings.SLOT_TIMEOUT = 1, 0
    application = answering(lambda environ: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            Call(application)
    lines = [record.getMessage().split() for record in caplog.records if record.name == "rostrum.access"]
    assert [line[3] for line in lines] == ["500", "500"]


@pytest.mark.parametrize(
    ("path", "content_type", "template"),
    [
        ("/app/posts.xml", "application/xml; charset=utf-8", b"  <error>%s</error>\n"),
        ("/app/clients.json", "application/json", b'{"code":"bad_request","message":"%s"}'),
        ("/app/sign-in", "text/html; charset=utf-8", b"<p>%s</p>"),
    ],
)
def test_it_rejects_an_incomplete_body(busy, path, content_type, template):
    """Such a request needs no slot."""
    environ = {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": "3", "HTTP_ACCEPT": "text/html"}
    for body in (b"", b"xx"):
        response = Call(busy, path, **environ, **{"wsgi.input": io.BytesIO(body)})
        assert (response.status, response.headers["Content-Type"]) == ("400", content_type)
        assert template % b"The request was cut off on its way; send it again" in response.content


def test_a_slow_body_takes_no_slot(settings):
    settings.REQUEST_THREADS, settings.SLOT_TIMEOUT = 1, 0
    reading, sent = threading.Event(), threading.Event()

    class Body:
        def read(self, size):
            reading.set()
            assert sent.wait(20)
            return b"x" * size

    application = answering(lambda environ: HttpResponse(environ["wsgi.input"].read()))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(
            lambda: Call(application, REQUEST_METHOD="POST", CONTENT_LENGTH="3", **{"wsgi.input": Body()})
        )
        try:
            assert reading.wait(20)
            assert Call(application).status == "200"
        finally:
            sent.set()
        assert slow.result(20).content == b"xxx"


def test_too_many_streams_are_rejected(settings):
    settings.REQUEST_THREADS, settings.MAX_STREAMS = 1, 2
    responses = []

    def make_response(environ):
        responses.append(StreamingHttpResponse([b"0", b"1"]))
        return responses[-1]

    application = answering(make_response)
    # A stream has no slot, as its client may receive it slowly.
    first, second = Call(application), Call(application)
    assert Call(application).status == "503"
    assert [response.closed for response in responses] == [False, False, True]
    assert first.read() == b"01"
    first.parts.close()
    del second
    # Both have made room, also the one that was never read.
    streams = [Call(application) for _ in range(2)]
    assert [stream.status for stream in streams] == ["200", "200"]
    assert Call(application).status == "503"
    for stream in streams:
        stream.read()


@pytest.mark.parametrize(("size", "status"), [(20_000, "200"), (MAX_FILE_BYTES, "503")])
def test_a_small_file_is_not_streamed(settings, tmp_path, size, status):
    settings.MAX_STREAMS = 1
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    opened = []

    def make_response(environ):
        opened.append(path.open("rb"))
        return FileResponse(opened[-1])

    application = answering(make_response)
    application.streams.acquire()
    assert Call(application).status == status
    application.streams.release()
    response = Call(application)
    assert (response.content or response.read()) == b"x" * size
    assert all(file.closed for file in opened)
