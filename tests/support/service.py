"""The service as `make run` starts it, with a PostgreSQL of its own, for tests that stop and kill it."""

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


# The tests have settings of their own for these.
UNSET = ("DATABASE_URL", "SECRET_KEY", "BASE_DOMAIN", "HTTPS", "WORKERS", "HOST", "PORT", "MAKELEVEL", "DEMO")


def environment_of(data, **variables):
    """Return the environment of a command that works on this data directory."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return kept | {"DATA_DIR": str(data), **variables}


class Service:
    """`python -m config.local` on data and a port of its own, and what it prints."""

    def __init__(self, data, port=None, *, command=(sys.executable, "-m", "config.local"), **environment):
        self.data = data
        self.port = port or free_port()
        self.log = data.parent / f"{time.monotonic_ns()}.log"
        # As from a terminal, also where the tests themselves run under nohup.
        inherited = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with self.log.open("w") as log:
            self.process = psutil.Popen(
                command,
                cwd=settings.BASE_DIR,
                # Most tests need nothing of what the demo account shows, and it takes a second to make.
                env=environment_of(data, **{"DEMO": "bare", "PORT": str(self.port), **environment}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        signal.signal(signal.SIGHUP, inherited)
        self.family = []

    def output(self):
        return self.log.read_text()

    def await_text(self, text, seconds=180):
        deadline = time.monotonic() + seconds
        while text not in self.output():
            assert self.process.poll() is None or text in self.output(), self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.02)
        self.family = self.process.children(recursive=True)

    def member(self, text):
        """The oldest process of the service whose command line has this in it."""
        found = []
        for process in self.family:
            with contextlib.suppress(psutil.NoSuchProcess):
                if text in " ".join(process.cmdline()):
                    found.append(process)
        return min(found, key=psutil.Process.create_time)

    def get(self, path):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("GET", path)
            return connection.getresponse().status

    def answers(self):
        """Return whether the service answers; it may still be starting."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.get("/healthz") == 200
        return False

    def await_true(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.02)

    def await_end(self, seconds=20):
        """Every process that there was has ended by then. On an idle machine it takes five at most."""
        deadline = time.monotonic() + seconds
        while alive := [process for process in (self.process, *self.family) if is_running(process)]:
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
    """Free now, and not among those that systems give to whoever asks for any: it may be seconds until it is taken."""
    while True:
        port = random.randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """The data that a first start makes: copying them takes a fraction of the time."""
    with services(tmp_path_factory.mktemp("prepared")) as start:
        service = start()
        # Every test of a service would fail with this one, which has the most to do.
        service.await_text("api_token", seconds=600)
        service.process.terminate()
        service.await_end(seconds=60)
    return service.data


@contextlib.contextmanager
def services(directory):
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
def run(tmp_path, prepared):
    """Starts services, one after another, on data that are there already."""
    shutil.copytree(prepared, tmp_path / "data")
    with services(tmp_path) as start:
        yield start


@pytest.fixture
def run_anew(tmp_path):
    """Starts services on data that the first of them makes."""
    with services(tmp_path) as start:
        yield start
