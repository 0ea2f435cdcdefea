import logging
import os
import signal

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.utils import timezone

from core.db.trash import KEPT_FOR
from core.management.commands import housekeeping
from crm.models import Client
from tests.support.factories import make_client


def trash(acme, number: int) -> None:
    for _ in range(number):
        make_client(acme.alice).trash(by=acme.alice)
    Client.objects.update(trashed_at=timezone.now() - KEPT_FOR)


def test_it_works(acme, caplog):
    trash(acme, 3)
    recent = make_client(acme.alice)
    recent.trash(by=acme.alice)
    with caplog.at_level(logging.INFO, "rostrum.housekeeping"):
        call_command("housekeeping")
    assert list(Client.objects.all()) == [recent]
    assert [record.getMessage() for record in caplog.records] == ["erased 3 of clients from the trash"]
    caplog.clear()
    call_command("housekeeping")
    assert caplog.records == []


def test_it_rejects_an_interval_that_is_not_a_number():
    with pytest.raises(Exception, match="invalid int value"):
        call_command("housekeeping", "--every", "x")


def test_it_erases_more_rows_than_one_batch(acme, monkeypatch):
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 2)
    trash(acme, 5)
    call_command("housekeeping")
    assert not Client.objects.exists()


def test_it_may_run_repeatedly(db):
    call_command("housekeeping")
    call_command("housekeeping")


@pytest.fixture
def signals():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_it_runs_until_it_is_stopped(acme, monkeypatch, caplog, signals, signal_number):
    """The command continues after an error of the database."""
    trash(acme, 1)
    erase, rounds = housekeeping.Command.erase, []

    def erase_and_count(self, stop):
        rounds.append(signal_number)
        if len(rounds) == 1:
            raise OperationalError("connection refused: secret-host")
        erase(self, stop)
        if len(rounds) == 3:
            os.kill(os.getpid(), signal_number)

    monkeypatch.setattr(housekeeping.Command, "erase", erase_and_count)
    with caplog.at_level(logging.INFO, "rostrum.housekeeping"):
        call_command("housekeeping", every=0)
    assert len(rounds) == 3
    assert not Client.objects.exists()
    assert [record.getMessage() for record in caplog.records] == [
        "the database is not available: OperationalError",
        "erased 1 of clients from the trash",
    ]
