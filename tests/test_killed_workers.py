"""Workers that are killed at random while e-mails are queued: none is lost, and each kill repeats at most one."""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP
from django.db import connection, transaction

from accounts import mail
from tests.support.jobs import rows_of_jobs, run_worker, wait_for_workers
from tests.support.service import free_port

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# `KILLS=50 make test ARGS=tests/test_killed_workers.py` takes a few minutes.
KILLS = int(os.environ.get("KILLS") or 6)
EMAILS_PER_KILL = 20


class Receiver:
    """A mail server that counts the subjects that it receives."""

    def __init__(self) -> None:
        self.received: Counter[str] = Counter()
        self.ids: dict[str, set[str]] = {}

    async def handle_DATA(self, server: SMTP, session: object, envelope) -> str:  # noqa: N802
        lines = envelope.content.decode().splitlines()
        headers = dict(line.split(": ", 1) for line in lines[: lines.index("")] if ": " in line)
        subject = headers["Subject"]
        self.received[subject] += 1
        self.ids.setdefault(subject, set()).add(headers["Message-ID"])
        return "250 OK"


@pytest.fixture
def receiver() -> Iterator[tuple[Receiver, int]]:
    receiver = Receiver()
    controller = Controller(receiver, hostname="127.0.0.1", port=free_port())
    controller.start()
    try:
        yield receiver, controller.port
    finally:
        controller.stop()


def send(number: int) -> None:
    mail.send(
        "a@example.com", "invitation", account_id=None, language="en", sender=f"Forum {number}", by="A", url="https://a"
    )


def test_it_works(receiver, monkeypatch):
    server, port = receiver
    random.seed(13)
    environment = {"EMAIL_URL": f"smtp://127.0.0.1:{port}/"}
    arguments = ("--heartbeat", "0.2", "--threads", "1")
    sent = 0
    stop = threading.Event()

    def write() -> None:
        nonlocal sent
        try:
            while not stop.is_set() and sent < KILLS * EMAILS_PER_KILL:
                for _ in range(5):
                    sent += 1
                    send(sent)
                with transaction.atomic():
                    send(1_000_000 + sent)
                    transaction.set_rollback(True)
                time.sleep(random.uniform(0, 0.2))
        finally:
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(KILLS):
            # The only worker, so each new e-mail is its work.
            with run_worker(*arguments, environment=environment) as victim:
                enough = server.received.total() + random.randint(1, EMAILS_PER_KILL // 2)
                wait_for_workers(lambda enough=enough: server.received.total() >= enough)
                time.sleep(random.uniform(0, 0.01))
                victim.kill()
                victim.communicate()
        writer.join()
        with run_worker(*arguments, environment=environment):
            wait_for_workers(lambda: rows_of_jobs() == [])
    finally:
        stop.set()
        writer.join()
    expected = {f"A invites you to Forum {number}" for number in range(1, sent + 1)}
    assert set(server.received) == expected
    assert server.received.total() - len(expected) <= KILLS
    assert {subject for subject, ids in server.ids.items() if len(ids) > 1} == set()
