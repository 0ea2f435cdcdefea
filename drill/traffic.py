"""Requests during the drill, and what must be true of them afterwards."""

import contextlib
import http.client
import json
import random
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode

# In seconds.
RETRY_DELAY, WRITE_INTERVAL, REQUEST_TIMEOUT = 0.05, 0.1, 15


def longest_pause(times: list[float], start: float, end: float) -> float:
    """Return the longest time between two successful requests that overlaps a fault, in seconds."""
    pairs = pairwise(sorted(times))
    return max((after - before for before, after in pairs if after > start and before < end), default=0)


class Traffic:
    """Threads that write until they are stopped. A write is repeated with the same key until it is acknowledged."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.clients: list[int] = []
        self.posts: list[int] = []
        self.votes: list[int] = []
        self.addresses: list[str] = []
        # The times of acknowledged writes, and of successful reads.
        self.acknowledged: list[float] = []
        self.read: list[float] = []
        self.statuses: Counter[str] = Counter()
        self.created = Counter[tuple[str, int]]()
        self.cursor = self.feed("now")["cursor"]
        self.stopped = threading.Event()
        self.stopped_following = threading.Event()
        self.threads = [
            threading.Thread(target=self.repeat, args=(write,), daemon=True)
            for write in (
                self.create_client,
                self.create_client,
                self.create_and_vote,
                self.ask_for_code,
                self.read_client,
            )
        ]
        self.follower = threading.Thread(target=self.follow, daemon=True)

    def __enter__(self) -> "Traffic":
        for thread in (*self.threads, self.follower):
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join(90)
        self.stopped_following.set()
        self.follower.join(90)

    def send(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, http.client.HTTPMessage, str]:
        """Return the status, the headers and the body of a response. Raise OSError if there is none."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_TIMEOUT)
            with contextlib.closing(connection):
                connection.request(method, path, body, {"Host": "localhost", **headers})
                response = connection.getresponse()
                content = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.statuses[f"no response ({type(error).__name__})"] += 1
            raise OSError from error
        self.statuses[str(response.status)] += 1
        return response.status, response.headers, content

    def api(
        self, method: str, path: str, data: object = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, str]:
        headers |= {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return self.send(method, path, json.dumps(data) if data is not None else "", **headers)

    def write(self, path: str, data: object) -> int:
        """Send a request until it is acknowledged. Return the id of the row."""
        key = {"Idempotency-Key": str(uuid.uuid4())}
        while True:
            with contextlib.suppress(OSError):
                status, _, content = self.api("POST", path, data, **key)
                # A vote that an unacknowledged request has stored is answered with 200.
                if status in (200, 201):
                    self.acknowledged.append(time.monotonic())
                    return int(json.loads(content)["id"])
            time.sleep(RETRY_DELAY)

    def repeat(self, write: Callable[[], None]) -> None:
        while not self.stopped.is_set():
            write()
            self.stopped.wait(WRITE_INTERVAL)

    def create_client(self) -> None:
        self.clients.append(self.write("/app/clients.json", {"client": {"name": "Ann"}}))

    def read_client(self) -> None:
        """Read a client that exists, which needs no primary."""
        if self.clients:
            with contextlib.suppress(OSError):
                if self.api("GET", f"/app/clients/{random.choice(self.clients)}.json")[0] == 200:
                    self.read.append(time.monotonic())

    def create_and_vote(self) -> None:
        post = self.write("/app/posts.json", {"post": {"title": "A dark theme"}})
        self.posts.append(post)
        self.votes.append(self.write(f"/app/posts/{post}/vote.json", {}))

    def ask_for_code(self) -> None:
        """Ask for a sign-in code, which a job sends. Record the address if the request was acknowledged."""
        email = f"visitor-{uuid.uuid4().hex}@example.com"
        with contextlib.suppress(OSError):
            status, received, content = self.send("GET", "/app/sign-in/code")
            if status != 200:
                return
            cookie = re.search(r"csrf=[^;]+", received["Set-Cookie"])
            token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', content)
            if cookie is None or token is None:
                raise ValueError("The page has no token")
            body = urlencode({"csrfmiddlewaretoken": token[1], "email": email, "next": "/"})
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie[0]}
            if self.send("POST", "/app/sign-in/code", body, **headers)[0] == 303:
                self.addresses.append(email)

    def feed(self, cursor: str) -> dict[str, Any]:
        status, _, content = self.api("GET", f"/app/changes.json?since={quote(cursor)}&limit=1000")
        if status != 200:
            raise OSError
        return dict(json.loads(content))

    def follow(self) -> None:
        """Read the change feed while the faults happen, each time from the last cursor, and to its end after them."""
        is_complete = False
        while not is_complete:
            is_last = self.stopped_following.wait(0.5)
            with contextlib.suppress(OSError):
                page = self.feed(self.cursor)
                self.cursor = page["cursor"]
                for change in page["changes"]:
                    if change["change"] == "created":
                        self.created[change["resource"], change["id"]] += 1
                is_complete = is_last and not page["changes"]

    def expected(self) -> set[tuple[str, int]]:
        return {("client", id) for id in self.clients} | {("post", id) for id in self.posts}

    def lost(self) -> list[str]:
        """Read each acknowledged row, and return those that are missing."""
        missing = [f"client {id}" for id in self.clients if self.api("GET", f"/app/clients/{id}.json")[0] != 200]
        for id in self.posts:
            status, _, content = self.api("GET", f"/app/posts/{id}.json")
            if status != 200:
                missing.append(f"post {id}")
            elif id in self.votes and json.loads(content)["votes_cache"] != 1:
                missing.append(f"vote of post {id}")
        return missing
