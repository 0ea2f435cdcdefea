"""Responses that read the database while they are sent, such as exports."""

from collections.abc import Iterator
from threading import BoundedSemaphore

from django.http import StreamingHttpResponse

from config.serving.admission import Admission

# The number of times that a chunk waits for a slot, each for the timeout of the queue.
MAX_WAITS = 60


class Streaming:
    """A streamed response. It has a slot while a chunk is made, but not while the client receives it, which may be slow.

    The request counts as in progress until the response is closed.
    """

    def __init__(self, response: StreamingHttpResponse, admission: Admission, streams: BoundedSemaphore) -> None:
        self.response, self.admission, self.streams = response, admission, streams
        self.chunks = iter(response)
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        """Return the next chunk.

        The server ends the response after an error as after the last chunk. A view whose response must not be cut unnoticed says so in it.
        """
        slot = next((slot for _ in range(MAX_WAITS) if (slot := self.admission.acquire_slot()) is not None), None)
        if slot is None:
            raise TimeoutError("no slot for the rest of a streamed response")
        try:
            return next(self.chunks)
        finally:
            self.admission.release_slot(slot)

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.response.close()
            self.streams.release()
            self.admission.leave()

    def __del__(self) -> None:
        self.close()
