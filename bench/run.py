"""`make bench`: requests per second and p99 of the hot paths, each beside a bare view of the same SQL, in one run.

Needs `wrk`. Everything else is made here: a PostgreSQL that commits durably, the data, the service and its bare twin.
See bench/README.md for how to read the result.
"""

import argparse
import base64
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from config.postgres import Cluster

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
CONNECTIONS = 16


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving(application: str, environment: dict[str, str], workers: int) -> Iterator[str]:
    """The application on granian, as `manage.py serve` runs it; the address that it answers at."""
    port = free_port()
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--port", str(port), "--workers", str(workers)]
    command += ["--blocking-threads", "4", "--no-ws", "--no-log", application]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if time.monotonic() > deadline:
                raise SystemExit(f"{application} did not come up")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def load(url: str, *, seconds: int, headers: dict[str, str], body: str | None = None) -> dict[str, float]:
    """16 keep-alive connections for so many seconds. Raises SystemExit if an answer was no success."""
    command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        if body is not None:
            script.write(f"wrk.method = 'POST'\nwrk.body = [[{body}]]\n")
            script.flush()
            command += ["-s", script.name]
        output = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    if bad := re.search(r"Non-2xx or 3xx responses: (\d+)", output):
        raise SystemExit(f"{url}: {bad[1]} answers were no success")
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", output).groups()
    return {
        "per second": float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]),
        "p99 ms": float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=8, help="for each measurement")
    parser.add_argument("--case", help="only the cases with this in their name")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        raise SystemExit("The benchmark needs wrk: install the package of that name.")

    directory = Path(os.environ.get("DATA_DIR", ROOT / ".data")) / "bench"
    with Cluster(directory) as cluster:
        environment = os.environ | {
            "DATABASE_URL": cluster.url,
            "SECRET_KEY": "bench-0123456789-abcdefghijklmnopqrstuvwxyz",
            "HTTPS": "off",
            "LOCAL_ACCOUNT": "bench",
            "LOG_LEVEL": "INFO",
            # Counted, but never reached.
            "RATE_LIMIT": "1000000000",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        os.environ.update(environment)
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from bench import data

        call_command("migrate", verbosity=0)
        account = data.account()
        print(f"Filling in {options.posts:,} posts")
        data.fill(account, options.posts)
        known = data.ids(account)
        newest = account.posts.order_by("-created_at").filter(comments_cache=20).first().id
        connection.close()

        environment["BENCH_IDS"] = ",".join(
            str(known[name]) for name in ("account", "forum", "category", "status", "user")
        )
        basic = base64.b64encode(f"{data.LOGIN}:{data.PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}", "Content-Type": "application/xml"}
        body = "<post><title>A post</title><content>Made by the benchmark.</content></post>"
        deep = options.posts // 100
        cases = [
            ("list, page 1", "/", None),
            (f"list, page {deep:,}", f"/?page={deep}", None),
            ("one post, 20 comments", f"/app/posts/{newest}.xml", None),
            ("create a post", "/app/posts.xml", body),
        ]
        workers = os.cpu_count() or 1
        results = []
        with (
            serving("config.wsgi:application", environment, workers) as service,
            serving("bench.bare_wsgi:application", environment, workers) as bare,
        ):
            print(f"{'':24}{'service/s':>10}{'p99 ms':>9}{'bare/s':>10}{'p99 ms':>9}{'ratio':>7}   load before")
            for name, path, sent in cases:
                if options.case and options.case not in name:
                    continue
                before = os.getloadavg()[0]
                for address in (service, bare):
                    load(address + path, seconds=1, headers=headers, body=sent)
                ours = load(service + path, seconds=options.seconds, headers=headers, body=sent)
                theirs = load(bare + path, seconds=options.seconds, headers=headers, body=sent)
                ratio = ours["per second"] / theirs["per second"]
                results.append({"case": name, "service": ours, "bare": theirs, "ratio": ratio, "load": before})
                print(
                    f"{name:24}{ours['per second']:10.0f}{ours['p99 ms']:9.1f}"
                    f"{theirs['per second']:10.0f}{theirs['p99 ms']:9.1f}{ratio:7.2f}   {before:.1f}"
                )
        RESULTS.mkdir(parents=True, exist_ok=True)
        report = {"posts": options.posts, "connections": CONNECTIONS, "workers": workers, "results": results}
        (RESULTS / "latest.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
