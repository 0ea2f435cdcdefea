"""Who is let in: so many requests at once, each with a connection to the database, and some that wait for their turn.

Connections belong to turns and not to threads. So there can be many threads, which cost little: to wait, to read what slow
clients send, and to turn away whoever there is no room for. A body is read from a part of the places, and a sender's bodies
from a part of that, as clients may be as slow as they like: places are left for whoever sends none, and for other senders.
"""

from collections import deque
from threading import Lock

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper


class Waiting:
    __slots__ = ("called", "turn")

    def __init__(self) -> None:
        self.turn: BaseDatabaseWrapper | None = None
        self.called = Lock()
        self.called.acquire()


class Admission:
    """`turns` at once, `places` in all; whoever has a place waits for a turn, `patience` seconds at most.

    In `bodies` of the places a body may be read at a time, in `share` of them one of the same sender.
    """

    def __init__(self, *, turns: int, places: int, patience: float, bodies: int = 0, share: int = 0):
        self.patience = patience
        self.share = share
        self._places = places
        self._bodies = bodies
        self._senders: dict[str, int] = {}
        self._line: deque[Waiting] = deque()
        self._lock = Lock()
        # The one used last is taken first, so that a quiet service needs few connections.
        self._free = [connections.create_connection(DEFAULT_DB_ALIAS) for _ in range(turns)]
        for turn in self._free:
            turn.inc_thread_sharing()  # by one thread after another

    def take_place(self, sender: str = "") -> bool:
        """For whoever sends a body, `sender` is their address; what is taken for that is given back by `end_body`."""
        with self._lock:
            if not self._places:
                return False
            if sender:
                reading = self._senders.get(sender, 0)
                if not self._bodies or reading >= self.share:
                    return False
                self._bodies -= 1
                self._senders[sender] = reading + 1
            self._places -= 1
            return True

    def end_body(self, sender: str) -> None:
        with self._lock:
            self._bodies += 1
            reading = self._senders.pop(sender) - 1
            if reading:
                self._senders[sender] = reading

    def leave_place(self) -> None:
        with self._lock:
            self._places += 1

    def take_turn(self) -> BaseDatabaseWrapper | None:
        """The turn's connection is the thread's until it leaves it. None if no turn came in time."""
        with self._lock:
            if self._free:
                waiting, turn = None, self._free.pop()
            else:
                waiting = Waiting()
                self._line.append(waiting)
        if waiting is not None:
            turn = self._wait(waiting)
        if turn is not None:
            connections[DEFAULT_DB_ALIAS] = turn
        return turn

    def _wait(self, waiting: Waiting) -> BaseDatabaseWrapper | None:
        if not waiting.called.acquire(timeout=self.patience):
            with self._lock:
                # It may have been called in this moment.
                if waiting.turn is None:
                    self._line.remove(waiting)
        return waiting.turn

    def leave_turn(self, turn: BaseDatabaseWrapper) -> None:
        """To whoever has waited longest: a turn that anybody could snatch is snatched by the thread that was running anyway,
        and some would wait for ever."""
        try:
            # What was made of the connection, or put in its place, is no reason to lose the turn.
            if connections[DEFAULT_DB_ALIAS] is not turn:
                connections[DEFAULT_DB_ALIAS].close()
            turn.close_if_unusable_or_obsolete()
        finally:
            del connections[DEFAULT_DB_ALIAS]
            with self._lock:
                if self._line:
                    first = self._line.popleft()
                    first.turn = turn
                    first.called.release()
                else:
                    self._free.append(turn)
