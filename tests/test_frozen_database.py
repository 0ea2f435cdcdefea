"""A database that neither responds nor closes its connections: requests fail in time, and succeed once it responds again."""

import base64
import contextlib
import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from tests.support.service import READY

# More than `SLOT_TIMEOUT`: waiting requests are rejected, and leave their threads to `/readyz`.
STATEMENT_TIMEOUT = 4
REQUESTS = 24  # sent to one worker, which answers four at a time


# The service looks up these credentials in the database, although they are not valid.
CREDENTIALS = {
    ".xml": "Basic " + base64.b64encode(b"nobody:nothing").decode(),
    ".json": f"Bearer {'x' * 32}/demo",
}


def get(service, path):
    """Return the status, Retry-After and the duration in seconds."""
    started_at = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    with contextlib.closing(connection):
        authorization = CREDENTIALS.get(Path(path).suffix, "")
        connection.request("GET", path, headers={"Accept": "text/html", "Authorization": authorization})
        response = connection.getresponse()
        return response.status, response.headers["Retry-After"], time.monotonic() - started_at


@contextlib.contextmanager
def frozen_database(service):
    """Stop PostgreSQL and all its processes by SIGSTOP within the block."""
    server = service.find_process("cluster_name=")
    processes = [server, *server.children()]
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


@pytest.fixture
def service(start_service):
    service = start_service(WORKERS="1", STATEMENT_TIMEOUT=str(STATEMENT_TIMEOUT))
    service.wait_for_output(READY)
    return service


def test_it_works(service):
    paths = ["/", "/app/categories.xml", "/app/tasks.json", "/app/sign-in"]
    assert [get(service, path)[0] for path in paths] == [200, 401, 401, 200]
    assert get(service, "/readyz")[:2] == (200, None)

    with ThreadPoolExecutor(REQUESTS) as pool:
        with frozen_database(service):
            futures = [pool.submit(get, service, paths[number % len(paths)]) for number in range(REQUESTS)]
            for _ in range(3):
                status, retry_after, seconds = get(service, "/readyz")
                assert (status, retry_after) == (503, "5")
                # The threads without a slot may have to reject other requests first.
                assert seconds < settings.SLOT_TIMEOUT + 2
            assert get(service, "/healthz")[0] == 200
            results = [future.result() for future in futures]
            assert {(status, retry_after) for status, retry_after, _ in results} == {(503, "5")}
            # The statement timeout and the connection timeout, with a margin for a busy machine.
            assert max(seconds for *_, seconds in results) < 25
            # Requests that get no connection also fail in time.
            assert get(service, "/")[:2] == (503, "5")

        deadline = time.monotonic() + 30
        while get(service, "/readyz")[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        # Every closed connection is opened again.
        futures = [pool.submit(get, service, "/") for _ in range(REQUESTS)]
        assert {future.result()[0] for future in futures} == {200}
    assert "Traceback" not in service.output()
