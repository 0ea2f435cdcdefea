"""`manage.py jobs`: the operator's view of the queue."""

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone

from core.jobs import queue
from core.jobs.queue import Heartbeat, Job
from core.management.commands.jobs import NO_WORKER


def output_of(*arguments: str) -> str:
    out = io.StringIO()
    call_command("jobs", *arguments, stdout=out)
    return out.getvalue()


def fail_one() -> int:
    queue.insert("default", "accounts.mail.sending.send_email", {"account_id": 7, "to": "secret@example.com"})
    claimed = queue.claim("default")
    assert isinstance(claimed, Job)
    queue.fail(claimed, "SMTPServerDisconnected", delay=None)
    return claimed.id


def statuses() -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT state, attempts FROM core_job ORDER BY id")
        return cursor.fetchall()


def test_it_works(db):
    assert output_of() == f"{NO_WORKER}\nThere are no jobs.\n"
    id = fail_one()
    queue.insert("default", "core.housekeeping.jobs.erase_trash", {})
    heading, *rows = output_of().splitlines()[1:]
    assert " ".join(heading.split()) == "due waits for scheduled retried running failed name last error"
    assert [row.split() for row in rows] == [
        ["0", "0", "0", "0", "1", "accounts.mail.sending.send_email", "SMTPServerDisconnected"],
        ["1", "0", "s", "0", "0", "0", "0", "core.housekeeping.jobs.erase_trash"],
    ]
    heading, row = output_of("--failed").splitlines()
    assert heading.split()[:4] == ["id", "name", "account", "attempts"]
    assert row.split()[:4] == [str(id), "accounts.mail.sending.send_email", "7", "1"]
    assert row.endswith("SMTPServerDisconnected")
    assert "secret" not in row
    assert output_of("retry", str(id)) == "1 job is due again.\n"
    assert statuses() == [("waiting", 0), ("waiting", 0)]
    assert output_of("delete", str(id)) == f"Job {id} is deleted.\n"
    assert statuses() == [("waiting", 0)]


def test_it_counts_jobs_that_wait(db, django_assert_num_queries):
    now = timezone.now()
    queue.insert("mail", "a.b", {})
    queue.insert("mail", "a.b", {}, scheduled_at=now + timedelta(hours=1))
    queue.insert("default", "c.d", {}, scheduled_at=now - timedelta(seconds=200))
    queue.insert("default", "c.d", {}, scheduled_at=now - timedelta(seconds=100))
    claimed = queue.claim("default")
    assert claimed is not None
    queue.fail(claimed, "TimeoutError", delay=60)
    queue.claim("mail")
    queue.register_worker()
    queue.insert("mail", "a.b", {}, scheduled_at=now - timedelta(seconds=40))
    with django_assert_num_queries(2):
        lines = output_of().splitlines()
    assert lines[0] == "Running workers: 1. Longest time since a heartbeat: 0 s."
    assert [line.split() for line in lines[2:]] == [
        ["1", "40", "s", "1", "0", "1", "0", "a.b"],
        ["1", "100", "s", "1", "1", "0", "0", "c.d", "TimeoutError"],
    ]


def test_the_check_fails_without_a_worker(db):
    with pytest.raises(CommandError, match="No worker runs"):
        output_of("--check")
    worker_id = queue.register_worker()
    assert output_of("--check") == "Running workers: 1. No job has been due for more than 300 s.\n"
    Heartbeat.objects.update(at=timezone.now() - timedelta(seconds=61))
    with pytest.raises(CommandError, match="No worker runs"):
        output_of("--check")
    queue.beat(worker_id)
    output_of("--check")


def test_the_check_fails_if_a_job_has_waited_for_too_long(db):
    queue.register_worker()
    ago = timezone.now() - timedelta(seconds=310)
    queue.insert("mail", "a.b", {}, scheduled_at=ago)
    queue.insert("mail", "a.b", {})
    queue.insert("default", "c.d", {}, scheduled_at=ago + timedelta(seconds=100))
    with pytest.raises(CommandError) as caught:
        output_of("--check")
    assert str(caught.value) == "2 of a.b are due, and the oldest has waited for 310 s."
    with pytest.raises(CommandError, match=r"(?s)a\.b.*c\.d"):
        output_of("--check", "--max-wait", "200")
    output_of("--check", "--max-wait", "320")


def test_the_check_fails_without_the_database(db, monkeypatch):
    def fail() -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("core.management.commands.jobs.count_jobs", fail)
    monkeypatch.setattr("core.management.commands.jobs.find_problem", lambda: "The database does not answer: x")
    with pytest.raises(CommandError, match="The database does not answer: x"):
        output_of("--check")


def test_all_failed_jobs_can_be_retried(db):
    for _ in range(3):
        fail_one()
    assert len(output_of("--failed").splitlines()) == 4
    assert output_of("retry", "--all") == "3 jobs are due again.\n"
    assert output_of("--failed").count("\n") == 1


def test_it_rejects_invalid_arguments(db):
    queue.insert("default", "a.b", {})
    claimed = queue.claim("default")
    assert claimed is not None
    for arguments, message in {
        ("retry",): "Give the id",
        ("retry", "1", "--all"): "Give the id",
        ("retry", "999999"): "no failed job",
        ("delete", "999999"): "no job",
        ("retry", "x"): "invalid int",
        ("--check", "--failed"): "not allowed with",
        ("delete", str(claimed.id)): "running",
    }.items():
        with pytest.raises(CommandError, match=message):
            output_of(*arguments)
