"""Streamed responses: slots, the limit of streams, and how they end."""

import io
from threading import BoundedSemaphore

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from config.serving import streaming
from config.serving.streaming import Streaming
from config.wsgi import Application


class Slots:
    """An admission that counts the slots in use. `free` is false if there is none."""

    def __init__(self) -> None:
        self.in_use, self.left, self.waits, self.free = 0, 0, 0, True

    def enter(self, sender=""):
        return True

    def leave(self):
        self.left += 1

    def acquire_slot(self):
        self.waits += 1
        if not self.free:
            return None
        self.in_use += 1
        return self

    def release_slot(self, slot):
        self.in_use -= 1


def respond(chunks, slots, *, streams: int = 1):
    """Return the response of an application whose view streams the chunks."""
    response = StreamingHttpResponse(chunks)

    def django(environ, start):
        start("200 OK", [])
        return response

    statuses = []
    application = Application(django, admission=slots, probes=slots)
    application.streams = BoundedSemaphore(1)
    if not streams:
        application.streams.acquire()
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.input": io.BytesIO(), "HTTP_HOST": "acme.example.test"}
    answer = application(environ, lambda status, headers, exc_info=None: statuses.append(status))
    return answer, statuses, application


def test_it_works():
    slots = Slots()
    in_use = []

    def chunks():
        for number in range(3):
            in_use.append(slots.in_use)
            yield str(number).encode()

    answer, statuses, application = respond(chunks(), slots)
    assert isinstance(answer, Streaming)
    for chunk in (b"0", b"1", b"2"):
        assert (slots.in_use, slots.left) == (0, 0)
        assert next(answer) == chunk
    assert in_use == [1, 1, 1]
    with pytest.raises(StopIteration):
        next(answer)
    answer.close()
    answer.close()
    assert (slots.in_use, slots.left, statuses) == (0, 1, ["200 OK"])
    assert application.streams.acquire(blocking=False)


def test_an_error_releases_the_slot():
    slots = Slots()

    def chunks():
        yield b"0"
        raise LookupError

    answer, _statuses, _application = respond(chunks(), slots)
    next(answer)
    with pytest.raises(LookupError):
        next(answer)
    assert slots.in_use == 0


def test_a_stream_without_a_slot_ends_with_an_error(monkeypatch):
    slots = Slots()
    answer, _statuses, _application = respond([b"0"], slots)
    slots.free, slots.waits = False, 0
    with pytest.raises(TimeoutError):
        next(answer)
    assert slots.waits == streaming.MAX_WAITS


def test_too_many_streams_are_rejected():
    slots = Slots()
    answer, statuses, _application = respond([b"0"], slots, streams=0)
    assert isinstance(answer, list)
    assert statuses[-1].startswith("503")
    assert slots.left == 1


def test_a_stream_that_is_never_read_leaves():
    slots = Slots()
    answer, _statuses, application = respond([b"0"], slots)
    del answer
    assert slots.left == 1
    assert application.streams.acquire(blocking=False)


def test_other_responses_are_complete():
    slots = Slots()
    application = Application(lambda environ, start: HttpResponse("all"), admission=slots, probes=slots)
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.input": io.BytesIO(), "HTTP_HOST": "acme.example.test"}
    assert application(environ, lambda *arguments: None) == [b"all"]
    assert (slots.left, slots.waits) == (1, 1)
