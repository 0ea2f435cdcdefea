"""`make layers`: measure the time of each layer of a request, in one process without a server.

Each case runs first without timers and then with them. The time of a layer excludes the other layers that it calls. Waiting
for the database is a layer too.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import cases, data, inside
from bench.report import say
from bench.serving import ROOT, environment
from bench.timers import TimerError, Timers, wrap
from config.local.postgres import Cluster, ClusterError

# Every layer, from the outside to the inside, with the functions that are timed. Update this dictionary when you move or rename a
# function: a missing function is an error. The time of other functions counts to the layer that calls them.
LAYERS: dict[str, tuple[str, ...]] = {
    "WSGI wrapper, access log": ("config.wsgi:Application.__call__",),
    "Django's handler": ("django.core.handlers.wsgi:WSGIHandler.__call__",),
    "request object": ("django.core.handlers.wsgi:WSGIRequest.__init__",),
    "signals": ("django.dispatch.dispatcher:Signal.send",),
    "middleware": (),  # filled from the settings, below
    "URL resolving": ("django.urls.resolvers:URLResolver.resolve",),
    "view, dispatch": ("core.api.views:TenantViewSet.dispatch",),
    "request of REST framework": ("rest_framework.views:APIView.initialize_request",),
    "authentication": (
        "accounts.authentication:BasicAuthentication.authenticate",
        "accounts.authentication:TokenAuthentication.authenticate",
    ),
    "password": ("accounts.passwords:verify",),
    "rate limits": ("core.api.throttling:count_request",),
    "permissions": ("rest_framework.views:APIView.check_permissions",),
    "body, parsing": ("forum.xml.formats:XMLParser.parse", "core.api.formats:BodyParser.parse"),
    "body, validation": ("core.api.serializers:ResourceSerializer.find_errors",),
    "filters of lists": ("core.api.lists:Listing.read_list",),
    "ORM: building queries": (
        "django.db.models.query:QuerySet._filter_or_exclude",
        "django.db.models.query:QuerySet.order_by",
        "django.db.models.query:QuerySet.annotate",
        "django.db.models.query:QuerySet.values_list",
    ),
    "ORM: compiling": (
        "django.db.models.sql.compiler:SQLCompiler.as_sql",
        "django.db.models.sql.compiler:SQLInsertCompiler.as_sql",
        "django.db.models.sql.compiler:SQLUpdateCompiler.as_sql",
    ),
    "ORM: executing, objects": (
        "core.db.prepared:PreparedQuery.__call__",
        "django.db.models.query:QuerySet._fetch_all",
        "django.db.models.sql.compiler:SQLCompiler.execute_sql",
        "django.db.models.base:Model.save",
    ),
    "transactions": ("django.db.transaction:Atomic.__enter__", "django.db.transaction:Atomic.__exit__"),
    "database: statements": (
        "config.database.base:Connection.fetch_prepared",
        "psycopg:Cursor.execute",
        "psycopg:Cursor.fetchone",
        "psycopg:Cursor.fetchmany",
        "psycopg:Cursor.fetchall",
    ),
    "database: commit": ("psycopg:Connection.commit", "psycopg:Connection.rollback"),
    "rendering the document": (
        "forum.xml.documents:Shape.write",
        "forum.xml.documents:array",
        "forum.xml.documents:document",
        "core.api.serializers:ResourceSerializer.represent",
        "core.api.formats:JSONRenderer.render",
    ),
    "response object": ("django.http.response:HttpResponse.__init__",),
}


class Layers:
    """Timers around all functions of LAYERS, until `remove` is called. The constructor raises TimerError if a function is missing."""

    def __init__(self) -> None:
        from django.conf import settings
        from django.urls import get_resolver

        # Import all views now, so that functions are also replaced in the modules that import them.
        get_resolver().url_patterns  # noqa: B018
        self.timers = Timers()
        self._undo: list[Callable[[], None]] = []
        try:
            for layer, names in LAYERS.items():
                for name in names or [self._of_middleware(path) for path in settings.MIDDLEWARE]:
                    self._undo.append(wrap(self.timers, layer, name))
        except BaseException:
            self.remove()
            raise

    @staticmethod
    def _of_middleware(path: str) -> str:
        module, _, name = path.rpartition(".")
        return f"{module}:{name}.__call__"

    def remove(self) -> None:
        while self._undo:
            self._undo.pop()()


def time_calls(function: Callable[[int], object], number: int) -> float:
    """Call `function` with 0, 1, … as often as `number` says, and return the microseconds per call."""
    started_at = time.perf_counter()
    for n in range(number):
        function(n)
    return (time.perf_counter() - started_at) / number * 1e6


def measure(application: Callable, case: cases.Case, token: str, number: int) -> dict:
    """Return the times of `number` requests: with and without timers, the cost of the timers, and the time of each layer."""

    def send_request(n: int) -> bytes:
        return inside.send(application, case, token, n)

    # Warm up.
    time_calls(send_request, max(20, number // 10))
    without_timers = time_calls(send_request, number)
    layers = Layers()
    try:
        overhead = layers.timers.overhead()
        # Warm up the wrapped functions.
        time_calls(send_request, 10)
        layers.timers.clear()
        with_timers = time_calls(send_request, number)
    finally:
        layers.remove()
    figures = {
        layer: {"us": layer_figures.nanoseconds / number / 1000, "calls": layer_figures.calls / number}
        for layer, layer_figures in layers.timers.figures.items()
        if layer_figures.calls
    }
    calls = sum(layer_figures["calls"] for layer_figures in figures.values())
    return {
        "without timers us": without_timers,
        "with timers us": with_timers,
        "timers us": calls * overhead / 1000,
        "layers": figures,
    }


def show(results: dict[str, dict]) -> None:
    """Print tables of layers by cases, each with at most five cases, so that it fits into a terminal."""
    names = list(results)
    for first in range(0, len(names), 5):
        columns = names[first : first + 5]
        say("\n" + f"{'µs per request':26}" + "".join(f"{name:>19}" for name in columns))
        for layer in LAYERS:
            layer_figures = [results[name]["layers"].get(layer) for name in columns]
            if any(layer_figures):
                cells = (
                    f"{figures['us']:.0f} ({figures['calls']:.0f})" if figures else "" for figures in layer_figures
                )
                say(f"{layer:26}" + "".join(f"{cell:>19}" for cell in cells))
        for title, key in (
            ("total", "with timers us"),
            ("  of which timers", "timers us"),
            ("without timers", "without timers us"),
        ):
            say(f"{title:26}" + "".join(f"{results[name][key]:19.0f}" for name in columns))


def measure_cases(number: int, case_name: str | None) -> None:
    """Measure the cases and write the results, in the process that `main` starts with the settings."""
    data_set = json.loads(os.environ["BENCH_DATA_SET"])
    application = inside.application()
    results = {}
    for case in cases.of(data_set):
        if case_name is None or case_name in case.name:
            try:
                results[case.name] = measure(application, case, data_set["token"], number)
            except TimerError as error:
                raise SystemExit(f"bench/layers.py: {error}") from error
    show(results)
    path = Path(os.environ["BENCH_RESULTS"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    say(f"\nExclusive time of each layer (calls per request). Written: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="layers", description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--clients", type=int, help="by default as many as posts")
    parser.add_argument("--others", type=int, default=50, help="the number of other accounts")
    parser.add_argument("--requests", type=int, default=500, help="the number of requests of each case")
    parser.add_argument("--case", help="only the cases with this text in their name")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "bench" / "results", help="the directory for the results"
    )
    options = parser.parse_args()
    if "BENCH_DATA_SET" in os.environ:
        measure_cases(options.requests, options.case)
        return
    size = data.Size(options.posts, options.clients or options.posts, options.others)
    directory = Path(os.environ.get("DATA_DIR") or ROOT / ".data") / "bench"
    try:
        with Cluster(directory) as cluster:
            data_set = data.get_or_create(cluster.url, size, environment(cluster.url))
            results = options.results.absolute() / "layers.json"
            variables = {"BENCH_DATA_SET": json.dumps(data_set), "BENCH_RESULTS": str(results)}
            command = [sys.executable, "-m", "bench.layers", *sys.argv[1:]]
            url = data.address(cluster.url, size.database)
            raise SystemExit(
                subprocess.run(command, cwd=ROOT, env=environment(url) | variables, check=False).returncode
            )
    except ClusterError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
