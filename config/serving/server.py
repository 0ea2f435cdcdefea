"""The web server: granian with three changes.

It loads the application before it forks its workers, which then share the memory. `Server` starts workers again that have died.
`Dispatcher` limits the requests in each worker.
"""

import ctypes
import gc
import importlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import granian.cli
import granian.server.mp
from django.conf import settings
from granian.server.mp import MPServer, WorkerProcess

from config.serving import deadline
from config.serving.admission import Admission
from config.serving.chunked import chunked_bodies
from config.serving.dispatcher import Dispatcher
from config.serving.in_flight import InFlight
from config.serving.supervision import Backoff, outcome
from config.serving.threads import Threads

logger = logging.getLogger("rostrum.server")

APPLICATION = "config.wsgi:application"
# By default, Docker kills a container ten seconds after asking it to stop. The workers have to end earlier.
WORKERS_KILL_TIMEOUT = 8
# Limits of `mallopt`, by the names of their environment variables: the number of the limit in malloc.h, and its value.
MALLOC_LIMITS = {
    "MALLOC_ARENA_MAX": (-8, 2),
    "MALLOC_MMAP_THRESHOLD_": (-3, 1024 * 1024),
    "MALLOC_TRIM_THRESHOLD_": (-1, 4 * 1024 * 1024),
}
# When a worker ends after at least this many seconds, the delay before it is started again is the shortest one (`Backoff`).
STABLE_AFTER = 1
# How often a worker checks whether its parent is alive, in seconds.
PARENT_INTERVAL = 0.5


class Server(MPServer):
    """granian's server, which also keeps running when workers die repeatedly.

    With `--respawn-failed-workers`, granian exits when a worker dies twice within 5.5 seconds, and it can miss one of two
    workers that die at the same moment. This class replaces granian's main loop, and logs the requests that a worker was serving.
    The new loop does not support the options `--workers-lifetime`, `--workers-max-rss` and `--reload`, which Rostrum does not use.
    """

    # granian's MPServer declares this method with these parameters; its base class has one parameter more.
    def _spawn_worker(  # type: ignore[override]
        self, idx: int, target: Callable[..., None], callback_loader: Any
    ) -> WorkerProcess:
        in_flight = InFlight(settings.MAX_IN_FLIGHT)
        worker = super()._spawn_worker(idx, partial(run_worker, target, in_flight, self.bind_port), callback_loader)
        worker.in_flight = in_flight  # type: ignore[attr-defined]  # for `log_interrupted`
        return worker

    def _serve_loop(self, spawn_target: Callable[..., None], target_loader: Any) -> None:
        backoffs = [Backoff(stable=STABLE_AFTER) for _ in self.wrks]
        # When to start the ended workers again, by their index.
        start_times: dict[int, float] = {}
        while not self.interrupt_signal:
            self.main_loop_interrupt.wait(max(0, min(start_times.values()) - time.monotonic()) if start_times else None)
            self.main_loop_interrupt.clear()
            while self.interrupt_children:
                idx = self.interrupt_children.pop()
                if not self.wrks[idx].is_alive():
                    delay = backoffs[idx].end()
                    start_times[idx] = time.monotonic() + delay
                    exit_reason = outcome(self.wrks[idx].inner.exitcode)
                    logger.error(
                        "worker %d ended unexpectedly (%s): starting it again in %.1f s", idx + 1, exit_reason, delay
                    )
                    log_interrupted(self.wrks[idx])
            if self.reload_signal:
                start_times.clear()
                self._reload(spawn_target, target_loader)
            for idx in [idx for idx, start_time in start_times.items() if start_time <= time.monotonic()]:
                del start_times[idx]
                worker = self._spawn_worker(idx, spawn_target, target_loader)
                try:
                    worker.start()
                except OSError as error:  # no memory, or too many processes
                    start_times[idx] = time.monotonic() + backoffs[idx].end()
                    logger.error("worker %d can't be started: %s", idx + 1, error.strerror)
                else:
                    backoffs[idx].start()
                    self.wrks[idx] = worker

    def _stop_workers(self) -> None:
        workers = list(self.wrks)
        super()._stop_workers()
        for worker in workers:
            log_interrupted(worker)


def log_interrupted(worker: WorkerProcess) -> None:
    """Log the requests that a worker was serving when it ended."""
    for request in worker.in_flight:  # type: ignore[attr-defined]  # set by `Server._spawn_worker`
        logger.error("worker %d ended while it was serving request %s", worker.idx + 1, request)


def run_worker(target: Callable[..., None], in_flight: InFlight, port: int, *arguments: Any) -> None:
    """Serve requests until the parent stops this worker process."""
    from config.wsgi import application

    application.in_flight = in_flight
    deadline.watch(port, in_flight)
    chunked_bodies.watch(port)
    threading.Thread(target=end_with_parent, args=(os.getppid(),), name="parent", daemon=True).start()
    target(*arguments)


def dispatcher_of(application: Any, scope_options: dict[str, Any], log_format: str | None) -> Dispatcher:
    """Return the callback of a worker, instead of granian's own, which calls the application in the thread of each request."""
    admission = Admission(
        slots=settings.SLOTS,
        capacity=settings.QUEUE_CAPACITY,
        queue_timeout=settings.QUEUE_TIMEOUT,
        max_bodies=settings.MAX_BODIES,
        max_bodies_per_sender=settings.MAX_BODIES_PER_SENDER,
    )
    threads = Threads(min_active=settings.MIN_ACTIVE_THREADS, max_active=settings.MAX_ACTIVE_THREADS)
    dispatcher = Dispatcher(application, admission=admission, threads=threads)
    threading.Thread(target=dispatcher.reject_all, name="rejections", daemon=True).start()
    return dispatcher


def end_with_parent(parent: int) -> None:
    """Stop this worker process when its parent has been killed. Otherwise the worker would keep the port in use."""
    while os.getppid() == parent:
        time.sleep(PARENT_INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(WORKERS_KILL_TIMEOUT)
    os._exit(1)


def serve(address: str, port: int, *, workers: int) -> None:
    """Serve on an IP address until the process is stopped."""
    set_allocator()
    importlib.import_module(APPLICATION.partition(":")[0])
    load_views()
    # The garbage collector writes to the objects that it examines, which would give each worker a copy of their memory.
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork")
    logging.getLogger("_granian").addFilter(is_relevant)
    granian.cli.Server = Server  # type: ignore[attr-defined]  # not exported
    granian.server.mp._wsgi_call_wrap = dispatcher_of  # type: ignore[assignment, attr-defined]
    options = {
        "--interface": "wsgi",
        "--http": "1",
        "--host": address,
        "--port": port,
        "--workers": workers,
        "--blocking-threads": settings.THREADS,
        "--blocking-threads-idle-timeout": 600,
        # The limit of open connections for each worker, including idle connections. Further connections wait in the kernel.
        # The limit has to stay below the usual limit of 1,024 open files.
        "--backpressure": settings.MAX_CLIENT_CONNECTIONS,
        "--backlog": 1024,
        "--http1-header-read-timeout": settings.HEADER_TIMEOUT * 1000,
        "--workers-kill-timeout": WORKERS_KILL_TIMEOUT,
    }
    flags = [
        "--no-ws",
        "--respawn-failed-workers",
        "--no-access-log",
    ]  # `config.serving.exchange` writes the access log
    os.chdir(settings.BASE_DIR)
    granian.cli.cli([*(str(part) for option in options.items() for part in option), *flags, APPLICATION])


def set_allocator() -> None:
    """Set limits of glibc's allocator, unless the environment sets them. Do nothing with another C library.

    All threads share two arenas: with one arena for each thread, the allocator would keep far more freed memory than the memory in use.
    Blocks of 1 MiB, such as those of a password hash, are returned to the system when they are freed.
    """
    set_limit = getattr(ctypes.CDLL(None), "mallopt", None)
    for variable, (number, value) in MALLOC_LIMITS.items():
        if set_limit is not None and variable not in os.environ:
            set_limit(number, value)


def load_views() -> None:
    """Import all views. Otherwise Django would import them at the first request of each worker."""
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018


def is_relevant(record: logging.LogRecord) -> bool:
    """Return False for granian's warning about many threads. They are intended (`config.serving.admission`)."""
    return "Python threads" not in record.msg
