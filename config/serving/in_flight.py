"""A record of the requests that a worker process is serving, in memory that outlives the worker."""

import mmap
from collections.abc import Iterator

RECORD_BYTES = 512


class InFlight:
    """Descriptions of the requests that one worker is serving, one record of fixed size for each.

    The parent process creates it before it forks the worker. Both processes share the memory, so the parent can read the
    records after the worker has died. A record whose first byte is zero is free.
    """

    def __init__(self, capacity: int):
        self._memory = mmap.mmap(-1, capacity * RECORD_BYTES)
        self._capacity = capacity
        self._free = [number * RECORD_BYTES for number in range(capacity)]

    @property
    def count(self) -> int:
        """The number of requests that are being served, for the worker itself: its parent cannot read it."""
        return self._capacity - len(self._free)

    def add(self, text: str) -> int:
        """Record a request and return the position of its record. Text that does not fit is cut off."""
        position = self._free.pop()
        record = text.encode("ascii", "replace")[: RECORD_BYTES - 1] + b"\n"
        self._memory[position : position + len(record)] = record
        return position

    def remove(self, position: int) -> None:
        self._memory[position] = 0
        self._free.append(position)

    def __iter__(self) -> Iterator[str]:
        for position in range(0, len(self._memory), RECORD_BYTES):
            if self._memory[position]:
                yield self._memory[position : position + RECORD_BYTES].partition(b"\n")[0].decode("ascii")
