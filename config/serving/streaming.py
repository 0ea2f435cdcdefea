"""Responses that are sent in chunks: exports, which read the database meanwhile, and large static files."""

from collections.abc import Callable, Iterator
from typing import Protocol

from django.db.backends.base.base import BaseDatabaseWrapper
from django.http import StreamingHttpResponse

from config.serving.admission import connected

# The number of times that a chunk waits for a slot, each for the timeout of the queue.
MAX_WAITS = 60


class Slots(Protocol):
    def acquire(self) -> BaseDatabaseWrapper | None: ...
    def release(self, slot: BaseDatabaseWrapper) -> object: ...


class Streaming:
    """A streamed response. It has a slot while a chunk is made, but not while the client receives it, which may be slow.

    `leave` is called once, when the response is closed.
    """

    def __init__(self, response: StreamingHttpResponse, slots: Slots, leave: Callable[[], None]) -> None:
        self.response, self.slots, self.leave = response, slots, leave
        self.chunks = iter(response)
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        """Return the next chunk.

        The server ends the response after an error as after the last chunk. A view whose response must not be cut unnoticed says so in it.
        """
        slot = next((slot for _ in range(MAX_WAITS) if (slot := self.slots.acquire()) is not None), None)
        if slot is None:
            raise TimeoutError("no slot for the rest of a streamed response")
        try:
            with connected(slot):
                return next(self.chunks)
        finally:
            self.slots.release(slot)

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.response.close()
            self.leave()

    def __del__(self) -> None:
        self.close()
