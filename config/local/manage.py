"""`make manage`: a management command on the database of `make run`, whether `make run` is running or not."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

from django.core.management import ManagementUtility

from config.local.data import BASE_DIR, DataDirectory, LocalError, local_variables
from config.local.postgres import Cluster, ClusterError, find_program

# How long to wait for `make run` to start or stop, or for another `make manage` to end, in seconds.
MAX_WAIT = 180
# Commands for which pending migrations are not applied first.
MIGRATION_COMMANDS = {"makemigrations", "migrate", "showmigrations", "sqlmigrate"}


@contextlib.contextmanager
def local_database(data: DataDirectory) -> Iterator[bool]:
    """Set the environment for commands on the database of `make run`. Start PostgreSQL if `make run` is not running, and yield True."""
    no_database = LocalError(f"There is no database in {data.path}: start make run first, or set DATA_DIR.")
    if os.environ.get("DATABASE_URL"):
        raise LocalError(
            "DATABASE_URL is set, but make manage works on the database of make run only: unset it, or call "
            "python manage.py instead."
        )
    if not data.path.is_dir():
        raise no_database
    # `backup` needs the client programs in the version of the server.
    os.environ.update(PATH=os.pathsep.join([str(find_program("postgres").parent), *os.get_exec_path()]))
    lock, variables = data.lock(MAX_WAIT, lambda text: print(text, file=sys.stderr), join=True)
    if variables:
        if not variables.get("DATABASE_URL"):
            raise LocalError(
                "The running make run uses the database of its DATABASE_URL: call python manage.py with the same "
                "variables instead."
            )
        os.environ.update(variables)
        yield False
        return
    cluster = Cluster(data.postgres, lock=lock)
    if not cluster.is_created:
        raise no_database
    os.environ.update(local_variables(data) | {"DATABASE_URL": cluster.url})
    os.environ["SECRET_KEY"] = os.environ.get("SECRET_KEY") or data.secret_key()
    with cluster:
        yield True


def run(*arguments: str) -> None:
    """Run a management command. End with SystemExit if it fails."""
    ManagementUtility([str(BASE_DIR / "manage.py"), *arguments]).execute()


def on_signal(signal_number: int, frame: object) -> NoReturn:
    sys.exit(130)


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signal_number) != signal.SIG_IGN:  # nohup
            signal.signal(signal_number, on_signal)
    arguments = sys.argv[1:] or ["help"]
    try:
        if arguments[0] in ("help", "version") or {"-h", "--help", "--version"} & {*arguments}:
            run(*arguments)
            return 0
        with local_database(DataDirectory()) as is_alone:
            # `make run` has migrated its database.
            if is_alone and arguments[0] not in MIGRATION_COMMANDS:
                run("migrate", "--no-input", "--verbosity", "0")
            run(*arguments)
    except KeyboardInterrupt:
        return 130
    except (LocalError, ClusterError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
