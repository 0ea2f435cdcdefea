"""The parts of an installation without a single point of failure but etcd and the proxy, all on the loopback interface.

etcd, three PostgreSQL under Patroni, HAProxy, two web servers and a worker. Each process is started again a second after it ends, as
systemd would.
"""

import contextlib
import http.client
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg

from config.local.data import BASE_DIR
from config.local.postgres import Cluster, ProcessGroup, find_program
from tests.support.service import free_port

DIRECTORY = BASE_DIR / ".data" / "drill"
NODES = ("pg1", "pg2", "pg3")
RESTART_DELAY = 1
# The least values that Patroni accepts. `ttl` is how long a primary may be silent before another node replaces it.
PATRONI_TIMES = {"ttl": 20, "loop_wait": 1, "retry_timeout": 3}
HAPROXY = """
defaults
    timeout connect 2s
    timeout client 1h
    timeout server 1h
frontend web
    mode http
    bind 127.0.0.1:{web}
    http-request set-header Forwarded "for=%[src];proto=http"
    default_backend rostrum
backend rostrum
    mode http
    option redispatch 1
    option httpchk GET /healthz
    http-check send hdr Host localhost
    default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
    server web1 127.0.0.1:{web1}
    server web2 127.0.0.1:{web2}
listen primary
    bind 127.0.0.1:{database}
    # A refused connection is reported at once: HAProxy would try the former primary three times, a second apart.
    retries 0
    option httpchk OPTIONS /primary
    default-server check inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
listen standbys
    bind 127.0.0.1:{standbys}
    retries 0
    option httpchk OPTIONS /replica
    default-server check inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


class DrillError(Exception):
    """The reason why the drill cannot be run, as a sentence."""


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition is true. Raise DrillError if it is not true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise DrillError(f"The installation is not ready after {seconds} seconds; see {DIRECTORY}/run/*.log")
        time.sleep(0.2)


class Machines:
    """All processes. Use it as a context manager: at the end none of them is left."""

    def __init__(self, **variables: str) -> None:
        """`variables` are settings of the service."""
        self.variables = variables
        self.directory = DIRECTORY / "run"
        names = (
            "web",
            "web1",
            "web2",
            "database",
            "standbys",
            "etcd",
            "etcd_peer",
            *NODES,
            *(f"{node}_api" for node in NODES),
        )
        self.ports: dict[str, int] = {}
        while len(set(self.ports.values())) < len(names):
            self.ports = {name: free_port() for name in names}
        self.password = secrets.token_hex(16)
        self.commands: dict[str, list[str]] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        # The machines that are down until the fault ends.
        self.down: set[str] = set()
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.watcher = threading.Thread(target=self.restart_ended, daemon=True)
        self.prefix: list[str] = []

    def __enter__(self) -> "Machines":
        self.kill_postgres()  # of a drill that was killed
        shutil.rmtree(self.directory, ignore_errors=True)
        # This also creates the directory, for the user that PostgreSQL runs as.
        cluster = Cluster(self.directory)
        cluster.prepare()
        self.prefix = cluster._prefix
        if self.prefix:
            # The interpreter of Patroni may be in the home directory of root, which stays closed.
            capability = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--securebits=+no_setuid_fixup"]
            self.prefix += [option for option in capability if option not in self.prefix]
        self.group = ProcessGroup()
        try:
            self.start_databases()
            self.token = self.start_service()
        except BaseException:
            self.__exit__()
            raise
        self.watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        if self.watcher.is_alive():
            self.watcher.join()
        self.group.kill()
        self.kill_postgres()

    def kill_postgres(self) -> None:
        """Kill what is left of PostgreSQL, which Patroni starts in sessions of their own."""
        for process in (process for node in NODES for process in self.postgres_processes(node)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    @property
    def database_url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{self.ports[name]}" for name in ("database", "standbys"))
        return f"postgresql://rostrum:{self.password}@{hosts}/rostrum"

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "DATABASE_URL": self.database_url,
            "SECRET_KEY": self.password * 2,
            "BASE_DOMAIN": "localhost",
            "LOCAL_ACCOUNT": "demo",
            "HTTPS": "off",
            "TRUST_PROXY": "forwarded",
            "PUBLIC_PORT": str(self.ports["web"]),
            "STATIC_ROOT": str(DIRECTORY / "static"),
            "FILES_DIR": str(self.directory / "files"),
            "WORKERS": "1",
            **self.variables,
        }

    def start_databases(self) -> None:
        url = f"http://127.0.0.1:{self.ports['etcd']}"
        peer = f"http://127.0.0.1:{self.ports['etcd_peer']}"
        self.commands["etcd"] = [
            *("etcd", "--data-dir", str(self.directory / "etcd"), "--listen-client-urls", url),
            *("--advertise-client-urls", url, "--listen-peer-urls", peer),
            *("--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"),
        ]
        self.start("etcd")
        patroni = [*self.prefix, str(DIRECTORY / "venv" / "bin" / "patroni")]
        for node in NODES:
            path = self.directory / f"{node}.yml"
            path.write_text(json.dumps(self.patroni_configuration(node)))
            self.commands[node] = [*patroni, str(path)]
            self.start(node)
        proxy = self.directory / "haproxy.cfg"
        servers = [
            f"    server {node} 127.0.0.1:{self.ports[node]} port {self.ports[f'{node}_api']}\n" for node in NODES
        ]
        proxy.write_text(HAPROXY.format(**self.ports, servers="".join(servers)))
        self.commands["proxy"] = ["haproxy", "-db", "-f", str(proxy)]
        self.start("proxy")
        wait_for(self.is_redundant, 120)
        url = f"postgresql://postgres:{self.password}@127.0.0.1:{self.ports[self.leader()]}/postgres"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE rostrum LOGIN PASSWORD '{self.password}'")
            connection.execute("CREATE DATABASE rostrum OWNER rostrum")

    def patroni_configuration(self, node: str) -> dict[str, object]:
        address, api = f"127.0.0.1:{self.ports[node]}", f"127.0.0.1:{self.ports[f'{node}_api']}"
        # A fault is repeated soon, so a node must be a standby again soon.
        parameters = {"max_connections": 100, "checkpoint_timeout": "30s"}
        # Not in the directory of the data: pg_rewind cannot copy a socket.
        parameters["unix_socket_directories"] = str(self.directory)
        return {
            "scope": "drill",
            "name": node,
            "restapi": {"listen": api, "connect_address": api},
            "etcd3": {"hosts": f"127.0.0.1:{self.ports['etcd']}"},
            "bootstrap": {
                "dcs": {
                    **PATRONI_TIMES,
                    "synchronous_mode": True,
                    # Do not start a primary again that has been killed: another node takes over at once.
                    "primary_start_timeout": 0,
                    "postgresql": {"use_pg_rewind": True, "use_slots": True, "parameters": parameters},
                },
                "initdb": [
                    "data-checksums",
                    {"encoding": "UTF8"},
                    {"locale": "C"},
                    {"locale-provider": "builtin"},
                    {"builtin-locale": "C.UTF-8"},
                ],
            },
            "postgresql": {
                "listen": address,
                "connect_address": address,
                "data_dir": str(self.directory / node),
                "bin_dir": str(find_program("postgres").parent),
                "remove_data_directory_on_rewind_failure": True,
                "pgpass": str(self.directory / f"{node}.pgpass"),
                "pg_hba": [
                    "host all all 127.0.0.1/32 scram-sha-256",
                    "host replication all 127.0.0.1/32 scram-sha-256",
                ],
                "authentication": {
                    "superuser": {"username": "postgres", "password": self.password},
                    "replication": {"username": "replicator", "password": self.password},
                },
            },
        }

    def start_service(self) -> str:
        """Migrate the database, start the web servers and the worker, and return an API token."""
        manage = [sys.executable, "manage.py"]
        collect = [*manage, "collectstatic", "--no-input", "--verbosity", "0"]
        subprocess.run(collect, env=self.environment, cwd=BASE_DIR, check=True)
        result = subprocess.run(
            [sys.executable, "-m", "config.local.prepare", "--bare"],
            env=self.environment,
            cwd=BASE_DIR,
            input="\n",
            text=True,
            capture_output=True,
            check=False,
        )
        if result.returncode:
            raise DrillError(f"The database cannot be prepared: {result.stderr}")
        for name in ("web1", "web2"):
            self.commands[name] = [*manage, "serve", "--host", "127.0.0.1", "--port", str(self.ports[name])]
        self.commands["worker"] = [*manage, "worker"]
        for name in ("web1", "web2", "worker"):
            self.start(name)
        wait_for(lambda: self.get(self.ports["web"], "/readyz")[0] == 200, 60)
        return result.stdout.partition("api_token")[2].split()[0]

    def start(self, name: str) -> None:
        with (self.directory / f"{name}.log").open("ab") as log:
            directory = self.directory if self.commands[name][0] in ("etcd", "haproxy", "setpriv") else BASE_DIR
            self.processes[name] = self.group.start(
                self.commands[name], stdout=log, stderr=log, cwd=directory, env=self.environment
            )

    def restart_ended(self) -> None:
        """Start each process again that has ended, except those of machines that are down."""
        while not self.stopped.wait(0.1):
            with self.lock:
                ended = [name for name, process in self.processes.items() if process.poll() is not None]
                ended = [name for name in ended if name not in self.down]
            if ended and not self.stopped.wait(RESTART_DELAY):
                for name in ended:
                    self.start(name)

    def get(self, port: int, path: str) -> tuple[int, bytes]:
        """Return the status and the body of a response, or the status 0."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
            with contextlib.closing(connection):
                connection.request("GET", path, headers={"Host": "localhost"})
                response = connection.getresponse()
                return response.status, response.read()
        return 0, b""

    def leader(self) -> str:
        """Return the name of the node with the primary. Raise DrillError if there is none."""
        for node in NODES:
            if node not in self.down and self.get(self.ports[f"{node}_api"], "/primary")[0] == 200:
                return node
        raise DrillError("There is no primary")

    def is_redundant(self) -> bool:
        """Return whether there are a primary and two standbys, one of them synchronous."""
        body = next(
            (body for node in NODES if (body := self.get(self.ports[f"{node}_api"], "/cluster")[1])), b'{"members": []}'
        )
        members = json.loads(body)["members"]
        roles = [member["role"] for member in members if member["state"] in ("running", "streaming")]
        return len(roles) == len(NODES) and "leader" in roles and "sync_standby" in roles

    def postgres_processes(self, node: str) -> list[psutil.Process]:
        """Return the PostgreSQL server of a node and its children."""
        directory = self.directory / node
        with contextlib.suppress(OSError, ValueError, IndexError, psutil.Error):
            process = psutil.Process(int((directory / "postmaster.pid").read_text().splitlines()[0]))
            # Another process may have got the number.
            if Path(process.cwd()) == directory:
                return [process, *process.children(recursive=True)]
        return []

    @contextlib.contextmanager
    def without(self, node: str, number: signal.Signals) -> Iterator[None]:
        """Kill or freeze Patroni and PostgreSQL together, as if the machine had no power or no network."""
        with self.lock:
            self.down.add(node)
            processes = [psutil.Process(self.processes[node].pid), *self.postgres_processes(node)]
        for process in processes:
            process.send_signal(number)
        try:
            yield
        finally:
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)
            self.down.discard(node)

    def switch_over(self) -> None:
        """Have a standby take over from a primary that works."""
        leader = self.leader()
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[f"{leader}_api"], timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", "/switchover", json.dumps({"leader": leader}))
            response = connection.getresponse()
            if response.status != 200:
                raise DrillError(f"Patroni refused the switchover: {response.read().decode()}")
