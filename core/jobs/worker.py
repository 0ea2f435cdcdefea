"""The worker process: threads that run jobs, and a main thread that watches them."""

import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Callable
from time import monotonic

from django.db import Error, close_old_connections, connection
from django.utils import timezone

from core.jobs import execution, queue
from core.jobs.queue import ClaimedJob
from core.jobs.registration import Loop, loops, queues

logger = logging.getLogger("rostrum.jobs")

# The exit status of a worker that has to be started again (EX_TEMPFAIL).
RESTART = 75
# Seconds between two searches for due jobs in a queue, while it is empty.
POLL_INTERVAL = 0.25
# Seconds between two checks by the main thread for overdue jobs, ended threads and `stop`.
TICK = 0.1
# Seconds that other jobs get to end when a job exceeds its time limit.
RESTART_GRACE = 5
# The default interval of the heartbeats in seconds. All workers must have the same.
HEARTBEAT = 2
# A worker that missed this number of heartbeats is considered dead. The number is low because users wait for e-mails of its jobs.
MISSED_HEARTBEATS = 5
# Seconds after which the process ends if its main thread does not run, for example because a job holds the global interpreter lock.
FREEZE_TIMEOUT = 120
# Seconds between two attempts after an error of the database.
DATABASE_RETRY = 1


class Worker:
    """A process that runs jobs until it is stopped.

    A job that exceeds its time limit cannot be stopped alone, because a thread cannot be killed. Then the process ends with the
    status `RESTART`, and its supervisor starts another.
    """

    def __init__(self, *, threads: int = 4, shutdown_timeout: float = 20, heartbeat: float = HEARTBEAT) -> None:
        self.threads, self.shutdown_timeout, self.heartbeat = threads, shutdown_timeout, heartbeat
        self.stop = threading.Event()
        # The running jobs, and when they have to end.
        self.running: dict[ClaimedJob, float] = {}
        # The jobs in `running` that have ended, with their errors, but whose outcome could not be recorded.
        self.ended: dict[ClaimedJob, BaseException | None] = {}
        self.started: list[threading.Thread] = []
        # The account of the last claimed job of each queue. The next job belongs to the account after it.
        self.turns: dict[str, int] = {}
        self.lock = threading.Lock()
        self.schedule = execution.PeriodicSchedule()
        # Jobs that the database shows as claimed by this worker, although no thread runs them.
        self.orphans: set[ClaimedJob] = set()
        # The time of this worker's last heartbeat, and since when its heartbeats have come without a gap, by the database clock.
        self.last_heartbeat: float | None = None
        self.regular_since = 0.0
        self.worker_id = 0

    def run(self) -> int:
        """Run jobs until `stop` is set. Return the exit status."""
        self.worker_id = queue.register_worker()
        logger.info("worker %d started with %d threads", self.worker_id, self.threads)
        self.started = self.start_threads()
        status = self.watch()
        self.stop.set()
        timeout = self.shutdown_timeout if status == 0 else RESTART_GRACE
        self.wait_for(self.started, timeout)
        self.leave()
        logger.info("worker %d stopped", self.worker_id)
        return status

    def start_threads(self) -> list[threading.Thread]:
        threads = []

        def start(name: str, function: Callable[[], None]) -> None:
            # Daemons, because a thread that hangs must not keep the process from ending.
            threads.append(threading.Thread(target=function, name=name, daemon=True))
            threads[-1].start()

        for name, each in queues.items():
            polling = threading.Lock()
            for _ in range(each.threads or self.threads):
                start(f"jobs {name}", lambda name=name, polling=polling: self.run_jobs(name, polling))  # type: ignore[misc]
        for name, loop in loops.items():
            start(f"loop {name}", lambda name=name, loop=loop: self.run_loop(name, loop))  # type: ignore[misc]
        return threads

    def wait_for(self, threads: list[threading.Thread], timeout: float) -> None:
        deadline = monotonic() + timeout
        for thread in threads:
            while thread.is_alive() and monotonic() < deadline:
                faulthandler.dump_traceback_later(FREEZE_TIMEOUT, exit=True)
                thread.join(TICK)

    # The threads of jobs

    def run_jobs(self, name: str, polling: threading.Lock) -> None:
        """Run the jobs of a queue. Of the idle threads only the one that has the lock `polling` asks the database for jobs."""
        while not self.stop.is_set():
            with polling:
                claimed = self.wait_for_job(name)
            if claimed is not None:
                self.run_job(claimed)
        connection.close()

    def wait_for_job(self, name: str) -> ClaimedJob | None:
        while not self.stop.is_set():
            try:
                close_old_connections()
                if (claimed := self.claim(name)) is not None:
                    with self.lock:
                        self.running[claimed] = monotonic() + execution.time_limit(claimed)
                    return claimed
            except Error as error:
                self.wait_for_database(error)
            self.stop.wait(POLL_INTERVAL)
        return None

    def claim(self, name: str) -> ClaimedJob | None:
        after = self.turns.get(name, -1)
        claimed = queue.claim(name, self.worker_id, after=after, max_running=queues[name].max_running)
        if claimed is not None:
            self.turns[name] = claimed.account_id
        return claimed

    def run_job(self, claimed: ClaimedJob) -> None:
        error = execution.run(claimed)
        # Without the recorded outcome, the job would stay claimed as long as this worker is alive.
        while True:
            try:
                close_old_connections()
                execution.record(claimed, error)
                break
            except Error as database_error:
                self.wait_for_database(database_error)
                if self.stop.is_set():
                    self.ended[claimed] = error
                    return
        with self.lock:
            del self.running[claimed]

    def run_loop(self, name: str, loop: Loop) -> None:
        while not self.stop.is_set():
            try:
                close_old_connections()
                loop(self.stop)
            except Error as error:
                self.wait_for_database(error)
            except Exception as error:  # noqa: BLE001, a loop must not end before the worker
                # The message may contain personal data.
                logger.error("the loop %s failed: %s", name, type(error).__name__)
                self.stop.wait(DATABASE_RETRY)
            self.stop.wait(TICK)
        connection.close()

    def wait_for_database(self, error: Error) -> None:
        connection.close()
        logger.error("the database is not available: %s", type(error).__name__)
        self.stop.wait(DATABASE_RETRY)

    # The main thread

    def watch(self) -> int:
        """Watch the jobs until the worker has to stop. Return the exit status."""
        due = 0.0
        while not self.stop.is_set():
            faulthandler.dump_traceback_later(FREEZE_TIMEOUT, exit=True)
            if self.overdue():
                return RESTART
            if not all(thread.is_alive() for thread in self.started) and not self.stop.is_set():
                logger.error("a thread of worker %d ended unexpectedly", self.worker_id)
                return RESTART
            if monotonic() >= due:
                due = monotonic() + self.heartbeat
                try:
                    close_old_connections()
                    if not self.maintain():
                        logger.error("worker %d had no heartbeat for too long and starts again", self.worker_id)
                        return RESTART
                except Error as error:
                    connection.close()
                    logger.error("the database is not available: %s", type(error).__name__)
            self.stop.wait(TICK)
        return 0

    def maintain(self) -> bool:
        """Send a heartbeat, requeue stalled jobs and defer periodic jobs. Return False if another worker considered this one dead."""
        now = queue.heartbeat(self.worker_id)
        if now is None:
            return False
        if self.has_regular_heartbeats(now):
            execution.requeue_stalled(self.max_silence)
        self.requeue_orphans()
        self.schedule.defer_due(timezone.now())
        return True

    @property
    def max_silence(self) -> float:
        """The seconds without a heartbeat after which a worker is considered dead."""
        return MISSED_HEARTBEATS * self.heartbeat

    def has_regular_heartbeats(self, now: float) -> bool:
        """Return whether this worker has sent heartbeats without a gap for `max_silence`.

        Without this condition, the first worker to send a heartbeat after an outage of the database or a suspension of the machine
        would consider all others dead and requeue their jobs.
        """
        if self.last_heartbeat is None or not 0 <= now - self.last_heartbeat <= self.max_silence / 2:
            self.regular_since = now
        self.last_heartbeat = now
        return now - self.regular_since >= self.max_silence

    def requeue_orphans(self) -> None:
        """Requeue jobs that no thread runs, because their claim was committed and the response of the database was lost."""
        claimed = {job.id: job for job in queue.jobs_of(self.worker_id)}
        with self.lock:
            for job in self.running:
                claimed.pop(job.id, None)
        # A thread may have claimed a job and not added it to `running` yet. So requeue only the orphans of two checks in a row.
        for job in claimed.values():
            if job.id in {orphan.id for orphan in self.orphans}:
                queue.release(job)
        self.orphans = set(claimed.values())

    def overdue(self) -> list[ClaimedJob]:
        now = monotonic()
        with self.lock:
            return [claimed for claimed, deadline in self.running.items() if deadline < now]

    def leave(self) -> None:
        """Record or requeue the jobs that are left, and unregister the worker.

        For jobs that have not ended, the attempt counts only if they exceeded their time limit.
        """
        overdue = self.overdue()
        with self.lock:
            rest = list(self.running)
        try:
            close_old_connections()
            for claimed in rest:
                if claimed in self.ended:
                    execution.record(claimed, self.ended[claimed])
                elif claimed in overdue:
                    logger.error("%s exceeded its time limit of %d s", claimed, execution.time_limit(claimed))
                    delay = execution.retry_delays(claimed).after(claimed.attempt)
                    execution.record_failure(claimed, execution.TIME_LIMIT_EXCEEDED, delay=delay)
                else:
                    logger.warning("%s did not end in time and is put back", claimed)
                    queue.release(claimed)
            queue.unregister_worker(self.worker_id)
            connection.close()
        except Error as error:
            # Other workers requeue the jobs after `max_silence`.
            logger.error("the database is not available: %s", type(error).__name__)


def end_process(status: int) -> None:
    """End the process now, even if threads hang."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
