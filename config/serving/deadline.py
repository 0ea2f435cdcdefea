"""Limits for slow clients: a deadline for bodies, and a limit of open connections for each address.

The server has a deadline for headers only, and a thread that reads a body from the server cannot be interrupted. So this module shuts
down the receiving side of an overdue connection. The server then reads the end of the stream, as if the client had closed the
connection, and the application responds with 400, as to any incomplete body. Likewise, a client that does not read a streamed response is
disconnected, as it occupies a thread and an export of its account.

The server accepts `MAX_CLIENT_CONNECTIONS` connections. A client that opens all of them, and sends nothing or unfinished headers,
would exclude all other clients until the deadline for headers. So one address may have half of the connections.
"""

import contextlib
import fcntl
import os
import socket
import struct
import sys
import termios
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from config.serving.in_flight import InFlight
from core import client_address

DESCRIPTORS = Path("/proc/self/fd")

# How often to look for overdue connections, in seconds.
OVERDUE_INTERVAL = 10
# How often to count connections, in seconds. The shorter interval follows a count that ended connections, as new ones may replace them.
COUNT_INTERVAL, RECOUNT_INTERVAL = 0.5, 0.1
# A client has this long to send its request before the connection is counted, in milliseconds.
COUNT_AFTER = 500
# With this many requests in progress or in the queue, no connections are counted.
MANY_REQUESTS = 48

# The beginning of Linux's struct tcp_info: tcpi_state, and tcpi_last_data_sent in milliseconds.
TCP_INFO = struct.Struct("=B43xI")
TCP_ESTABLISHED = 1


def watch(port: int, in_flight: InFlight) -> None:
    """Start a thread that watches the connections that this process accepts on a port. Do nothing on systems other than Linux."""
    if has_connection_statistics():
        threading.Thread(target=_watch, args=(port, in_flight), name="deadline", daemon=True).start()


def has_connection_statistics() -> bool:
    return hasattr(socket, "TCP_INFO") and DESCRIPTORS.exists()


def _watch(port: int, in_flight: InFlight) -> None:
    interval = COUNT_INTERVAL
    due = time.monotonic() + OVERDUE_INTERVAL
    while True:
        time.sleep(interval)
        # At the limit of open files, this raises OSError. Other connections end meanwhile, so that a later try succeeds.
        with contextlib.suppress(OSError):
            interval = RECOUNT_INTERVAL if end_excess(port, in_flight) else COUNT_INTERVAL
            if time.monotonic() >= due:
                end_overdue(port, settings.BODY_TIMEOUT)
                end_unread(port, settings.STREAM_TIMEOUT)
                due = time.monotonic() + OVERDUE_INTERVAL


def end_excess(port: int, in_flight: InFlight) -> int:
    """End connections that wait for their client and exceed the limit of an address, the oldest first. Return their number.

    The kernel does not distinguish connections with an incomplete request from idle ones, so both count. A connection whose request
    waits for a slot or for its rejection looks the same too, so nothing is ended while there may be many such requests.
    """
    limit = settings.MAX_CLIENT_CONNECTIONS // 2
    # Behind a proxy, all connections come from the address of the proxy.
    if settings.TRUST_PROXY or len(descriptors()) <= limit or in_flight.count >= MANY_REQUESTS:
        return 0
    waiting = defaultdict(list)
    for descriptor, connection in accepted_connections(port):
        with connection, contextlib.suppress(OSError):
            if (milliseconds := milliseconds_since_sending(connection)) >= COUNT_AFTER:
                peer = connection.getpeername()
                waiting[client_address.normalize(peer[0])].append((milliseconds, descriptor, peer))
    ended = 0
    for connections in waiting.values():
        for _, descriptor, peer in sorted(connections, reverse=True)[: max(0, len(connections) - limit)]:
            with contextlib.suppress(OSError), copy_of(descriptor) as connection:
                # The server may have closed the connection, and the number may belong to another one.
                if connection.getpeername() == peer:
                    connection.shutdown(socket.SHUT_RD)
                    ended += 1
    return ended


def end_overdue(port: int, seconds: float) -> None:
    """End connections on which nothing was sent to the client for this many seconds.

    The server closes idle connections sooner (HEADER_TIMEOUT), and sends every response sooner. So the clients of these connections are
    still sending a body.
    """
    for _, connection in accepted_connections(port):
        # The client may have closed the connection meanwhile.
        with connection, contextlib.suppress(OSError):
            if milliseconds_since_sending(connection) >= seconds * 1000:
                connection.shutdown(socket.SHUT_RD)


def end_unread(port: int, seconds: float) -> None:
    """End connections whose client has read nothing of a waiting response for this many seconds."""
    for _, connection in accepted_connections(port):
        with connection, contextlib.suppress(OSError):
            if milliseconds_since_sending(connection) >= seconds * 1000 and unsent_bytes(connection):
                connection.shutdown(socket.SHUT_RDWR)


def unsent_bytes(connection: socket.socket) -> int:
    """Return how many bytes wait in the kernel, because the client has not acknowledged them."""
    return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def milliseconds_since_sending(connection: socket.socket) -> int:
    """Return how many milliseconds ago something was sent to the client, or the connection was opened if nothing has been sent."""
    state, milliseconds = TCP_INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size))
    return milliseconds if state == TCP_ESTABLISHED else 0


def accepted_connections(port: int) -> Iterator[tuple[int, socket.socket]]:
    """Yield each connection on a port: its descriptor, and a copy, which stays valid when the server closes the descriptor."""
    for descriptor in descriptors():
        with contextlib.suppress(OSError):
            connection = copy_of(descriptor)
            if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.getsockname()[1] == port:
                yield descriptor, connection
            else:
                connection.close()


def descriptors() -> list[int]:
    return [int(path.name) for path in DESCRIPTORS.iterdir()]


def copy_of(descriptor: int) -> socket.socket:
    """Return a copy of a socket's descriptor. Raise OSError if it is closed or is not a socket."""
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise
