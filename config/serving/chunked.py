"""Chunked bodies: whether a body is complete (RFC 9112, section 8), and the limit of its size.

granian reads a chunked body in two ways, and neither suffices. `read(size)` ends at an error, or at the end of the connection, as it ends
at the last chunk. `read()` returns nothing after an error, but has no limit. So bodies are read with `read()`, and meanwhile a thread ends
the connections that have sent more than `MAX_FACTOR` times MAX_BODY_BYTES without an answer. granian then returns nothing, too.
"""

import contextlib
import socket
import struct
import threading
import time
from typing import IO

from django.conf import settings

from config.serving.deadline import accepted_connections, has_connection_statistics

# The limit of a body with its framing. A body that is too long, but within this limit, is answered with 413.
MAX_FACTOR = 4
# How often to look at the connections while a chunked body is read, in seconds.
INTERVAL = 0.05

# Linux's struct tcp_info: tcpi_bytes_acked and tcpi_bytes_received.
BYTE_COUNTS = struct.Struct("=120xQQ")


class ChunkedBodies:
    """The chunked bodies that are being read in this process."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()
        self._is_reading = threading.Event()
        self._is_watched = False

    def watch(self, port: int) -> None:
        """Start a thread that limits the bodies that are sent to the port. Do nothing on systems other than Linux."""
        if has_connection_statistics():
            self._is_watched = True
            threading.Thread(target=self._watch, args=(port,), name="bodies", daemon=True).start()

    def read(self, body: IO[bytes]) -> bytes:
        """Return the content of a body. An incomplete one has no content. It is cut if it is too long."""
        if not self._is_watched:
            return body.read(settings.MAX_BODY_BYTES + 1)
        with self._lock:
            self._count += 1
            self._is_reading.set()
        try:
            return body.read()[: settings.MAX_BODY_BYTES + 1]
        finally:
            with self._lock:
                self._count -= 1
                if not self._count:
                    self._is_reading.clear()

    def _watch(self, port: int) -> None:
        while True:
            self._is_reading.wait()
            limits: dict[tuple[int, object], tuple[int, int]] = {}
            while self._is_reading.is_set():
                # At the limit of open files, this raises OSError.
                with contextlib.suppress(OSError):
                    limits = end_oversized(port, limits)
                time.sleep(INTERVAL)


chunked_bodies = ChunkedBodies()


def end_oversized(
    port: int, before: dict[tuple[int, object], tuple[int, int]]
) -> dict[tuple[int, object], tuple[int, int]]:
    """End connections that have received too much since something was sent to their client.

    Return, for each connection, how much was sent to the client, and how much the connection had received then. `before` is the result
    of the previous call.
    """
    counts = {}
    for descriptor, connection in accepted_connections(port):
        # The client may have closed the connection meanwhile.
        with connection, contextlib.suppress(OSError):
            key = descriptor, connection.getpeername()
            information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTE_COUNTS.size)
            sent, received = BYTE_COUNTS.unpack(information)
            sent_before, received_before = before.get(key, (sent, received if sent else 0))
            counts[key] = (sent, received_before if sent == sent_before else received)
            if received - counts[key][1] > MAX_FACTOR * settings.MAX_BODY_BYTES:
                connection.shutdown(socket.SHUT_RD)
    return counts
