"""The web server: granian, with the application loaded before it forks the workers, which then share the memory."""

import gc
import importlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from django.conf import settings
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from config import monitoring

if TYPE_CHECKING:
    from config.wsgi import Application

# Each worker calls this function. `bench.bare` replaces it.
FACTORY = "config.server:make_application"
# By default, Docker kills a container ten seconds after asking it to stop. The workers have to end earlier.
STOP_TIMEOUT = 8
# How often a worker checks whether its parent is alive, in seconds.
PARENT_INTERVAL = 0.5
# The ids of the workers that serve until those with the new code are ready (`execute_new_code`).
OLD_WORKERS = "ROSTRUM_OLD_WORKERS"
# The time that a new worker needs from the end of `make_application` until it accepts connections, in seconds. It takes milliseconds.
LISTEN_DELAY = 1
# granian's messages go to the log of the service, which redacts them.
LOGGING = {"loggers": {"_granian": {"handlers": [], "propagate": True}}}

logger = logging.getLogger("rostrum.server")

# Each worker releases it when it has loaded the application.
ready = multiprocessing.get_context("fork").Semaphore(0)


def serve(address: str, port: int, *, workers: int) -> None:
    """Serve on an IP address until the process is stopped. SIGHUP exchanges the workers for new ones with the code as it is then."""
    old_workers = [int(number) for number in os.environ.pop(OLD_WORKERS, "").split()]
    monitoring.prepare_web_server(port)
    importlib.import_module(FACTORY.partition(":")[0])
    load_application()
    # The garbage collector writes to the objects that it examines, which would give each worker a copy of their memory.
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork")
    logging.getLogger("_granian").addFilter(is_relevant)
    server = Granian(
        FACTORY,
        factory=True,
        address=address,
        port=port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=workers,
        blocking_threads=settings.THREADS,
        # The longest time that granian accepts: an idle thread keeps its database connection.
        blocking_threads_idle_timeout=600,
        backlog=1024,
        backpressure=settings.MAX_CONNECTIONS,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_TIMEOUT,
        log_level=LogLevels.warning,
        log_dictconfig=LOGGING,
    )
    server.on_reload(lambda: execute_new_code(old_workers))
    if old_workers:
        threading.Thread(target=end_old_workers, args=(old_workers, workers), daemon=True).start()
    server.serve()


def execute_new_code(old_workers: list[int]) -> None:
    """Replace the program of this process by its command as it is on the disk now. The workers keep serving, and remain its children.

    A new fork would have the old code, because this process has imported it.
    """
    # The new program ignores the signal until it can handle it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    workers = [*old_workers, *(process.pid for process in multiprocessing.active_children())]
    command = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, command, os.environ | {OLD_WORKERS: " ".join(map(str, workers))})  # noqa: S606


def end_old_workers(old_workers: list[int], number: int) -> None:
    """Wait until the new workers serve, and then end the old ones, one after another."""
    for _ in range(number):
        ready.acquire()
    time.sleep(LISTEN_DELAY)
    while old_workers:
        worker = old_workers[0]
        os.kill(worker, signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT
        while os.waitpid(worker, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.kill(worker, signal.SIGKILL)
            time.sleep(0.05)
        # Its id may be used again from now on.
        old_workers.pop(0)
    logger.info("all workers have the new code")


def load_application() -> "Application":
    """Import the application and all views, which Django would import at the first request of each worker."""
    from django.urls import get_resolver

    from config.wsgi import application

    get_resolver().url_patterns  # noqa: B018
    return application


def make_application() -> "Application":
    """Return the application, in a worker process."""
    threading.Thread(target=end_with_parent, args=(os.getppid(),), name="parent", daemon=True).start()
    application = load_application()
    monitoring.start_in_web_worker(application)
    ready.release()
    return application


def end_with_parent(parent: int) -> None:
    """Stop this worker process when its parent has been killed. Otherwise the worker would keep the port in use."""
    while os.getppid() == parent:
        time.sleep(PARENT_INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_TIMEOUT)
    os._exit(1)


def is_relevant(record: logging.LogRecord) -> bool:
    """Return False for granian's warning about many threads, which appears on a machine with few cores."""
    return "Python threads" not in record.msg
