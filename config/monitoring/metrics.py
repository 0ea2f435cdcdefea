"""The metrics in the format of Prometheus, at METRICS_ADDRESS.

One worker of the web server answers for all of them, and adds what the database says about jobs and the change feed. A worker of jobs
answers for itself. No label is the name of a tenant or comes from a client.
"""

import logging
import os
import resource
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    start_http_server,
    values,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from config.monitoring.database import DatabaseCollector
from config.monitoring.processes import create_directory, lock, take_number
from config.monitoring.routes import route_of
from core.jobs.registry import jobs

if TYPE_CHECKING:
    from config.wsgi import AccessLine, Application
    from core.jobs.queue import Job

# Where prometheus-client looks for the files of several processes.
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15)
JOB_BUCKETS = (0.01, 0.1, 0.5, 1, 5, 20, 60, 300, 3600)
# The causes of refusals without a cause of their own (`rostrum.rejection`).
CAUSES = {"413": "too_large", "429": "rate_limit", "503": "unavailable"}
# Seconds between two measurements of a worker, and between two attempts to take the place of the worker that answers Prometheus.
INTERVAL = 1
# The seconds in which the address may be in use without a message: after `manage.py reload`, by workers with the old code.
MAX_WAIT_FOR_ADDRESS = 30
# The requests of a worker that wait to be counted. Further ones are not counted: the files cannot be written, as when the disk is full.
MAX_UNCOUNTED = 100_000

logger = logging.getLogger("rostrum.monitoring")

_port = 0


def prepare(port: int) -> None:
    """Create the directory for the metrics of the workers. `port` is that of the web server."""
    global _port
    _port = port
    os.environ[DIRECTORY] = str(create_directory())


def start_in_web_worker(application: "Application") -> "RequestMetrics":
    directory = Path(os.environ[DIRECTORY])
    number = take_number(directory)
    # Gauges of the process that had the number before.
    mark_process_dead(number, str(directory))
    values.ValueClass = values.MultiProcessValue(lambda: number)
    metrics = RequestMetrics(application)
    threading.Thread(target=watch, args=(metrics, directory), name="metrics", daemon=True).start()
    return metrics


def watch(metrics: "RequestMetrics", directory: Path) -> None:
    """Measure the worker. Answer Prometheus if no other worker does."""
    is_chosen = is_answering = is_failing = False
    attempts = 0
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(directory))
    registry.register(ServerCollector(_port))
    registry.register(DatabaseCollector())
    while True:
        try:
            metrics.measure()
            is_failing = False
        except OSError as error:
            if not is_failing:
                logger.error("metrics are not written: %s", error.strerror)
            is_failing = True
        is_chosen = is_chosen or lock(directory / "answering")
        if is_chosen and not is_answering:
            attempts += 1
            is_answering = answer(registry, is_logged=attempts == MAX_WAIT_FOR_ADDRESS // INTERVAL)
        time.sleep(INTERVAL)


def start_in_job_worker() -> "JobMetrics":
    registry = CollectorRegistry()
    metrics = JobMetrics(registry)
    answer(registry, is_logged=True)
    return metrics


def answer(registry: CollectorRegistry, *, is_logged: bool) -> bool:
    """Answer Prometheus in a thread. Return False if another process uses the address, which is logged only if `is_logged`."""
    host, port = settings.METRICS_ADDRESS
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        if is_logged:
            logger.error("no metrics: cannot listen on METRICS_ADDRESS: %s", error.strerror)
        return False
    return True


class RequestMetrics:
    """The requests of one worker: an observer of `Application`."""

    def __init__(self, application: "Application") -> None:
        self.application = application
        # The metrics of all workers are read from their files, not from this registry.
        registry = CollectorRegistry()
        self.requests = Counter(
            "rostrum_requests",
            "Requests by route, method and class of the status.",
            ["route", "method", "status"],
            registry=registry,
        )
        self.seconds = Histogram(
            "rostrum_request_seconds",
            "The time until the response by route, without the sending of a stream.",
            ["route"],
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self.rejections = Counter("rostrum_rejections", "Refused requests by cause.", ["cause"], registry=registry)

        def gauge(name: str, text: str, mode: str = "livesum") -> Gauge:
            return Gauge(name, text, registry=registry, multiprocess_mode=mode)  # type: ignore[arg-type]

        self.slots = gauge("rostrum_request_slots", "Requests that all workers answer at a time.")
        self.slots_in_use = gauge("rostrum_request_slots_in_use", "Requests in progress.")
        self.waiting = gauge("rostrum_requests_waiting", "Requests that wait for a slot.")
        self.workers = gauge("rostrum_web_workers", "Worker processes of the web server.")
        self.memory = gauge("rostrum_resident_bytes", "The resident memory of each worker.", "liveall")
        self.slots.set(settings.REQUEST_THREADS)
        self.workers.set(1)
        self._ended: deque[tuple[str, str, str, str | None, float]] = deque(maxlen=MAX_UNCOUNTED)

    def measure(self) -> None:
        """Count the requests that have ended, and set the gauges."""
        while self._ended:
            route, method, status, cause, seconds = self._ended.popleft()
            self.requests.labels(route, method, status).inc()
            self.seconds.labels(route).observe(seconds)
            if cause is not None:
                self.rejections.labels(cause).inc()
        slots = self.application.slots
        self.slots_in_use.set(settings.REQUEST_THREADS - slots.free)
        self.waiting.set(slots.waiting)
        self.memory.set(resident_bytes())

    def start(self, line: "AccessLine") -> None:
        """Do nothing: a request is counted at its end."""

    def end(self, line: "AccessLine") -> None:
        # `measure` counts many requests at once, which takes a fifth of the time.
        status = line.status_line
        cause = line.environ.get("rostrum.rejection") or CAUSES.get(status[:3])
        self._ended.append((*route_of(line.environ), f"{status[0]}xx", cause, line.seconds))


def resident_bytes() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        # Not on Linux: the most that the process has had, in bytes on macOS.
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return float(pages * resource.getpagesize())


class ServerCollector:
    """The connections at the port of the web server, as Linux counts them."""

    def __init__(self, port: int) -> None:
        self.port = port

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "rostrum_connections",
            "Connections: open ones, and those that no worker has accepted yet.",
            labels=["state"],
        )
        counts = {"open": 0, "backlog": 0}
        for name in ("tcp", "tcp6"):
            try:
                lines = Path("/proc/net", name).read_text().splitlines()[1:]
            except OSError:
                continue
            for line in lines:
                _, local, _, state, queues, *_ = line.split()
                if int(local.rpartition(":")[2], 16) != self.port:
                    continue
                if state == "01":
                    counts["open"] += 1
                elif state == "0A":
                    counts["backlog"] += int(queues.partition(":")[2], 16)
        # Until a worker accepts a connection, the kernel counts it as open, too.
        counts["open"] = max(0, counts["open"] - counts["backlog"])
        for state, number in counts.items():
            family.add_metric([state], number)
        yield family


class JobMetrics:
    """The jobs of one worker: an observer of jobs that have ended."""

    def __init__(self, registry: CollectorRegistry) -> None:
        disable_created_metrics()
        self.runs = Counter(
            "rostrum_job_runs", "Jobs that have run, by name and outcome.", ["name", "outcome"], registry=registry
        )
        self.seconds = Histogram(
            "rostrum_job_seconds", "How long jobs have run, by name.", ["name"], buckets=JOB_BUCKETS, registry=registry
        )
        self.succeeded_at = Gauge(
            "rostrum_job_succeeded_timestamp_seconds",
            "When a job of this name has last succeeded.",
            ["name"],
            registry=registry,
        )
        memory = Gauge("rostrum_resident_bytes", "The resident memory of the worker.", registry=registry)
        memory.set_function(resident_bytes)

    def __call__(self, job: "Job", outcome: str, seconds: float) -> None:
        # A name that the code does not know is that of another version.
        name = job.name if job.name in jobs else "unknown"
        self.runs.labels(name, outcome).inc()
        self.seconds.labels(name).observe(seconds)
        if outcome == "succeeded":
            self.succeeded_at.labels(name).set_to_current_time()
