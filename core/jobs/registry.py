"""Registration of jobs: functions that a worker runs later, perhaps more than once."""

import inspect
import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

from core.jobs import queue as table

# The longest time limit, in seconds.
MAX_TIME_LIMIT = 3600
# The longest time slice of a job that does much work for one account, in seconds. Then the job adds another one for the rest, so that jobs of
# other accounts run in between.
MAX_TIME_SLICE = 20
# The queue of periodic jobs, which the jobs of accounts must not delay.
PERIODIC_QUEUE = "periodic"


@dataclass(frozen=True)
class Queue:
    """A queue of jobs.

    `threads` is the number of threads of a worker that run its jobs. None stands for the argument `--threads`. Of one account, at most
    `max_running` jobs of the queue run at a time, in all workers.
    """

    threads: int | None = None
    max_running: int | None = None


queues: dict[str, Queue] = {"default": Queue(max_running=2), PERIODIC_QUEUE: Queue(threads=2)}

# When the running job has to end, and when it should add another job for the rest of its work, by the monotonic clock.
deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
time_slice_end: ContextVar[float | None] = ContextVar("time_slice_end", default=None)


class PermanentError(Exception):
    """An error that another attempt would not repair. The job fails without further attempts."""


class RetryDelays:
    """The seconds between the attempts of a job. A job has failed if the attempt after the last delay fails."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = seconds

    def get_delay(self, attempts: int) -> float | None:
        """Return the delay after a number of failed attempts, or None if there is no further attempt."""
        return self.seconds[attempts - 1] if attempts <= len(self.seconds) else None


class JobFunction:
    """A function that workers run. Its arguments are JSON values. It must be idempotent, because it may run more than once."""

    def __init__(
        self,
        function: Callable[..., object],
        *,
        time_limit: float,
        retry: RetryDelays,
        queue: str = "default",
        time_slice: float | None = None,
        period: int = 0,
        offset: int = 0,
        runs_when_closed: bool = False,
    ) -> None:
        if not 0 < time_limit <= MAX_TIME_LIMIT:
            raise ValueError(f"the time limit of a job is between 0 and {MAX_TIME_LIMIT} seconds")
        self.function = function
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.signature = inspect.signature(function)
        self.time_limit, self.retry, self.queue, self.time_slice = time_limit, retry, queue, time_slice
        self.period, self.offset = period, offset
        self.runs_when_closed = runs_when_closed
        self.__doc__ = function.__doc__

    def __call__(self, **arguments: object) -> object:
        return self.function(**arguments)

    def last_time(self, now: float) -> int:
        """Return the last time of the schedule of a periodic job, in seconds."""
        return int(now - self.offset) // self.period * self.period + self.offset

    def defer(
        self,
        *,
        _schedule_at: datetime | None = None,
        _key: str | None = None,
        _queue: str | None = None,
        **arguments: object,
    ) -> bool:
        """Add the job to its queue, as a part of the caller's transaction, with one statement.

        The job is due at `_schedule_at`, by default at once. `_queue` replaces the queue of the registration. With `_key`, do nothing and
        return False if a job with the same key is waiting. If a concurrent transaction is adding one, wait until it ends.
        """
        self.signature.bind(**arguments)
        return bool(table.insert(_queue or self.queue, self.name, arguments, key=_key, scheduled_at=_schedule_at))

    def defer_many(self, many: Iterable[dict[str, object]]) -> None:
        """Add a job for each mapping of arguments, with one statement."""
        rows = list(many)
        for arguments in rows:
            self.signature.bind(**arguments)
        if rows:
            table.insert(self.queue, self.name, *rows)


jobs: dict[str, JobFunction] = {}

# Takes the id of an account. Returns whether it is closed.
IsClosed = Callable[[int], bool]


class ClosedAccounts:
    """The registered query. Until it is registered, all accounts are open."""

    is_closed: IsClosed = staticmethod(lambda account_id: False)

    def register(self, is_closed: IsClosed) -> None:
        self.is_closed = is_closed


closed_accounts = ClosedAccounts()


class UnknownJob(Exception):
    """The code has no function of this name."""


def _raise_unknown(**_arguments: object) -> None:
    raise UnknownJob


# Jobs whose name is unknown belong to a newer or older version of the code. A worker of that version may run them.
_unknown = JobFunction(_raise_unknown, time_limit=60, retry=RetryDelays(60, 600, 3600, 6 * 3600, 24 * 3600))


def find_function(name: str) -> JobFunction:
    return jobs.get(name, _unknown)


def job(
    *,
    time_limit: float = 60,
    retry: RetryDelays | None = None,
    queue: str = "default",
    time_slice: float | None = None,
    runs_when_closed: bool = False,
) -> Callable[[Callable[..., object]], JobFunction]:
    """Register the decorated function as a job, in the module `jobs` of a subject, or in a module that its `registration` imports.

    `time_limit` is in seconds, and so is `time_slice`, after which `has_time_left` returns False. Without `retry`, a job is tried three times
    within about ten minutes. The jobs of a closed account wait until it is open again, except those that run when it is closed.
    """
    options: dict[str, Any] = {"time_limit": time_limit, "retry": retry or RetryDelays(10, 600), "queue": queue}
    options |= {"time_slice": time_slice, "runs_when_closed": runs_when_closed}
    return lambda function: _register(JobFunction(function, **options))


def periodic_job(
    *, minutes: int, offset: int = 0, time_limit: float = 60
) -> Callable[[Callable[[], object]], JobFunction]:
    """Register the decorated function as a job that is due every `minutes`, whatever the number of workers.

    The times are counted from midnight UTC and `offset` minutes: an hourly job with the offset 5 is due at 00:05, 01:05 and so on.
    At most one such job waits. It is not retried, because the next one does the same work.
    """
    schedule: dict[str, Any] = {"period": minutes * 60, "offset": offset * 60}
    return lambda function: _register(
        JobFunction(function, time_limit=time_limit, retry=RetryDelays(), queue=PERIODIC_QUEUE, **schedule)
    )


def _register(function: JobFunction) -> JobFunction:
    if function.name in jobs:
        raise ValueError(f"the job {function.name} is registered twice")
    if function.queue not in queues:
        raise ValueError(f"the queue {function.queue} is unknown: call register_queue first")
    jobs[function.name] = function
    return function


def register_queue(name: str, *, threads: int, max_running: int | None = None) -> None:
    """Add a queue whose jobs have threads of their own in each worker, so that slow jobs do not delay those of other queues."""
    queues[name] = Queue(threads, max_running)


# A loop gets the event that is set when the worker stops.
Loop = Callable[[threading.Event], None]
loops: dict[str, Loop] = {}


def register_loop(name: str, loop: Loop) -> None:
    """Have each worker call `loop` in a thread of its own. It is called again if it returns or raises before the worker stops."""
    loops[name] = loop


def has_time_left(seconds: float = 10) -> bool:
    """Return whether the running job has more than `seconds` until its time limit, and its time slice is not over. Without limits, return True."""
    end, slice_end, now = deadline.get(), time_slice_end.get(), monotonic()
    return (end is None or end - now > seconds) and (slice_end is None or now < slice_end)
