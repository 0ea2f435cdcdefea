"""A load with open arrivals: requests are sent at planned times, even if earlier ones have no response yet.

A latency is counted from the planned time. If the service stalls, all requests planned meanwhile are slow, as they would be for users. The
closed load of `bench.wrk` sends nothing during a stall, so it counts only one slow response for each connection.

The planned times are those of a Poisson process, as of many independent users, and the same in each run. This module sends the requests
itself: wrk has no open load that tells which response belongs to which planned time, and needs as much CPU time to wait for each one.
"""

import gc
import random
import re
import select
import socket
import time
from collections import deque
from dataclasses import dataclass
from itertools import accumulate, repeat, takewhile

from bench.cases import UNIQUE, Case
from bench.wrk import LoadError

# The connections that are opened before the load, and used in turn. If all are busy, another one is opened. The kernel assigns each
# connection to one of the workers by its port, so with few connections one worker could get many more requests than another one.
CONNECTIONS = 200
# If all these connections are busy, a request waits for one, which counts as latency.
MAX_CONNECTIONS = 400
# The time for the last responses, in seconds. A failed request counts as slow as this.
TIMEOUT = 10
SEED = 3
# A response without this header is chunked.
CONTENT_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(frozen=True)
class OpenLoad:
    """The result of an open load, with times in milliseconds."""

    # Each from the planned time to the end of the response.
    latencies: list[float]
    # Each from the planned time to sending, as a part of the latency: the delay of the load generator itself.
    lags: list[float]
    # The CPU time of the load generator.
    cpu: float
    failed: int


def percentile(values: list[float], percent: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]


def planned_times(rate: float, seconds: float) -> list[float]:
    """Return the times of requests, in seconds from the start."""
    generator = random.Random(SEED)  # noqa: S311, every run has the same times
    return list(takewhile(lambda at: at < seconds, accumulate(map(generator.expovariate, repeat(rate)))))


def format_requests(case: Case, token: str, number: int) -> list[bytes]:
    """Return this number of requests, ready to be sent, because the load generator shares the cores with the service."""
    stamp = f"{time.time_ns():x}"
    headers = "".join(f"{name}: {value}\r\n" for name, value in case.headers(token).items())
    requests = []
    for n in range(number):
        body = (case.body or "").replace(UNIQUE, f"{stamp}-{n}").encode()
        length = f"Content-Length: {len(body)}\r\n" if case.body else ""
        start_line = f"{case.method} {case.paths[n % len(case.paths)]} HTTP/1.1\r\n"
        requests.append(f"{start_line}{headers}{length}\r\n".encode() + body)
    return requests


class Connection:
    """A keep-alive connection, with one request at a time."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.planned_at = 0.0
        self.received = b""

    def send(self, request: bytes, planned_at: float) -> None:
        self.planned_at, self.received = planned_at, b""
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """Read what has arrived. Return the status of the response, or None if it is incomplete."""
        if not (data := self.socket.recv(262_144)):
            raise LoadError("the server closed a connection")
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        length = CONTENT_LENGTH.search(head)
        complete = len(body) >= int(length[1]) if length else body.endswith(LAST_CHUNK)
        return int(head[9:12]) if end and complete else None


class Connections:
    """The connections of a load, of which `idle` ones can send a request."""

    def __init__(self, port: int):
        self.port = port
        self.epoll = select.epoll()
        self.by_descriptor: dict[int, Connection] = {}
        self.idle: deque[Connection] = deque()
        for _ in range(CONNECTIONS):
            self.open()

    def open(self) -> None:
        connection = Connection(self.port)
        self.by_descriptor[connection.socket.fileno()] = connection
        self.epoll.register(connection.socket.fileno(), select.EPOLLIN)
        self.idle.append(connection)

    def can_send(self) -> bool:
        return bool(self.idle) or len(self.by_descriptor) < MAX_CONNECTIONS

    def next(self) -> Connection:
        if not self.idle:
            self.open()
        return self.idle.popleft()

    def wait(self, seconds: float) -> list[Connection]:
        """Return the connections on which data have arrived, at the latest after this time."""
        # The timeout of `epoll` is in whole milliseconds, which is too coarse.
        select.select([self.epoll], [], [], max(0, seconds))
        return [self.by_descriptor[descriptor] for descriptor, _ in self.epoll.poll(0)]

    def close(self) -> None:
        self.epoll.close()
        for connection in self.by_descriptor.values():
            connection.socket.close()


def run(port: int, case: Case, token: str, *, rate: float, seconds: float) -> OpenLoad:
    """Send `rate` requests per second on average, and wait for all responses.

    Raise LoadError if responses are missing `TIMEOUT` seconds after the last request. A response with an unexpected status, such as 503
    for a request that exceeds the limits of admission, is a failed request.
    """
    times = planned_times(rate, seconds)
    requests = format_requests(case, token, len(times))
    latencies: list[float] = []
    lags: list[float] = []
    failed = 0
    connections = Connections(port)
    # A garbage collection would delay requests.
    gc.disable()
    cpu_before, clock, started_at = time.process_time(), time.perf_counter, time.perf_counter()
    try:
        while len(latencies) < len(times):
            now = clock() - started_at
            sent = len(lags)
            if sent < len(times) and connections.can_send():
                if (wait := times[sent] - now) <= 0:
                    connections.next().send(requests[sent], times[sent])
                    lags.append((clock() - started_at - times[sent]) * 1000)
                    continue
            elif (wait := seconds + TIMEOUT - now) <= 0:
                raise LoadError(f"{case.name}: {len(times) - len(latencies)} of {len(times)} responses are missing")
            for connection in connections.wait(wait):
                if (status := connection.receive()) is None:
                    continue
                connections.idle.append(connection)
                is_expected = status == case.status
                failed += not is_expected
                elapsed = clock() - started_at - connection.planned_at
                latencies.append((elapsed if is_expected else TIMEOUT) * 1000)
    finally:
        gc.enable()
        connections.close()
    return OpenLoad(latencies, lags, (time.process_time() - cpu_before) * 1000, failed)
