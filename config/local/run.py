"""`make run` and `make dev`: run the whole service on one machine, PostgreSQL included, until it is stopped."""

import argparse
import contextlib
import hashlib
import http.client
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from config.arguments import available_cores, listening_address
from config.local.data import BASE_DIR, MIGRATED, DataDirectory, LocalError, local_variables
from config.local.mail_page import MailPage
from config.local.postgres import Cluster, ClusterError, ProcessGroup, outcome

# How long the web server may take to finish its requests, in seconds.
STOP_TIMEOUT = 2
# How long `make manage` may keep the data locked, in seconds.
MANAGE_TIMEOUT = 60
RESTART_DELAY = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Limits of glibc's allocator, which the container image sets as well. With one arena for each thread, the allocator would keep far more freed
# memory than the memory in use. Blocks of 1 MiB, such as those of a password hash, are returned to the system when they are freed.
ALLOCATOR_VARIABLES = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(1024 * 1024),
    "MALLOC_TRIM_THRESHOLD_": str(4 * 1024 * 1024),
}
# The commands that run until the service is stopped, and their names for people.
SERVICES = {
    "web server": ("manage.py", "serve"),
    # Less than STOP_TIMEOUT: the worker has to put back unfinished jobs before it is killed.
    "worker": ("manage.py", "worker", "--shutdown-timeout", "1"),
}
# The same for `make dev`, with Django's autoreloader. WhiteNoise serves the static files: it forbids browsers to cache them.
DEV_SERVICES = {
    "web server": ("manage.py", "runserver", "--settings", "config.local.dev_settings", "--nostatic", "{address}"),
    "worker": ("-m", "config.local.dev_worker"),
}


class Stopped(BaseException):
    """A request to stop: a signal, or the end of the `make` that started the supervisor."""


class Supervisor:
    """The process that starts the parts of the service, restarts those that end, and stops them."""

    def __init__(self, *, dev: bool = False) -> None:
        """With `dev`, reload changed code and show Django's debug page."""
        self.dev = dev
        self.started_at = time.monotonic()
        self.parent = os.getppid()
        self.data = DataDirectory()
        self.emails = self.data.path / "emails"
        # The variables that a command needs in order to work on the database of this service and to print its addresses.
        self.shared_variables = local_variables(self.data)
        self.environment = ALLOCATOR_VARIABLES | os.environ | self.shared_variables
        self.environment |= {
            # At most 11: the embedded PostgreSQL has 100 connections, each worker of the web server uses seven, and the worker of jobs up to sixteen.
            "WORKERS": os.environ.get("WORKERS") or str(min(available_cores(), 11)),
            "PYTHONUNBUFFERED": "1",
            # The path of the URL begins after its first slash.
            "EMAIL_URL": os.environ.get("EMAIL_URL") or f"file:///{self.emails}",
        }
        self.host, self.port = self.environment["HOST"], int(self.environment["PORT"])
        self.cluster: Cluster | None = None
        self.group: ProcessGroup | None = None
        self.services: dict[str, subprocess.Popen[Any]] = {}

    def run(self) -> NoReturn:
        """Start the service and supervise it. End with Stopped, LocalError or ClusterError."""
        for signal_number in SIGNALS:
            if signal.getsignal(signal_number) != signal.SIG_IGN:  # nohup
                signal.signal(signal_number, on_signal)
        try:
            self.start()
            self.supervise()
        finally:
            self.stop()

    def start(self) -> None:
        self.data.path.mkdir(parents=True, exist_ok=True)
        lock, _ = self.data.lock(MANAGE_TIMEOUT, self.report)
        self.data.publish({})
        try:
            self.address = listening_address(self.host, self.port)
        except OSError as error:
            raise LocalError(
                f"Cannot listen on {self.host} port {self.port}: {error.strerror}. Choose another: "
                f"make {'dev' if self.dev else 'run'} PORT=8001"
            ) from error
        self.shared_variables["SECRET_KEY"] = os.environ.get("SECRET_KEY") or self.data.secret_key()
        self.group = ProcessGroup(pass_fds=[lock])
        if not os.environ.get("DATABASE_URL"):
            self.cluster = Cluster(self.data.postgres, lock=lock)
            self.shared_variables["DATABASE_URL"] = self.cluster.url
        self.environment |= self.shared_variables
        bare = ["--bare"] if os.environ.get("DEMO") == "bare" else []
        command = ("-m", "config.local.prepare", "--env", str(self.data.path / "demo.env"), *bare)
        preparation = self.spawn(
            *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        collectstatic = None if self.dev else self.start_collectstatic()
        if self.cluster:
            action = "Starting PostgreSQL" if self.cluster.is_created else "Creating the database"
            self.report(f"{action} in {self.data.path}")
            self.cluster.start()
        usage = self.prepare_database(preparation)
        self.wait_for_web_server()
        if collectstatic:
            finish(collectstatic, collectstatic.communicate()[0], "manage.py collectstatic")
            self.static_record.write_text(static_digest())
        self.start_service("worker")
        self.data.publish(self.shared_variables)
        self.start_mail_page()
        self.report("Ready; Ctrl-C stops it")
        print(usage, flush=True)

    def prepare_database(self, preparation: subprocess.Popen[str]) -> str:
        """Migrate the database, start the web server, and create the demo account meanwhile. Return how to use the account."""
        stdin, stdout = cast(IO[str], preparation.stdin), cast(IO[str], preparation.stdout)
        self.report("Migrating the database")
        with contextlib.suppress(BrokenPipeError):
            stdin.write("\n")
            stdin.flush()
        output = stdout.readline()
        if output == MIGRATED:
            self.report("Creating the demo account, unless it exists")
            self.start_service("web server")
        return finish(preparation, output + stdout.read(), "Preparing the database").removeprefix(MIGRATED)

    def start_mail_page(self) -> None:
        """Show the sent e-mails at the next port, unless EMAIL_URL names a mail server."""
        if os.environ.get("EMAIL_URL"):
            return
        try:
            MailPage(self.emails, self.host, self.port + 1).start()
        except (OSError, OverflowError) as error:
            self.report(f"No page of e-mails: cannot listen on port {self.port + 1} ({error})")
            return
        self.report(f"E-mails are shown at http://{self.host}:{self.port + 1}")

    def supervise(self) -> NoReturn:
        while True:
            self.pause(0.2)
            server = self.cluster and self.cluster.process
            if self.cluster and server and (status := server.poll()) is not None:
                self.report(f"PostgreSQL ended unexpectedly ({outcome(status)}): starting it again")
                self.cluster.start()
                self.report("PostgreSQL is back")
            for name, process in self.services.items():
                if (status := process.poll()) is not None:
                    self.report(f"The {name} ended unexpectedly ({outcome(status)}): starting it again")
                    self.pause(RESTART_DELAY)
                    self.start_service(name)

    def stop(self) -> None:
        if self.services:
            self.report("Stopping")
        for process in self.services.values():
            process.terminate()
        deadline = time.monotonic() + STOP_TIMEOUT
        for process in self.services.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0, deadline - time.monotonic()))
        if self.group is not None:
            # This also ends processes that are not children, such as the workers of a web server that was killed.
            self.group.kill()
        if self.cluster is not None:
            self.cluster.stop()
        if self.services:
            self.report("Stopped")

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)
        if "MAKELEVEL" in os.environ and os.getppid() != self.parent:
            raise Stopped  # make was killed

    def report(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal was closed
            print(f"[{time.monotonic() - self.started_at:5.1f} s]", text, flush=True)

    def spawn(self, *arguments: str, **options: Any) -> subprocess.Popen[Any]:
        if self.group is None:
            raise RuntimeError("the supervisor has not been started")
        return self.group.start([sys.executable, *arguments], cwd=BASE_DIR, env=self.environment, **options)

    def start_service(self, name: str) -> None:
        command = (DEV_SERVICES if self.dev else SERVICES)[name]
        address = f"[{self.address}]" if ":" in self.address else self.address
        self.services[name] = self.spawn(*(part.format(address=f"{address}:{self.port}") for part in command))

    @property
    def static_record(self) -> Path:
        """The file with the digest of the static files that `collectstatic` copied last."""
        return self.data.path / "static.made"

    def start_collectstatic(self) -> subprocess.Popen[str] | None:
        """Start `collectstatic`, which runs while the database starts. Return None if the collected files are up to date."""
        if self.static_record.exists() and self.static_record.read_text() == static_digest():
            return None
        self.static_record.unlink(missing_ok=True)
        # No page uses these files of the packages.
        ignore_options = [part for name in ("redoc", "rest_framework") for part in ("--ignore", name)]
        command = ("manage.py", "collectstatic", "--no-input", "--clear", "--verbosity", "0", *ignore_options)
        return self.spawn(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def wait_for_web_server(self) -> None:
        """Wait until the web server answers. Raise LocalError if it does not start, or after a minute."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.address, self.address)  # noqa: S104
        deadline = time.monotonic() + 60
        while True:
            if (status := self.services["web server"].poll()) is not None:
                raise LocalError(f"The web server does not start ({outcome(status)}).")
            connection = http.client.HTTPConnection(host, self.port, timeout=5)
            with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/healthz", headers={"Host": "localhost"})
                if connection.getresponse().status == 200:
                    return
            if time.monotonic() > deadline:
                raise LocalError("The web server does not answer.")
            self.pause(0.05)


def finish(process: subprocess.Popen[str], output: str, name: str) -> str:
    """Wait for a process and return its output. Raise LocalError if it failed."""
    if status := process.wait():
        raise LocalError(f"{output.strip()}\n{name} failed ({outcome(status)}).")
    return output


def on_signal(signal_number: int, frame: object) -> NoReturn:
    for signum in SIGNALS:  # a second Ctrl-C does not interrupt the stop
        signal.signal(signum, signal.SIG_IGN)
    raise Stopped


def static_digest() -> str:
    """Return a digest of the static files in the rooms, and of the versions of the packages that bring static files."""
    files = [path for path in sorted(BASE_DIR.glob("*/*/static/**/*")) if path.is_file()]
    digest = hashlib.sha256()
    for path in (*files, BASE_DIR / "requirements" / "local.txt"):
        digest.update(f"{path.relative_to(BASE_DIR)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(prog="config.local", description="Run the service, with its own PostgreSQL.")
    parser.add_argument("--dev", action="store_true", help="reload changed code, and show Django's debug page")
    try:
        Supervisor(dev=parser.parse_args().dev).run()
    except Stopped:
        return 0
    except (LocalError, ClusterError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
