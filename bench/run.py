"""`make bench`: measure requests per second beside bare views with the same SQL, pages, scaling and memory.

It needs `wrk`. It starts the rest itself: a PostgreSQL with durable commits, the data, the service and its bare twin.
See bench/README.md for how to read the result.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from bench import cases, data, machine, measure, pages, report, wrk
from bench.data import Size
from bench.measure import Options
from bench.memory import measure_memory
from bench.serving import BARE, ROOT, SERVICE, Server, environment, serving
from config.local.postgres import Cluster, ClusterError

PARTS = ("cases", "pages", "scaling", "memory")
# Scaling also measures a data set with this many times as many other accounts.
ACCOUNTS_FACTOR = 20


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--posts", type=int, default=1_000_000, help="the number of posts; scaling also measures a tenth of it"
    )
    parser.add_argument("--clients", type=int, help="by default as many as posts")
    parser.add_argument(
        "--others",
        type=int,
        default=50,
        help="the number of other accounts; scaling also measures twenty times as many",
    )
    parser.add_argument("--seconds", type=int, default=2, help="the duration of each measurement")
    parser.add_argument(
        "--rounds", type=int, default=5, help="the rounds of each measurement, of which the median counts"
    )
    parser.add_argument("--workers", type=int, help="the worker processes of the service, by default one per core")
    parser.add_argument("--requests", type=int, default=100_000, help="the requests between two measurements of memory")
    parser.add_argument("--case", help="only the cases with this text in their name")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; may be repeated")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "bench" / "results", help="the directory for the results"
    )
    return parser.parse_args()


class Run:
    """A run of the benchmark. It writes the results after each part, because a later part may fail."""

    def __init__(self, options: argparse.Namespace, cluster: Cluster, logs: Path):
        self.results = options.results
        self.cluster = cluster
        self.size = Size(options.posts, options.clients or options.posts, options.others)
        self.parts = options.only or (["cases"] if options.case else list(PARTS))
        self.options = Options(
            seconds=options.seconds,
            rounds=options.rounds,
            workers=options.workers or os.cpu_count() or 1,
            requests=options.requests,
            logs=logs,
            case=options.case,
        )
        self.report: dict = {}

    def data_set(self, size: Size) -> dict:
        return data.get_or_create(self.cluster.url, size, environment(self.cluster.url))

    def serving(
        self, program: tuple[str, ...], size: Size, data_set: dict, **variables: str
    ) -> contextlib.AbstractContextManager[Server]:
        url, options = data.address(self.cluster.url, size.database), self.options
        return serving(program, url, data_set, workers=options.workers, logs=options.logs, variables=variables)

    def run(self) -> None:
        with psycopg.connect(self.cluster.url) as connection:
            [version] = connection.execute("SHOW server_version").fetchone()
        self.report = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "data": str(self.size),
            "machine": machine.description(version),
            **{name: getattr(self.options, name) for name in ("workers", "seconds", "rounds")},
            "connections": wrk.CONNECTIONS,
        }
        facts = self.report["machine"]
        report.say(
            f"{facts['cores']} cores ({facts['processor']}), {facts['memory_gib']} GiB; Python {facts['python']}, Django {facts['django']}, "
            f"PostgreSQL {facts['postgresql']}, {facts['wrk']}; load {os.getloadavg()[0]:.1f} at the start"
        )
        data_set = self.data_set(self.size)
        if "cases" in self.parts:
            self.measure_cases(data_set)
        if "pages" in self.parts:
            self.measure_pages(data_set)
        if "scaling" in self.parts:
            tenth = dataclasses.replace(
                self.size, posts=max(1, self.size.posts // 10), clients=max(1, self.size.clients // 10)
            )
            self.scaling("rows x 10", tenth, self.size)
            self.scaling(
                f"accounts x {ACCOUNTS_FACTOR}",
                tenth,
                dataclasses.replace(tenth, others=tenth.others * ACCOUNTS_FACTOR),
            )
        if "memory" in self.parts:
            self.measure_memory(data_set)
        report.say(f"Written: {self.write()}")

    def write(self) -> Path:
        return report.write(self.results, self.report)

    def measure_cases(self, data_set: dict) -> None:
        token, options = data_set["token"], self.options
        selected = self.select(cases.of(data_set))
        with (
            self.serving(SERVICE, self.size, data_set) as service,
            self.serving(BARE, self.size, data_set) as bare,
        ):
            queries, show = self.count_queries(data_set, selected), report.BesideBare().show
            self.report["cases"] = measure.beside_bare(service, bare, selected, token, options, queries, show)
        self.write()

    def measure_memory(self, data_set: dict) -> None:
        selected = self.select(cases.of(data_set))
        url, options = data.address(self.cluster.url, self.size.database), self.options
        static = self.collect_static(url)
        session = pages.record_all(url, data_set, [], options.logs / "session.json")["session"]
        selected_pages = list(filter(options.selects, pages.of(data_set)))
        starts = []
        for _ in range(options.rounds):
            with self.serving(SERVICE, self.size, data_set, **static) as service:
                starts.append(service.started_in)
        self.report["start s"] = round(statistics.median(starts), 2)
        report.show_start(self.report["start s"])
        # Use a new service, whose memory does not depend on the other parts.
        with self.serving(SERVICE, self.size, data_set, **static) as service:
            result = measure_memory(service, selected, data_set["token"], selected_pages, session, options)
        self.report["memory"] = result
        report.show_memory(result)

    def collect_static(self, url: str) -> dict[str, str]:
        """Collect the static files as for production: compressed, and with a hash in their names. Return the variable with their directory."""
        static = {"STATIC_ROOT": str(self.options.logs / "static")}
        command = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
        subprocess.run(command, cwd=ROOT, env=environment(url) | static, check=True)
        return static

    def measure_pages(self, data_set: dict) -> None:
        all_pages, options = pages.of(data_set), self.options
        selected = self.select(all_pages)
        url, recorded_path = data.address(self.cluster.url, self.size.database), options.logs / "pages.json"
        static = self.collect_static(url)
        recorded = pages.record_all(url, data_set, selected, recorded_path)
        twin = {**static, pages.RECORDED: str(recorded_path)}
        with (
            self.serving(SERVICE, self.size, data_set, **static) as service,
            self.serving(BARE, self.size, data_set, **twin) as bare,
        ):
            show = report.Pages().show
            self.report["pages"] = pages.beside_bare(service, bare, selected, recorded, options, show)
        self.write()

    def select(self, all_cases: list[cases.Case]) -> list[cases.Case]:
        selected = list(filter(self.options.selects, all_cases))
        if not selected:
            names = ", ".join(case.name for case in all_cases)
            raise SystemExit(f"No case has {self.options.case!r} in its name: {names}")
        return selected

    def count_queries(self, data_set: dict, selected: list[cases.Case]) -> dict[str, float]:
        url = data.address(self.cluster.url, self.size.database)
        variables = {**environment(url), "BENCH_DATA_SET": json.dumps(data_set)}
        command = [sys.executable, "-m", "bench.inside", *(case.name for case in selected)]
        result = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"The statements cannot be counted:\n{result.stderr}")
        return json.loads(result.stdout)

    def scaling(self, name: str, first: Size, second: Size) -> None:
        sets = [self.data_set(first), self.data_set(second)]
        with contextlib.ExitStack() as running:
            servers = [
                running.enter_context(self.serving(SERVICE, size, data_set))
                for size, data_set in zip((first, second), sets, strict=True)
            ]
            headings = (f"{first.posts:,} / {first.others}", f"{second.posts:,} / {second.others}")
            show = report.Scaling(f"{name} (rows of a kind / other accounts)", headings).show
            self.report[name] = measure.scaling(servers, sets, self.options, show)
        self.write()


def main() -> None:
    options = arguments()
    directory = Path(os.environ.get("DATA_DIR") or ROOT / ".data") / "bench"
    try:
        wrk.check_installed()
        with tempfile.TemporaryDirectory(prefix="rostrum-bench-") as logs, Cluster(directory) as cluster:
            Run(options, cluster, Path(logs)).run()
    except (wrk.LoadError, ClusterError) as error:
        raise SystemExit(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(error.cmd)} failed") from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
