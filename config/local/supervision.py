"""Delays before an ended process is started again, for `make run`."""

import time

MIN_DELAY, MAX_DELAY = 0.1, 5.0  # seconds


class Backoff:
    """The delay before a process is started again: 0.1 s, doubled each time up to 5 s.

    A process that ran for `stable` seconds has started well, so the delay begins at 0.1 s again.
    """

    def __init__(self, *, stable: float):
        self.stable = stable
        self._delay = MIN_DELAY
        self._started = time.monotonic()

    def start(self) -> None:
        """Record that the process has been started."""
        self._started = time.monotonic()

    def end(self) -> float:
        """Record that the process has ended. Return the seconds to wait before it is started again."""
        if time.monotonic() - self._started >= self.stable:
            self._delay = MIN_DELAY
        delay, self._delay = self._delay, min(2 * self._delay, MAX_DELAY)
        return delay


def outcome(status: int) -> str:
    """Describe an exit status of `subprocess`."""
    return f"killed by signal {-status}" if status < 0 else f"status {status}"
