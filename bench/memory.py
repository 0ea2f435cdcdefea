"""Measure the memory of the service in a long run."""

from collections.abc import Iterator
from itertools import cycle

from bench import wrk
from bench.cases import Case
from bench.measure import Options
from bench.progress import Bar
from bench.serving import Server

# One page is requested after this number of cases. Pages take longer, and there are more of them.
CASES_BEFORE_PAGE = 4


def measure_memory(
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
