"""The loop of the workers that delivers events, with several workers at once and real connections."""

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from core.changes import followers as changes
from core.changes.followers import Follower, LeaseLostError
from tests.support.factories import make_account, make_client
from tests.support.followers import TIMEOUT, work_until
from tests.support.receiver import add_endpoint, run_receiver
from tests.support.threads import at_once, wait_until_blocking
from webhooks import delivery, dispatcher
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_works(receiver):
    """Two workers deliver the events of three accounts. Each endpoint receives its events once and in order."""
    casts = [make_account(f"acme-{number}", login="alice") for number in range(3)]
    for account, _alice, _token in casts:
        add_endpoint(account, f"{receiver.url}/{account.prefix}")
    written = threading.Event()

    def write():
        for _ in range(8):
            for _account, alice, _token in casts:
                make_client(alice)
        written.set()

    writer = threading.Thread(target=lambda: at_once(write))
    writer.start()
    work_until(lambda: written.is_set() and len(receiver.requests) >= 24, dispatcher.deliver_webhooks)
    writer.join()
    for account, _alice, _token in casts:
        numbers = [request.json["number"] for request in receiver.requests if request.path.endswith(account.prefix)]
        assert numbers == list(range(14, 14 + 8))
    assert Delivery.objects.count() == 24
    assert not Follower.objects.filter(name="webhook").exclude(due_at=None).exists()


def test_endpoints_that_hang_do_not_delay_others(acme, receiver, monkeypatch):
    """The requests to failing endpoints have a limit of their own, and a request that hangs occupies no thread."""
    monkeypatch.setattr(dispatcher, "MAX_FAILING_REQUESTS", 2)
    start, failing_at_once = dispatcher.Dispatcher.start, []

    def start_and_count(self, leases):
        start(self, leases)
        failing_at_once.append(len(self.failing_in_flight))

    monkeypatch.setattr(dispatcher.Dispatcher, "start", start_and_count)
    release = threading.Event()
    with run_receiver() as hanging:
        hanging.respond = lambda request: (500 if release.wait(TIMEOUT) else 504, {}, b"")
        for number in range(10):
            add_endpoint(acme.account, f"{hanging.url}/{number}")
        add_endpoint(acme.account, receiver.url)
        failing = list(acme.account.webhooks.filter(url__contains=hanging.url).values_list("id", flat=True)[:6])
        Follower.objects.filter(key__in=failing).update(failures=1)
        for _ in range(3):
            make_client(acme.alice)
        called: set[str] = set()

        def is_done() -> bool:
            if not release.is_set():
                called.update(request.path for request in hanging.requests)
                if len(receiver.requests) == 3 and len(called) >= 4 + 2:
                    # The requests end here. Later calls of other endpoints do not count.
                    release.set()
            return release.is_set()

        try:
            work_until(is_done, dispatcher.deliver_webhooks, workers=1)
        finally:
            release.set()
        assert receiver.numbers == [14, 15, 16]
        # Of the six endpoints that had failed, two were called at the same time. If their requests time out on a busy machine, others
        # are called.
        assert max(failing_at_once) == 2


def test_endpoints_with_many_events_queue_again_while_many_requests_are_in_progress(acme, receiver):
    """Without this limit, slow endpoints with many events would occupy all requests."""
    for _ in range(2):
        add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)
    changes.assign_numbers()
    busy = dispatcher.Dispatcher()
    leases = busy.lease_due()
    assert len(leases) == 2
    busy.in_flight = {(0, number) for number in range(dispatcher.MAX_CONTINUED)}
    assert busy.continued(leases) == []
    busy.in_flight.clear()
    leases = busy.lease_due()
    assert len(leases) == 2
    assert busy.continued(leases) == leases
    busy.loop.close()


def test_a_request_in_progress_is_stored_when_the_worker_stops(acme, receiver):
    add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)
    make_client(acme.alice)
    stop = threading.Event()

    def respond(request):
        stop.set()
        return 204, {}, b""

    receiver.respond = respond
    changes.assign_numbers()
    at_once(lambda: dispatcher.deliver_webhooks(stop))
    assert len(receiver.requests) == Delivery.objects.count() == 1
    follower = Follower.objects.get(name="webhook")
    assert (follower.newest - follower.cursor, follower.due_at is not None) == (1, True)


def test_a_worker_that_dies_loses_nothing(acme, receiver):
    """Another worker sends the event of an expired lease. The former holder cannot advance the cursor."""
    add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)
    changes.assign_numbers()
    [lost] = Follower.objects.lease(["webhook"], limit=1)
    Follower.objects.filter(name="webhook").update(due_at="2026-01-01T00:00Z")
    work_until(lambda: len(receiver.requests) == 1 and Delivery.objects.count() == 1, dispatcher.deliver_webhooks)
    assert Follower.objects.advance_leased([lost], [0]) == []
    follower = Follower.objects.get(name="webhook")
    assert follower.cursor == follower.newest == 14
    assert Delivery.objects.count() == 1


def raise_error() -> None:
    raise ValueError("a name")


def divide_by_zero() -> None:
    """Raise an error of the database that does not close the connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1/0, 'a name'")


@pytest.mark.parametrize(("fail", "error"), [(raise_error, "ValueError"), (divide_by_zero, "DataError")])
def test_a_defect_of_one_message_delays_no_other_endpoint(acme, other, receiver, monkeypatch, caplog, fail, error):
    add_endpoint(acme.account, receiver.url)
    endpoint, _secret = add_endpoint(other.account, receiver.url)

    def make_message(endpoint, event, make=dispatcher.make_message):
        if endpoint.account_id == other.account.id:
            fail()
        return make(endpoint, event)

    monkeypatch.setattr(dispatcher, "make_message", make_message)
    make_client(other.mallory)
    make_client(acme.alice)
    failing = Follower.objects.filter(key=endpoint.id, account_id=other.account.id, failures=1)
    work_until(lambda: len(receiver.requests) == 1 and failing.exists(), dispatcher.deliver_webhooks, workers=1)
    number = other.account.changes.latest("number").number
    [record] = [record for record in caplog.records if record.name == "rostrum.webhooks"]
    text = record.getMessage()
    assert text.startswith(
        f"the message to webhook {endpoint.id} of account {other.account.id} about change {number} could not be made:"
        f" {error} in "
    )
    # The log has neither the message of the error nor a traceback, which would end with it.
    assert ("a name" in text, record.exc_info) == (False, None)
    [entry] = other.account.webhook_deliveries.all()
    assert (entry.error, entry.status, entry.number, entry.set_aside) == ("message", None, number, False)


def test_a_failure_is_stored_while_somebody_changes_the_endpoint(acme, receiver):
    """Both transactions lock the endpoint first and its follower second, so they cannot deadlock."""
    endpoint, _secret = add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)
    changes.assign_numbers()
    [lease] = Follower.objects.lease(["webhook"], limit=1)
    [attempt], _continued = dispatcher.prepare([lease])
    failure = delivery.AttemptResult(attempt, timezone.now(), timedelta(0), error="connect")
    outcomes = []

    def store() -> None:
        try:
            delivery.record_failure(failure)
        except (LeaseLostError, OperationalError) as error:
            outcomes.append(type(error))

    storing = threading.Thread(target=lambda: at_once(store))
    with transaction.atomic():
        row = Endpoint.objects.locked().get(pk=endpoint.pk)
        storing.start()
        wait_until_blocking()
        row.write({"enabled": False})
    storing.join()
    # Disabling the endpoint ended the lease.
    assert outcomes == [LeaseLostError]
    endpoint.refresh_from_db()
    assert not endpoint.enabled
