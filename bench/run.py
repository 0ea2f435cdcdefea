"""`make bench`: measure requests per second beside bare views with the same SQL, scaling, memory and overload.

It needs `wrk`. It starts the rest itself: a PostgreSQL with durable commits, the data, the service and its bare twin.
See bench/README.md for how to read the result.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from bench import cases, data, machine, measure, report, strain, wrk
from bench.data import Size
from bench.measure import Options
from bench.serving import BARE, ROOT, SERVICE, Server, environment, serving
from config.local.postgres import Cluster, ClusterError

PARTS = ("cases", "scaling", "memory", "overload")
MANY_ACCOUNTS = 20


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=1_000_000, help="and a tenth of it for scaling")
    parser.add_argument("--clients", type=int, help="as many as posts, if not given")
    parser.add_argument("--others", type=int, default=50, help="other accounts, and twenty times as many for scaling")
    parser.add_argument("--seconds", type=int, default=2, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement, of which the median counts")
    parser.add_argument("--workers", type=int, help="processes of the service, one a core if not given")
    parser.add_argument(
        "--requests", type=int, default=100_000, help="before the memory is measured, and again after it"
    )
    parser.add_argument("--connections", type=int, default=900, help="of the overload")
    parser.add_argument("--case", help="only the cases with this in their name")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; may be given more than once")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "bench" / "results", help="where the results are written"
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
            connections=options.connections,
            logs=logs,
            case=options.case,
        )
        self.report: dict = {}

    def set(self, size: Size) -> dict:
        return data.ready(self.cluster.url, size, environment(self.cluster.url))

    def serving(self, program: tuple[str, ...], size: Size, made: dict) -> contextlib.AbstractContextManager[Server]:
        url = data.address(self.cluster.url, size.database)
        return serving(program, url, made, workers=self.options.workers, logs=self.options.logs)

    def carry_out(self) -> None:
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
        made = self.set(self.size)
        if {"cases", "memory", "overload"}.intersection(self.parts):
            self.on_one_set(made)
        if "scaling" in self.parts:
            tenth = dataclasses.replace(
                self.size, posts=max(1, self.size.posts // 10), clients=max(1, self.size.clients // 10)
            )
            self.scaling("rows x 10", tenth, self.size)
            self.scaling(
                f"accounts x {MANY_ACCOUNTS}", tenth, dataclasses.replace(tenth, others=tenth.others * MANY_ACCOUNTS)
            )
        self.report["checks"] = report.checks(self.report)
        report.show_checks(self.report["checks"])
        for path in self.write():
            report.say(f"Written: {path}")

    def write(self) -> list[Path]:
        return report.write(self.results, self.report)

    def on_one_set(self, made: dict) -> None:
        all_cases, token, options = cases.of(made), made["token"], self.options
        selected = list(filter(options.takes, all_cases))
        if not selected:
            raise SystemExit(f"No case has {options.case!r} in its name: {', '.join(case.name for case in all_cases)}")
        with self.serving(SERVICE, self.size, made) as service:
            if "cases" in self.parts:
                queries = self.count_queries(made, selected)
                with self.serving(BARE, self.size, made) as bare:
                    show = report.BesideBare().show
                    self.report["cases"] = measure.beside_bare(service, bare, selected, token, options, queries, show)
                self.write()
            if "overload" in self.parts:
                self.report["overload"] = strain.overload(service, selected[0], token, options)
                report.show_overload(self.report["overload"])
                self.write()
        if "memory" in self.parts:
            # Restart the service.
            with self.serving(SERVICE, self.size, made) as service:
                self.report["memory"] = strain.memory(service, selected, token, options)
                report.show_memory(self.report["memory"])
            self.write()

    def count_queries(self, made: dict, selected: list[cases.Case]) -> dict[str, float]:
        url = data.address(self.cluster.url, self.size.database)
        variables = {**environment(url), "BENCH_MADE": json.dumps(made)}
        command = [sys.executable, "-m", "bench.inside", *(case.name for case in selected)]
        result = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"The statements could not be counted:\n{result.stderr}")
        return json.loads(result.stdout)

    def scaling(self, name: str, first: Size, second: Size) -> None:
        sets = [self.set(first), self.set(second)]
        with contextlib.ExitStack() as running:
            servers = [
                running.enter_context(self.serving(SERVICE, size, made))
                for size, made in zip((first, second), sets, strict=True)
            ]
            heads = (f"{first.posts:,} / {first.others}", f"{second.posts:,} / {second.others}")
            show = report.Scaling(f"{name} (rows of a kind / other accounts)", heads).show
            self.report[name] = measure.scaling(servers, sets, self.options, show)
        self.write()


def main() -> None:
    options = arguments()
    directory = Path(os.environ.get("DATA_DIR") or ROOT / ".data") / "bench"
    try:
        wrk.check_installed()
        with tempfile.TemporaryDirectory(prefix="rostrum-bench-") as logs, Cluster(directory) as cluster:
            Run(options, cluster, Path(logs)).carry_out()
    except (wrk.LoadError, ClusterError) as error:
        raise SystemExit(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(error.cmd)} failed") from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
