"""Streamed responses: slots, the limit of streams, and how they end."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from config.serving import streaming
from config.serving.streaming import Streaming
from config.wsgi import MAX_FILE_BYTES
from tests.support.admission import Call, dispatcher_of, wait_until


class Slots:
    """Slots that count those in use. `free` is false if there is none."""

    def __init__(self) -> None:
        self.in_use, self.waits, self.free = 0, 0, True

    def acquire(self):
        self.waits += 1
        if not self.free:
            return None
        self.in_use += 1
        return Connection()

    def release(self, slot):
        self.in_use -= 1


class Connection:
    def close_if_unusable_or_obsolete(self):
        pass


@pytest.fixture
def slots():
    return Slots()


@pytest.fixture
def left():
    """The calls of the function that is called when a response is closed."""
    return []


@pytest.fixture
def stream(slots, left):
    return lambda chunks: Streaming(StreamingHttpResponse(chunks), slots, lambda: left.append(True))


def test_it_works(slots, left, stream):
    in_use = []

    def chunks():
        for number in range(3):
            in_use.append(slots.in_use)
            yield str(number).encode()

    response = stream(chunks())
    for chunk in (b"0", b"1", b"2"):
        assert slots.in_use == 0
        assert next(response) == chunk
    assert in_use == [1, 1, 1]
    with pytest.raises(StopIteration):
        next(response)
    assert left == []
    response.close()
    response.close()
    assert (slots.in_use, left) == (0, [True])


def test_an_error_releases_the_slot(slots, stream):
    def chunks():
        yield b"0"
        raise LookupError

    response = stream(chunks())
    next(response)
    with pytest.raises(LookupError):
        next(response)
    assert slots.in_use == 0


def test_a_stream_without_a_slot_ends_with_an_error(slots, stream):
    response = stream([b"0"])
    slots.free = False
    with pytest.raises(TimeoutError):
        next(response)
    assert slots.waits == streaming.MAX_WAITS


def test_a_stream_that_is_never_read_leaves(left, stream):
    response = stream([b"0"])
    del response
    assert left == [True]


def responding(make_response):
    """Return a stub of Django that answers /stream with the response, and other paths with 200."""

    def django(environ, start):
        start("200 OK", [])
        return make_response() if environ["PATH_INFO"] == "/stream" else HttpResponse("other")

    return django


def call_in_thread(*arguments):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(Call, *arguments).result(20)


def test_the_dispatcher_streams():
    dispatcher = dispatcher_of(responding(lambda: StreamingHttpResponse([b"0", b"1"])), capacity=1)
    for _ in range(2):
        response = call_in_thread(dispatcher, "/stream")
        assert (response.status, response.content) == ("200", b"01")
    assert len(dispatcher.admission._free_slots) == 1


def test_too_many_streams_are_rejected():
    responses = []

    def make_response():
        responses.append(StreamingHttpResponse([b"0"]))
        return responses[-1]

    dispatcher = dispatcher_of(responding(make_response), capacity=1)
    while dispatcher.streams.acquire(blocking=False):
        pass
    for _ in range(2):
        assert call_in_thread(dispatcher, "/stream").status == "503"
    assert all(response.closed for response in responses)
    assert call_in_thread(dispatcher).status == "200"


@pytest.mark.parametrize("can_start", [True, False], ids=["new thread", "no further threads"])
def test_a_request_gets_the_slot_of_a_stream(monkeypatch, can_start):
    """Another thread answers it, because a stream could not continue if its thread answered a queue that is never empty.

    If no thread can be started, neither the request nor the slot are lost.
    """
    other = []

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    def chunks():
        yield b"0"
        # While the stream has the only slot, a request arrives.
        other.append(Noting(dispatcher, wait=False))
        assert not other[0].is_answered.is_set()
        if not can_start:
            monkeypatch.setattr(threading.Thread, "start", refuse)
        yield b"1"
        monkeypatch.undo()
        yield b"2"

    class Noting(Call):
        def response_bytes(self, *arguments):
            self.thread = threading.current_thread().name
            super().response_bytes(*arguments)

    dispatcher = dispatcher_of(responding(lambda: StreamingHttpResponse(chunks())))
    assert call_in_thread(dispatcher, "/stream").content == b"012"
    assert other[0].is_answered.wait(20)
    assert (other[0].content, other[0].thread == "request") == (b"other", can_start)
    wait_until(lambda: len(dispatcher.admission._free_slots) == 1)


def test_a_stream_that_cannot_be_sent_makes_room_for_others():
    class Refusing(Call):
        def response_iter(self, status, headers, body):
            raise ValueError("a header that can't be sent")

    dispatcher = dispatcher_of(responding(lambda: StreamingHttpResponse([b"0"])), capacity=1)
    streams = dispatcher.streams._value
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(Refusing, dispatcher, "/stream").result(20).status == "500"
    assert call_in_thread(dispatcher, "/stream").content == b"0"
    assert dispatcher.streams._value == streams


@pytest.mark.parametrize(("size", "status"), [(20_000, "200"), (MAX_FILE_BYTES, "503")])
def test_a_small_file_is_not_streamed(tmp_path, size, status):
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    opened = []

    def make_response():
        opened.append(path.open("rb"))
        return FileResponse(opened[-1])

    dispatcher = dispatcher_of(responding(make_response))
    while dispatcher.streams.acquire(blocking=False):
        pass
    assert call_in_thread(dispatcher, "/stream").status == status
    dispatcher.streams.release()
    assert call_in_thread(dispatcher, "/stream").content == b"x" * size
    assert all(file.closed for file in opened)
