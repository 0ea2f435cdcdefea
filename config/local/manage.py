"""`make manage`: a management command on the database of `make run`, whether `make run` is running or not."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from config.local.data import BASE_DIR, DataDirectory, LocalError, local_environment
from config.local.postgres import Cluster, ClusterError
from config.local.signals import deferred_signals

# How long to wait for `make run` to start or stop, or for another `make manage` to end, in seconds.
MAX_WAIT = 180
# Commands for which pending migrations are not applied first.
MIGRATION_COMMANDS = {"makemigrations", "migrate", "showmigrations", "sqlmigrate"}


class Terminated(BaseException):
    """SIGTERM or SIGHUP."""


def run(arguments: list[str]) -> int:
    """Run a management command and return its exit status."""
    if arguments[0] in ("help", "version") or {"-h", "--help", "--version"} & {*arguments}:
        return call(arguments, dict(os.environ))
    if os.environ.get("DATABASE_URL"):
        raise LocalError(
            "DATABASE_URL is set, but make manage works on the database of make run only: unset it, or call "
            "python manage.py instead."
        )
    data = DataDirectory()
    with local_database(data) as environment:
        if arguments[0] not in MIGRATION_COMMANDS:
            with data.migration_lock():
                migrate(environment)
        return call(arguments, environment)


@contextlib.contextmanager
def local_database(data: DataDirectory) -> Iterator[dict[str, str]]:
    """Yield the environment for commands on the database of `make run`. Start PostgreSQL if `make run` is not running."""
    no_database = LocalError(f"There is no database in {data.path}: start make run first, or set DATA_DIR.")
    if not data.path.is_dir():
        raise no_database
    lock, environment = lock_or_join(data)
    if lock is None:
        try:
            # The running `make run` has published the variables.
            yield os.environ | (environment or {})
        finally:
            if data.run_state()[1] is None:
                print("make run stopped while the command ran.", file=sys.stderr)
        return
    try:
        cluster = Cluster(data.postgres)
        if not cluster.is_created:
            raise no_database
        environment = local_environment(data)
        environment["SECRET_KEY"] = environment.get("SECRET_KEY") or data.secret_key()
        with cluster:
            yield environment | {"DATABASE_URL": cluster.url}
    finally:
        os.close(lock)


def lock_or_join(data: DataDirectory) -> tuple[int, None] | tuple[None, dict[str, str]]:
    """Wait for the lock on the data, or until `make run` is ready. Return the lock, or else the variables of `make run`."""
    started_at = time.monotonic()
    reported_holder = None
    while (lock := data.try_lock()) is None:
        is_running, variables = data.run_state()
        if variables is not None:
            if not variables.get("DATABASE_URL"):
                raise LocalError(
                    "The running make run uses the database of its DATABASE_URL: call python manage.py with the same "
                    "variables instead."
                )
            return None, variables
        waited = time.monotonic() - started_at
        holder = "make run" if is_running else "another make manage"
        if waited > MAX_WAIT:
            raise LocalError(f"Gave up after {MAX_WAIT} s: {holder} keeps {data.path} locked.")
        if waited > 1 and holder != reported_holder:
            reported_holder = holder
            print("Waiting for make run" if is_running else "Waiting for another make manage to end", file=sys.stderr)
        time.sleep(0.05)
    return lock, None


def migrate(environment: dict[str, str]) -> None:
    """Apply pending migrations, as `make run` does when it starts."""
    command: list[str | Path] = [sys.executable, BASE_DIR / "manage.py", "migrate", "--no-input"]
    with start(command, environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        output, _ = process.communicate()
    if process.returncode:
        raise LocalError(f"{output.strip()}\nmanage.py migrate failed.")


def call(arguments: list[str], environment: dict[str, str]) -> int:
    with start([sys.executable, BASE_DIR / "manage.py", *arguments], environment) as process:
        while process.returncode is None:
            # The terminal sends Ctrl-C to the command too. The command decides what to do.
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


@contextlib.contextmanager
def start(command: list[str | Path], environment: dict[str, str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a command, and stop it if this process is told to end."""
    process: subprocess.Popen[Any] | None = None
    try:
        with deferred_signals():
            process = subprocess.Popen(command, env=environment, **options)
        yield process
    except BaseException:
        if process is not None:
            process.terminate()
        raise
    finally:
        if process is not None:
            with process:  # waits for its end, and closes its pipes
                pass


def on_signal(signal_number: int, frame: object) -> None:
    for ignored_signal in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored_signal, signal.SIG_IGN)
    raise Terminated


def main() -> int:
    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signal_number) != signal.SIG_IGN:  # nohup
            signal.signal(signal_number, on_signal)
    try:
        return run(sys.argv[1:] or ["help"])
    except (Terminated, KeyboardInterrupt):
        return 130
    except (LocalError, ClusterError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
