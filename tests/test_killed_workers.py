"""Workers that are killed at random while e-mails are queued: none is lost, and each kill repeats at most one."""

import os
import random
import threading
import time

import pytest
from django.db import connection, transaction

from accounts.mail import sending as mail
from tests.support.jobs import rows_of_jobs, run_worker, wait_for_workers

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]

# `KILLS=50 make soak ARGS=tests/test_killed_workers.py` takes a few minutes.
KILLS = int(os.environ.get("KILLS") or 4)
EMAILS_PER_KILL = 20


def send(number: int) -> None:
    mail.send(
        "a@example.com",
        "accounts/mail/invitation.txt",
        account_id=None,
        language="en",
        sender=f"Forum {number}",
        by="A",
        url="https://a",
    )


def test_it_works(mail_server):
    random.seed(13)
    environment = {"EMAIL_URL": mail_server.url}
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
            # No other worker runs, so this one sends each new e-mail.
            with run_worker(*arguments, environment=environment) as victim:
                enough = mail_server.subjects.total() + random.randint(1, EMAILS_PER_KILL // 2)
                wait_for_workers(lambda enough=enough: mail_server.subjects.total() >= enough)
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
    assert set(mail_server.subjects) == expected
    assert mail_server.subjects.total() - len(expected) <= KILLS
    assert {subject for subject, ids in mail_server.ids.items() if len(ids) > 1} == set()
