"""Running a claimed job, and recording its outcome."""

import logging
from datetime import datetime
from time import monotonic

from croniter import croniter
from django.conf import settings
from django.db import transaction
from django.utils import translation

from core.jobs import queue
from core.jobs.queue import ClaimedJob
from core.jobs.registration import UNKNOWN_JOB_DELAYS, PermanentError, RetryDelays, deadline, jobs, turn_end

logger = logging.getLogger("rostrum.jobs")

# The type of error of a job whose worker was killed, and of a job that ran for too long.
WORKER_LOST, TIME_LIMIT_EXCEEDED = "WorkerLost", "TimeLimitExceeded"


class UnknownJob(Exception):
    """The code has no job of this name."""


def retry_delays(claimed: ClaimedJob) -> RetryDelays:
    known = jobs.get(claimed.name)
    return known.retry if known else UNKNOWN_JOB_DELAYS


def time_limit(claimed: ClaimedJob) -> float:
    known = jobs.get(claimed.name)
    return known.time_limit if known else 60


def run(claimed: ClaimedJob) -> BaseException | None:
    """Run the function of a job. Return the error that it raises, or None."""
    now, known = monotonic(), jobs.get(claimed.name)
    reset = deadline.set(now + time_limit(claimed))
    reset_turn = turn_end.set(None if known is None or known.turn is None else now + known.turn)
    try:
        if known is None:
            raise UnknownJob
        with translation.override(settings.LANGUAGE_CODE):
            known(**claimed.arguments)
    except BaseException as error:  # noqa: BLE001, any error of a job is recorded
        return error
    finally:
        deadline.reset(reset)
        turn_end.reset(reset_turn)
    return None


def record(claimed: ClaimedJob, error: BaseException | None) -> None:
    """Record the outcome of a job."""
    if error is None:
        if not queue.finish(claimed):
            logger.warning("%s ended after it had been given to another worker", claimed)
        return
    cause = error.__cause__ if isinstance(error, PermanentError) and error.__cause__ else error
    delay = None if isinstance(error, PermanentError) else retry_delays(claimed).after(claimed.attempt)
    record_failure(claimed, type(cause).__name__, delay=delay)
    # Only the stack: the message may contain personal data.
    logger.debug("%s", "".join(_stack(error)))


def record_failure(claimed: ClaimedJob, error: str, *, delay: float | None) -> None:
    if not queue.fail(claimed, error, delay=delay):
        logger.warning("%s failed after it had been given to another worker: %s", claimed, error)
    elif delay is None:
        logger.error("%s failed after %d attempts: %s", claimed, claimed.attempt, error)
    else:
        logger.warning("%s is retried in %d s: %s", claimed, delay, error)


def _stack(error: BaseException) -> list[str]:
    lines, frame = [f"{type(error).__name__} in"], error.__traceback__
    while frame is not None:
        lines.append(f"\n  {frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}")
        frame = frame.tb_next
    return lines


@transaction.atomic
def requeue_stalled(seconds: float) -> int:
    """Requeue the jobs of workers that have had no heartbeat for a time, or fail those without attempts left. Return their number."""
    stalled = queue.take_stalled(seconds)
    for claimed in stalled:
        delay = retry_delays(claimed).after(claimed.attempt)
        # Retry a first attempt at once: a job is rarely the reason why its worker was killed. Delay later attempts in case it is.
        is_retried_at_once = claimed.attempt == 1 and delay is not None
        record_failure(claimed, WORKER_LOST, delay=0 if is_retried_at_once else delay)
    # Use the same transaction: a worker that was only suspended then finds that its row is deleted, and exits to be restarted.
    queue.remove_dead_workers(seconds)
    return len(stalled)


class PeriodicSchedule:
    """The schedule of the periodic jobs. For each time, the first worker that finds the job due defers it.

    Every call computes the previous time of each job, so neither a pause nor a jump of the clock stops the schedule.
    """

    def __init__(self) -> None:
        self.last: dict[str, int] = {}

    def defer_due(self, now: datetime) -> int:
        """Defer the jobs whose time has come. Return the number of jobs deferred."""
        deferred = 0
        for name, job in jobs.items():
            if not job.cron:
                continue
            # The iterator excludes its start, and a time is due from its first second on.
            timestamp = int(croniter(job.cron, now.timestamp() + 0.001).get_prev(float))
            if self.last.get(name) != timestamp:
                deferred += queue.insert_periodic(job.queue, name, timestamp)
                self.last[name] = timestamp
        return deferred
