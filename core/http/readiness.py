"""`/readyz`, which tells whether the database responds and accepts writes."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpResponse

from core.db.prepared import fetch
from core.db.time_limit import set_client_timeout
from core.errors import RETRY_AFTER

# In seconds. Probes usually wait for two.
TIMEOUT = 1.5


class Readiness:
    """A check of the database in a separate thread, because connecting or resolving the host may take longer than `TIMEOUT`.

    Requests during a check share its result, so that they need only one connection.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._lock = threading.Lock()
        self._result: Future[bool] | None = None

    def is_ready(self) -> bool:
        with self._lock:
            if self._result is None or self._result.done():
                self._result = self._thread.submit(self._check)
            result = self._result
        try:
            return result.result(TIMEOUT)
        except TimeoutError:
            return False

    def close(self) -> None:
        """Close the connection of the thread."""
        # A lambda, because `connection` is another object in each thread.
        self._thread.submit(lambda: connection.close()).result()

    @staticmethod
    def _check() -> bool:
        set_client_timeout(TIMEOUT)
        try:
            [(read_only,)] = fetch("SELECT current_setting('transaction_read_only')", [])
        except (DatabaseError, InterfaceError):
            read_only = ""
        if read_only != "off":
            # The next connection may reach another server, which accepts writes.
            connection.close()
            return False
        connection.close_if_unusable_or_obsolete()
        return True


readiness = Readiness()


def respond() -> HttpResponse:
    """Return the response of `/readyz`."""
    if readiness.is_ready():
        return HttpResponse("ok\n", content_type="text/plain")
    return HttpResponse(
        "the database is away\n", status=503, content_type="text/plain", headers={"Retry-After": str(RETRY_AFTER)}
    )
