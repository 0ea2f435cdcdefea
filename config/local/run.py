"""`make run`: run the whole service on one machine, PostgreSQL included, until it is stopped."""

import contextlib
import hashlib
import http.client
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, cast

from config.local.data import BASE_DIR, SHARED_VARIABLES, DataDirectory, LocalError, local_environment
from config.local.mail_page import MailPage
from config.local.postgres import Cluster, ClusterError
from config.serving.arguments import available_cores, listening_address
from config.serving.supervision import Backoff, outcome

# How long the web server may take to finish its requests, in seconds. Together with PostgreSQL, stopping takes less than five.
STOP_TIMEOUT = 2
# How long another `make run` or `make manage` may keep the data locked, in seconds.
RUN_WAIT, MANAGE_WAIT = 2, 60
# A shell script that kills its process group when its standard input is closed, which happens however the supervisor ends.
GUARD = 'trap "" TERM INT HUP; read _; kill -9 0'


class Stopped(BaseException):
    """A request to stop: a signal, or the end of the `make` that started the supervisor."""


class Supervisor:
    """The process that starts the parts of the service, restarts them when they die, and stops them.

    All its processes except PostgreSQL, which stops by itself, are in one process group. A guard leads the group and kills it if
    the supervisor is killed. The guard shares the lock on the data, so the next start waits until the group is gone.
    """

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self.parent = os.getppid()
        self.stopping = False
        self.cluster: Cluster | None = None
        self.guard: subprocess.Popen | None = None
        self.children: list[subprocess.Popen] = []
        # Longer than the second or two after which a web server that cannot start exits.
        self.web_backoff = Backoff(stable=10)
        self.worker_backoff = Backoff(stable=10)
        self.worker_due: float | None = None
        self.data = DataDirectory()
        self.environment = local_environment(self.data) | {
            # At most 16: the embedded PostgreSQL has 100 connections, each worker of the web server uses five, and the worker of jobs up to sixteen.
            "WORKERS": os.environ.get("WORKERS") or str(min(available_cores(), 16)),
            "GRANIAN_LOG_LEVEL": os.environ.get("GRANIAN_LOG_LEVEL") or "warning",
            "PYTHONUNBUFFERED": "1",
        }
        self.host, self.port = self.environment["HOST"], int(self.environment["PORT"])
        self.mail_page: MailPage | None = None

    def run(self) -> NoReturn:
        """Start the service and supervise it. End with Stopped, LocalError or ClusterError."""
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal_number != signal.SIGHUP or signal.getsignal(signal_number) != signal.SIG_IGN:  # nohup
                signal.signal(signal_number, self.on_signal)
        try:
            self.start()
            self.supervise()
        finally:
            self.stopping = True
            self.stop()

    def start(self) -> None:
        lock = self.lock_data()
        try:
            self.address = listening_address(self.host, self.port)
        except OSError as error:
            raise LocalError(
                f"Cannot listen on {self.host} port {self.port}: {error.strerror}. Choose another: make run PORT=8001"
            ) from error
        self.guard = subprocess.Popen(["/bin/sh", "-c", GUARD], stdin=subprocess.PIPE, pass_fds=[lock], process_group=0)
        if not self.environment.get("EMAIL_URL"):
            self.environment["EMAIL_URL"] = self.emails_url
        self.environment["SECRET_KEY"] = os.environ.get("SECRET_KEY") or self.data.secret_key()
        collectstatic = self.start_collectstatic()
        shared_variables = {name: self.environment[name] for name in SHARED_VARIABLES if name != "DATABASE_URL"}
        if not os.environ.get("DATABASE_URL"):
            self.cluster = Cluster(self.data.postgres)
            action = "Starting PostgreSQL" if self.cluster.is_created else "Creating the database"
            self.report(f"{action} in {self.data.path}")
            self.cluster.start()
            shared_variables["DATABASE_URL"] = self.environment["DATABASE_URL"] = self.cluster.url
        self.report("Migrating the database")
        self.run_command("migrate", "--no-input", "--from-schema")
        self.report("Creating the demo account, unless it exists")
        bare = ["--bare"] if os.environ.get("DEMO") == "bare" else []
        usage = self.run_command("demo", "--env", str(self.data.path / "demo.env"), *bare)
        if collectstatic:
            self.finish_command(collectstatic)
            self.static_record.write_text(static_digest())
        self.report("Starting the web server")
        self.start_web_server()
        self.wait_for_web_server()
        self.start_worker()
        self.data.publish(shared_variables)
        self.start_mail_page()
        self.report("Ready; Ctrl-C stops it")
        print(usage, flush=True)

    def start_mail_page(self) -> None:
        """Show the sent e-mails at the next port, unless EMAIL_URL names a mail server."""
        if self.environment["EMAIL_URL"] != self.emails_url:
            return
        try:
            self.mail_page = MailPage(self.emails, self.host, self.port + 1)
        except (OSError, OverflowError) as error:
            self.report(f"No page of e-mails: cannot listen on port {self.port + 1} ({error})")
            return
        self.mail_page.start()
        self.report(f"E-mails are shown at http://{self.host}:{self.port + 1}")

    @property
    def emails(self) -> Path:
        return self.data.path / "emails"

    @property
    def emails_url(self) -> str:
        # The path of the URL begins after its first slash.
        return f"file:///{self.emails.resolve()}"

    def supervise(self) -> NoReturn:
        while True:
            self.pause(0.2)
            server = self.cluster and self.cluster.process
            if self.cluster and server and (status := server.poll()) is not None:
                self.report(f"PostgreSQL ended unexpectedly ({outcome(status)}): starting it again")
                self.cluster.start()
                self.report("PostgreSQL is back")
            if (status := self.web.poll()) is not None:
                self.report(f"The web server ended unexpectedly ({outcome(status)}): starting it again")
                self.children.remove(self.web)
                self.pause(self.web_backoff.end())
                self.start_web_server()
            if self.guard is not None and self.guard.poll() is not None:
                raise LocalError("The guard of the processes ended unexpectedly.")
            self.supervise_worker()

    def stop(self) -> None:
        """Stop everything within five seconds."""
        self.data.withdraw()
        if self.mail_page is not None:
            self.mail_page.stop()
        if self.children:
            self.report("Stopping")
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        deadline = time.monotonic() + STOP_TIMEOUT
        for child in self.children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0, deadline - time.monotonic()))
        if self.guard is not None:
            # This also ends processes that are not children, such as the workers of a web server that was killed.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.guard.pid, signal.SIGKILL)
            for process in (*self.children, self.guard):
                process.wait()
            if self.guard.stdin is not None:
                self.guard.stdin.close()
        if self.cluster is not None:
            self.cluster.stop(timeout=1.5)
        if self.children:
            self.report("Stopped")

    def on_signal(self, signal_number: int, frame: object) -> None:
        if not self.stopping:
            self.stopping = True
            raise Stopped

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)
        if "MAKELEVEL" in os.environ and os.getppid() != self.parent:
            raise Stopped  # make was killed

    def report(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal was closed
            print(f"[{time.monotonic() - self.started_at:5.1f} s]", text, flush=True)

    def lock_data(self) -> int:
        """Lock the data directory, and mark the service as running. Return the file descriptor that holds the lock."""
        self.data.path.mkdir(parents=True, exist_ok=True)
        waiting_since = time.monotonic()
        is_reported = False
        # The processes of a killed `make run` keep the lock for a moment, and `make manage` as long as its command takes.
        while (lock := self.data.try_lock()) is None:
            waited = time.monotonic() - waiting_since
            is_running, _ = self.data.run_state()
            if is_running and waited > RUN_WAIT:
                raise LocalError(
                    f"{self.data.path} is in use by another make run: stop that one, or choose another DATA_DIR."
                )
            if waited > MANAGE_WAIT:
                raise LocalError(
                    f"{self.data.path} is in use by make manage: wait until it ends, or choose another DATA_DIR."
                )
            if waited > RUN_WAIT and not is_reported:
                is_reported = True
                self.report("Waiting for make manage to end")
            self.pause(0.05)
        self.data.open_run()
        return lock

    def spawn(self, *arguments: str, **options: Any) -> subprocess.Popen[Any]:
        child = subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=BASE_DIR,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            process_group=self.guard.pid if self.guard is not None else None,
            **options,
        )
        self.children.append(child)
        return child

    def start_command(self, *arguments: str) -> subprocess.Popen[str]:
        return self.spawn(*arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish_command(self, child: subprocess.Popen[str]) -> str:
        """Wait for a management command and return what it prints. Raise LocalError if it fails."""
        output, _ = child.communicate()
        self.children.remove(child)
        if child.returncode:
            raise LocalError(
                f"{output.strip()}\nmanage.py {cast(list[str], child.args)[2]} failed ({outcome(child.returncode)})."
            )
        return output

    def run_command(self, *arguments: str) -> str:
        return self.finish_command(self.start_command(*arguments))

    @property
    def static_record(self) -> Path:
        """The file with the digest of the static files that `collectstatic` copied last."""
        return self.data.path / "static.made"

    def start_collectstatic(self) -> subprocess.Popen | None:
        """Start `collectstatic`, which runs while the database starts. Return None if the collected files are up to date."""
        if self.static_record.exists() and self.static_record.read_text() == static_digest():
            return None
        self.static_record.unlink(missing_ok=True)
        # No page uses these files of the packages.
        ignore_options = [part for name in ("redoc", "rest_framework") for part in ("--ignore", name)]
        return self.start_command("collectstatic", "--no-input", "--clear", "--verbosity", "0", *ignore_options)

    def start_web_server(self) -> None:
        self.web = self.spawn("serve")
        self.web_backoff.start()

    def wait_for_web_server(self) -> None:
        """Wait until the web server answers. Raise LocalError if it does not start, or after a minute."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.address, self.address)  # noqa: S104
        deadline = time.monotonic() + 60
        while True:
            if (status := self.web.poll()) is not None:
                raise LocalError(f"The web server does not start ({outcome(status)}).")
            connection = http.client.HTTPConnection(host, self.port, timeout=5)
            with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/healthz", headers={"Host": "localhost"})
                if connection.getresponse().status == 200:
                    return
            if time.monotonic() > deadline:
                raise LocalError("The web server does not answer.")
            self.pause(0.05)

    def start_worker(self) -> None:
        self.worker_due = None
        # Less than STOP_TIMEOUT: the worker has to put back unfinished jobs before it is killed.
        self.worker = self.spawn("worker", "--shutdown-timeout", "1")
        self.worker_backoff.start()

    def supervise_worker(self) -> None:
        """Start the worker again after it has ended. The delay does not block, so the web server is supervised meanwhile."""
        if self.worker_due is not None:
            if time.monotonic() >= self.worker_due:
                self.start_worker()
        elif (status := self.worker.poll()) is not None:
            self.report(f"The worker ended unexpectedly ({outcome(status)}): starting it again")
            self.children.remove(self.worker)
            self.worker_due = time.monotonic() + self.worker_backoff.end()


def static_digest() -> str:
    """Return a digest of the static files in the rooms, and of the versions of the packages that bring static files."""
    files = [path for path in sorted(BASE_DIR.glob("*/static/*/**/*")) if path.is_file()]
    digest = hashlib.sha256()
    for path in (*files, BASE_DIR / "requirements" / "local.txt"):
        digest.update(f"{path.relative_to(BASE_DIR)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def main() -> int:
    try:
        Supervisor().run()
    except Stopped:
        return 0
    except (LocalError, ClusterError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
