"""`make run`: the whole service on one's own machine, PostgreSQL included, until it is told to stop."""

import contextlib
import fcntl
import hashlib
import http.client
import os
import secrets
import signal
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from pathlib import Path
from typing import NoReturn

from config.local.postgres import Cluster, ClusterError
from config.serving.arguments import available_cores, integer_between, listening_address
from config.serving.supervision import Backoff, outcome

BASE_DIR = Path(__file__).resolve().parents[2]
DEMO_ACCOUNT = "demo"
# How long the web server may take to finish what it is at; with PostgreSQL's share it stays below five seconds.
PATIENCE = 2
# Ends everything in its process group when its standard input ends, as it does however the supervisor ends.
GUARD = 'trap "" TERM INT HUP; read _; kill -9 0'


class RunError(Exception):
    """The service cannot go on, with a sentence on why."""


class Stopped(BaseException):
    """Somebody wants it to end."""


class Supervisor:
    """Starts what the service consists of, looks after it, and stops it.

    All its processes except PostgreSQL (which sees to itself) are in one process group, led by a guard that kills the
    group should the supervisor be killed. The guard shares the lock on the data, so that the next start waits for that.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.parent = os.getppid()
        self.stopping = False
        self.cluster: Cluster | None = None
        self.guard: subprocess.Popen | None = None
        self.children: list[subprocess.Popen] = []
        # A web server that can't start takes a second or two to find out.
        self.web_backoff = Backoff(stable=10)
        try:
            self.port = integer_between(1, 65535)(os.environ.get("PORT") or "8000")
        except ArgumentTypeError as error:
            raise RunError(f"PORT is not valid: {error}.") from error
        self.host = os.environ.get("HOST") or "127.0.0.1"
        self.data = Path(os.environ.get("DATA_DIR") or BASE_DIR / ".data").absolute()
        self.environment = os.environ | {
            "HOST": self.host,
            "PORT": str(self.port),
            # Five connections each at most, of the 100 that the PostgreSQL here takes.
            "WORKERS": os.environ.get("WORKERS") or str(min(available_cores(), 19)),
            "BASE_DOMAIN": os.environ.get("BASE_DOMAIN") or "localhost",
            "HTTPS": "off",
            "PUBLIC_PORT": os.environ.get("PUBLIC_PORT") or str(self.port),
            "LOCAL_ACCOUNT": DEMO_ACCOUNT,
            "STATIC_ROOT": str(self.data / "static"),
            "GRANIAN_LOG_LEVEL": os.environ.get("GRANIAN_LOG_LEVEL") or "warning",
            "PYTHONUNBUFFERED": "1",
        }

    def run(self) -> NoReturn:
        """Start everything, then look after it. Ends by Stopped, RunError or ClusterError."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self.on_signal)
        try:
            self.start()
            self.look_after()
        finally:
            self.stopping = True
            self.stop()

    def start(self) -> None:
        lock = self.take_data()
        try:
            self.address = listening_address(self.host, self.port)
        except OSError as error:
            raise RunError(
                f"Cannot listen on {self.host} port {self.port}: {error.strerror}. Choose another: make run PORT=8001"
            ) from error
        self.guard = subprocess.Popen(["/bin/sh", "-c", GUARD], stdin=subprocess.PIPE, pass_fds=[lock], process_group=0)
        self.environment["SECRET_KEY"] = os.environ.get("SECRET_KEY") or self.secret_key()
        collecting = self.collect_static()
        if not os.environ.get("DATABASE_URL"):
            self.cluster = Cluster(self.data / "postgres")
            first = not (self.data / "postgres" / "data").exists()
            self.say("Creating the database" if first else "Starting PostgreSQL", f"in {self.data}")
            self.cluster.start()
            self.environment["DATABASE_URL"] = self.cluster.url
        self.say("Migrating the database")
        self.manage("migrate", "--no-input")
        self.say("Looking for the demo account, or making it")
        bare = ["--bare"] if os.environ.get("DEMO") == "bare" else []
        explanation = self.manage("demo", "--port", str(self.port), "--env", str(self.data / "demo.env"), *bare)
        if collecting:
            self.finish(collecting)
            (self.data / "static.made").write_text(static_mark())
        self.say("Starting the web server")
        self.serve()
        self.await_answer()
        self.keep_house()
        self.say("Ready; Ctrl-C stops it")
        print(explanation, flush=True)

    def look_after(self) -> NoReturn:
        while True:
            self.pause(0.2)
            if self.cluster and (status := self.cluster.process.poll()) is not None:
                self.say(f"PostgreSQL ended unexpectedly ({outcome(status)}): starting it again")
                self.cluster.start()
                self.say("PostgreSQL is back")
            if (status := self.web.poll()) is not None:
                self.say(f"The web server ended unexpectedly ({outcome(status)}): starting it again")
                self.children.remove(self.web)
                self.pause(self.web_backoff.end())
                self.serve()
            if self.guard.poll() is not None:
                raise RunError("The guard of the processes ended unexpectedly.")
            if self.housekeeping.poll() is not None and time.monotonic() > self.housekeeping_since + 60:
                self.say("Housekeeping ended unexpectedly: starting it again")
                self.keep_house()

    def stop(self) -> None:
        """Within five seconds, whatever they are at."""
        if self.children:
            self.say("Stopping")
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        deadline = time.monotonic() + PATIENCE
        for child in self.children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0, deadline - time.monotonic()))
        if self.guard is not None:
            # The rest of the group, such as the workers of a web server that was killed.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.guard.pid, signal.SIGKILL)
            for process in (*self.children, self.guard):
                process.wait()
            self.guard.stdin.close()
        if self.cluster is not None:
            self.cluster.stop(patience=1.5)
        if self.children:
            self.say("Stopped")

    def on_signal(self, number: int, frame: object) -> None:
        if not self.stopping:
            self.stopping = True
            raise Stopped

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)
        if "MAKELEVEL" in os.environ and os.getppid() != self.parent:
            raise Stopped  # make was killed

    def say(self, *words: str) -> None:
        with contextlib.suppress(OSError):  # a terminal that was closed
            print(f"[{time.monotonic() - self.began:5.1f} s]", *words, flush=True)

    def take_data(self) -> int:
        """Lock the data directory; what a killed run left needs a moment to go."""
        self.data.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + 2
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RunError(
                        f"{self.data} is in use by another make run: stop that one, or choose another DATA_DIR."
                    ) from None
            time.sleep(0.05)

    def secret_key(self) -> str:
        """Made once: signatures and the demo account's password depend on it."""
        path = self.data / "secret_key"
        if not path.exists():
            new = self.data / "secret_key.new"
            new.unlink(missing_ok=True)
            new.touch(mode=0o600)
            new.write_text(secrets.token_urlsafe(48))
            new.rename(path)
        return path.read_text().strip()

    def spawn(self, *arguments: str, **options: object) -> subprocess.Popen:
        child = subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=BASE_DIR,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            process_group=self.guard.pid,
            **options,
        )
        self.children.append(child)
        return child

    def begin(self, *arguments: str) -> subprocess.Popen:
        return self.spawn(*arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self, child: subprocess.Popen) -> str:
        """Wait for a management command and return what it prints."""
        output, _ = child.communicate()
        self.children.remove(child)
        if child.returncode:
            raise RunError(f"{output.strip()}\nmanage.py {child.args[2]} failed ({outcome(child.returncode)}).")
        return output

    def manage(self, *arguments: str) -> str:
        return self.finish(self.begin(*arguments))

    def collect_static(self) -> subprocess.Popen | None:
        """Begin to collect the static files as an image has them, while the database starts; None if that was done."""
        mark = self.data / "static.made"
        if mark.exists() and mark.read_text() == static_mark():
            return None
        mark.unlink(missing_ok=True)
        # What packages bring along and nothing here shows.
        ignored = [part for name in ("redoc", "rest_framework") for part in ("--ignore", name)]
        return self.begin("collectstatic", "--no-input", "--clear", "--verbosity", "0", *ignored)

    def serve(self) -> None:
        self.web = self.spawn("serve")
        self.web_backoff.start()

    def await_answer(self) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.address, self.address)  # noqa: S104
        deadline = time.monotonic() + 60
        while True:
            if (status := self.web.poll()) is not None:
                raise RunError(f"The web server does not start ({outcome(status)}).")
            connection = http.client.HTTPConnection(host, self.port, timeout=5)
            with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/healthz", headers={"Host": "localhost"})
                if connection.getresponse().status == 200:
                    return
            if time.monotonic() > deadline:
                raise RunError("The web server does not answer.")
            self.pause(0.05)

    def keep_house(self) -> None:
        self.housekeeping_since = time.monotonic()
        self.housekeeping = self.spawn("housekeeping", "--every", "3600")


def static_mark() -> str:
    """What the static files are made from: those of the rooms, and the packages that bring theirs."""
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
    except (RunError, ClusterError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
