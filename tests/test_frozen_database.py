"""A database that neither answers nor closes its connections: requests fail in time, and go on when it is back."""

import base64
import contextlib
import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from tests.support.service import READY

STATEMENT_TIMEOUT = 4
REQUESTS = 24  # of one worker, which answers four at a time


# Each is looked up in the database, whether they are right or not.
CREDENTIALS = {
    ".xml": "Basic " + base64.b64encode(b"nobody:nothing").decode(),
    ".json": f"Bearer {'x' * 32}/demo",
}


def ask(service, path):
    """The status, Retry-After, and after how many seconds they came."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    with contextlib.closing(connection):
        authorization = CREDENTIALS.get(Path(path).suffix, "")
        connection.request("GET", path, headers={"Accept": "text/html", "Authorization": authorization})
        response = connection.getresponse()
        return response.status, response.headers["Retry-After"], time.monotonic() - began


@contextlib.contextmanager
def frozen(service):
    """PostgreSQL, and all that it has started, stopped as by SIGSTOP."""
    server = service.member("cluster_name=")
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
def service(run):
    service = run(WORKERS="1", STATEMENT_TIMEOUT=str(STATEMENT_TIMEOUT))
    service.await_text(READY)
    return service


def test_it_works(service):
    paths = ["/", "/app/categories.xml", "/app/tasks.json", "/app/sign-in"]
    assert [ask(service, path)[0] for path in paths] == [200, 401, 401, 200]
    assert ask(service, "/readyz")[:2] == (200, None)

    with ThreadPoolExecutor(REQUESTS) as pool:
        with frozen(service):
            asked = [pool.submit(ask, service, paths[number % len(paths)]) for number in range(REQUESTS)]
            for _ in range(3):
                status, retry_after, seconds = ask(service, "/readyz")
                assert (status, retry_after) == (503, "5")
                assert seconds < 2
            assert ask(service, "/healthz")[0] == 200
            answers = [each.result() for each in asked]
            assert {(status, retry_after) for status, retry_after, _ in answers} == {(503, "5")}
            # The limit of a statement, or the wait in the queue and that of a connection, and a margin for a busy machine.
            assert max(seconds for *_, seconds in answers) < 25
            # Those that find no connection are told so in time, too.
            assert ask(service, "/")[:2] == (503, "5")

        deadline = time.monotonic() + 30
        while ask(service, "/readyz")[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        # Every connection that was given up is made again.
        asked = [pool.submit(ask, service, "/") for _ in range(REQUESTS)]
        assert {each.result()[0] for each in asked} == {200}
    assert "Traceback" not in service.output()
