"""Admission, queueing and rejection of requests: `config.serving.admission` and `config.serving.dispatcher`."""

import contextlib
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest
from django.db import DEFAULT_DB_ALIAS, connections

from config.serving.admission import connected
from tests.support.admission import Call, answering, dispatcher_of, wait_until

XML = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n'
    b"  <error>The service is not available at the moment; try again</error>\n</errors>\n"
)
JSON = b'{"code":"unavailable","message":"The service is not available at the moment; try again"}'


@pytest.fixture(autouse=True)
def no_rejection_delay(settings):
    settings.REJECTION_DELAY = settings.REJECTION_INTERVAL = 0


def call_in_thread(function):
    """Call the function in a new thread and return its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(timeout=20)


class Blocker:
    """A stub of Django that answers /blocked only when `end` is set. It keeps the paths of the requests that it has begun."""

    def __init__(self):
        self.paths, self.end = [], threading.Event()
        self.django = answering(self.begin)

    def begin(self, environ):
        self.paths.append(environ["PATH_INFO"])
        if environ["PATH_INFO"] == "/blocked":
            assert self.end.wait(20)

    @contextlib.contextmanager
    def blocking(self, dispatcher):
        """During the block, a request has a slot."""
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(Call, dispatcher, "/blocked")
            try:
                wait_until(lambda: "/blocked" in self.paths)
                yield
            finally:
                self.end.set()
            assert call.result(20).status == "200"


def test_it_works():
    used_connections = []
    dispatcher = dispatcher_of(answering(lambda environ: used_connections.append(connections[DEFAULT_DB_ALIAS])))
    responses = [call_in_thread(lambda: Call(dispatcher)) for _ in range(2)]
    assert [(response.status, response.content) for response in responses] == [("200", b"answered")] * 2
    # Another thread gets the same connection.
    assert used_connections[0] is used_connections[1]


def test_a_thread_uses_the_connection_of_a_slot():
    admission = dispatcher_of(answering()).admission

    def acquire_and_release():
        slot = admission.acquire()
        with connected(slot):
            during = connections[DEFAULT_DB_ALIAS]
        admission.release(slot)
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
    response = Call(dispatcher_of(answering(called.append), capacity=0), path)
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


def test_rejections_are_delayed_and_follow_each_other_slowly(settings):
    settings.REJECTION_DELAY, settings.REJECTION_INTERVAL = 0.2, 0.05
    dispatcher = dispatcher_of(answering(), capacity=0)
    started_at = monotonic()
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(Call, dispatcher) for _ in range(3)]
        wait_until(lambda: dispatcher._rejected.qsize() == 3 or any(call.done() for call in calls))
        assert [call.result(20).status for call in calls] == ["503"] * 3
    assert monotonic() - started_at >= 0.2


def test_many_rejected_requests_are_not_collected(settings):
    """Clients that disconnect at once leave their requests behind."""
    settings.MAX_CLIENT_CONNECTIONS = 3
    dispatcher = dispatcher_of(answering(), capacity=0)
    calls = [Call(dispatcher, wait=False) for _ in range(5)]
    assert [call.is_answered.is_set() for call in calls] == [False] * 3 + [True] * 2
    assert dispatcher._rejected.qsize() == 3


def test_health_needs_no_slot_and_readiness_has_a_limit_of_its_own():
    dispatcher = dispatcher_of(answering(), capacity=0)
    assert call_in_thread(lambda: Call(dispatcher, "/healthz").status) == "200"
    assert call_in_thread(lambda: Call(dispatcher, "/readyz").status) == "200"
    while dispatcher.probes.acquire(blocking=False):
        pass
    assert call_in_thread(lambda: Call(dispatcher, "/readyz").status) == "503"


def test_a_request_waits_without_its_thread():
    blocker = Blocker()
    dispatcher = dispatcher_of(blocker.django, capacity=4)
    with blocker.blocking(dispatcher):
        calls = [Call(dispatcher, path, wait=False) for path in ("/a", "/b", "/c")]
        assert not any(call.is_answered.is_set() for call in calls)
    # The thread that had the slot has answered them, in this order.
    assert [call.status for call in calls] == ["200"] * 3
    assert blocker.paths == ["/blocked", "/a", "/b", "/c"]
    assert call_in_thread(lambda: Call(dispatcher).status) == "200"


def test_it_rejects_a_request_that_gets_no_slot_in_time():
    dispatcher = dispatcher_of(answering(), slots=0, capacity=1, queue_timeout=0.01)
    assert [Call(dispatcher).status for _ in range(2)] == ["503", "503"]
    # Each request has left the queue and made room for the next.
    assert dispatcher.admission.enter()
    assert not dispatcher.admission._queue


def test_a_thread_that_gets_no_slot_in_time_leaves_the_queue():
    admission = dispatcher_of(answering(), slots=0, queue_timeout=0.01).admission
    assert admission.acquire() is None
    assert not admission._queue


def test_a_slot_goes_to_the_thread_or_request_that_has_waited_longest():
    admission = dispatcher_of(answering(), capacity=4).admission
    slot = admission.acquire()
    served = []

    def wait(number):
        acquired = admission.acquire()
        served.append(number)
        following = admission.release(acquired)
        if following is not None:
            served.append(following)
            admission.release(acquired)

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(wait, "first")]
        wait_until(lambda: len(admission._queue) == 1)
        assert admission.acquire_or_queue("second") is None
        futures.append(pool.submit(wait, "third"))
        wait_until(lambda: len(admission._queue) == 3)
        assert admission.release(slot) is None
        for future in futures:
            future.result(timeout=20)
    assert served == ["first", "second", "third"]


class SlowBody:
    """A body that arrives when `sent` is set; `reading` is set when the application begins to read it."""

    def __init__(self):
        self.reading, self.sent = threading.Event(), threading.Event()

    def read(self, size):
        self.reading.set()
        assert self.sent.wait(20)
        return b"x" * size

    @contextlib.contextmanager
    def being_read(self, dispatcher, **environ):
        """Send this body in a thread during the block. Afterwards `response` is the response."""
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(Call, dispatcher, **post_environ(3), **{"wsgi.input": self}, **environ)
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
    dispatcher = dispatcher_of(answering(lambda environ: bodies.append(environ["wsgi.input"].read())))
    slow = SlowBody()
    with slow.being_read(dispatcher):
        assert call_in_thread(lambda: Call(dispatcher).status) == "200"
    assert slow.response.status == "200"
    assert bodies == [b"", b"xxx"]


def test_slow_bodies_leave_room_for_requests_without_a_body():
    dispatcher = dispatcher_of(answering(), max_bodies=1, max_bodies_per_sender=2)

    def send():
        return Call(dispatcher, **post_environ(1, REMOTE_ADDR="192.0.2.2"), **{"wsgi.input": io.BytesIO(b"x")}).status

    with SlowBody().being_read(dispatcher):
        assert call_in_thread(send) == "503"
        assert call_in_thread(lambda: Call(dispatcher).status) == "200"
    assert call_in_thread(send) == "200"


@pytest.mark.parametrize(
    ("trusted", "environ_of_other_sender"),
    [("", {"REMOTE_ADDR": "192.0.2.2"}), ("forwarded", {"HTTP_FORWARDED": "for=192.0.2.1, for=192.0.2.2"})],
)
def test_slow_bodies_of_one_sender_leave_room_for_others(settings, trusted, environ_of_other_sender):
    settings.TRUST_PROXY = trusted
    dispatcher = dispatcher_of(answering(), capacity=3, max_bodies=2, max_bodies_per_sender=1)

    def send(**environ):
        return Call(dispatcher, **post_environ(1) | environ, **{"wsgi.input": io.BytesIO(b"x")}).status

    with SlowBody().being_read(dispatcher):
        assert call_in_thread(send) == "503"
        assert call_in_thread(lambda: send(**environ_of_other_sender)) == "200"
    assert call_in_thread(send) == "200"
    assert not dispatcher.admission._bodies_by_sender


def test_simultaneous_bodies_are_read_one_after_another(settings):
    settings.REJECTION_DELAY = 0.5
    dispatcher = dispatcher_of(answering(), capacity=4)
    slow = SlowBody()
    with ThreadPoolExecutor(1) as pool, slow.being_read(dispatcher):
        second = pool.submit(Call, dispatcher, **post_environ(1), **{"wsgi.input": io.BytesIO(b"x")})
        slow.sent.set()
        assert second.result(20).status == "200"


def test_few_requests_try_a_second_time(settings):
    settings.REJECTION_DELAY = 20
    dispatcher = dispatcher_of(answering())
    while dispatcher.second_tries.acquire(blocking=False):
        pass
    assert not dispatcher.enter_later("192.0.2.1")


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
    dispatcher = dispatcher_of(answering(called.append), slots=0, capacity=1)
    for body in (b"", b"xx"):
        response = Call(
            dispatcher, path, **post_environ(3, HTTP_ACCEPT="text/html"), **{"wsgi.input": io.BytesIO(body)}
        )
        assert (response.status, response.headers["Content-Type"]) == ("400", content_type)
        assert template % b"The request was cut off on its way; send it again" in response.content
    assert called == []


def test_a_body_that_cannot_be_read_makes_room_for_others():
    class BrokenBody:
        def read(self, size):
            raise OSError("a defect")

    dispatcher = dispatcher_of(answering(), capacity=1)
    assert Call(dispatcher, **post_environ(3), **{"wsgi.input": BrokenBody()}).status == "500"
    assert Call(dispatcher, **post_environ(1), **{"wsgi.input": io.BytesIO(b"x")}).status == "200"


@pytest.mark.parametrize(
    ("environ", "is_parked"),
    [
        (lambda limit: {}, True),
        (lambda limit: {"CONTENT_LENGTH": "0"}, True),
        (lambda limit: post_environ(1), True),
        (lambda limit: post_environ(1, PATH_INFO="/healthz"), False),
        (lambda limit: post_environ(2), False),
        (lambda limit: post_environ(limit + 1), False),
    ],
    ids=["no body", "empty", "read", "not read", "incomplete", "too long"],
)
def test_a_thread_with_an_unread_body_is_not_parked(settings, environ, is_parked):
    dispatcher = dispatcher_of(answering(), max_active=0)
    thread = threading.Thread(
        target=lambda: Call(dispatcher, wait=False, **{"wsgi.input": Body(b"x"), **environ(settings.MAX_BODY_BYTES)})
    )
    thread.start()
    if is_parked:
        wait_until(lambda: dispatcher.threads._parked)
        dispatcher.threads._parked.pop().release()
    thread.join(20)
    assert not thread.is_alive()


def test_a_thread_with_an_unread_body_answers_no_other_requests(settings):
    begun, end, threads = threading.Event(), threading.Event(), []

    def answer(environ):
        threads.append(threading.current_thread())
        begun.set()
        assert end.wait(20)

    dispatcher = dispatcher_of(answering(answer), capacity=3)
    too_long = post_environ(settings.MAX_BODY_BYTES + 1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(Call, dispatcher, **too_long, **{"wsgi.input": Body(b"")})
        assert begun.wait(20)
        others = [Call(dispatcher, wait=False) for _ in range(2)]
        end.set()
        assert first.result(20).status == "200"
    assert all(other.is_answered.wait(20) for other in others)
    assert threads[0] is not threads[1]
    assert threads[1] is threads[2]


class Body:
    """A body as the server provides it."""

    def __init__(self, content):
        self.read = io.BytesIO(content).read


def test_readiness_reads_no_body():
    dispatcher = dispatcher_of(answering())
    assert Call(dispatcher, "/readyz", **post_environ(3), **{"wsgi.input": None}).status == "200"


def test_an_error_releases_the_slot_and_leaves_the_queue():
    def raise_error(environ):
        if environ["PATH_INFO"] == "/error":
            raise RuntimeError("a defect")

    dispatcher = dispatcher_of(answering(raise_error), slots=1, capacity=1)
    assert call_in_thread(lambda: Call(dispatcher, "/error").status) == "500"
    assert call_in_thread(lambda: Call(dispatcher).status) == "200"


def test_a_slot_is_not_lost_with_its_connection():
    def delete_connection(environ):
        del connections[DEFAULT_DB_ALIAS]

    dispatcher = dispatcher_of(answering(delete_connection), slots=1, capacity=1)
    for _ in range(2):
        assert call_in_thread(lambda: Call(dispatcher).status) == "200"


def test_a_slot_is_not_lost_when_its_connection_cannot_be_closed(monkeypatch):
    dispatcher = dispatcher_of(answering(), slots=1, capacity=1)
    [slot] = dispatcher.admission._free_slots
    monkeypatch.setattr(slot, "close_if_unusable_or_obsolete", lambda: 1 / 0)
    for _ in range(2):
        assert call_in_thread(lambda: Call(dispatcher).status) == "200"
