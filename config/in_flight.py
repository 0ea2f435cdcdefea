"""The requests that a worker process is serving, in memory that outlives the worker."""

import mmap
from collections.abc import Iterator

SLOT_BYTES = 512


class InFlight:
    """Notes of the requests that one worker is serving, one slot for each. They cost a request about 1 µs.

    The parent process creates it before it forks the worker. Both processes share the memory, so the parent can read the
    notes after the worker has died. A slot whose first byte is zero is free.
    """

    def __init__(self, slots: int):
        self._memory = mmap.mmap(-1, slots * SLOT_BYTES)
        self._slots = slots
        self._free = [slot * SLOT_BYTES for slot in range(slots)]

    @property
    def count(self) -> int:
        """How many requests are being served; only the worker itself knows."""
        return self._slots - len(self._free)

    def add(self, text: str) -> int:
        """Note a request; return the slot. Text that does not fit is cut off."""
        slot = self._free.pop()
        record = text.encode("ascii", "replace")[: SLOT_BYTES - 1] + b"\n"
        self._memory[slot : slot + len(record)] = record
        return slot

    def remove(self, slot: int) -> None:
        self._memory[slot] = 0
        self._free.append(slot)

    def __iter__(self) -> Iterator[str]:
        for slot in range(0, len(self._memory), SLOT_BYTES):
            if self._memory[slot]:
                yield self._memory[slot : slot + SLOT_BYTES].partition(b"\n")[0].decode("ascii")
