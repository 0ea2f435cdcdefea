"""The periodic jobs that erase old data."""

import logging
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.changes.models import CHANGE_RETENTION
from core.housekeeping import jobs as housekeeping
from core.http.idempotency import IdempotentAnswer
from core.jobs.registry import deadline, jobs
from core.jobs.worker import defer_periodic
from crm.clients.models import Client
from tests.support.factories import make_account, make_client
from tests.support.jobs import run_housekeeping, run_jobs


def trash(acme, number: int) -> None:
    """Create clients that are due to be erased from the trash."""
    for _ in range(number):
        make_client(acme.alice).trash(by=acme.alice)
    Client.objects.update(trashed_at=timezone.now() - timedelta(days=30))


def keep_answer(account, key: str, created_at: datetime) -> None:
    IdempotentAnswer.objects.create(
        account=account,
        caller="token",
        key=key,
        fingerprint=b"",
        status=200,
        headers={},
        body=b"",
        created_at=created_at,
    )


def test_it_works(acme, caplog):
    trash(acme, 3)
    recent = make_client(acme.alice)
    recent.trash(by=acme.alice)
    with caplog.at_level(logging.INFO, "rostrum.housekeeping"):
        run_housekeeping()
    assert list(Client.objects.all()) == [recent]
    assert [record.getMessage() for record in caplog.records] == ["erased 3 of clients from the trash"]
    caplog.clear()
    run_housekeeping()
    assert caplog.records == []


def test_each_periodic_job_runs_when_it_is_due(acme, monkeypatch):
    ran = []
    periodic = [known for known in jobs.values() if known.period]
    for known in periodic:
        monkeypatch.setattr(known, "function", lambda name=known.name: ran.append(name))
    assert defer_periodic(datetime(2026, 1, 1, 10, 59, 30, tzinfo=UTC).timestamp(), {}) == len(periodic)
    assert run_jobs() == len(periodic)
    assert sorted(ran) == sorted(known.name for known in periodic)
    assert {
        f"core.housekeeping.jobs.{name}"
        for name in ("erase_trash", "erase_changes", "erase_outdated_rows", "clean_up_tables")
    } <= set(ran)


def test_it_erases_more_rows_than_one_batch(acme, monkeypatch):
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 2)
    trash(acme, 5)
    housekeeping.erase_trash()
    assert not Client.objects.exists()


def test_it_erases_outdated_rows_in_batches(acme, monkeypatch, caplog):
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 2)
    now = timezone.now()
    for number in range(5):
        keep_answer(acme.account, str(number), now - timedelta(hours=25))
    keep_answer(acme.account, "recent", now - timedelta(hours=23))
    with caplog.at_level(logging.INFO, "rostrum.housekeeping"), CaptureQueriesContext(connection) as queries:
        housekeeping.erase_outdated_rows()
    assert [answer.key for answer in IdempotentAnswer.objects.all()] == ["recent"]
    assert [record.getMessage() for record in caplog.records] == ["erased 5 old idempotent answers"]
    deletions = [query for query in queries if query["sql"].startswith('DELETE FROM "core_idempotentanswer"')]
    assert len(deletions) == 4


def test_it_erases_changes_of_those_accounts_that_have_old_ones(acme, other, django_assert_max_num_queries):
    for account in (acme.account, other.account):
        account.changes.assign_all_numbers(account.id)
    newest = acme.account.changes.order_by("number").last()
    assert newest.number > 1
    acme.account.changes.update(at=timezone.now() - CHANGE_RETENTION - timedelta(days=1))
    recent = other.account.changes.count()
    housekeeping.erase_changes()
    assert [change.number for change in acme.account.changes.all()] == [newest.number]
    assert other.account.changes.count() == recent
    # Other accounts take no statement each. The newest change of an account is never erased.
    for number in range(5):
        make_account(f"empty-{number}")
    with django_assert_max_num_queries(8):
        housekeeping.erase_changes()


def test_it_stops_before_its_time_limit(acme):
    trash(acme, 1)
    reset = deadline.set(0)
    try:
        run_housekeeping()
    finally:
        deadline.reset(reset)
    assert Client.objects.count() == 1
