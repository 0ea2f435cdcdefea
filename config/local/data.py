"""The data directory of `make run`, which `make dev` and `make manage` share."""

import contextlib
import fcntl
import json
import os
import secrets
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

from config.arguments import integer_between

BASE_DIR = Path(__file__).resolve().parents[2]
DEMO_ACCOUNT = "demo"
# The line that `config.local.prepare` prints before it creates the demo account.
MIGRATED = "Migrated\n"


class LocalError(Exception):
    """The reason why `make run`, `make dev` or `make manage` cannot go on, as a sentence for its user."""


class DataDirectory:
    """The directory that holds the database and the key of a local service (DATA_DIR).

    Its file `lock` is locked by `make run` or `make manage`, and by the processes that they start on the data, so the lock ends with
    the last of them. The file `running` is locked by `make run` alone, so that lock ends even if `make run` is killed and its processes
    still run. When the service is ready, the file has the variables that a command needs. `make dev` locks both as `make run` does.
    """

    def __init__(self) -> None:
        self.path = Path(os.environ.get("DATA_DIR") or BASE_DIR / ".data").absolute()
        self.postgres = self.path / "postgres"
        self._running: int | None = None

    def lock(self, seconds: int, report: Callable[[str], object], *, join: bool = False) -> tuple[int, dict[str, str]]:
        """Wait for the lock and return its descriptor. With `join`, a `make run` that is ready also ends the wait.

        Return its variables in that case. Raise LocalError after `seconds`.
        """
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        started_at = time.monotonic()
        is_reported = False
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor, {}
            variables = self.read_variables()
            if join and "SECRET_KEY" in variables:
                return descriptor, variables
            waited = time.monotonic() - started_at
            holder = "make run or make dev" if variables else "make manage"
            # A `make run` that is stopping takes less than five seconds.
            if waited > (5 if variables and not join else seconds):
                raise LocalError(f"{self.path} is in use by {holder}: end that first, or choose another DATA_DIR.")
            if waited > 2 and not is_reported:
                is_reported = True
                report(f"Waiting for {holder}")
            time.sleep(0.05)

    def read_variables(self) -> dict[str, str]:
        """Return what the running `make run` has published, or nothing if none is running."""
        with contextlib.suppress(FileNotFoundError, ValueError), (self.path / "running").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                variables: dict[str, str] = json.load(file)
                return variables
        return {}

    def publish(self, variables: dict[str, str]) -> None:
        """Lock the file `running`, as `make run`, and write the process id and these variables to it."""
        if self._running is None:
            self._running = os.open(self.path / "running", os.O_RDWR | os.O_CREAT, 0o600)
            # Another process may hold the lock for a moment, in `read_variables`.
            fcntl.flock(self._running, fcntl.LOCK_EX)
            os.truncate(self._running, 0)
        os.pwrite(self._running, json.dumps({"PID": str(os.getpid()), **variables}).encode(), 0)

    def secret_key(self) -> str:
        """Return the key of this directory, and create it the first time. Signatures and the demo password depend on the key."""
        path = self.path / "secret_key"
        if not path.exists() or not path.read_text():
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(48))
        return path.read_text().strip()


def local_variables(data: DataDirectory) -> dict[str, str]:
    """Return the variables of a local service: those of this process, with defaults for a service on one's own machine."""
    try:
        port = integer_between(1, 65535)(os.environ.get("PORT") or "8000")
    except ArgumentTypeError as error:
        raise LocalError(f"PORT is not valid: {error}.") from error
    return {
        "HOST": os.environ.get("HOST") or "127.0.0.1",
        "PORT": str(port),
        "BASE_DOMAIN": os.environ.get("BASE_DOMAIN") or "localhost",
        "HTTPS": "off",
        "PUBLIC_PORT": os.environ.get("PUBLIC_PORT") or str(port),
        "LOCAL_ACCOUNT": DEMO_ACCOUNT,
        "SIGN_UP": os.environ.get("SIGN_UP") or "open",
        "STATIC_ROOT": str(data.path / "static"),
        "FILES_DIR": os.environ.get("FILES_DIR") or str(data.path / "files"),
    }
