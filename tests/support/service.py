"""Run the service as `make run` does, with its own PostgreSQL, for tests that stop and kill it."""

import contextlib
import http.client
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from django.conf import settings

READY = "Ready; Ctrl-C stops it"

# Environment variables of the test run that the services must not inherit.
REMOVED_VARIABLES = (
    "DATABASE_URL",
    "SECRET_KEY",
    "BASE_DOMAIN",
    "HTTPS",
    "WORKERS",
    "HOST",
    "PORT",
    "MAKELEVEL",
    "DEMO",
)


def environment_for(data, **variables):
    """Return the environment variables of a command that uses the data directory `data`."""
    inherited = {name: value for name, value in os.environ.items() if name not in REMOVED_VARIABLES}
    return inherited | {"DATA_DIR": str(data), **variables}


class Service:
    """A process of `python -m config.local`, from a tree of the code, with its own data directory, port and output."""

    def __init__(
        self,
        data,
        port=None,
        *,
        command=(sys.executable, "-m", "config.local"),
        tree=settings.BASE_DIR,
        **environment,
    ):
        self.data = data
        self.port = port or free_port()
        self.log = data.parent / f"{time.monotonic_ns()}.log"
        # Under nohup, SIGHUP is ignored, and child processes inherit that. Start the service with the default, as in a terminal.
        previous_handler = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with self.log.open("w") as log:
            self.process = psutil.Popen(
                command,
                cwd=tree,
                # Most tests need no demo rows and no second worker, which take a second each.
                env=environment_for(data, **{"DEMO": "bare", "WORKERS": "1", "PORT": str(self.port), **environment}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        signal.signal(signal.SIGHUP, previous_handler)
        self.child_processes = []

    def output(self):
        return self.log.read_text()

    def wait_for_output(self, text, seconds=180):
        """Wait until the output contains the text. Then record the child processes."""
        deadline = time.monotonic() + seconds
        while text not in self.output():
            assert self.process.poll() is None or text in self.output(), self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.02)
        self.child_processes = self.process.children(recursive=True)

    def find_process(self, text):
        """Return the oldest process of the service whose command line contains the text."""
        matches = []
        for process in self.child_processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                if text in " ".join(process.cmdline()):
                    matches.append(process)
        return min(matches, key=psutil.Process.create_time)

    def get(self, path):
        """Return the status of the response to a GET request."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("GET", path)
            return connection.getresponse().status

    def is_healthy(self):
        """Return True if the health check succeeds. It fails while the service is starting."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.get("/healthz") == 200
        return False

    def wait_for(self, condition, seconds=60):
        """Wait until the condition is true. If it is not true in time, show the output of the service."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.02)

    def wait_for_end(self, seconds=20):
        """Wait until every process of the service has ended, which takes at most 5 seconds on an idle machine."""
        deadline = time.monotonic() + seconds
        while alive := [process for process in (self.process, *self.child_processes) if is_running(process)]:
            assert time.monotonic() < deadline, alive
            time.sleep(0.02)


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def free_port():
    """Return a free port outside the ephemeral range, so that no other process gets it before the service binds it."""
    while True:
        port = random.randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@pytest.fixture(scope="session")
def data_directory(tmp_path_factory):
    """Return the data directory that a service created at its first start. Tests copy it, which takes less time than a first start."""
    with services(tmp_path_factory.mktemp("prepared")) as start:
        service = start()
        # The first start takes longest, and all tests of services depend on it.
        service.wait_for_output("api_token", seconds=600)
        service.process.terminate()
        service.wait_for_end(seconds=60)
    return service.data


@contextlib.contextmanager
def services(directory):
    """Yield a function that starts services. Stop them all at the end."""
    started = []

    def start(*arguments, data=directory / "data", **options):
        started.append(Service(data, *arguments, **options))
        return started[-1]

    try:
        yield start
    finally:
        for service in started:
            if service.process.poll() is None:
                service.process.terminate()
            service.process.wait(20)


@pytest.fixture
def start_service(tmp_path, data_directory):
    """Return a function that starts services on a copy of an existing data directory."""
    shutil.copytree(data_directory, tmp_path / "data")
    with services(tmp_path) as start:
        yield start


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory, data_directory):
    """Start one service for all tests that leave it running."""
    directory = tmp_path_factory.mktemp("shared")
    shutil.copytree(data_directory, directory / "data")
    with services(directory) as start:
        service = start()
        service.wait_for_output(READY)
        yield service


@pytest.fixture
def start_new_service(tmp_path):
    """Return a function that starts services on an empty data directory."""
    with services(tmp_path) as start:
        yield start
