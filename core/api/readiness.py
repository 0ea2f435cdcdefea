"""`/readyz`: whether the database answers, and takes writes."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpResponse

from core.db.prepared import fetch
from core.errors import RETRY_AFTER

TIMEOUT = 1.5  # seconds; an answer is due within two


class Readiness:
    """Asks the database in a thread of its own: connecting, or looking up its host, may take longer than `TIMEOUT`.

    Requests that come while the thread is asking share its result, so they take one connection however many they are.
    """

    def __init__(self):
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._lock = threading.Lock()
        self._result: Future[bool] | None = None

    def is_ready(self) -> bool:
        with self._lock:
            if self._result is None or self._result.done():
                self._result = self._thread.submit(self._ask)
            result = self._result
        try:
            return result.result(TIMEOUT)
        except TimeoutError:
            return False

    def close(self) -> None:
        """Close the connection of the thread."""
        self._thread.submit(lambda: connection.close()).result()

    @staticmethod
    def _ask() -> bool:
        connection.set_client_timeout(TIMEOUT)
        try:
            [(read_only,)] = fetch("SELECT current_setting('transaction_read_only')", [])
        except (DatabaseError, InterfaceError):
            read_only = None
        if read_only != "off":
            # The next connection may reach another server.
            connection.close()
            return False
        connection.close_if_unusable_or_obsolete()
        return True


readiness = Readiness()


def respond() -> HttpResponse:
    if readiness.is_ready():
        return HttpResponse("ok\n", content_type="text/plain")
    return HttpResponse(
        "the database is away\n",
        status=503,
        content_type="text/plain",
        headers={"Retry-After": str(RETRY_AFTER)},
    )
