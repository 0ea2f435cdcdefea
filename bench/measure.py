"""Measure cases beside their bare twins, and on sets of two sizes. The functions return plain values for the report."""

import dataclasses
import re
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench import cases, wrk
from bench.cases import Case
from bench.machine import Watch
from bench.progress import Bar
from bench.serving import Server

# The number of paths of a case whose responses are compared before the measurement.
COMPARED_PATHS = 5


@dataclass(frozen=True)
class Options:
    seconds: int
    rounds: int
    workers: int
    # The number of requests between two measurements of memory.
    requests: int
    # The number of connections of the overload.
    connections: int
    logs: Path
    case: str | None = None

    def takes(self, case: Case) -> bool:
        return self.case is None or self.case in case.name


@dataclass(frozen=True)
class Target:
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
        "p99 ms": round(statistics.median(load.p99 for load in loads), 2),
    }


def in_turn(targets: list[Target], options: Options) -> tuple[list[list[wrk.Load]], dict]:
    """Load the targets in turn, in several rounds, so that the state of the machine is the same for all. Return the loads and the machine's load."""
    loads: list[list[wrk.Load]] = [[] for _ in targets]
    with Bar(targets[0].case.name, len(targets) * (1 + options.rounds * options.seconds), print_time=False) as bar:
        for target in targets:
            wrk.warm_up(target.server.address, target.case, target.token)
            bar.add(1)
        watch = Watch()
        for number in range(options.rounds):
            # Alternate the order, because each target is affected by the target before it.
            for index in range(len(targets)) if number % 2 == 0 else reversed(range(len(targets))):
                loads[index].append(targets[index].load(options.seconds))
                bar.add(options.seconds)
        return loads, dataclasses.asdict(watch.end())


def ratio(firsts: list[wrk.Load], seconds: list[wrk.Load]) -> float:
    """Return the ratio of the request rates: the median of the ratios of the rounds, each with both loads close in time."""
    return round(
        statistics.median(first.per_second / second.per_second for first, second in zip(firsts, seconds, strict=True)),
        3,
    )


def compare(service: Server, bare: Server, case: Case, token: str) -> None:
    """Raise SystemExit if the responses of the twin differ from those of the service."""
    for number in range(min(COMPARED_PATHS, len(case.paths))):
        answers = []
        for server in (service, bare):
            unique = f"{time.time_ns():x}"
            body = server.first_answer(case, token, unique=unique, path=number).body
            # Ignore the parts of a write that differ each time.
            answers.append(re.sub(rb"\d+", b"0", body.replace(unique.encode(), b"U")) if case.body else body)
        if answers[0] != answers[1]:
            raise SystemExit(
                f"{case.name}: bench/bare.py does not answer {case.paths[number]} as the service does.\n"
                f"The service: {answers[0].decode()}\nThe twin: {answers[1].decode()}"
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
    results = []
    for case in selected:
        compare(service, bare, case, token)
        (ours, theirs), meanwhile = in_turn([Target(service, case, token), Target(bare, case, token)], options)
        results.append(
            {
                "case": case.name,
                "wanted per second": case.wanted,
                "p99 ms wanted": case.p99,
                "service": figures(ours),
                "bare": figures(theirs),
                "ratio": ratio(ours, theirs),
                "queries": queries.get(case.name),
                "meanwhile": meanwhile,
            }
        )
        show(results[-1])
    return results


def scaling(servers: list[Server], sets: list[dict], options: Options, show: Callable[[dict], None]) -> list[dict]:
    """Run the same cases on two sets, and return how many times as long a request takes on the second."""
    results = []
    cases_of_second = {case.name: case for case in cases.of(sets[1])}
    for case in filter(options.takes, cases.of(sets[0])):
        if not case.scales or case.name not in cases_of_second:
            continue
        targets = [
            Target(server, set_case, made["token"])
            for server, set_case, made in zip(servers, (case, cases_of_second[case.name]), sets, strict=True)
        ]
        for target in targets:
            target.server.first_answer(target.case, target.token, unique=f"{time.time_ns():x}")
        (firsts, seconds), meanwhile = in_turn(targets, options)
        results.append(
            {
                "case": case.name,
                "first": figures(firsts),
                "second": figures(seconds),
                "times": ratio(firsts, seconds),
                "meanwhile": meanwhile,
            }
        )
        show(results[-1])
    return results
