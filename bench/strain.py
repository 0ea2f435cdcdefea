"""What becomes of the service in the long run and under too much load: its memory, and how it goes on serving."""

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
from bench.machine import Watch
from bench.measure import Options
from bench.progress import Bar
from bench.serving import Server

TIMES_AS_MUCH = 5
# The peak is the best of so many measurements: taken too low, the load would be none too much.
PEAKS = 3
# Of overload, each right after its peak: a machine that is shared changes its pace from minute to minute.
ROUNDS = 3
# How long a client waits for an answer before it gives up, in seconds.
TIMEOUT = 10
PROBED_EVERY = 0.1


def memory(server: Server, found: list[Case], token: str, options: Options) -> dict | None:
    """MiB of all workers: at the start, after so many requests of all cases in turn, and after as many again."""
    if server.memory() is None:
        return None
    steps = [{"requests": 0, "mib": mib(server)}]
    with Bar("memory", 2 * options.requests, lasting=False) as bar:
        turn, failed = cycle(found), 0
        for _ in range(2):
            done = 0
            while done < options.requests:
                # Minutes of it: a disk that stands still for seconds, so that requests are turned away, ends nothing here.
                load = wrk.run(server.address, next(turn), token, seconds=1)
                done += load.requests
                failed += load.failed
                bar.add(load.requests)
            steps.append({"requests": steps[-1]["requests"] + done, "mib": mib(server)})
    growth = round(steps[2]["mib"] - steps[1]["mib"], 1)
    return {"workers": len(server.workers()), "steps": steps, "growth mib": growth, "failed": failed}


def mib(server: Server) -> float:
    return round((server.memory() or 0) / 2**20, 1)


class Probe:
    """Asks for one thing again and again while something else goes on; how long each answer took."""

    def __init__(self, server: Server, path: str, headers: dict[str, str]):
        self.server, self.path, self.headers = server, path, headers
        self.took: list[float] = []
        self.wrong = 0
        self._over = threading.Event()

    @contextlib.contextmanager
    def running(self) -> Iterator["Probe"]:
        self._over.clear()
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()

    def _run(self) -> None:
        while not self._over.wait(PROBED_EVERY):
            began = time.monotonic()
            # Each time over a new connection, as those who look after a service do.
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=TIMEOUT)
            with contextlib.closing(connection):
                try:
                    connection.request("GET", self.path, headers=self.headers)
                    response = connection.getresponse()
                    response.read()
                    self.wrong += response.status != 200
                except (OSError, http.client.HTTPException):
                    self.wrong += 1
            self.took.append(time.monotonic() - began)

    @property
    def figures(self) -> dict[str, float]:
        took = sorted(self.took) or [0.0]
        return {
            "asked": len(self.took),
            "wrong": self.wrong,
            "median ms": round(statistics.median(took) * 1000, 1),
            "most ms": round(took[-1] * 1000, 1),
        }


def settle(server: Server, case: Case, token: str) -> None:
    """Wait until all are served again: what a round of overload leaves behind has to go first. Raises LoadError if it does not."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return wrk.warm_up(server.address, case, token)
        except wrk.LoadError:
            if time.monotonic() > deadline:
                raise


def overload(server: Server, case: Case, token: str, options: Options) -> dict:
    """The most that it serves; then five times that, arriving whether or not what came before was answered.

    Users do not wait for each other: with load that does, a slow server would be asked for less and never be overloaded. It is
    done in several rounds, each with a peak of its own, of which the median counts; what must not be is counted in all.
    """
    seconds = max(3, options.seconds * 2)
    loads: list[tuple[float, wrk.Load]] = []
    with Bar("overload", ROUNDS * (2 + PEAKS * options.seconds + seconds), lasting=False) as bar:
        watch, health = Watch(), Probe(server, "/healthz", {"Host": HOST})
        for _ in range(ROUNDS):
            settle(server, case, token)
            wrk.warm_up(server.address, case, token)
            bar.add(2)
            peak = 0.0
            for _ in range(PEAKS):
                peak = max(peak, wrk.succeed(server.address, case, token, seconds=options.seconds).per_second)
                bar.add(options.seconds)
            with health.running():
                load = wrk.run(
                    server.address,
                    case,
                    token,
                    seconds=seconds,
                    connections=options.connections,
                    rate=TIMES_AS_MUCH * peak,
                    timeout=TIMEOUT,
                )
            loads.append((peak, load))
            bar.add(seconds)
        meanwhile = dataclasses.asdict(watch.end())
    shares = [load.statuses.get("200", 0) / load.seconds / peak for peak, load in loads]
    peak, load = loads[shares.index(statistics.median_low(shares))]
    statuses: Counter[str] = Counter()
    for _, each in loads:
        statuses.update(each.statuses)
    return {
        "case": case.name,
        "connections": options.connections,
        "peak per second": round(peak, 1),
        "offered per second": round(TIMES_AS_MUCH * peak, 1),
        "answered per second": round(load.per_second, 1),
        "served per second": round(load.statuses.get("200", 0) / load.seconds, 1),
        "served share of peak": round(statistics.median_low(shares), 3),
        "shares of the rounds": [round(share, 3) for share in shares],
        "statuses": dict(statuses),
        "503 without Retry-After": sum(each.unhinted for _, each in loads),
        "timeouts": sum(each.timeouts for _, each in loads),
        "broken connections": sum(each.broken for _, each in loads),
        "p50 ms": round(load.p50, 1),
        "p99 ms": round(load.p99, 1),
        "most ms": round(max(each.most for _, each in loads), 1),
        "healthz": health.figures,
        "meanwhile": meanwhile,
    }
