"""The limits of one process of the web server: requests that run at a time, and streamed responses."""

import threading
from collections.abc import Callable, Iterator
from time import monotonic

from django.http import StreamingHttpResponse


class Slots:
    """A limit of the requests that run at a time.

    The server has more threads than there are slots. A thread that finds no slot waits while other requests end. When none has ended
    for `timeout` seconds, such as while the database does not answer, all waiting requests are rejected. So the threads without a slot
    soon answer `/healthz` and `/readyz`, however many requests arrive.
    """

    def __init__(self, number: int, timeout: float) -> None:
        self.timeout = timeout
        self._free = number
        self._changed_at = monotonic()
        self._released = threading.Condition()

    def acquire(self) -> bool:
        """Take a slot and return True, or return False if none is released in time."""
        with self._released:
            while not self._free:
                remaining = self._changed_at + self.timeout - monotonic()
                if remaining <= 0:
                    return False
                self._released.wait(remaining)
            self._free -= 1
            if not self._free:
                self._changed_at = monotonic()
            return True

    def release(self) -> None:
        with self._released:
            self._free += 1
            self._changed_at = monotonic()
            self._released.notify()


class Stream:
    """A streamed response. `release` is called once, when the response is closed."""

    def __init__(self, response: StreamingHttpResponse, release: Callable[[], None]) -> None:
        self.response, self.release = response, release
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.response)

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.response.close()
            self.release()

    def __del__(self) -> None:
        # The server does not close a response that it cannot begin to send.
        self.close()
