"""A progress bar."""

import sys
import threading
import time


class Bar:
    """A progress bar in a terminal; elsewhere one line at the end.

    A bar that is not `lasting` is removed at the end, so that a result can take its place.
    """

    WIDTH = 30

    def __init__(self, name: str, total: int, *, lasting: bool = True):
        self.name = name
        self.total = max(1, total)
        self.lasting = lasting
        self.done = 0
        self.began = time.monotonic()
        self._lock = threading.Lock()
        self._drawn = 0.0

    def __enter__(self) -> "Bar":
        self._draw()
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if sys.stdout.isatty():
            print(f"\r{'':79}\r", end="")
        if self.lasting:
            print(
                f"  {self.name}: {time.monotonic() - self.began:.1f} s" + (", not finished" if kind else ""), flush=True
            )

    def add(self, number: int) -> None:
        with self._lock:
            self.done += number
            if time.monotonic() - self._drawn > 0.1:
                self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        if sys.stdout.isatty():
            share = min(1.0, self.done / self.total)
            filled = "#" * int(share * self.WIDTH)
            print(f"\r  {self.name:32.32} [{filled:{self.WIDTH}}] {share:4.0%}", end="", flush=True)
