"""The web server: granian, with the application loaded before it forks the workers, which then share the memory."""

import gc
import importlib
import logging
import multiprocessing
import os
import signal
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
# granian's messages go to the log of the service, which redacts them.
LOGGING = {"loggers": {"_granian": {"handlers": [], "propagate": True}}}


def serve(address: str, port: int, *, workers: int) -> None:
    """Serve on an IP address until the process is stopped."""
    monitoring.prepare_web_server(port)
    importlib.import_module(FACTORY.partition(":")[0])
    load_application()
    # The garbage collector writes to the objects that it examines, which would give each worker a copy of their memory.
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork")
    logging.getLogger("_granian").addFilter(is_relevant)
    Granian(
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
    ).serve()


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
