"""`make fuzz`: send requests generated from the OpenAPI document to the service as `make run` starts it.

    make fuzz ARGS="--requests 20000 --seed 7"

It calls all operations repeatedly, with other random requests in each round, and prints the numbers of requests and of failures.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from tests.support.fuzzing import Findings, Target, World, examine, load
from tests.support.service import READY, Service


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000, help="the minimum number of requests")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the random requests")
    parser.add_argument("--operation", help="only operations whose method and path contain this text")
    options = parser.parse_args()
    # With this handler SIGTERM also reaches `finally`, which stops the service.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="rostrum-fuzz-") as directory:
        service = Service(
            Path(directory) / "data",
            WORKERS="1",
            RATE_LIMIT="0",
            FAILED_LOGIN_LIMIT="0",
            ACCOUNT_LIMIT="0",
            LOG_LEVEL="ERROR",
        )
        try:
            service.wait_for_output(READY, 120)
            service.wait_for_output("Try it:", 10)
            failures = fuzz(service, options)
        finally:
            service.process.terminate()
            service.process.wait(20)
    return 1 if failures else 0


def fuzz(service: Service, options: argparse.Namespace) -> int:
    """Return the number of failures."""
    values = dict(re.findall(r"^  (password|api_token) +(\S+)$", service.output(), re.MULTILINE))
    url = f"http://localhost:{service.port}"
    started_at, responses, failures_by_check, number = time.monotonic(), Counter(), Counter(), 0
    with httpx.Client(timeout=60) as client:
        Target.world = World(url, "demo", values["password"], values["api_token"], client)
        document = client.get(f"{url}/app/openapi.json").raise_for_status().json()
        labels = [f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods]
        labels = [label for label in labels if (options.operation or "") in label]
        schema = load(document, url)
        seed = options.seed
        while number < options.requests:
            for label in labels:
                findings = Findings()
                # The first round sends all systematic requests.
                systematic = 10_000 if seed == options.seed else 1
                examine(schema, label, findings, systematic=systematic, random=40, seed=seed)
                responses += findings.answers
                number = sum(responses.values())
                if number // 1000 > (number - sum(findings.answers.values())) // 1000:
                    print(f"{number} requests, {sum(failures_by_check.values())} failures, at {label}", flush=True)
                for failure, request in findings.failures:
                    failures_by_check[label, type(failure).__name__] += 1
                    if failures_by_check[label, type(failure).__name__] <= 3:
                        print(f"{label}: {type(failure).__name__}: {failure.message}\n{request}\n", flush=True)
                if number >= options.requests and seed > options.seed:
                    break
            seed += 1
    print(
        f"{number} requests, {sum(failures_by_check.values())} failures, {time.monotonic() - started_at:.0f} s",
        flush=True,
    )
    for (mode, status), times in sorted(responses.items()):
        print(f"{mode:8} {status} {times:6}")
    for (label, check), times in failures_by_check.most_common():
        print(f"{times:6} {check} of {label}")
    return sum(failures_by_check.values())


if __name__ == "__main__":
    sys.exit(main())
