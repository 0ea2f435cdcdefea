import contextlib
import ctypes
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psycopg
import pytest

from config.environment import database
from config.local.data import DataDirectory
from config.local.postgres import SHARED_MEMORY_IN_USE, Cluster, ClusterError
from tests.support.service import wait_until

pytestmark = pytest.mark.soak

# A program that starts a cluster and waits. The test kills it.
SUPERVISOR = """
import time
from config.local.data import DataDirectory
from config.local.postgres import Cluster
data = DataDirectory()
cluster = Cluster(data.postgres, lock=data.lock(0, print)[0])
cluster.start()
print(cluster.process.pid, cluster.url, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def cluster():
    """Start a cluster for all tests, which leave it running.

    The path of a socket must be short. Django's URL parser lowers the case of host names.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, 'Żółw @ 50%: it\'s "Odd"')
        # An interrupted creation has left this.
        (path / "new").mkdir(parents=True)
        (path / "new" / "PG_VERSION").write_text("18\n")
        path.chmod(0o777)
        variables = {"PGPORT": "5999", "PGDATA": f"{directory}/elsewhere", "PGOPTIONS": "-c nonsense=1"}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            cluster = Cluster(path, durable=False)
            cluster.start()
        yield cluster
        cluster.stop()


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return an empty data directory."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    return DataDirectory()


@contextlib.contextmanager
def connect(cluster):
    with contextlib.closing(psycopg.connect(cluster.url, autocommit=True)) as connection:
        yield connection


def query(cluster, statement):
    with connect(cluster) as connection:
        return connection.execute(statement).fetchone()[0]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def test_it_works(cluster):
    """The path has any letters, an unfinished creation is repeated, and the variables of PostgreSQL's own programs have no effect."""
    with connect(cluster) as connection:
        row = connection.execute(
            "SELECT current_user, current_database(), rolsuper, current_setting('server_encoding'), "
            "current_setting('listen_addresses'), lower('ŻÓŁW'), 'Z' < 'a' "
            "FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        for name in ("btree_gin", "citext", "pg_trgm", "unaccent"):
            connection.execute(f"CREATE EXTENSION {name}")
    assert row == ("rostrum", "rostrum", False, "UTF8", "", "żółw", True)
    assert Path(database(cluster.url)["HOST"]) == cluster.directory
    assert not (cluster.directory / "new").exists()
    assert not (cluster.directory.parent / "elsewhere").exists()
    # The directory was open to all. The socket is only for the current user.
    status = cluster.directory.stat()
    assert stat.S_IMODE(status.st_mode) == 0o700
    assert cluster.directory.joinpath(".s.PGSQL.5432").is_socket()
    assert status.st_uid != 0
    with pytest.raises(ClusterError, match="already exists"):
        Cluster(cluster.directory).start()
    assert query(cluster, "SELECT 1") == 1


def test_it_keeps_data_over_a_restart(cluster):
    """A stop does not wait for clients. The long timeout allows for a busy machine."""
    pid = cluster.process.pid
    with connect(cluster) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
        cluster.stop(timeout=60)
    assert not is_running(pid)
    log = (cluster.directory / "log").read_text()
    assert "received fast shutdown request" in log
    assert "database system is shut down" in log
    assert "immediate shutdown" not in log
    cluster.start()
    assert query(cluster, "SELECT n FROM kept") == 7
    # An unresponsive server is killed.
    pid = cluster.process.pid
    os.kill(pid, signal.SIGSTOP)
    cluster.stop(timeout=0.2)
    assert not is_running(pid)
    cluster.start()


def test_it_stops_the_server_if_a_signal_interrupts_its_start(cluster, monkeypatch):
    class Interrupted(subprocess.Popen):
        """The signal arrives as soon as the process has been started."""

        def __init__(self, command, **options):
            super().__init__(command, **options)
            if "cluster_name=rostrum" in command:
                started.append(self)
                signal.raise_signal(signal.SIGTERM)

    class Terminated(BaseException):
        pass

    def terminate(*arguments):
        raise Terminated

    started = []
    cluster.stop()
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", Interrupted)
            with pytest.raises(Terminated):
                cluster.start()
    finally:
        signal.signal(signal.SIGTERM, before)
    [server] = started
    # A server that was left running would not end.
    server.wait(10)
    cluster.start()


def test_it_keeps_values_out_of_its_log(cluster):
    with connect(cluster) as connection:
        connection.execute("CREATE TABLE t (secret text UNIQUE, n integer)")
        for statement in ("INSERT INTO t VALUES ('hunter2', 1)", "SELECT 'hunter2'::integer", "SELECT hunter2"):
            with contextlib.suppress(psycopg.Error):
                connection.execute(statement)
                connection.execute(statement)
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO t VALUES (%s, %s)", ("hunter2", 1))
        backend = connection.info.backend_pid
        with pytest.raises(psycopg.OperationalError):
            connection.execute(f"SELECT pg_terminate_backend({backend}), 'hunter2'")
    cluster.stop()
    log = (cluster.directory / "log").read_text()
    cluster.start()
    assert "database system is ready" in log
    assert "hunter2" not in log


def test_it_waits_until_the_shared_memory_of_a_killed_server_is_free(tmp_path):
    with Cluster(tmp_path / "postgres") as cluster:
        with connect(cluster) as connection:
            connection.execute("CREATE TABLE t (n integer)")
            connection.execute("INSERT INTO t VALUES (1)")
        [_key, segment] = (cluster.data / "postmaster.pid").read_text().splitlines()[6].split()
        libc = ctypes.CDLL(None, use_errno=True)
        libc.shmat.restype = ctypes.c_void_p
        libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
        libc.shmdt.argtypes = (ctypes.c_void_p,)
        # This process attaches the memory, like a process of the server that has not yet exited.
        address = libc.shmat(int(segment), None, 0)
        assert address != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno())
        os.kill(cluster.process.pid, signal.SIGKILL)
        cluster.process.wait()

        def release() -> None:
            wait_until(lambda: SHARED_MEMORY_IN_USE in cluster._log_end())
            libc.shmdt(address)

        thread = threading.Thread(target=release)
        thread.start()
        cluster.start()
        thread.join()
        assert query(cluster, "SELECT n FROM t") == 1


def test_it_starts_again_after_a_kill_of_the_process_that_started_it(data):
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR], stdout=subprocess.PIPE, text=True) as supervisor:
        pid, url = supervisor.stdout.readline().split()
        with contextlib.closing(psycopg.connect(url, autocommit=True)) as connection:
            connection.execute("CREATE TABLE t AS SELECT 7 AS n")
            supervisor.kill()
            supervisor.wait()
            # The server and its processes keep the lock until they have ended.
            lock, _ = data.lock(60, print)
            assert not is_running(int(pid))
            with Cluster(data.postgres, lock=lock) as cluster:
                assert query(cluster, "SELECT n FROM t") == 7
                # The pid file of another process, and an empty one.
                for line in (str(os.getpid()), ""):
                    cluster.stop()
                    (cluster.data / "postmaster.pid").write_text(line)
                    cluster.start()
                    assert query(cluster, "SELECT n FROM t") == 7
    os.close(lock)


def test_it_rejects_a_path_that_is_too_long_for_a_socket(tmp_path):
    with pytest.raises(ClusterError, match="too long for a socket: choose another DATA_DIR"):
        Cluster(tmp_path / ("long" * 30)).start()


def test_it_rejects_a_folder_without_programs(tmp_path, monkeypatch):
    monkeypatch.setenv("PGBIN", str(tmp_path / "bin"))
    with pytest.raises(ClusterError, match="does not exist; PGBIN must be the directory of initdb"):
        Cluster(tmp_path / "postgres").start()


def test_it_reports_the_reason_if_the_server_does_not_start(cluster):
    cluster.stop()
    for file, content, message in (
        ("postgresql.conf", "nonsense = on\n", "unrecognized configuration parameter"),
        ("PG_VERSION", "14\n", "files are incompatible with server"),
    ):
        path = cluster.data / file
        before = path.read_text()
        path.write_text(content)
        with pytest.raises(ClusterError, match=message):
            cluster.start()
        path.write_text(before)
    cluster.start()
