"""Ends connections whose clients take too long to send a body.

The server has a deadline for headers alone, and a thread that reads a body from it can't be called back. So the receiving
side of the connection is shut down, by the kernel's account of it: the server reads the end there, as it does where a client
hangs up, and the request is refused like any whose body was cut off.
"""

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

EVERY = 10  # seconds
DESCRIPTORS = Path("/proc/self/fd")

# The beginning of Linux's struct tcp_info: tcpi_state, and tcpi_last_data_sent in milliseconds.
INFO = struct.Struct("=B43xI")
ESTABLISHED = 1


def watch(port: int) -> None:
    """In a thread, the connections that this process has accepted on that port. Nothing where there is no such account."""
    if hasattr(socket, "TCP_INFO") and DESCRIPTORS.exists():
        threading.Thread(target=_watch, args=(port,), name="deadline", daemon=True).start()


def _watch(port: int) -> None:
    while True:
        time.sleep(min(EVERY, settings.BODY_SECONDS / 4))
        # Where this process can open no more, which is when it is needed most: the next time.
        with contextlib.suppress(OSError):
            end_overdue(port, settings.BODY_SECONDS)


def end_overdue(port: int, seconds: float) -> None:
    """Those that nothing was sent to for so long. The server ends idle ones sooner (HEADER_SECONDS), and an answer takes less: so
    their clients are still sending."""
    for connection in accepted(port):
        # It may have ended meanwhile.
        with connection, contextlib.suppress(OSError):
            state, unanswered = INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO.size))
            if state == ESTABLISHED and unanswered >= seconds * 1000:
                connection.shutdown(socket.SHUT_RD)


def accepted(port: int) -> Iterator[socket.socket]:
    """Copies of the descriptors: what the server closes meanwhile is not another file by then."""
    for descriptor in DESCRIPTORS.iterdir():
        with contextlib.suppress(OSError):
            copy = os.dup(int(descriptor.name))
            try:
                connection = socket.socket(fileno=copy)
            except OSError:
                os.close(copy)
                continue
            if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.getsockname()[1] == port:
                yield connection
            else:
                connection.close()
