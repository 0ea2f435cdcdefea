"""Signals whose handlers wait for the end of a block."""

import contextlib
import signal
import threading
from collections.abc import Iterator

_DEFERRED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Call the handlers of signals that arrive in this block after it.

    A handler that raises an exception in `Popen` would leave a process running that nobody knows. Python calls handlers only in the main
    thread, so this does nothing in others. Ignored signals and those that end the process at once stay as they are.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    with contextlib.ExitStack() as handlers:
        for number in _DEFERRED:
            if callable(handler := signal.getsignal(number)):
                handlers.callback(signal.signal, number, handler)
                signal.signal(number, lambda number, _: received.append(number))
        yield
    for signal_number in received:
        signal.raise_signal(signal_number)
