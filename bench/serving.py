"""Start the service and its bare twin, each as `manage.py serve` does."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.cases import UNIQUE, Case
from bench.data import ROOT
from bench.machine import children, is_worker, memory
from bench.wrk import LoadError
from config.local.postgres import ProcessGroup
from config.local.run import ALLOCATOR_VARIABLES

# The only difference between the service and its twin.
SERVICE, BARE = ("manage.py", "serve"), ("-m", "bench.bare")


def environment(url: str) -> dict[str, str]:
    """Return the environment of the service: as in production, with a rate limit that is counted but never reached."""
    removed = ("LOCAL_ACCOUNT", "STATEMENT_TIMEOUT", "TRUST_PROXY", "HOST", "PORT", "WORKERS")
    variables = ALLOCATOR_VARIABLES | {name: value for name, value in os.environ.items() if name not in removed}
    return variables | {
        "DATABASE_URL": url,
        "SECRET_KEY": "bench-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "BASE_DOMAIN": "localhost",
        "FILES_DIR": str(ROOT / ".data" / "bench" / "files"),
        "HTTPS": "off",
        "LOG_LEVEL": "INFO",
        "RATE_LIMIT": "1000000000",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes


class Server:
    """A running service or twin."""

    def __init__(self, process: subprocess.Popen, port: int, log: Path):
        self.process = process
        self.port = port
        self.log = log
        self.address = f"http://127.0.0.1:{port}"
        # The time from the start of the process to its first response, in seconds.
        self.started_in = 0.0

    def request(self, method: str, path: str, *, headers: dict[str, str], body: str | None = None) -> Response:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=headers)
            http_response = connection.getresponse()
            return Response(http_response.status, http_response.read())

    def checked_response(self, case: Case, token: str, *, path: int = 0) -> Response:
        """Send one request of a case and return the response. Raise LoadError for an unexpected response, so that errors are never measured."""
        body = case.body and case.body.replace(UNIQUE, f"{time.time_ns():x}")
        response = self.request(case.method, case.paths[path], headers=case.headers(token), body=body)
        if error := case.find_error(response.status, response.body):
            raise LoadError(
                f"{case.name}: {case.method} {case.paths[path]} at {self.address}: {error}\n{self.log_end()}"
            )
        return response

    def workers(self) -> list[int]:
        """Return the ids of the worker processes."""
        return list(filter(is_worker, children(self.process.pid)))

    def memory(self, *, parent: bool = False) -> int:
        """Return the memory of all workers in bytes, and of their parent, with shared pages counted once.

        Without the parent, its part of the pages that the workers share with it is not counted.
        """
        return sum(map(memory, [*self.workers(), *([self.process.pid] if parent else [])]))

    def log_end(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving(
    program: tuple[str, ...], url: str, workers: int, logs: Path, variables: dict[str, str]
) -> Iterator[Server]:
    """Run a server, with further environment `variables` and its log in a file in `logs`. Raise LoadError if it does not start."""
    port = free_port()
    log = logs / f"{program[-1].rpartition('.')[2]}-{port}.log"
    all_variables = {**environment(url), **variables}
    command = [sys.executable, *program, "--port", str(port), "--workers", str(workers)]
    group = ProcessGroup()
    with log.open("wb") as output:
        process = group.start(command, cwd=ROOT, env=all_variables, stdout=output, stderr=output)
    server, started_at = Server(process, port, log), time.monotonic()
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                # A response with any status is enough: the bare twin responds with 404.
                server.request("GET", "/healthz", headers={"Host": "localhost"})
                server.started_in = time.monotonic() - started_at
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise LoadError(f"{' '.join(program)} did not start:\n{server.log_end()}")
            time.sleep(0.01)
        yield server
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        group.kill()
        process.wait()
