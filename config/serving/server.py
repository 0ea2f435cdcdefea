"""`python -m config.serving.server`: granian, with the application loaded before its workers are made, so that they share the memory."""

import gc
import importlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from functools import partial

import granian.cli
from granian.server.mp import MPServer, WorkerProcess

from config.serving import deadline
from config.serving.in_flight import InFlight
from config.serving.supervision import Backoff, outcome

logger = logging.getLogger("rostrum.server")

# How long a worker has to live until its next death counts as the first one, in seconds.
STABLE = 1
# How often a worker checks whether its parent is still there, in seconds.
PARENT_INTERVAL = 0.5


class Server(MPServer):
    """granian's server, which also survives workers that die again and again.

    With `--respawn-failed-workers`, granian exits when a worker dies twice within 5.5 seconds, and it can miss one of two
    workers that die at the same moment. This class replaces its main loop, and logs the requests that a worker was serving.
    The options `--workers-lifetime`, `--workers-max-rss` and `--reload` are not used here and not supported by this loop.
    """

    def _spawn_worker(self, idx: int, target, callback_loader) -> WorkerProcess:
        from django.conf import settings

        # An example that a page runs in its own process is a request within a request; each turn can have one.
        in_flight = InFlight(settings.THREADS + settings.TURNS)
        worker = super()._spawn_worker(idx, partial(run_worker, target, in_flight, self.bind_port), callback_loader)
        worker.in_flight = in_flight
        return worker

    def _serve_loop(self, spawn_target, target_loader) -> None:
        backoffs = [Backoff(stable=STABLE) for _ in self.wrks]
        due: dict[int, float] = {}
        while not self.interrupt_signal:
            self.main_loop_interrupt.wait(max(0, min(due.values()) - time.monotonic()) if due else None)
            self.main_loop_interrupt.clear()
            while self.interrupt_children:
                idx = self.interrupt_children.pop()
                if not self.wrks[idx].is_alive():
                    delay = backoffs[idx].end()
                    due[idx] = time.monotonic() + delay
                    how = outcome(self.wrks[idx].inner.exitcode)
                    logger.error("worker %d ended unexpectedly (%s): starting it again in %.1f s", idx + 1, how, delay)
                    log_interrupted(self.wrks[idx])
            if self.reload_signal:
                due.clear()
                self._reload(spawn_target, target_loader)
            for idx in [idx for idx, when in due.items() if when <= time.monotonic()]:
                del due[idx]
                worker = self._spawn_worker(idx, spawn_target, target_loader)
                try:
                    worker.start()
                except OSError as error:  # no memory, or no process is left
                    due[idx] = time.monotonic() + backoffs[idx].end()
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
    for request in worker.in_flight:
        logger.error("worker %d ended while it was serving request %s", worker.idx + 1, request)


def run_worker(target, in_flight: InFlight, port: int, *arguments) -> None:
    """Run in each worker process: serve until told to stop."""
    from config.wsgi import application

    application.in_flight = in_flight
    deadline.watch(port, in_flight)
    threading.Thread(target=end_with_parent, args=(os.getppid(),), name="parent", daemon=True).start()
    target(*arguments)


def end_with_parent(parent: int) -> None:
    """Stop this worker when its parent has been killed: nobody else would, and it would keep the port."""
    while os.getppid() == parent:
        time.sleep(PARENT_INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(8)  # as long as the parent would give it
    os._exit(1)


def main() -> None:
    importlib.import_module(sys.argv[-1].partition(":")[0])
    load_views()
    # What is there stays: looking through it for garbage would give each worker a copy of it.
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork")
    logging.getLogger("_granian").addFilter(is_news)
    granian.cli.Server = Server
    granian.cli.entrypoint()


def load_views() -> None:
    """Django would, at the first request of each worker."""
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018


def is_news(record: logging.LogRecord) -> bool:
    """That there are many threads is meant to be (`config.serving.admission`)."""
    return "Python threads" not in record.msg


if __name__ == "__main__":
    main()
