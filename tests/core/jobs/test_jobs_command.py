"""`manage.py jobs`: the operator's view of the queue."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from core.jobs import queue
from core.jobs.queue import ClaimedJob


def output_of(*arguments: str) -> str:
    out = io.StringIO()
    call_command("jobs", *arguments, stdout=out)
    return out.getvalue()


def fail_one() -> int:
    queue.insert("default", "accounts.mail.send_email", {"account_id": 7, "to": "secret@example.com"})
    claimed = queue.claim("default", None)
    assert isinstance(claimed, ClaimedJob)
    queue.fail(claimed, "SMTPServerDisconnected", delay=None)
    return claimed.id


def statuses() -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT status::text, attempts FROM procrastinate_jobs ORDER BY id")
        return cursor.fetchall()


def test_it_works(db):
    assert output_of() == "There are no jobs.\n"
    id = fail_one()
    queue.insert("default", "core.housekeeping.erase_trash", {})
    assert [line.split() for line in output_of().splitlines()] == [
        ["1", "failed", "accounts.mail.send_email"],
        ["1", "waiting", "core.housekeeping.erase_trash"],
    ]
    heading, row = output_of("--failed").splitlines()
    assert heading.split()[:4] == ["id", "name", "account", "attempts"]
    assert row.split()[:4] == [str(id), "accounts.mail.send_email", "7", "1"]
    assert row.endswith("SMTPServerDisconnected")
    assert "secret" not in row
    assert output_of("retry", str(id)) == "1 jobs are due again.\n"
    assert statuses() == [("todo", 0), ("todo", 0)]
    assert output_of("delete", str(id)) == f"Job {id} is deleted.\n"
    assert statuses() == [("todo", 0)]


def test_all_failed_jobs_can_be_retried(db, monkeypatch):
    monkeypatch.setattr("core.management.commands.jobs.PAGE_SIZE", 2)
    for _ in range(3):
        fail_one()
    assert len(output_of("--failed").splitlines()) == 4
    assert output_of("retry", "--all") == "3 jobs are due again.\n"
    assert output_of("--failed").count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["retry"], "Give the id"),
        (["retry", "1", "--all"], "Give the id"),
        (["retry", "999999"], "no failed job"),
        (["delete", "999999"], "no job"),
        (["retry", "x"], "invalid int"),
    ],
)
def test_it_rejects_invalid_arguments(db, arguments, message):
    with pytest.raises(CommandError, match=message):
        output_of(*arguments)


def test_it_rejects_the_deletion_of_a_running_job(db):
    queue.insert("default", "a.b", {})
    claimed = queue.claim("default", None)
    assert claimed is not None
    with pytest.raises(CommandError, match="running"):
        output_of("delete", str(claimed.id))
