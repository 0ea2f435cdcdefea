"""The jobs of worker processes in tests. `tests.support.worker` imports them."""

import os
import signal
import time

from core.jobs.registry import PermanentError, RetryDelays, job


@job()
def succeed() -> None: ...


@job()
def fail() -> None:
    raise PermanentError


@job()
def hang(*, seconds: float) -> None:
    time.sleep(seconds)


@job(time_limit=1, retry=RetryDelays())
def exceed() -> None:
    time.sleep(600)


@job(retry=RetryDelays(0))
def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
