"""The data directory of `make run`, which `make manage` shares."""

import contextlib
import fcntl
import json
import os
import secrets
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path

from config.arguments import integer_between

BASE_DIR = Path(__file__).resolve().parents[2]
DEMO_ACCOUNT = "demo"
# The variables that a command needs in order to work on the database of a running service and to print its addresses.
SHARED_VARIABLES = (
    "SECRET_KEY",
    "DATABASE_URL",
    "BASE_DOMAIN",
    "HTTPS",
    "HOST",
    "PORT",
    "PUBLIC_PORT",
    "LOCAL_ACCOUNT",
    "STATIC_ROOT",
)


class LocalError(Exception):
    """The reason why `make run` or `make manage` cannot go on, as a sentence for its user."""


class DataDirectory:
    """The directory that holds the database and the key of a local service (DATA_DIR).

    Two files in the directory tell processes about each other. The file `lock` is locked by the processes that may start PostgreSQL on
    the data: `make run` and its guard, or `make manage`. The file `running` is locked only by `make run`, so this lock ends when
    `make run` is killed. While the service is ready, `running` contains the variables that a command needs, as JSON.
    """

    def __init__(self) -> None:
        self.path = Path(os.environ.get("DATA_DIR") or BASE_DIR / ".data").absolute()
        self.postgres = self.path / "postgres"
        self._running: int | None = None

    def try_lock(self) -> int | None:
        """Lock the data and return the descriptor that holds the lock, or None if another process holds it."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    @contextlib.contextmanager
    def migration_lock(self) -> Iterator[None]:
        """Wait for the lock under which `make manage` applies migrations, and hold it until the block ends."""
        descriptor = os.open(self.path / "migrating", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def secret_key(self) -> str:
        """Return the key of this directory, and create it the first time. Signatures and the demo password depend on the key."""
        path = self.path / "secret_key"
        if not path.exists():
            new_path = self.path / "secret_key.new"
            new_path.unlink(missing_ok=True)
            new_path.touch(mode=0o600)
            new_path.write_text(secrets.token_urlsafe(48))
            new_path.rename(path)
        return path.read_text().strip()

    def open_run(self) -> None:
        """Mark the service as running, but not ready yet. The caller must hold the lock on the data."""
        self._running = os.open(self.path / "running", os.O_RDWR | os.O_CREAT, 0o600)
        # `run_state` of another process may hold the lock for a moment.
        fcntl.flock(self._running, fcntl.LOCK_EX)
        os.truncate(self._running, 0)

    def publish(self, variables: dict[str, str]) -> None:
        """Mark the service as ready."""
        if self._running is None:
            raise RuntimeError("open_run() has to be called first")
        os.pwrite(self._running, json.dumps(variables).encode(), 0)

    def withdraw(self) -> None:
        """Mark the service as not ready, before it stops."""
        if self._running is not None:
            os.truncate(self._running, 0)

    def run_state(self) -> tuple[bool, dict[str, str] | None]:
        """Return whether `make run` is running on this directory and, once it is ready, the variables that it published."""
        try:
            descriptor = os.open(self.path / "running", os.O_RDONLY)
        except FileNotFoundError:
            return False, None
        with os.fdopen(descriptor, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                with contextlib.suppress(ValueError):
                    return True, json.loads(file.read())
                return True, None
        return False, None


def local_environment(data: DataDirectory) -> dict[str, str]:
    """Return the environment of a local service: that of this process, with defaults for a service on one's own machine."""
    try:
        port = integer_between(1, 65535)(os.environ.get("PORT") or "8000")
    except ArgumentTypeError as error:
        raise LocalError(f"PORT is not valid: {error}.") from error
    return os.environ | {
        "HOST": os.environ.get("HOST") or "127.0.0.1",
        "PORT": str(port),
        "BASE_DOMAIN": os.environ.get("BASE_DOMAIN") or "localhost",
        "HTTPS": "off",
        "PUBLIC_PORT": os.environ.get("PUBLIC_PORT") or str(port),
        "LOCAL_ACCOUNT": DEMO_ACCOUNT,
        "STATIC_ROOT": str(data.path / "static"),
    }
