"""Measure cases on the service beside its bare twin, on data sets of two sizes, and the memory of the service."""

import dataclasses
import re
import statistics
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from urllib.parse import urljoin

from bench import machine, wrk
from bench.cases import HTML, Case
from bench.serving import Server

# The number of paths of a page whose weight is measured. The heaviest one counts.
WEIGHED_PATHS = 5
# In the measurement of memory, one page is requested after this number of cases. Pages take longer, and there are more of them.
CASES_BEFORE_PAGE = 4
RESOURCE = re.compile(rb'<link [^>]*rel="stylesheet"[^>]*>|<script [^>]*src="[^"]*"[^>]*>')
ADDRESS = re.compile(rb'(?:href|src)="([^"]*)"')


@dataclass(frozen=True)
class Target:
    """A server, and the case whose requests it is sent."""

    server: Server
    case: Case
    token: str

    def load(self, seconds: int, **options: int) -> wrk.Load:
        try:
            return wrk.succeed(self.server.address, self.case, self.token, seconds=seconds, **options)
        except wrk.LoadError as error:
            raise wrk.LoadError(f"{error}\n{self.server.log_end()}") from error


def figures(loads: list[wrk.Load]) -> dict[str, float]:
    """Return the medians of the rounds."""
    names = {"per second": "per_second", "p50 ms": "p50", "p95 ms": "p95", "p99 ms": "p99"}
    return {name: round(statistics.median(getattr(load, field) for load in loads), 2) for name, field in names.items()}


def load_in_turn(targets: list[Target], options: Namespace) -> tuple[list[list[wrk.Load]], float, str]:
    """Load two targets in turn, in several rounds, so that the state of the machine is similar for both.

    Return the loads of each target, the median of the ratios of their rates, and the load of the machine.
    """
    loads: list[list[wrk.Load]] = [[] for _ in targets]
    for target in targets:
        # The first response of a new process is slow. There are no more connections than a process answers at a time, so it rejects none.
        target.load(1, connections=4, min_requests=0)
    before = machine.cpu_times()
    for number in range(options.rounds):
        # Alternate the order, because each target is affected by the target before it.
        for index in range(len(targets)) if number % 2 == 0 else reversed(range(len(targets))):
            loads[index].append(targets[index].load(options.seconds))
    ratios = [first.per_second / second.per_second for first, second in zip(*loads, strict=True)]
    return loads, round(statistics.median(ratios), 3), machine.load_since(before)


def beside_bare(servers: list[Server], case: Case, token: str, recorded: dict, options: Namespace) -> dict:
    """Measure a case on the service and on its twin, in turn, then a page with one connection."""
    if reason := recorded["failed"].get(case.name):
        raise wrk.LoadError(reason)
    number = list(recorded["cases"]).index(case.name)
    paths = tuple(f"/recorded/{number}/{path}" for path in range(len(case.paths)))
    twin = dataclasses.replace(case, paths=paths)
    service, bare = (Target(*parts, token) for parts in zip(servers, (case, twin), strict=True))
    loads, ratio, load_of_machine = load_in_turn([service, bare], options)
    result = {
        "case": case.name,
        "service": figures(loads[0]),
        "bare": figures(loads[1]),
        "ratio": ratio,
        "queries": recorded["cases"][case.name]["queries"],
        "machine": load_of_machine,
    }
    if case.kind == HTML:
        alone = [service.load(options.seconds, connections=1) for _ in range(options.rounds)]
        weights = [
            first_visit(service.server, case, token, path) for path in range(min(WEIGHED_PATHS, len(case.paths)))
        ]
        result |= {"alone": figures(alone), "bytes": max(weights)}
    return result


def first_visit(service: Server, case: Case, session: str, path: int) -> int:
    """Return the number of bytes of a page with its styles and scripts, for a browser without a cache. Headers are not counted."""
    headers = {**case.headers(session), "Accept-Encoding": "gzip, deflate, br"}
    plain = service.checked_response(case, session, path=path)
    addresses = {case.paths[path]}
    for element in RESOURCE.findall(plain.body):
        if address := ADDRESS.search(element):
            addresses.add(urljoin(case.paths[path], address[1].decode()))
    responses = [service.request("GET", address, headers=headers) for address in addresses]
    if any(response.status != 200 for response in responses):
        raise wrk.LoadError(f"{case.name}: {addresses} have the statuses {[response.status for response in responses]}")
    return sum(len(response.body) for response in responses)


def scaling(servers: list[Server], pair: tuple[Case, Case], tokens: list[str], options: Namespace) -> dict:
    """Measure a case on two data sets. The result `times` says how many times as long a request takes on the second."""
    targets = [Target(*parts) for parts in zip(servers, pair, tokens, strict=True)]
    for target in targets:
        target.server.checked_response(target.case, target.token)
    loads, ratio, load_of_machine = load_in_turn(targets, options)
    first, second = map(figures, loads)
    return {"case": pair[0].name, "first": first, "second": second, "times": ratio, "machine": load_of_machine}


def measure_memory(
    server: Server, cases: list[Case], token: str, pages: list[Case], session: str, options: Namespace
) -> dict:
    """Return the memory of all workers in MiB: at the start, after `options.requests` requests, and after as many again.

    `mib with parent` includes the parent process. The requests are those of the cases in turn, and of a page after each `CASES_BEFORE_PAGE`
    cases.
    """
    steps = [memory_step(server, 0)]
    requests, failed = in_turn(cases, token, pages, session), 0
    for _ in range(2):
        done = 0
        while done < options.requests:
            # The measurement takes minutes, so failed requests, such as after a stall of the disk, do not end it.
            load = wrk.run(server.address, *next(requests), seconds=1)
            done += load.requests
            failed += load.failed
        steps.append(memory_step(server, int(steps[-1]["requests"]) + done))
    return {"workers": len(server.workers()), "steps": steps, "failed": failed}


def in_turn(cases: list[Case], token: str, pages: list[Case], session: str) -> Iterator[tuple[Case, str]]:
    cases_in_turn, pages_in_turn = cycle(cases), cycle(pages)
    while True:
        for _ in range(CASES_BEFORE_PAGE):
            yield next(cases_in_turn), token
        if pages:
            yield next(pages_in_turn), session


def memory_step(server: Server, requests: int) -> dict[str, float]:
    sizes = {"mib": server.memory(), "mib with parent": server.memory(parent=True)}
    return {"requests": requests, **{name: round(size / 2**20, 1) for name, size in sizes.items()}}
