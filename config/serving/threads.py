"""A limit of the server's threads that compete for the interpreter."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Threads:
    """The threads of the server, of which all but a few are parked.

    The server starts a thread when a request finds no idle one, up to a limit of its own, and gives requests to all threads in turn.
    Threads that compete for the interpreter delay each other, so a thread beyond `max_active` that has answered its request is parked: it
    does not return to the server. When a thread is about to wait for a client, and fewer than `min_active` others are left, a parked
    thread returns.
    """

    def __init__(self, *, min_active: int, max_active: int) -> None:
        self.min_active, self.max_active = min_active, max_active
        self._active = 0
        # One locked lock for each parked thread. To release it wakes the thread.
        self._parked: list[threading.Lock] = []
        # Reentrant, as a garbage collection may end the registration of another thread at any time.
        self._lock = threading.RLock()
        self._local = threading.local()

    def register(self) -> None:
        """Count this thread, if it is a new one, until it ends."""
        if not hasattr(self._local, "registration"):
            self._local.registration = Registration(self)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Do not count this thread during the block, in which it waits for a client."""
        self._add(-1)
        with self._lock:
            if self._parked and self._active < self.min_active:
                self._active += 1
                self._parked.pop().release()
        try:
            yield
        finally:
            self._add(1)

    def park(self) -> None:
        """Park this thread if there are too many."""
        if self._active <= self.max_active:
            return
        with self._lock:
            if self._active <= self.max_active:
                return
            self._active -= 1
            woken = threading.Lock()
            woken.acquire()
            self._parked.append(woken)
        woken.acquire()

    def _add(self, number: int) -> None:
        with self._lock:
            self._active += number


class Registration:
    """The registration of a thread. It is deleted with the local data of the thread, when the thread ends."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        threads._add(1)

    def __del__(self) -> None:
        self.threads._add(-1)
