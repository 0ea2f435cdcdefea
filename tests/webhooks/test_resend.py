"""The log of a webhook, tests, and messages that are sent again."""

import pytest
from django.utils import timezone

from core.changes.followers import Follower
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_client, make_delivery
from tests.support.jobs import run_jobs
from tests.support.receiver import add_endpoint, deliver
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
    before = timezone.now()
    make_client(acme.alice)
    deliver()
    [entry] = read(client.get(path(row, "deliveries")))
    assert_answered(client.post(path(row, "resend"), json={"resend": {"delivery_id": entry["id"]}}), 200, "ok")
    run_jobs()
    again, first = read(client.get(path(row, "deliveries")))
    assert first == entry
    assert (again["cause"], again["message_id"]) == ("resend", entry["message_id"])
    # All events since a time.
    make_client(acme.alice)
    deliver()
    assert_answered(client.post(path(row, "resend"), json={"resend": {"since": before.isoformat()}}), 200, "ok")
    deliver()
    first, again, second = receiver.numbers[:3]
    assert receiver.numbers == [first, first, second, first, second]


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


def test_a_test_is_sent(client, row, receiver):
    for _ in range(2):
        # The repeated request is answered from the stored response.
        response = client.post(path(row, "test"), headers={"Idempotency-Key": "one"})
        assert (response.status_code, read(response)) == (200, "ok")
    run_jobs()
    assert receiver.types == ["webhook.test"]


def test_it_rejects_a_second_message_while_one_is_waiting(client, row, receiver):
    client.post(path(row, "test"))
    requests = (("test", None), ("resend", {"resend": {"delivery_id": make_delivery(row).id}}))
    message = "Another message of this account is still waiting to be sent: try again in a moment"
    for end, body in requests:
        response = client.post(path(row, end), json=body)
        assert (response.status_code, response.headers["Retry-After"]) == (409, "1")
        assert read(response)["message"] == message
    for end, body in requests:
        run_jobs()
        assert_answered(client.post(path(row, end), json=body), 200, "ok")


def test_it_rejects_invalid_requests(acme, client, row, receiver):
    other, _secret = add_endpoint(acme.account, receiver.url)

    def assert_rejected(values, **errors) -> None:
        response = client.post(path(row, "resend"), json={"resend": values})
        assert_refused(response, 422, "validation_failed", {name: [rule] for name, rule in errors.items()})

    for values in ({}, {"delivery_id": 1, "since": "2026-01-01"}, {"since": None}):
        assert_rejected(values, resend="must have either delivery_id or since")
    assert_rejected({"delivery_id": 1, "until": "2026-01-01"}, until="can only be given with since")
    assert_rejected({"since": "2026-01-02", "until": "2026-01-02"}, until="must be after since")
    assert_rejected({"delivery_id": make_delivery(other).id}, delivery_id="can't be found")
    row.write({"enabled": False})
    for values in ({"since": "2026-01-01"}, {"delivery_id": make_delivery(row).id}):
        assert_rejected(values, webhook="needs to be enabled")
    assert run_jobs() == 0
    assert Follower.objects.get(name="webhook", key=row.id).due_at.year == 9999
