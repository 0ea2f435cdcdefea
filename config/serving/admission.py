"""The limits of a worker process: which requests are admitted, queued or rejected.

A database connection belongs to a slot, not to a thread. A worker process therefore needs few connections for many threads. The other
threads wait for a slot, read bodies from slow clients, or reject requests that exceed the limits.

The number of bodies that are read at the same time has a limit, in total and for each sender. Slow clients therefore leave room for
requests without a body and for other senders.
"""

from collections import deque
from threading import Lock

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper


class QueuePosition:
    """The place in the queue of a thread that waits for a slot."""

    __slots__ = ("assigned", "slot")

    def __init__(self) -> None:
        self.slot: BaseDatabaseWrapper | None = None
        # Locked until `release_slot` has set `slot`.
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

    def acquire_slot(self) -> BaseDatabaseWrapper | None:
        """Return a slot, or None after `queue_timeout`. Until `release_slot`, this thread uses the connection of the slot."""
        slot: BaseDatabaseWrapper | None = None
        with self._lock:
            if self._free_slots:
                position, slot = None, self._free_slots.pop()
            else:
                position = QueuePosition()
                self._queue.append(position)
        if position is not None:
            slot = self._wait(position)
        if slot is not None:
            connections[DEFAULT_DB_ALIAS] = slot
        return slot

    def _wait(self, position: QueuePosition) -> BaseDatabaseWrapper | None:
        if not position.assigned.acquire(timeout=self.queue_timeout):
            with self._lock:
                # A slot may have been assigned after the timeout.
                if position.slot is None:
                    self._queue.remove(position)
        return position.slot

    def release_slot(self, slot: BaseDatabaseWrapper) -> None:
        """Assign the slot to the thread that has waited longest, or make it free.

        A slot that any thread could take would go to the running thread again and again, and waiting threads would time out.
        """
        try:
            # If the request has replaced the connection of this thread, close the replacement and keep the slot.
            if connections[DEFAULT_DB_ALIAS] is not slot:
                connections[DEFAULT_DB_ALIAS].close()
            slot.close_if_unusable_or_obsolete()
        finally:
            del connections[DEFAULT_DB_ALIAS]
            with self._lock:
                if self._queue:
                    first = self._queue.popleft()
                    first.slot = slot
                    first.assigned.release()
                else:
                    self._free_slots.append(slot)
