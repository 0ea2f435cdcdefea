"""Admission, queueing and rejection of requests: `config.serving.admission`, and the application that uses it."""

import contextlib
import io
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DEFAULT_DB_ALIAS, connections

from accounts.pages.example_requests import FORWARDED_VARIABLES
from config.wsgi import Application
from tests.support.admission import Call, admit, answering

XML = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n'
    b"  <error>The service is not available at the moment; try again</error>\n</errors>\n"
)
JSON = b'{"code":"unavailable","message":"The service is not available at the moment; try again"}'


@pytest.fixture(autouse=True)
def no_rejection_delay(settings):
    settings.REJECTION_DELAY = 0


def call_in_thread(function):
    """Call the function in a new thread and return its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(timeout=20)


def test_it_works():
    admission = admit()
    used_connections = []
    application = Application(
        answering(lambda environ: used_connections.append(connections[DEFAULT_DB_ALIAS])),
        admission=admission,
        probes=admit(),
    )
    responses = [call_in_thread(lambda: Call(application)) for _ in range(2)]
    assert [(response.status, response.content) for response in responses] == [("200", b"answered")] * 2
    # Another thread gets the same connection.
    assert used_connections[0] is used_connections[1]


def test_a_slot_lends_its_connection_to_the_thread():
    admission = admit()

    def acquire_and_release():
        slot = admission.acquire_slot()
        during = connections[DEFAULT_DB_ALIAS]
        admission.release_slot(slot)
        return slot, during, list(connections.all(initialized_only=True))

    slot, during, after = call_in_thread(acquire_and_release)
    assert during is slot
    assert after == []


@pytest.mark.parametrize(
    ("path", "content_type", "content"),
    [("/app/posts.xml", "application/xml; charset=utf-8", XML), ("/app/clients.json", "application/json", JSON)],
)
def test_it_rejects_requests_beyond_the_capacity(caplog, path, content_type, content):
    caplog.set_level("INFO", "rostrum.access")
    called = []
    application = Application(answering(called.append), admission=admit(capacity=0), probes=admit())
    response = Call(application, path)
    assert (response.status, response.content) == ("503", content)
    request_id = response.headers.pop("X-Request-Id")
    assert response.headers == {
        "Content-Type": content_type,
        "Content-Length": str(len(content)),
        "Cache-Control": "private, no-store",
        "Retry-After": "5",
    }
    assert called == []
    [line] = [record.getMessage() for record in caplog.records if record.name == "rostrum.access"]
    assert line.startswith(f"{request_id} GET {path} 503 {len(content)} ")


def test_health_has_no_limit_and_readiness_has_its_own():
    application = Application(answering(), admission=admit(capacity=0), probes=admit())
    assert call_in_thread(lambda: Call(application, "/healthz").status) == "200"
    assert call_in_thread(lambda: Call(application, "/readyz").status) == "200"


def test_it_rejects_a_request_that_gets_no_slot_in_time():
    admission = admit(slots=0, capacity=1, queue_timeout=0.01)
    application = Application(answering(), admission=admission, probes=admit())
    assert [Call(application).status for _ in range(2)] == ["503", "503"]
    # Each request has left the queue and made room for the next.
    assert admission.enter()
    assert not admission._queue


def test_a_slot_goes_to_the_thread_that_has_waited_longest():
    admission = admit(capacity=4)
    first_slot = call_in_thread(admission.acquire_slot)
    served = []

    def wait(number):
        slot = admission.acquire_slot()
        served.append(number)
        admission.release_slot(slot)

    with ThreadPoolExecutor(3) as pool:
        futures = []
        for number in range(3):
            futures.append(pool.submit(wait, number))
            while len(admission._queue) <= number:
                pass

        def release():
            connections[DEFAULT_DB_ALIAS] = first_slot
            admission.release_slot(first_slot)

        call_in_thread(release)
        for future in futures:
            future.result(timeout=20)
    assert served == [0, 1, 2]


class SlowBody:
    """A body that arrives when `sent` is set; `reading` is set when the application begins to read it."""

    def __init__(self):
        self.reading, self.sent = threading.Event(), threading.Event()

    def read(self, size):
        self.reading.set()
        assert self.sent.wait(20)
        return b"x" * size

    @contextlib.contextmanager
    def being_read(self, application, **environ):
        """Send this body in a thread during the block. Afterwards `response` is the response."""
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(Call, application, **post_environ(3), **{"wsgi.input": self}, **environ)
            try:
                assert self.reading.wait(20)
                yield
            finally:
                self.sent.set()
            self.response = call.result(20)


def post_environ(length, **environ):
    return {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": str(length), "REMOTE_ADDR": "192.0.2.1", **environ}


def test_a_slow_body_takes_no_slot():
    bodies = []
    application = Application(
        answering(lambda environ: bodies.append(environ["wsgi.input"].read())), admission=admit(), probes=admit()
    )
    slow = SlowBody()
    with slow.being_read(application):
        assert call_in_thread(lambda: Call(application).status) == "200"
    assert slow.response.status == "200"
    assert bodies == [b"", b"xxx"]


def test_slow_bodies_leave_room_for_requests_without_a_body():
    application = Application(answering(), admission=admit(max_bodies=1, max_bodies_per_sender=2), probes=admit())

    def send():
        return Call(application, **post_environ(1, REMOTE_ADDR="192.0.2.2"), **{"wsgi.input": io.BytesIO(b"x")}).status

    with SlowBody().being_read(application):
        assert call_in_thread(send) == "503"
        assert call_in_thread(lambda: Call(application).status) == "200"
    assert call_in_thread(send) == "200"


@pytest.mark.parametrize(
    ("trusted", "environ_of_other_sender"),
    [(False, {"REMOTE_ADDR": "192.0.2.2"}), (True, {"HTTP_X_FORWARDED_FOR": "192.0.2.1, 192.0.2.2"})],
)
def test_slow_bodies_of_one_sender_leave_room_for_others(settings, trusted, environ_of_other_sender):
    settings.TRUST_PROXY = trusted
    admission = admit(capacity=3, max_bodies=2, max_bodies_per_sender=1)
    application = Application(answering(), admission=admission, probes=admit())

    def send(**environ):
        return Call(application, **post_environ(1) | environ, **{"wsgi.input": io.BytesIO(b"x")}).status

    with SlowBody().being_read(application):
        assert call_in_thread(send) == "503"
        assert call_in_thread(lambda: send(**environ_of_other_sender)) == "200"
    assert call_in_thread(send) == "200"
    assert not admission._bodies_by_sender


def test_simultaneous_bodies_are_read_one_after_another(settings):
    settings.REJECTION_DELAY = 0.5
    application = Application(answering(), admission=admit(capacity=4), probes=admit())
    slow = SlowBody()
    with ThreadPoolExecutor(1) as pool, slow.being_read(application):
        second = pool.submit(Call, application, **post_environ(1), **{"wsgi.input": io.BytesIO(b"x")})
        slow.sent.set()
        assert second.result(20).status == "200"


@pytest.mark.parametrize(
    ("path", "content_type", "template"),
    [
        ("/app/posts.xml", "application/xml; charset=utf-8", b"  <error>%s</error>\n"),
        ("/app/clients.json", "application/json", b'{"code":"bad_request","message":"%s"}'),
        ("/app/sign-in", "text/html; charset=utf-8", b"<p>%s</p>"),
    ],
)
def test_it_rejects_an_incomplete_body(path, content_type, template):
    called = []
    admission = admit(slots=0, capacity=1)
    application = Application(answering(called.append), admission=admission, probes=admit())
    for body in (b"", b"xx"):
        response = Call(
            application, path, **post_environ(3, HTTP_ACCEPT="text/html"), **{"wsgi.input": io.BytesIO(body)}
        )
        assert (response.status, response.headers["Content-Type"]) == ("400", content_type)
        assert template % b"The request was cut off on its way; send it again" in response.content
    assert called == []


def test_readiness_reads_no_body():
    application = Application(answering(), admission=admit(), probes=admit())
    assert (
        call_in_thread(lambda: Call(application, "/readyz", **post_environ(3), **{"wsgi.input": None}).status) == "200"
    )


def test_an_error_releases_the_slot_and_leaves_the_queue():
    def raise_error(environ):
        raise RuntimeError("a defect")

    admission = admit(slots=1, capacity=1, queue_timeout=0.01)
    failing = Application(answering(raise_error), admission=admission, probes=admit())
    with pytest.raises(RuntimeError):
        call_in_thread(lambda: Call(failing))
    working = Application(answering(), admission=admission, probes=admit())
    assert call_in_thread(lambda: Call(working).status) == "200"


def test_a_request_within_a_request_uses_its_slot():
    """The API examples in the settings make such requests (`accounts.pages.example_requests`)."""
    admission = admit(slots=1, capacity=1, queue_timeout=0.01)
    used_connections = []

    def send_inner_request(environ):
        used_connections.append(connections[DEFAULT_DB_ALIAS])
        if environ["PATH_INFO"] == "/outer":
            forwarded = {name: environ[name] for name in FORWARDED_VARIABLES if name in environ}
            assert Call(application, "/inner", **forwarded).status == "200"
            used_connections.append(connections[DEFAULT_DB_ALIAS])

    application = Application(answering(send_inner_request), admission=admission, probes=admit())
    for _ in range(2):
        assert call_in_thread(lambda: Call(application, "/outer")).status == "200"
    assert len(used_connections) == 6
    assert len(set(map(id, used_connections))) == 1


def test_a_slot_is_not_lost_with_its_connection():
    def delete_connection(environ):
        del connections[DEFAULT_DB_ALIAS]

    admission = admit(slots=1, capacity=1, queue_timeout=0.01)
    application = Application(answering(delete_connection), admission=admission, probes=admit())
    for _ in range(2):
        assert call_in_thread(lambda: Call(application)).status == "200"
