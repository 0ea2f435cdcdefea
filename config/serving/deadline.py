"""Ends connections whose clients take too long to send a body, and those of an address that holds too many open.

The server has a deadline for headers alone, and a thread that reads a body from it can't be called back. So the receiving
side of the connection is shut down, by the kernel's account of it: the server reads the end there, as it does where a client
hangs up, and the request is refused like any whose body was cut off.

The server also accepts no more than `CLIENT_CONNECTIONS`, so a client that opens that many and sends nothing, or half a header,
would keep everybody else out until the deadline for headers. One address may have half of them.
"""

import contextlib
import os
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from accounts import addresses
from config.serving.in_flight import InFlight

DESCRIPTORS = Path("/proc/self/fd")

# How often overdue connections are looked for, in seconds.
EVERY = 10
# How often connections are counted, in seconds; and how often while some have just been ended: others take their place.
COUNT_INTERVAL, RECOUNT_INTERVAL = 0.5, 0.1
# A client has this long to send its request before the connection is counted, in milliseconds.
UNCOUNTED = 500

# The beginning of Linux's struct tcp_info: tcpi_state, and tcpi_last_data_sent in milliseconds.
INFO = struct.Struct("=B43xI")
ESTABLISHED = 1


def watch(port: int, in_flight: InFlight) -> None:
    """In a thread, the connections that this process has accepted on that port. Nothing where there is no such account."""
    if hasattr(socket, "TCP_INFO") and DESCRIPTORS.exists():
        threading.Thread(target=_watch, args=(port, in_flight), name="deadline", daemon=True).start()


def _watch(port: int, in_flight: InFlight) -> None:
    interval = COUNT_INTERVAL
    due = time.monotonic() + EVERY
    while True:
        time.sleep(interval)
        # Where this process can open no more, which is when it is needed most: the next time.
        with contextlib.suppress(OSError):
            interval = RECOUNT_INTERVAL if end_excess(port, in_flight) else COUNT_INTERVAL
            if time.monotonic() >= due:
                end_overdue(port, settings.BODY_SECONDS)
                due = time.monotonic() + EVERY


def end_excess(port: int, in_flight: InFlight) -> int:
    """End the connections that wait for their client beyond the share of its address, the oldest first; return how many.

    Connections without a complete request and idle ones look the same from here, and both count. Those whose request waits for
    a thread of the server would look the same too, so nothing is done while there may be any.
    """
    share = settings.CLIENT_CONNECTIONS // 2
    # Behind a proxy, all connections are the proxy's.
    if settings.TRUST_PROXY or len(descriptors()) <= share or in_flight.count >= settings.PLACES:
        return 0
    waiting = defaultdict(list)
    for descriptor, connection in accepted(port):
        with connection, contextlib.suppress(OSError):
            if (unanswered := unanswered_for(connection)) >= UNCOUNTED:
                peer = connection.getpeername()
                waiting[addresses.counted(peer[0])].append((unanswered, descriptor, peer))
    ended = 0
    for found in waiting.values():
        for _, descriptor, peer in sorted(found, reverse=True)[: max(0, len(found) - share)]:
            with contextlib.suppress(OSError), copy_of(descriptor) as connection:
                # The descriptor may stand for another connection by now.
                if connection.getpeername() == peer:
                    connection.shutdown(socket.SHUT_RD)
                    ended += 1
    return ended


def end_overdue(port: int, seconds: float) -> None:
    """Those that nothing was sent to for so long. The server ends idle ones sooner (HEADER_SECONDS), and an answer takes less: so
    their clients are still sending."""
    for _, connection in accepted(port):
        # It may have ended meanwhile.
        with connection, contextlib.suppress(OSError):
            if unanswered_for(connection) >= seconds * 1000:
                connection.shutdown(socket.SHUT_RD)


def unanswered_for(connection: socket.socket) -> int:
    """Return for how many milliseconds nothing has been sent on an open connection: since it was made, if nothing ever was."""
    state, unanswered = INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO.size))
    return unanswered if state == ESTABLISHED else 0


def accepted(port: int) -> Iterator[tuple[int, socket.socket]]:
    """The descriptors and copies of them: what the server closes meanwhile is not another file by then."""
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
    """Return a copy of a socket's descriptor; raise OSError if it is closed or no socket."""
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise
