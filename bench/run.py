"""`make bench`: measure requests per second beside a bare view with the same SQL, pages, scaling and memory.

It needs `wrk`, and starts the rest itself. See bench/README.md for how to read the result.
"""

import argparse
import dataclasses
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from bench import cases, data, machine, measure, report, wrk
from bench.data import ROOT, Size
from bench.imports import measure_imports
from bench.record import record_all
from bench.serving import BARE, SERVICE, Server, environment, serving
from config.local.postgres import Cluster, ClusterError

PARTS = ("cases", "pages", "scaling", "memory", "import")
# Scaling also measures a data set with this many times as many other accounts.
ACCOUNTS_FACTOR = 20
# The exit status after Ctrl-C, as of a shell.
INTERRUPTED = 130


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    # fmt: off
    parser.add_argument("--posts", type=int, default=1_000_000, help="the number of posts; scaling also measures a tenth of it")
    parser.add_argument("--clients", type=int, help="by default as many as posts")
    parser.add_argument("--others", type=int, default=50, help="the other accounts; scaling also measures twenty times as many")
    parser.add_argument("--seconds", type=int, default=2, help="the duration of each measurement")
    parser.add_argument("--rounds", type=int, default=5, help="the rounds of each measurement, of which the median counts")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="the worker processes of the service, by default one per core")
    parser.add_argument("--requests", type=int, default=100_000, help="the requests between two measurements of memory")
    parser.add_argument("--rows", type=int, default=1_000_000, help="the rows of the imported file")
    parser.add_argument("--case", help="only the cases with this text in their name")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; may be repeated")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results", help="the directory for the results")
    # fmt: on
    return parser.parse_args()


class DataSet:
    """A copy of a data set of one size, and its cases."""

    def __init__(self, cluster: Cluster, size: Size):
        self.size = size
        self.url, self.values = data.copy(cluster.url, size, environment(cluster.url))
        self.token: str = self.values["token"]
        self.requests, self.pages = cases.requests_of_apis(self.values), cases.pages(self.values)


class Run:
    """A run of the benchmark. It writes the results after each case, because the run may be interrupted.

    A case or a part that fails is in `failed` of the report with the reason, and does not end the run.
    """

    def __init__(self, options: argparse.Namespace, cluster: Cluster, logs: Path):
        self.results, self.cluster = options.results, cluster
        self.size = Size(options.posts, options.clients or options.posts, options.others)
        self.parts = options.only or (["cases"] if options.case else list(PARTS))
        self.options, self.logs = options, logs
        # The static files are collected as for production: compressed, and with a hash in their names.
        self.variables = {"STATIC_ROOT": str(logs / "static")}
        self.report: dict = {}

    def run(self) -> int:
        """Measure the parts and write the results. Return the exit status."""
        with psycopg.connect(self.cluster.url) as connection:
            [version] = connection.execute("SHOW server_version").fetchone()
        self.report = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "data": str(self.size),
            "machine": machine.description(version),
            **{name: getattr(self.options, name) for name in ("workers", "seconds", "rounds")},
            "connections": wrk.CONNECTIONS,
            "failed": {},
        }
        facts = self.report["machine"]
        report.say(
            f"{facts['cores']} cores ({facts['processor']}), {facts['memory_gib']} GiB; Python {facts['python']}, Django {facts['django']}, "
            f"PostgreSQL {facts['postgresql']}; load {os.getloadavg()[0]:.1f} at the start"
        )
        try:
            self.measure_parts()
        except KeyboardInterrupt:
            self.report["interrupted"] = True
        report.say(f"Written: {report.write(self.results, self.report)}")
        if failed := self.report["failed"]:
            report.say(f"Failed: {', '.join(failed)}")
        if "interrupted" in self.report:
            report.say("Interrupted: the report has what was measured before")
            return INTERRUPTED
        return 1 if failed else 0

    def measure_parts(self) -> None:
        size = self.size
        if "import" in self.parts:
            self.attempt("import", self.measure_imports)
        if set(self.parts) - {"scaling", "import"}:
            data_set = DataSet(self.cluster, size)
            collect = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
            subprocess.run(collect, cwd=ROOT, env=environment(data_set.url) | self.variables, check=True)
        if "cases" in self.parts:
            self.attempt("cases", self.beside_bare, "cases", "Requests of the APIs", data_set, data_set.requests)
        if "pages" in self.parts:
            self.attempt("pages", self.beside_bare, "pages", "Pages of the team", data_set, data_set.pages)
        if "memory" in self.parts:
            self.attempt("memory", self.measure_memory, data_set)
        if "scaling" in self.parts:
            tenth = dataclasses.replace(size, posts=max(1, size.posts // 10), clients=max(1, size.clients // 10))
            more = dataclasses.replace(tenth, others=tenth.others * ACCOUNTS_FACTOR)
            for name, larger in (("rows x 10", size), (f"accounts x {ACCOUNTS_FACTOR}", more)):
                self.attempt(name, self.scaling, name, tenth, larger)

    def attempt(self, name: str, measure_it: Callable[..., Any], *arguments: object) -> Any:
        """Measure a part or a case, and return the result. If that fails, record the reason and return None."""
        try:
            return measure_it(*arguments)
        except Exception as error:  # noqa: BLE001, the others can still be measured
            reason = self.report["failed"][name] = f"{type(error).__name__}: {error}"
            report.show_failure(name, reason)
            report.write(self.results, self.report)
            return None

    def measure_cases(
        self,
        part: str,
        selected: list[cases.Case],
        start: Callable[[ExitStack], list[Server]],
        measure_case: Callable[[list[Server], cases.Case], dict],
        show: Callable[[dict], None],
    ) -> None:
        """Measure cases in turn, on the same servers. `start` starts them."""
        results = self.report[part] = []
        with ExitStack() as running:
            servers: list[Server] = []
            for case in selected:
                servers = servers or start(running)
                result = self.attempt(f"{part}: {case.name}", measure_case, servers, case)
                if result is None:
                    # The servers may have been killed, or still execute requests of the case.
                    running.close()
                    servers = []
                    continue
                results.append(result)
                show(result)
                report.write(self.results, self.report)

    def serving(self, program: tuple[str, ...], data_set: DataSet, **variables: str) -> AbstractContextManager[Server]:
        return serving(program, data_set.url, self.options.workers, self.logs, self.variables | variables)

    def select(self, all_cases: list[cases.Case]) -> list[cases.Case]:
        selected = [case for case in all_cases if (self.options.case or "") in case.name]
        if not selected:
            names = ", ".join(case.name for case in all_cases)
            raise SystemExit(f"No case has {self.options.case!r} in its name: {names}")
        return selected

    def beside_bare(self, part: str, title: str, data_set: DataSet, all_cases: list[cases.Case]) -> None:
        selected, path = self.select(all_cases), self.logs / f"{part}.json"
        recorded = record_all(
            data_set.values, [case.name for case in selected], environment(data_set.url) | self.variables, path
        )
        token = recorded["session"] if part == "pages" else data_set.token

        def start(running: ExitStack) -> list[Server]:
            service, bare = self.serving(SERVICE, data_set), self.serving(BARE, data_set, BENCH_RECORDED=str(path))
            return [running.enter_context(service), running.enter_context(bare)]

        def measure_case(servers: list[Server], case: cases.Case) -> dict:
            return measure.beside_bare(servers, case, token, recorded, self.options)

        report.start_cases(f"{title}, beside a bare view of the same statements")
        self.measure_cases(part, selected, start, measure_case, report.show_case)

    def measure_imports(self) -> None:
        data_set = DataSet(self.cluster, Size(1, 1, 1))
        variables = environment(data_set.url) | {"FILES_DIR": str(self.logs / "files")}
        report.say("\nImport of clients: rows, seconds, rows per second, peak memory in MiB")
        self.report["import"] = measure_imports(self.options.rows, self.logs, variables)
        for result in self.report["import"]:
            report.say(
                "  ".join(f"{value:>10,}" if isinstance(value, int) else f"{value:>10}" for value in result.values())
            )

    def measure_memory(self, data_set: DataSet) -> None:
        selected, pages = (
            self.select(data_set.requests),
            [page for page in data_set.pages if (self.options.case or "") in page.name],
        )
        recorded = record_all(data_set.values, [], environment(data_set.url), self.logs / "session.json")
        starts = []
        for _ in range(self.options.rounds):
            with self.serving(SERVICE, data_set) as service:
                starts.append(service.started_in)
        self.report["start s"] = round(statistics.median(starts), 2)
        report.say(f"\nStart: the first response after {self.report['start s']:.2f} s")
        # Use a new service, whose memory does not depend on the other parts.
        with self.serving(SERVICE, data_set) as service:
            result = measure.measure_memory(service, selected, data_set.token, pages, recorded["session"], self.options)
        self.report["memory"] = result
        report.show_memory(result)

    def scaling(self, name: str, *sizes: Size) -> None:
        sets = [DataSet(self.cluster, size) for size in sizes]
        tokens, text = [data_set.token for data_set in sets], self.options.case or ""
        larger = {case.name: case for case in sets[1].requests}
        selected = [case for case in sets[0].requests if case.scales and case.name in larger and text in case.name]

        def start(running: ExitStack) -> list[Server]:
            return [running.enter_context(self.serving(SERVICE, data_set)) for data_set in sets]

        def measure_case(servers: list[Server], case: cases.Case) -> dict:
            return measure.scaling(servers, (case, larger[case.name]), tokens, self.options)

        headings = [f"{size.posts:,}/{size.others}" for size in sizes]
        report.start_table(f"{name} (requests/s by rows of a kind / other accounts)", [*headings, "times"])
        self.measure_cases(name, selected, start, measure_case, report.show_scaling)


def main() -> None:
    options = arguments()
    directory = Path(os.environ.get("DATA_DIR") or ROOT / ".data") / "bench"
    try:
        if not shutil.which("wrk"):
            raise wrk.LoadError("The benchmark needs wrk: install the package of that name.")
        with tempfile.TemporaryDirectory(prefix="rostrum-bench-") as logs, Cluster(directory) as cluster:
            status = Run(options, cluster, Path(logs)).run()
    except (wrk.LoadError, ClusterError) as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(error.cmd)} failed") from error
    sys.exit(status)


if __name__ == "__main__":
    main()
