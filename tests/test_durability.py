"""Acknowledged writes survive when any process is killed."""

import base64
import contextlib
import http.client
import re
import threading
import time

import psutil

WRITERS = 8
WRITES_BEFORE_EACH_KILL = 40


class Writers:
    """Threads that create posts and record the acknowledged ones. An error only means that a write is not acknowledged."""

    def __init__(self, port: int, credentials: str):
        self.port = port
        self.headers = {
            "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode(),
            "Content-Type": "application/xml",
        }
        self.acknowledged: list[str] = []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.write, args=(number,)) for number in range(WRITERS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join(30)

    def send(self, method: str, path: str, body: str | None = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path, body, self.headers)
            return connection.getresponse()

    def write(self, number: int) -> None:
        count = 0
        while not self.stopped.is_set():
            count += 1
            body = f"<post><title>Writer {number}, post {count}</title></post>"
            with contextlib.suppress(OSError, http.client.HTTPException):
                response = self.send("POST", "/app/posts.xml", body)
                if response.status == 201:
                    self.acknowledged.append(re.search(r"/app/posts/(\d+)\.xml$", response.headers["Location"])[1])

    def wait_for_writes(self) -> None:
        deadline = time.monotonic() + 60
        enough = len(self.acknowledged) + WRITES_BEFORE_EACH_KILL
        while len(self.acknowledged) < enough:
            assert time.monotonic() < deadline, f"only {len(self.acknowledged)} writes were acknowledged"
            time.sleep(0.01)


def test_it_loses_no_acknowledged_write(start_service):
    service = start_service(WORKERS="2")
    service.wait_for_output("api_token")
    service.wait_for_output("Ready")
    login, password = (
        re.search(rf"^  {name} +(\S+)", service.output(), re.MULTILINE)[1] for name in ("logins", "password")
    )

    granian, postgres = service.find_process("manage.py serve"), service.find_process("cluster_name=")

    with Writers(service.port, f"{login}:{password}") as writers:
        writers.wait_for_writes()
        max(granian.children(), key=psutil.Process.create_time).kill()
        writers.wait_for_writes()
        postgres.kill()
        service.wait_for_output("PostgreSQL is back")
        writers.wait_for_writes()

    assert len(set(writers.acknowledged)) == len(writers.acknowledged) >= 3 * WRITES_BEFORE_EACH_KILL
    lost = [post for post in writers.acknowledged if writers.send("HEAD", f"/app/posts/{post}.xml").status != 200]
    assert lost == []
