"""The log of a webhook, tests, and messages that are sent again."""

import pytest
from django.utils import timezone

from core.changes.followers import Follower
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_client, make_delivery
from tests.support.jobs import run_jobs
from tests.support.receiver import add_endpoint, deliver
from tests.support.tables import table
from webhooks.models import Endpoint


@pytest.fixture
def client(acme):
    return acme.json(acme.alice_token)


@pytest.fixture
def row(acme, receiver) -> Endpoint:
    return add_endpoint(acme.account, receiver.url)[0]


def path(row: Endpoint, end: str) -> str:
    return f"/app/webhooks/{row.id}/{end}.json"


def test_it_works(acme, client, row, receiver):
    make_client(acme.alice)
    deliver()
    [entry] = read(client.get(path(row, "deliveries")))
    assert_answered(client.post(path(row, "resend"), json={"resend": {"delivery_id": entry["id"]}}), 200, "ok")
    run_jobs()
    assert len(receiver.requests) == 2
    again, first = read(client.get(path(row, "deliveries")))
    assert first == entry
    assert (again["cause"], again["message_id"]) == ("resend", entry["message_id"])


def test_the_log_shows_requests_and_responses(acme, client, row):
    entry = make_delivery(row, status=None, error="dns", request='{"a": 1}', response="")
    expected = {
        "id": entry.id,
        "webhook_id": row.id,
        "cause": "event",
        "message_id": "msg_1",
        "event": "client.created",
        "number": 1,
        "attempt": 1,
        "status": None,
        "error": "dns",
        "duration_ms": 84,
        "set_aside": False,
        "request": '{"a": 1}',
        "response": "",
        "created_at": on_the_wire(entry.at),
        "updated_at": on_the_wire(entry.at),
    }
    assert read(client.get(path(row, "deliveries"))) == [expected]
    assert read(client.get(path(row, "deliveries"), params={"page": 2})) == []


def test_all_events_since_a_time_are_sent_again(acme, client, row, receiver):
    before = timezone.now()
    for _ in range(2):
        make_client(acme.alice)
    deliver()
    body = {"resend": {"since": before.isoformat()}}
    assert_answered(client.post(path(row, "resend"), json=body), 200, "ok")
    deliver()
    assert receiver.numbers[2:] == receiver.numbers[:2]


def test_a_test_is_sent(client, row, receiver):
    for _ in range(2):
        # The repeated request is answered from the stored response.
        response = client.post(path(row, "test"), headers={"Idempotency-Key": "one"})
        assert (response.status_code, read(response)) == (200, "ok")
    run_jobs()
    assert receiver.types == ["webhook.test"]


@table("end", ["test", "resend"])
def test_it_rejects_a_second_message_while_one_is_waiting(client, row, receiver, end):
    client.post(path(row, "test"))
    body = {"resend": {"delivery_id": make_delivery(row).id}} if end == "resend" else None
    response = client.post(path(row, end), json=body)
    assert (response.status_code, response.headers["Retry-After"]) == (409, "1")
    assert (
        read(response)["message"]
        == "Another message of this account is still waiting to be sent: try again in a moment"
    )
    run_jobs()
    assert_answered(client.post(path(row, end), json=body), 200, "ok")


@table("values", [{}, {"delivery_id": 1, "since": "2026-01-01"}, {"since": None}])
def test_it_rejects_both_or_neither(client, row, values):
    assert_refused(
        client.post(path(row, "resend"), json={"resend": values}),
        422,
        "validation_failed",
        {"resend": ["must have either delivery_id or since"]},
    )


def test_it_rejects_an_entry_of_another_webhook(acme, client, row, receiver):
    other, _secret = add_endpoint(acme.account, receiver.url)
    entry = make_delivery(other)
    assert_refused(
        client.post(path(row, "resend"), json={"resend": {"delivery_id": entry.id}}),
        422,
        "validation_failed",
        {"delivery_id": ["can't be found"]},
    )


def test_it_rejects_a_disabled_webhook(acme, client, row):
    row.write({"enabled": False})
    for values in ({"since": "2026-01-01"}, {"delivery_id": make_delivery(row).id}):
        assert_refused(
            client.post(path(row, "resend"), json={"resend": values}),
            422,
            "validation_failed",
            {"webhook": ["needs to be enabled"]},
        )
    assert run_jobs() == 0
    assert Follower.objects.get(name="webhook").due_at.year == 9999
