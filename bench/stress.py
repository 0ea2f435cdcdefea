"""Measure the memory of the service in a long run, and its behaviour under overload."""

import contextlib
import dataclasses
import http.client
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import cycle

from bench import wrk
from bench.cases import HOST, Case
from bench.machine import LoadMonitor
from bench.measure import Options
from bench.progress import Bar
from bench.serving import Server

# The rate of the overload, as a multiple of the peak.
OVERLOAD_FACTOR = 5
# The peak is the best of this many measurements. With too low a peak, the load would not be an overload.
PEAK_MEASUREMENTS = 3
# Rounds of overload, each right after its own peak, because the speed of a shared machine varies.
ROUNDS = 3
# In the measurement of memory, one page is requested after this number of cases. Pages take longer, and there are more of them.
CASES_BEFORE_PAGE = 4
# The timeout of a request, in seconds.
TIMEOUT = 10
# The pause between two probes, in seconds.
PROBE_INTERVAL = 0.1


def memory(
    server: Server, selected: list[Case], token: str, pages: list[Case], session: str, options: Options
) -> dict | None:
    """Return the memory of all workers in MiB: at the start, after `options.requests` requests, and after as many again.

    `mib with parent` includes the parent process. The requests are those of the cases in turn, and of a page after each `CASES_BEFORE_PAGE`
    cases.
    """
    if server.memory() is None:
        return None
    steps = [memory_step(server, 0)]
    with Bar("memory", 2 * options.requests, print_time=False) as bar:
        loads, failed = in_turn(selected, token, pages, session), 0
        for _ in range(2):
            done = 0
            while done < options.requests:
                # The measurement takes minutes, so failed requests, such as after a stall of the disk, do not end it.
                load = wrk.run(server.address, *next(loads), seconds=1)
                done += load.requests
                failed += load.failed
                bar.add(load.requests)
            steps.append(memory_step(server, int(steps[-1]["requests"]) + done))
    growth = round(steps[2]["mib"] - steps[1]["mib"], 1)
    return {"workers": len(server.workers()), "steps": steps, "growth mib": growth, "failed": failed}


def in_turn(selected: list[Case], token: str, pages: list[Case], session: str) -> Iterator[tuple[Case, str]]:
    cases_in_turn, pages_in_turn = cycle(selected), cycle(pages)
    while True:
        for _ in range(CASES_BEFORE_PAGE):
            yield next(cases_in_turn), token
        if pages:
            yield next(pages_in_turn), session


def memory_step(server: Server, requests: int) -> dict[str, float]:
    sizes = {"mib": server.memory(), "mib with parent": server.memory(parent=True)}
    return {"requests": requests, **{name: round((size or 0) / 2**20, 1) for name, size in sizes.items()}}


class Probe:
    """Repeated requests to one path during a load, with the duration of each."""

    def __init__(self, server: Server, path: str, headers: dict[str, str]):
        self.server, self.path, self.headers = server, path, headers
        self.durations: list[float] = []
        self.failed = 0
        self._stopped = threading.Event()

    @contextlib.contextmanager
    def running(self) -> Iterator["Probe"]:
        self._stopped.clear()
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(PROBE_INTERVAL):
            started_at = time.monotonic()
            # Use a new connection each time, as monitoring does.
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=TIMEOUT)
            with contextlib.closing(connection):
                try:
                    connection.request("GET", self.path, headers=self.headers)
                    response = connection.getresponse()
                    response.read()
                    self.failed += response.status != 200
                except (OSError, http.client.HTTPException):
                    self.failed += 1
            self.durations.append(time.monotonic() - started_at)

    @property
    def figures(self) -> dict[str, float]:
        durations = sorted(self.durations) or [0.0]
        return {
            "requests": len(self.durations),
            "failed": self.failed,
            "median ms": round(statistics.median(durations) * 1000, 1),
            "max ms": round(durations[-1] * 1000, 1),
        }


def settle(server: Server, case: Case, token: str) -> None:
    """Wait until all requests succeed again after a round of overload. Raise LoadError if they do not."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return wrk.warm_up(server.address, case, token)
        except wrk.LoadError:
            if time.monotonic() > deadline:
                raise


def overload(server: Server, case: Case, token: str, options: Options) -> dict:
    """Measure the peak rate, and then an open load of five times that rate.

    The load is open because users do not wait for each other: a closed load adapts to a slow server and never overloads it. The
    figures are medians of several rounds, each with its own peak. Errors are counted in all rounds.
    """
    seconds = max(3, options.seconds * 2)
    loads: list[tuple[float, wrk.Load]] = []
    with Bar("overload", ROUNDS * (2 + PEAK_MEASUREMENTS * options.seconds + seconds), print_time=False) as bar:
        monitor, health = LoadMonitor(), Probe(server, "/healthz", {"Host": HOST})
        for _ in range(ROUNDS):
            settle(server, case, token)
            wrk.warm_up(server.address, case, token)
            # `settle` and `warm_up` take about a second each.
            bar.add(2)
            peak = 0.0
            for _ in range(PEAK_MEASUREMENTS):
                peak = max(peak, wrk.succeed(server.address, case, token, seconds=options.seconds).per_second)
                bar.add(options.seconds)
            with health.running():
                load = wrk.run(
                    server.address,
                    case,
                    token,
                    seconds=seconds,
                    connections=options.connections,
                    rate=OVERLOAD_FACTOR * peak,
                    timeout=TIMEOUT,
                )
            loads.append((peak, load))
            bar.add(seconds)
        machine_load = dataclasses.asdict(monitor.end())
    served_shares = [load.statuses.get("200", 0) / load.seconds / peak for peak, load in loads]
    peak, load = loads[served_shares.index(statistics.median_low(served_shares))]
    statuses: Counter[str] = Counter()
    for _, round_load in loads:
        statuses.update(round_load.statuses)
    return {
        "case": case.name,
        "connections": options.connections,
        "peak per second": round(peak, 1),
        "offered per second": round(OVERLOAD_FACTOR * peak, 1),
        "answered per second": round(load.per_second, 1),
        "served per second": round(load.statuses.get("200", 0) / load.seconds, 1),
        "served share of peak": round(statistics.median_low(served_shares), 3),
        "shares of the rounds": [round(share, 3) for share in served_shares],
        "statuses": dict(statuses),
        "503 without Retry-After": sum(round_load.without_retry_after for _, round_load in loads),
        "timeouts": sum(round_load.timeouts for _, round_load in loads),
        "broken connections": sum(round_load.broken for _, round_load in loads),
        "p50 ms": round(load.p50, 1),
        "p99 ms": round(load.p99, 1),
        "max ms": round(max(round_load.max for _, round_load in loads), 1),
        "healthz": health.figures,
        "machine load": machine_load,
    }
