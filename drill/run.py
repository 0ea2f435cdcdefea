"""`make drill`: kill parts of a redundant installation during writes, and print what its clients noticed."""

import argparse
import contextlib
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import django
import psutil

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from config.local.data import BASE_DIR  # noqa: E402
from config.local.postgres import ClusterError, find_program  # noqa: E402
from drill.machines import DIRECTORY, DrillError, Machines, wait_for  # noqa: E402
from drill.traffic import Traffic, longest_pause  # noqa: E402
from tests.support.mail_server import MailServer  # noqa: E402
from tests.support.receiver import Receiver, run_receiver  # noqa: E402

PACKAGES = {"etcd": "etcd-server", "haproxy": "haproxy"}
REQUIREMENTS = BASE_DIR / "requirements" / "drill.txt"
WEB = ("web1", "web2")
# How long a fault may prevent writes, and how long the installation runs undisturbed before and after it, in seconds.
MAX_FAULT, REST = 120, 5
# The longest time without writes, in seconds. A machine that is dead or frozen is replaced after Patroni's `ttl` of 20 seconds.
LIMITS = {
    "kill PostgreSQL of the primary": 20,
    "switchover": 3,
    "kill a web server": 20,
    "kill a web worker": 20,
    "kill the worker": 20,
    "kill the proxy": 20,
    "kill the machine of the primary": 30,
    "freeze the machine of the primary": 30,
}
# The longest time without reads, which a standby answers, in seconds.
MAX_PAUSE_OF_READS = 3


class Drill:
    """The faults, and the pauses of writes and of reads that they caused."""

    def __init__(self, machines: Machines, traffic: Traffic) -> None:
        self.machines, self.traffic = machines, traffic
        self.pauses: list[tuple[str, float]] = []
        self.pauses_of_reads: list[tuple[str, float]] = []
        processes = machines.processes
        self.faults: dict[str, Callable[[], object]] = {
            "kill PostgreSQL of the primary": lambda: machines.postgres_processes(machines.leader())[0].kill(),
            "switchover": machines.switch_over,
            "kill a web server": lambda: processes[random.choice(WEB)].kill(),
            "kill a web worker": lambda: psutil.Process(processes[random.choice(WEB)].pid).children()[0].kill(),
            "kill the worker": lambda: processes["worker"].kill(),
            "kill the proxy": lambda: processes["proxy"].kill(),
            "kill the machine of the primary": lambda: self.hold(signal.SIGKILL),
            "freeze the machine of the primary": lambda: self.hold(signal.SIGSTOP),
        }

    def run(self, seconds: float) -> None:
        """Cause faults in random order, each once before one is repeated."""
        deadline = time.monotonic() + seconds
        names: list[str] = []
        while True:
            wait_for(self.machines.is_redundant, 120)
            time.sleep(REST)
            if time.monotonic() > deadline:
                return
            names = names or random.sample(list(self.faults), len(self.faults))
            name, start = names.pop(), time.monotonic()
            self.faults[name]()
            time.sleep(REST)
            self.wait_for_writes()
            times = (self.traffic.acknowledged, self.traffic.read)
            pause, pause_of_reads = (longest_pause(list(each), start, time.monotonic()) for each in times)
            self.pauses.append((name, pause))
            self.pauses_of_reads.append((name, pause_of_reads))
            print(f"{name}: {pause:.1f} s without writes, {pause_of_reads:.1f} s without reads", flush=True)

    def hold(self, number: signal.Signals) -> None:
        """Keep the machine of the primary dead or frozen until writes succeed again."""
        with self.machines.without(self.machines.leader(), number):
            # Acknowledgements that are on their way are no sign of a new primary.
            time.sleep(2)
            self.wait_for_writes()

    def wait_for_writes(self) -> None:
        start = time.monotonic()
        wait_for(lambda: self.traffic.acknowledged[-1] > start, MAX_FAULT)


def find_missing() -> list[str]:
    """Return the Debian packages that are missing."""
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    try:
        find_program("pg_rewind")
    except ClusterError:
        missing.append("postgresql (and PGBIN with the directory of its programs)")
    return missing


def install_patroni() -> None:
    """Install Patroni into an environment of its own, because the service does not need it."""
    made = DIRECTORY / "venv" / "made"
    if made.exists() and made.read_text() == REQUIREMENTS.read_text():
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(made.parent)], check=True)
    pip = [str(made.parent / "bin" / "pip"), "install", "-qq", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    made.write_text(REQUIREMENTS.read_text())


def find_problems(drill: Drill, receiver: Receiver, mail: MailServer) -> list[str]:
    """Compare what was acknowledged with the rows, the feed, the webhooks and the e-mails. Return what is wrong."""
    traffic = drill.traffic
    with contextlib.suppress(DrillError):
        wait_for(lambda: set(traffic.clients) <= {request.json["data"]["id"] for request in receiver.requests}, 120)
        wait_for(lambda: set(traffic.addresses) <= set(mail.addresses), 120)
    failed = {status: count for status, count in traffic.statuses.items() if status not in ("200", "201", "303")}
    lost = traffic.lost()
    feed = {change for change in traffic.created if change[0] in ("client", "post")}
    repeated = [change for change in feed if traffic.created[change] > 1]
    ids = [request.json["data"]["id"] for request in receiver.requests]
    numbers = [request.json["number"] for request in receiver.requests]
    print(f"acknowledged writes: {len(traffic.acknowledged)}, lost: {len(lost)}")
    print(f"failed requests: {failed or 'none'}")
    print(f"change feed: {len(feed)} created, missing {len(traffic.expected() - feed)}, repeated {len(repeated)}")
    print(f"webhooks: {len(set(ids))} of {len(traffic.clients)}, sent again {len(ids) - len(set(ids))}")
    sent, asked = mail.addresses.total(), len(traffic.addresses)
    print(
        f"jobs: {len(mail.addresses)} e-mails for {asked} acknowledged requests, sent again {sent - len(mail.addresses)}"
    )
    checks = {
        f"lost: {lost}": not lost,
        "the change feed is not exact": feed == traffic.expected() and not repeated,
        "webhooks are not exact": set(ids) == set(traffic.clients),
        "webhooks are not in order": all(before <= after for before, after in pairwise(numbers)),
        "an e-mail was not sent": set(traffic.addresses) <= set(mail.addresses),
        "an e-mail was sent more often than once for each fault": sent - len(mail.addresses) <= len(drill.pauses),
        **{f"{name}: {pause:.1f} s without writes": pause <= LIMITS[name] for name, pause in drill.pauses},
        **{
            f"{name}: {pause:.1f} s without reads": pause <= MAX_PAUSE_OF_READS for name, pause in drill.pauses_of_reads
        },
    }
    return [problem for problem, is_good in checks.items() if not is_good]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make drill", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long faults happen (300)")
    parser.add_argument("--only", choices=LIMITS, action="append", help="a fault; repeat it for several")
    options = parser.parse_args()
    if missing := find_missing():
        print(f"Skipped. Missing packages of Debian: {', '.join(missing)}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Stopped"))
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    install_patroni()
    # The server logs each command.
    logging.getLogger("mail.log").setLevel(logging.WARNING)
    mail = MailServer()
    mail.controller.start()
    with contextlib.ExitStack() as stack:
        stack.callback(mail.controller.stop)
        receiver = stack.enter_context(run_receiver())
        allowed = f"127.0.0.0/8:{receiver.server.server_port}"
        variables = {"EMAIL_URL": mail.url, "WEBHOOK_ALLOW": allowed, "FAILED_LOGIN_LIMIT": "0", "RATE_LIMIT": "0"}
        print("Starting etcd, three PostgreSQL, HAProxy, two web servers and a worker", flush=True)
        machines = stack.enter_context(Machines(**variables))
        traffic = Traffic(machines.ports["web"], machines.token)
        traffic.write("/app/webhooks.json", {"webhook": {"url": receiver.url, "events": ["client.created"]}})
        with traffic:
            drill = Drill(machines, traffic)
            drill.faults = {name: fault for name, fault in drill.faults.items() if name in (options.only or LIMITS)}
            drill.run(options.seconds)
        problems = find_problems(drill, receiver, mail)
    print("\n".join(problems) or "No problem")
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (DrillError, ClusterError) as error:
        sys.exit(str(error))
