"""Processes are killed during writes: no acknowledged write, no event and no e-mail is lost, and each kill repeats at most one."""

import contextlib
import http.client
import json
import os
import random
import re
import threading
import uuid
from itertools import pairwise
from urllib.parse import urlencode

import psutil

from tests.support.receiver import run_receiver
from tests.support.service import wait_until

# `KILLS=50 make soak ARGS=tests/test_killed_processes.py` takes about 15 minutes: after the kill of a worker, half a minute passes until
# the next one takes over its webhooks and jobs.
KILLS = int(os.environ.get("KILLS") or 3)
EVENTS_BETWEEN_KILLS = 20
# In seconds.
RETRY_DELAY, WRITE_INTERVAL = 0.05, 0.1


class Writer:
    """Two threads: one creates clients and repeats each request until it succeeds, the other requests sign-in codes."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.clients: list[int] = []
        self.addresses: list[str] = []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.create_clients), threading.Thread(target=self.ask_for_codes)]

    def __enter__(self) -> "Writer":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join(60)

    def send(self, method: str, path: str, body: str = "", **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            response.content = response.read()  # type: ignore[attr-defined]
            return response

    def api(self, path: str, data: object, **headers: str) -> http.client.HTTPResponse:
        headers |= {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return self.send("POST", path, json.dumps(data), **headers)

    def exists(self, client_id: int) -> bool:
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.send("GET", f"/app/clients/{client_id}.json", **headers).status == 200

    def create_clients(self) -> None:
        while not self.stopped.is_set():
            key = {"Idempotency-Key": str(uuid.uuid4())}
            while True:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    response = self.api("/app/clients.json", {"client": {"name": "Ann"}}, **key)
                    if response.status == 201:
                        self.clients.append(json.loads(response.content)["id"])  # type: ignore[attr-defined]
                        break
                self.stopped.wait(RETRY_DELAY)
            # Events must arrive faster than clients are created, and an endpoint receives them one after another.
            self.stopped.wait(WRITE_INTERVAL)

    def ask_for_code(self, email: str) -> int:
        """Return the status of the form, or of the page with the form."""
        page = self.send("GET", "/app/sign-in/code")
        if page.status != 200:
            return page.status
        cookie = re.search(r"csrf=[^;]+", page.headers["Set-Cookie"])[0]  # type: ignore[index]
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page.content.decode())[1]  # type: ignore[attr-defined,index]
        body = urlencode({"csrfmiddlewaretoken": token, "email": email, "next": "/"})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
        return self.send("POST", "/app/sign-in/code", body, **headers).status

    def ask_for_codes(self) -> None:
        """Record the addresses of successful requests. The other requests may have sent a code or not."""
        number = 0
        while not self.stopped.is_set():
            number += 1
            email = f"visitor-{number}@example.com"
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask_for_code(email) == 303:
                    self.addresses.append(email)
            self.stopped.wait(WRITE_INTERVAL)


def processes_of(service, kind: str) -> list[psutil.Process]:
    """Return the processes that answer requests (`web`), the one that runs jobs (`worker`), or the server of the database (`postgres`)."""
    found = []
    for process in service.process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = process.parent()
            command = " ".join(process.cmdline() if kind != "web" or parent is None else parent.cmdline())
            if {"web": "manage.py serve", "worker": "manage.py worker", "postgres": "cluster_name="}[kind] in command:
                found.append(process)
    return found


def test_it_works(start_service, mail_server):
    with run_receiver() as receiver:
        service = start_service(
            WORKERS="2",
            EMAIL_URL=mail_server.url,
            WEBHOOK_ALLOW=f"127.0.0.0/8:{receiver.server.server_port}",
            FAILED_LOGIN_LIMIT="0",
            RATE_LIMIT="0",
        )
        service.wait_for_output("Ready")
        token = re.search(r"^  api_token +(\S+)", service.output(), re.MULTILINE)[1]
        # At least one process of each kind is killed.
        kinds = ["web", "worker", "postgres"]
        kinds += random.choices(kinds, weights=[2, 1, 1], k=max(KILLS - len(kinds), 0))
        random.shuffle(kinds)
        with Writer(service.port, token) as writer:
            webhook = {"webhook": {"url": receiver.url, "events": ["client.created"]}}
            service.wait_for(lambda: writer.api("/app/webhooks.json", webhook).status == 201)
            for kind in kinds:
                enough = len(receiver.requests) + EVENTS_BETWEEN_KILLS
                wait_until(lambda enough=enough: len(receiver.requests) >= enough, seconds=400)
                service.wait_for(lambda kind=kind: processes_of(service, kind))
                random.choice(processes_of(service, kind)).kill()
            first_of_webhook = receiver.requests[0].json["data"]["id"]
        expected = writer.clients[writer.clients.index(first_of_webhook) :]
        wait_until(lambda: set(expected) <= {request.json["data"]["id"] for request in receiver.requests}, seconds=400)
        wait_until(lambda: set(writer.addresses) <= set(mail_server.addresses), seconds=400)
        assert [client_id for client_id in writer.clients if not writer.exists(client_id)] == []

    ids = [request.json["data"]["id"] for request in receiver.requests]
    numbers = [request.json["number"] for request in receiver.requests]
    # Events arrive in order. A repeated event arrives before the next one.
    assert all(before <= after for before, after in pairwise(numbers))
    assert list(dict.fromkeys(ids)) == expected
    # A kill of the database may come between the answer of the receiver and its record.
    repeats = len(kinds) - kinds.count("web")
    assert len(ids) - len(set(ids)) <= repeats
    repeated = {request.id for request in receiver.requests if numbers.count(request.json["number"]) > 1}
    assert len(repeated) == len(ids) - len(set(ids))
    assert mail_server.addresses.total() - len(mail_server.addresses) <= repeats
