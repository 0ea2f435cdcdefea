"""The limits of a worker process: which requests are admitted, queued or rejected.

A database connection belongs to a slot, not to a thread or a request. A worker process therefore needs few connections.

The number of bodies that are read at the same time has a limit, in total and for each sender. Slow clients therefore leave room for
requests without a body and for other senders.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from config.serving.exchange import ServerExchange


class QueuePosition:
    """The place in the queue of an admitted request, or of a thread that waits for a slot."""

    __slots__ = ("assigned", "deadline", "exchange", "slot")

    def __init__(self, deadline: float, exchange: ServerExchange | None = None) -> None:
        self.deadline = deadline
        self.exchange = exchange
        if exchange is None:
            self.slot: BaseDatabaseWrapper | None = None
            # Locked until `release` has set `slot`.
            self.assigned = Lock()
            self.assigned.acquire()


class Admission:
    """A limit of requests in progress, each with a slot, and of requests that wait for a slot.

    `slots` requests run at a time, `capacity` run or wait, and each waits `queue_timeout` seconds at most. At most
    `max_bodies` bodies are read at a time, and at most `max_bodies_per_sender` bodies of one sender.
    """

    def __init__(
        self, *, slots: int, capacity: int, queue_timeout: float, max_bodies: int = 0, max_bodies_per_sender: int = 0
    ):
        self.queue_timeout = queue_timeout
        self.max_bodies_per_sender = max_bodies_per_sender
        self._capacity_left = capacity
        self._bodies_left = max_bodies
        self._bodies_by_sender: dict[str, int] = {}
        self._queue: deque[QueuePosition] = deque()
        self._lock = Lock()
        # The slot that was used last is taken first, so that a service with few requests opens few connections.
        self._free_slots = [connections.create_connection(DEFAULT_DB_ALIAS) for _ in range(slots)]
        for slot in self._free_slots:
            slot.inc_thread_sharing()  # Django allows a connection to one thread only

    def enter(self, sender: str = "") -> bool:
        """Admit a request and return True, or return False if a limit is reached.

        `sender` is the address of the client if the request has a body, else empty. Call `finish_body` when the body has been read.
        """
        with self._lock:
            if not self._capacity_left:
                return False
            if sender:
                bodies = self._bodies_by_sender.get(sender, 0)
                if not self._bodies_left or bodies >= self.max_bodies_per_sender:
                    return False
                self._bodies_left -= 1
                self._bodies_by_sender[sender] = bodies + 1
            self._capacity_left -= 1
            return True

    def finish_body(self, sender: str) -> None:
        with self._lock:
            self._bodies_left += 1
            bodies = self._bodies_by_sender.pop(sender) - 1
            if bodies:
                self._bodies_by_sender[sender] = bodies

    def leave(self) -> None:
        with self._lock:
            self._capacity_left += 1

    def acquire_or_queue(self, exchange: ServerExchange) -> BaseDatabaseWrapper | None:
        """Return a free slot, or put the request in the queue and return None."""
        with self._lock:
            if self._free_slots:
                return self._free_slots.pop()
            self._queue.append(QueuePosition(monotonic() + self.queue_timeout, exchange))
            return None

    def acquire(self) -> BaseDatabaseWrapper | None:
        """Wait for a slot in this thread. Return None after `queue_timeout`."""
        with self._lock:
            if self._free_slots:
                return self._free_slots.pop()
            position = QueuePosition(monotonic() + self.queue_timeout)
            self._queue.append(position)
        if not position.assigned.acquire(timeout=self.queue_timeout):
            with self._lock:
                # A slot may have been assigned after the timeout.
                if position.slot is None:
                    self._queue.remove(position)
        return position.slot

    def release(self, slot: BaseDatabaseWrapper) -> ServerExchange | None:
        """Assign the slot to the thread or request that has waited longest, or make it free.

        Return this request, if it is a request. The caller then has to answer it with the slot.

        A slot that any thread could take would go to the running thread again and again, and others would time out.
        """
        with self._lock:
            if not self._queue:
                self._free_slots.append(slot)
                return None
            first = self._queue.popleft()
            if first.exchange is None:
                first.slot = slot
                first.assigned.release()
            return first.exchange

    def take_overdue(self) -> list[ServerExchange]:
        """Remove the requests from the queue that have waited too long, and return them."""
        overdue = []
        with self._lock:
            now = monotonic()
            # A thread removes its own position.
            while self._queue and (exchange := self._queue[0].exchange) and self._queue[0].deadline <= now:
                self._queue.popleft()
                overdue.append(exchange)
        return overdue


@contextmanager
def connected(slot: BaseDatabaseWrapper) -> Iterator[None]:
    """During the block, this thread uses the connection of the slot."""
    connections[DEFAULT_DB_ALIAS] = slot
    try:
        yield
    finally:
        try:
            # If the request has replaced the connection of this thread, close the replacement and keep the slot.
            if connections[DEFAULT_DB_ALIAS] is not slot:
                connections[DEFAULT_DB_ALIAS].close()
            slot.close_if_unusable_or_obsolete()
        finally:
            del connections[DEFAULT_DB_ALIAS]
