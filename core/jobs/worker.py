"""The worker process: threads that run jobs, and a main thread that watches them."""

import faulthandler
import gc
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

from django.conf import settings
from django.db import Error, close_old_connections, connection
from django.utils import translation

from core.jobs import queue, registry
from core.jobs.queue import Job
from core.jobs.registry import PermanentError, find_function
from core.logs import request_id

logger = logging.getLogger("rostrum.jobs")

# The exit status of a worker that has to be started again (EX_TEMPFAIL).
RESTART = 75
# Seconds between two searches for due jobs in an empty queue, and between two checks of the main thread.
POLL_INTERVAL, TICK = 0.25, 0.1
# The default seconds between two heartbeats. After five missing ones, other workers take over the jobs of a worker. The number is low
# because users wait for e-mails of jobs. All workers must have the same interval.
HEARTBEAT, MISSED_HEARTBEATS = 2, 5
# Seconds that other jobs get to end when a job exceeds its time limit.
RESTART_GRACE = 5
# Seconds after which the process ends if its main thread does not run, for example because a job holds the global interpreter lock.
FREEZE_TIMEOUT = 120
# Seconds between two attempts after an error of the database.
DATABASE_RETRY = 1
# Seconds after which a job of a closed account is tried again.
CLOSED_DELAY = 600


# Functions that a worker calls when it starts.
start_hooks: list[Callable[[], None]] = []
# Functions that get each job that has ended, its outcome (`succeeded`, `retried`, `failed` or `taken_over`), and the seconds that it took.
job_observers: list[Callable[[Job, str, float], None]] = []


class WorkerLost(Exception):
    """The worker of the last attempts was killed."""


class AccountClosed(Exception):
    """The account of the job is closed."""


class TimeLimitExceeded(Exception):
    """The job did not end in time."""


def collect_less_often() -> None:
    """Let the garbage collector run less often. It would take a fifth of the time of an import, whose rows need no collector."""
    gc.freeze()
    gc.set_threshold(20_000)


def run(job: Job) -> BaseException | None:
    """Call the function of a job. Return the error that it raises, or None."""
    function, now, lost = find_function(job.name), monotonic(), job.attempts - 1
    # Retry a first attempt at once: a job is rarely the reason why its worker was killed. Delay later attempts in case it is.
    if job.is_lost and (lost > 1 or function.retry.get_delay(lost) is None):
        return WorkerLost()
    if job.account_id and not function.runs_when_closed and registry.closed_accounts.is_closed(job.account_id):
        return AccountClosed()
    registry.deadline.set(now + function.time_limit)
    registry.time_slice_end.set(None if function.time_slice is None else now + function.time_slice)
    try:
        with translation.override(settings.LANGUAGE_CODE):
            function(**job.arguments)
    except BaseException as error:  # noqa: BLE001, any error of a job is recorded
        return error
    finally:
        registry.deadline.set(None)
        registry.time_slice_end.set(None)
    return None


def record(job: Job, error: BaseException | None) -> str:
    """Record the outcome of a job, and return it. Do nothing if another worker has taken it over."""
    # A claim after which the function was not called is not an attempt.
    attempts = job.attempts - isinstance(error, (WorkerLost, AccountClosed))
    if error is None:
        if queue.finish(job):
            return "succeeded"
        logger.warning("%s ended after another worker had taken it over", job)
        return "taken_over"
    is_permanent = isinstance(error, PermanentError)
    delay = None if is_permanent else find_function(job.name).retry.get_delay(attempts)
    if isinstance(error, AccountClosed):
        delay = CLOSED_DELAY
    name = type(error.__cause__ if is_permanent and error.__cause__ else error).__name__
    if not queue.fail(job, name, delay=delay, attempts=attempts):
        logger.warning("%s failed after another worker had taken it over: %s", job, name)
        outcome = "taken_over"
    elif delay is None:
        logger.error("%s failed after %d attempts: %s", job, attempts, name, extra={"error": error})
        outcome = "failed"
    else:
        logger.warning("%s is retried in %d s: %s", job, delay, name)
        outcome = "retried"
    # Only the stack: the message may contain personal data.
    logger.debug("%s", "".join(traceback.format_tb(error.__traceback__)))
    return outcome


def defer_periodic(now: float, last: dict[str, int]) -> int:
    """Add the periodic jobs whose time has come. Return their number. `last` has the last time of each job, by its name.

    The time is computed from `now` in each call, so neither a pause nor a jump of the clock stops the schedule.
    """
    deferred = 0
    for name, function in registry.jobs.items():
        if function.period and last.get(name) != (at := function.last_time(now)):
            deferred += queue.insert_periodic(function.queue, name, at=at, now=now)
            last[name] = at
    return deferred


class Worker:
    """A process that runs jobs until it is stopped.

    A job that exceeds its time limit cannot be stopped alone, because a thread cannot be killed. Then the process ends with the
    status `RESTART`, and its supervisor starts another.
    """

    def __init__(self, *, threads: int = 4, shutdown_timeout: float = 20, heartbeat: float = HEARTBEAT) -> None:
        self.threads, self.shutdown_timeout, self.heartbeat = threads, shutdown_timeout, heartbeat
        # In seconds, for running jobs. Heartbeats renew it.
        self.lease = MISSED_HEARTBEATS * heartbeat
        self.stop = threading.Event()
        self.started: list[threading.Thread] = []
        # The running jobs, and when they have to end. Each operation on the dictionary is atomic.
        self.running: dict[Job, float] = {}
        # The account of the last claimed job of each queue. The next job belongs to the account after it.
        self.last_account_ids: dict[str, int] = {}
        self.last_times: dict[str, int] = {}
        # When the last heartbeat was sent, since when they have come without a gap, and, by the monotonic clock, when the next one is due.
        self.last_heartbeat = self.regular_since = self.next_heartbeat = 0.0
        self.id = 0

    def run(self) -> int:
        """Run jobs until `stop` is set. Return the exit status."""
        for start in start_hooks:
            start()
        self.id = queue.register_worker()
        logger.info("worker %d started with %d threads", self.id, self.threads)
        for name, job_queue in registry.queues.items():
            polling = threading.Lock()
            for _ in range(job_queue.threads or self.threads):
                self.start_thread(f"jobs {name}", self.run_jobs, name, polling)
        for name, loop in registry.loops.items():
            self.start_thread(f"loop {name}", self.run_loop, name, loop)
        status = self.watch()
        self.stop.set()
        self.leave(self.shutdown_timeout if status == 0 else RESTART_GRACE)
        logger.info("worker %d stopped", self.id)
        return status

    def start_thread(self, name: str, function: Callable[..., object], *arguments: object) -> None:
        # Daemons, because a thread that hangs must not keep the process from ending.
        self.started.append(threading.Thread(target=function, name=name, args=arguments, daemon=True))
        self.started[-1].start()

    def run_jobs(self, name: str, polling: threading.Lock) -> None:
        """Run the jobs of a queue. Of the idle threads only the one that has the lock `polling` asks the database for jobs."""
        while not self.stop.is_set():
            with polling:
                job = self.wait_for_job(name)
            if job is not None:
                self.run_job(job)
        connection.close()

    def wait_for_job(self, name: str) -> Job | None:
        while not self.stop.is_set():
            with reconnecting():
                if (job := self.claim(name)) is not None:
                    return job
            self.stop.wait(POLL_INTERVAL)
        return None

    def claim(self, name: str) -> Job | None:
        # Without this condition, the first worker to claim a job after an outage of the database, or after a jump of its clock, would take
        # over the jobs of all others.
        take_over = self.last_heartbeat - self.regular_since >= self.lease
        after, limit = self.last_account_ids.get(name, -1), registry.queues[name].max_running
        job = queue.claim(name, after=after, max_running=limit, lease=self.lease, take_over=take_over)
        if job is not None:
            self.running[job] = monotonic() + find_function(job.name).time_limit
            self.last_account_ids[name] = job.account_id
        return job

    def run_job(self, job: Job) -> None:
        request_id.set(f"job-{job.id}")
        start = monotonic()
        error = run(job)
        seconds = monotonic() - start
        # Without the recorded outcome, the job would run again.
        while job in self.running:
            with reconnecting():
                outcome = record(job, error)
                del self.running[job]
                for observe in job_observers:
                    observe(job, outcome, seconds)
        request_id.set(None)

    def run_loop(self, name: str, loop: registry.Loop) -> None:
        while not self.stop.wait(TICK):
            try:
                with reconnecting():
                    loop(self.stop)
            except Exception as error:  # noqa: BLE001, a loop must not end before the worker
                # The message may contain personal data.
                logger.error("the loop %s failed: %s", name, type(error).__name__)
                self.stop.wait(DATABASE_RETRY)
        connection.close()

    def watch(self) -> int:
        """Watch the threads until the worker has to stop. Return the exit status."""
        while not self.stop.wait(TICK):
            if any(end < monotonic() for end in self.running.copy().values()):
                return RESTART
            if not all(thread.is_alive() for thread in self.started) and not self.stop.is_set():
                logger.error("a thread of worker %d ended unexpectedly", self.id)
                return RESTART
            self.keep_alive()
        return 0

    def keep_alive(self) -> None:
        """Restart the timer that ends a frozen process, and send a heartbeat if it is due."""
        faulthandler.dump_traceback_later(FREEZE_TIMEOUT, exit=True)
        if monotonic() >= self.next_heartbeat:
            self.next_heartbeat = monotonic() + self.heartbeat
            with reconnecting():
                self.maintain()

    def maintain(self) -> None:
        """Send a heartbeat, renew the leases and add periodic jobs."""
        now = queue.beat(self.id, [job.id for job in self.running.copy()], lease=self.lease)
        if not 0 <= now - self.last_heartbeat <= self.lease / 2:
            self.regular_since = now
        self.last_heartbeat = now
        defer_periodic(now, self.last_times)

    def leave(self, timeout: float) -> None:
        """Wait for the running jobs, requeue the rest, and unregister the worker.

        For jobs that have not ended, the attempt counts only if they exceeded their time limit.
        """
        end = monotonic() + timeout
        while monotonic() < end and any(thread.is_alive() for thread in self.started):
            self.keep_alive()
            sleep(TICK)
        # If the database does not answer, other workers take over the jobs when their leases end.
        with reconnecting():
            for job, deadline in self.running.copy().items():
                if deadline < monotonic():
                    logger.error("%s exceeded its time limit of %d s", job, find_function(job.name).time_limit)
                    record(job, TimeLimitExceeded())
                else:
                    logger.warning("%s did not end in time and is put back", job)
                    queue.release(job)
            queue.Heartbeat.objects.filter(id=self.id).delete()
            connection.close()


@contextmanager
def reconnecting() -> Iterator[None]:
    """Log an error of the database, and wait. The caller tries again on a new connection."""
    try:
        close_old_connections()
        yield
    except Error as error:
        connection.close()
        logger.error("the database is not available: %s", type(error).__name__)
        sleep(DATABASE_RETRY)


def end_process(status: int) -> None:
    """End the process now, even if threads hang."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
