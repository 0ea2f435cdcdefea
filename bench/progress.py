"""A progress bar."""

import sys
import threading
import time


class Bar:
    """A progress bar, which is drawn only if the output is a terminal.

    At the end the bar is removed. With `print_time`, a line with the time it took is printed instead.
    """

    WIDTH = 30

    def __init__(self, name: str, total: int, *, print_time: bool = True):
        self.name = name
        self.total = max(1, total)
        self.print_time = print_time
        self.done = 0
        self.started_at = time.monotonic()
        self._lock = threading.Lock()
        self._drawn_at = 0.0

    def __enter__(self) -> "Bar":
        self._draw()
        return self

    def __exit__(self, error_type: object, *error: object) -> None:
        if sys.stdout.isatty():
            print(f"\r{'':79}\r", end="")
        if self.print_time:
            print(
                f"  {self.name}: {time.monotonic() - self.started_at:.1f} s" + (", not finished" if error_type else ""),
                flush=True,
            )

    def add(self, number: int) -> None:
        with self._lock:
            self.done += number
            if time.monotonic() - self._drawn_at > 0.1:
                self._draw()

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        if sys.stdout.isatty():
            share = min(1.0, self.done / self.total)
            filled = "#" * int(share * self.WIDTH)
            print(f"\r  {self.name:32.32} [{filled:{self.WIDTH}}] {share:4.0%}", end="", flush=True)
