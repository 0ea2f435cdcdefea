"""Measure cases on the service beside its bare twin, and on data sets of two sizes. The functions return dicts for the report."""

import dataclasses
import re
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench import cases, wrk
from bench.cases import Case
from bench.machine import LoadMonitor
from bench.progress import Bar
from bench.serving import Server

# The number of paths of a case whose responses are compared before the measurement.
COMPARED_PATHS = 5


@dataclass(frozen=True)
class Options:
    """The options of a run."""

    # The duration of a measurement.
    seconds: int
    rounds: int
    workers: int
    # The number of requests between two measurements of memory.
    requests: int
    logs: Path
    case: str | None = None

    def selects(self, case: Case) -> bool:
        return self.case is None or self.case in case.name


@dataclass(frozen=True)
class Target:
    """A server, and the case whose requests it is sent."""

    server: Server
    case: Case
    token: str

    def load(self, seconds: int) -> wrk.Load:
        return wrk.succeed(self.server.address, self.case, self.token, seconds=seconds)


def figures(loads: list[wrk.Load]) -> dict[str, float]:
    """Return the medians of the rounds."""
    return {
        "per second": round(statistics.median(load.per_second for load in loads), 1),
        "p50 ms": round(statistics.median(load.p50 for load in loads), 2),
        "p95 ms": round(statistics.median(load.p95 for load in loads), 2),
        "p99 ms": round(statistics.median(load.p99 for load in loads), 2),
    }


def load_in_turn(targets: list[Target], options: Options) -> tuple[list[list[wrk.Load]], dict]:
    """Load the targets in turn, in several rounds, so that the state of the machine is similar for all of them.

    Return the loads of each target, and the load of the machine.
    """
    loads: list[list[wrk.Load]] = [[] for _ in targets]
    with Bar(targets[0].case.name, len(targets) * (1 + options.rounds * options.seconds), print_time=False) as bar:
        for target in targets:
            wrk.warm_up(target.server.address, target.case, target.token)
            bar.add(1)
        monitor = LoadMonitor()
        for number in range(options.rounds):
            # Alternate the order, because each target is affected by the target before it.
            for index in range(len(targets)) if number % 2 == 0 else reversed(range(len(targets))):
                loads[index].append(targets[index].load(options.seconds))
                bar.add(options.seconds)
        return loads, dataclasses.asdict(monitor.end())


def ratio(first_loads: list[wrk.Load], second_loads: list[wrk.Load]) -> float:
    """Return the ratio of the request rates: the median of the ratios of the rounds. The two loads of a round are close in time."""
    return round(
        statistics.median(
            first.per_second / second.per_second for first, second in zip(first_loads, second_loads, strict=True)
        ),
        3,
    )


def compare_responses(service: Server, bare: Server, case: Case, token: str) -> None:
    """Raise SystemExit if a response of the twin differs from that of the service."""
    for number in range(min(COMPARED_PATHS, len(case.paths))):
        bodies = []
        for server in (service, bare):
            unique = f"{time.time_ns():x}"
            body = server.checked_response(case, token, unique=unique, path=number).body
            # Ids and times differ in the response to each write.
            bodies.append(re.sub(rb"\d+", b"0", body.replace(unique.encode(), b"U")) if case.body else body)
        if bodies[0] != bodies[1]:
            raise SystemExit(
                f"{case.name}: bench/bare.py does not answer {case.paths[number]} as the service does.\n"
                f"The service: {bodies[0].decode()}\nThe twin: {bodies[1].decode()}"
            )


def beside_bare(
    service: Server,
    bare: Server,
    selected: Iterable[Case],
    token: str,
    options: Options,
    queries: dict[str, float],
    show: Callable[[dict], None],
) -> list[dict]:
    """Measure each case on the service and on its twin, in turn, and call `show` with each result."""
    results = []
    for case in selected:
        compare_responses(service, bare, case, token)
        targets = [Target(service, case, token), Target(bare, case, token)]
        (service_loads, bare_loads), machine_load = load_in_turn(targets, options)
        results.append(
            {
                "case": case.name,
                "service": figures(service_loads),
                "bare": figures(bare_loads),
                "ratio": ratio(service_loads, bare_loads),
                "queries": queries.get(case.name),
                "machine load": machine_load,
            }
        )
        show(results[-1])
    return results


def scaling(servers: list[Server], sets: list[dict], options: Options, show: Callable[[dict], None]) -> list[dict]:
    """Run the same cases on two data sets. The result `times` says how many times as long a request takes on the second."""
    results = []
    cases_of_second = {case.name: case for case in cases.of(sets[1])}
    for case in filter(options.selects, cases.of(sets[0])):
        if not case.scales or case.name not in cases_of_second:
            continue
        targets = [
            Target(server, set_case, data_set["token"])
            for server, set_case, data_set in zip(servers, (case, cases_of_second[case.name]), sets, strict=True)
        ]
        for target in targets:
            target.server.checked_response(target.case, target.token, unique=f"{time.time_ns():x}")
        (first_loads, second_loads), machine_load = load_in_turn(targets, options)
        results.append(
            {
                "case": case.name,
                "first": figures(first_loads),
                "second": figures(second_loads),
                "times": ratio(first_loads, second_loads),
                "machine load": machine_load,
            }
        )
        show(results[-1])
    return results
