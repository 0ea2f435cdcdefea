"""Deliveries: order, attempts, responses, and when an endpoint is disabled."""

import base64
import contextlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.core import mail
from django.db import models, transaction
from django.utils import timezone
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from core.changes.followers import Follower
from core.errors import Conflict, FieldError
from core.housekeeping.jobs import erase_outdated_rows
from tests.support.assertions import on_the_wire, read
from tests.support.factories import make_client, make_delivery, make_post
from tests.support.jobs import run_jobs
from tests.support.receiver import add_endpoint, deliver
from tests.support.tables import table
from webhooks import delivery, dispatcher, messages
from webhooks.models import Delivery, Endpoint


def follower(endpoint: Endpoint) -> Follower:
    return Follower.objects.get(account_id=endpoint.account_id, name="webhook", key=endpoint.id)


@pytest.fixture
def endpoint(acme, receiver) -> Endpoint:
    return add_endpoint(acme.account, receiver.url)[0]


def let_time_pass(endpoint: Endpoint, **by) -> None:
    """Let the delay of the next attempt pass, and move the times of the endpoint back."""
    passed = timedelta(**by)
    for rows, fields in (
        (Follower.objects.filter(name="webhook", key=endpoint.id), ["due_at"]),
        (Endpoint.objects.filter(id=endpoint.id), ["failing_since", "rejected_since"]),
    ):
        rows.update(**{field: models.F(field) - passed for field in fields})


def test_it_works(acme, receiver):
    endpoint, secret = add_endpoint(acme.account, receiver.url)
    row = make_client(acme.alice, "Ann")
    row.write({"name": "Bea"}, by=acme.alice)
    deliver()
    created, updated = receiver.requests
    assert receiver.types == ["client.created", "client.updated"]
    change = acme.account.changes.get(number=created.json["number"])
    assert created.json == {
        "type": "client.created",
        "timestamp": on_the_wire(change.at),
        "number": change.number,
        "url": f"http://acme.example.test/app/clients/{row.id}",
        "actor": None,
        "before": None,
        "after": None,
        # The resource as the Account API returns it now.
        "data": read(acme.json().get(f"/app/clients/{row.id}.json")),
    }
    assert updated.json["number"] == change.number + 1
    assert created.id != updated.id
    assert created.headers["content-type"] == "application/json"
    for request in receiver.requests:
        assert Webhook(secret).verify(request.body, request.headers) == request.json
    endpoint.refresh_from_db()
    assert endpoint.state == "healthy"
    assert endpoint.delivered_at is not None
    log = list(Delivery.objects.order_by("id"))
    assert [(entry.event, entry.status, entry.attempt, entry.cause) for entry in log] == [
        ("client.created", 204, 1, "event"),
        ("client.updated", 204, 1, "event"),
    ]
    assert log[0].request.encode() == created.body
    assert follower(endpoint).due_at is None


def test_both_secrets_sign_for_a_day_after_a_rotation(acme, receiver):
    endpoint, old = add_endpoint(acme.account, receiver.url)
    new = endpoint.rotate_secret()
    make_client(acme.alice)
    deliver()
    Endpoint.objects.update(previous_secret_expires_at=timezone.now() - timedelta(seconds=1))
    make_client(acme.alice)
    deliver()
    during, after = receiver.requests
    versions = [each.partition(",")[0] for each in during.headers["webhook-signature"].split(" ")]
    assert versions == ["v1", "v1a", "v1", "v1a"]
    for secret, request in ((old, during), (new, during), (new, after)):
        Webhook(secret).verify(request.body, request.headers)
    third = add_endpoint(acme.account, receiver.url)[1]
    for wrong, body in ((old, after.body), (third, after.body), (new, after.body + b" ")):
        with pytest.raises(WebhookVerificationError):
            Webhook(wrong).verify(body, after.headers)
    # A secret has 32 random bytes, and is not stored as it is.
    assert len({old, new, third}) == 3
    for secret in (old, new, third):
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
        assert not Endpoint.objects.filter(secret__contains=secret).exists()


def is_signed_by(public_key: str, request) -> bool:
    """Return whether one of the asymmetric signatures of a request is valid."""
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key.removeprefix("whpk_")))
    content = f"{request.id}.{request.headers['webhook-timestamp']}.".encode() + request.body
    for signature in request.headers["webhook-signature"].split(" "):
        with contextlib.suppress(InvalidSignature):
            if signature.startswith("v1a,"):
                key.verify(base64.b64decode(signature.removeprefix("v1a,")), content)
                return True
    return False


def test_the_public_key_verifies_a_request(acme, endpoint, receiver):
    other, _secret = add_endpoint(acme.account, receiver.url)
    old = endpoint.public_key
    make_client(acme.alice)
    deliver()
    first = next(request for request in receiver.requests if request.id == endpoint.deliveries.get().message)
    assert [is_signed_by(key, first) for key in (old, other.public_key)] == [True, False]
    first.body += b" "
    assert not is_signed_by(old, first)
    # Replacing the secret replaces the key pair. The previous key also signs for a day.
    endpoint.rotate_secret()
    assert endpoint.public_key != old
    make_client(acme.alice)
    deliver()
    message = endpoint.deliveries.latest("id").message
    second = next(request for request in receiver.requests if request.id == message)
    assert [is_signed_by(key, second) for key in (old, endpoint.public_key)] == [True, True]


def test_a_deleted_resource_has_only_its_id(acme, endpoint, receiver):
    row = make_client(acme.alice, "Secret name")
    row.trash(by=acme.alice)
    deliver()
    assert receiver.types == ["client.created", "client.deleted"]
    assert [request.json["data"] for request in receiver.requests] == [{"id": row.id, "deleted": True}] * 2
    row.restore()
    deliver()
    assert receiver.types[2] == "client.restored"
    assert receiver.requests[2].json["data"]["name"] == "Secret name"


def test_nothing_is_sent_of_other_accounts_and_of_changes_that_are_rolled_back(acme, other, receiver):
    add_endpoint(other.account, receiver.url)
    make_client(acme.alice)
    with transaction.atomic():
        make_client(other.mallory)
        transaction.set_rollback(True)
    deliver()
    assert receiver.requests == []


def test_an_endpoint_receives_only_its_events(acme, receiver, monkeypatch):
    monkeypatch.setattr("webhooks.dispatcher.SCANNED_CHANGES", 2)
    endpoint, _secret = add_endpoint(acme.account, receiver.url, events=["post.created"])
    for _ in range(5):
        make_client(acme.alice)
    make_post(acme.alice, "A title")
    make_client(acme.alice)
    deliver()
    [request] = receiver.requests
    assert request.json["type"] == "post.created"
    assert request.json["data"]["title"] == "A title"
    assert follower(endpoint).cursor == follower(endpoint).newest


def test_the_next_event_waits_for_a_failed_one(acme, receiver):
    """Each attempt has the same id and body. Only the time and the signature differ."""
    endpoint, secret = add_endpoint(acme.account, receiver.url)
    make_client(acme.alice, "Ann")
    make_client(acme.alice, "Bea")
    receiver.answer(503, body=b"Down\0" + b"x" * 5000)
    deliver()
    assert len(receiver.requests) == 1
    endpoint.refresh_from_db()
    assert endpoint.state == "failing"
    [entry] = Delivery.objects.all()
    assert (entry.status, entry.error, entry.outcome) == (503, None, "503")
    assert entry.response == ("Down\ufffd" + "x" * 5000)[:1024]
    receiver.answer(200)
    deliver()
    assert len(receiver.requests) == 1, "the delay has not passed"
    let_time_pass(endpoint, seconds=5)
    deliver()
    first, second, third = receiver.requests
    assert (first.id, first.body) == (second.id, second.body)
    assert third.id != first.id
    Webhook(secret).verify(second.body, second.headers)
    endpoint.refresh_from_db()
    assert endpoint.state == "healthy"
    assert [entry.attempt for entry in Delivery.objects.order_by("id")] == [1, 2, 1]


def test_attempts_have_the_documented_delays(acme, endpoint, receiver):
    make_client(acme.alice)
    receiver.answer(500)
    delays = []
    for _ in range(len(delivery.RETRY_DELAYS) + 1):
        before = timezone.now()
        deliver()
        after, due_at = timezone.now(), follower(endpoint).due_at
        delays.append((due_at - after, due_at - before))
        let_time_pass(endpoint, seconds=delays[-1][1].total_seconds())
        Endpoint.objects.update(failing_since=timezone.now())
    hour = 3600
    expected = [5, 300, 1800, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour, 24 * hour]
    for (shortest, longest), seconds in zip(delays, expected, strict=True):
        assert shortest <= timedelta(seconds=seconds) <= longest, delays
    assert len(receiver.requests) == 10


def test_other_statuses_are_failures(acme, endpoint, receiver):
    make_client(acme.alice)
    for number, status in enumerate((301, 302, 307, 308, 304, 400, 404, 408, 429, 500, 599), start=1):
        receiver.answer(status, {"Location": receiver.url})
        deliver()
        assert (len(receiver.requests), follower(endpoint).failures) == (number, number), status
        Follower.objects.update(due_at=timezone.now())


@table(
    ("value", "seconds"),
    [
        ("120", 120),
        ("0", 5),
        ("-1", 5),
        ("soon", 5),
        ("99999999999999", 24 * 3600),
        ("in ten minutes", 600),
        ("Mon, 01 Jan 0001 00:00:00 -2359", 5),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 5),
    ],
)
def test_retry_after_is_honoured(acme, endpoint, receiver, value, seconds):
    make_client(acme.alice)
    if value == "in ten minutes":
        value = format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True)
    receiver.answer(503, {"Retry-After": value})
    before = timezone.now()
    deliver()
    after = timezone.now()
    # Two seconds less, because a date in the header has no fraction of a second.
    earliest, latest = before + timedelta(seconds=seconds - 2), after + timedelta(seconds=seconds)
    assert earliest <= follower(endpoint).due_at <= latest


def test_410_disables_the_endpoint(acme, endpoint, receiver):
    make_client(acme.alice)
    receiver.answer(410)
    deliver()
    endpoint.refresh_from_db()
    assert (endpoint.enabled, endpoint.disabled_reason, endpoint.state) == (False, "gone", "disabled")
    make_client(acme.alice)
    deliver()
    assert len(receiver.requests) == 1
    run_jobs()
    [message] = mail.outbox
    assert message.to == [acme.alice.email]
    assert "410 Gone" in message.body
    assert f"/app/account/webhooks/{endpoint.id}" in message.body


def test_an_event_that_is_rejected_for_a_day_is_set_aside(acme, endpoint, receiver):
    poison = make_client(acme.alice, "Poison")
    make_client(acme.alice, "Good")
    receiver.respond = lambda request: (400 if request.json["data"]["id"] == poison.id else 200, {}, b"")
    deliver()
    let_time_pass(endpoint, hours=23)
    deliver()
    assert len(receiver.requests) == 2
    let_time_pass(endpoint, hours=2)
    deliver()
    assert [request.json["data"]["name"] for request in receiver.requests] == ["Poison", "Poison", "Poison", "Good"]
    assert [entry.set_aside for entry in Delivery.objects.order_by("id")] == [False, False, True, False]
    endpoint.refresh_from_db()
    assert endpoint.state == "healthy"


def fail_to_make(monkeypatch, *names: str) -> None:
    """Make `make_message` fail for clients with these names."""

    def make_message(endpoint, event, make=messages.make_message):
        message = make(endpoint, event)
        if any(f'"name":"{name}"'.encode() in message.body for name in names):
            raise ValueError
        return message

    for module in (dispatcher, delivery):
        monkeypatch.setattr(module, "make_message", make_message)


def test_an_event_whose_message_can_never_be_made_is_set_aside_after_a_day(
    acme, endpoint, receiver, monkeypatch, caplog
):
    make_client(acme.alice, "Poison")
    make_client(acme.alice, "Good")
    fail_to_make(monkeypatch, "Poison")
    deliver()
    let_time_pass(endpoint, hours=23)
    deliver()
    assert receiver.requests == []
    let_time_pass(endpoint, hours=2)
    deliver()
    assert [request.json["data"]["name"] for request in receiver.requests] == ["Good"]
    *failed, last = endpoint.deliveries.order_by("id")
    assert [(entry.error, entry.attempt, entry.set_aside, entry.request) for entry in failed] == [
        ("message", 1, False, ""),
        ("message", 2, False, ""),
        ("message", 3, True, ""),
    ]
    assert "a fault of this service" in failed[0].outcome
    assert last.status == 204
    number = failed[0].number
    assert f"change {number} of account {acme.account.id} is set aside for webhook {endpoint.id}" in caplog.text


def test_a_defect_of_the_service_does_not_count_against_the_endpoint(acme, endpoint, receiver, monkeypatch):
    for _ in range(3):
        make_client(acme.alice, "Poison")
    fail_to_make(monkeypatch, "Poison")
    for _ in range(12):
        deliver()
        let_time_pass(endpoint, hours=25)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failing_since) == ("healthy", None)
    assert endpoint.deliveries.filter(set_aside=True).count() == 3
    assert follower(endpoint).cursor == follower(endpoint).newest
    # Nor does the defect disable an endpoint that has failed before.
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(days=6))
    make_client(acme.alice, "Poison")
    deliver()
    endpoint.refresh_from_db()
    assert (endpoint.enabled, endpoint.state) == (True, "failing")


def test_a_message_that_could_not_be_made_is_made_when_it_is_sent_again(acme, endpoint, receiver, monkeypatch):
    make_client(acme.alice, "Poison")
    fail_to_make(monkeypatch, "Poison")
    deliver()
    entry = endpoint.deliveries.get()
    delivery.resend(account_id=acme.account.id, delivery_id=entry.id)
    assert endpoint.deliveries.get(cause="resend").error == "message"
    assert receiver.requests == []
    fail_to_make(monkeypatch)
    delivery.resend(account_id=acme.account.id, delivery_id=entry.id)
    [request] = receiver.requests
    assert (request.id, request.json["data"]["name"]) == (entry.message, "Poison")
    # The change with this number is another one now.
    acme.account.changes.update(change="updated")
    delivery.resend(account_id=acme.account.id, delivery_id=entry.id)
    assert len(receiver.requests) == 1


@table("status", [500, 429])
def test_only_a_rejection_sets_an_event_aside(acme, endpoint, receiver, status):
    make_client(acme.alice)
    receiver.answer(status)
    for _ in range(4):
        deliver()
        let_time_pass(endpoint, hours=25)
    assert list(Delivery.objects.values_list("set_aside", flat=True)) == [False] * 4


def test_an_endpoint_that_fails_for_five_days_is_disabled(acme, endpoint, receiver):
    make_client(acme.alice)
    receiver.answer(500)
    deliver()
    let_time_pass(endpoint, days=5)
    deliver()
    endpoint.refresh_from_db()
    assert (endpoint.enabled, endpoint.disabled_reason) == (False, "failing")
    run_jobs()
    [message] = mail.outbox
    assert message.to == [acme.alice.email]
    assert "five days" in message.body
    # An enabled endpoint receives later events, but not the missed ones.
    receiver.answer(200)
    make_client(acme.alice, "Missed")
    deliver()
    with transaction.atomic():
        Endpoint.objects.locked().get(id=endpoint.id).write({"enabled": True})
    make_client(acme.alice, "Next")
    deliver()
    assert receiver.requests[-1].json["data"]["name"] == "Next"
    assert len(receiver.requests) == 3


@table(
    ("changed", "error", "outcome"),
    # The operator no longer allows the network, or has replaced the key that encrypts secrets.
    [({"WEBHOOK_ALLOW": ()}, "address", "is not public"), ({"SECRET_KEY": "another" * 10}, "secret", "replace it")],
)
def test_settings_that_were_changed_since(acme, receiver, settings, changed, error, outcome):
    """Nothing is sent, and the log says why."""
    # A decrypted secret is cached, so each row needs an endpoint of its own.
    endpoint, _secret = add_endpoint(acme.account, receiver.url)
    for name, value in changed.items():
        setattr(settings, name, value)
    make_client(acme.alice)
    deliver()
    assert receiver.requests == []
    [entry] = Delivery.objects.all()
    assert (entry.status, entry.error) == (None, error)
    assert outcome in entry.outcome
    endpoint.refresh_from_db()
    assert endpoint.state == "failing"


def test_nothing_is_sent_for_rows_that_were_deleted(other, receiver):
    endpoint, _secret = add_endpoint(other.account, receiver.url)
    make_client(other.mallory)
    delivery.send_test(account_id=other.account.id, endpoint_id=endpoint.id + 1)
    delivery.resend(account_id=other.account.id, delivery_id=1)
    Follower.objects.filter(account_id=other.account.id).delete()
    deliver()
    assert receiver.requests == []


# Sent on request


def test_a_test_is_sent_by_a_job(acme, receiver):
    endpoint, secret = add_endpoint(acme.account, receiver.url)
    delivery.send_test.defer(account_id=acme.account.id, endpoint_id=endpoint.id)
    run_jobs()
    [request] = receiver.requests
    assert request.json["type"] == "webhook.test"
    assert (request.json["number"], request.json["data"]) == (None, {"webhook_id": endpoint.id})
    Webhook(secret).verify(request.body, request.headers)
    [entry] = Delivery.objects.all()
    assert (entry.cause, entry.status) == ("test", 204)


def test_a_message_is_sent_again_with_the_same_id(acme, receiver):
    endpoint, secret = add_endpoint(acme.account, receiver.url)
    row = make_client(acme.alice, "Ann")
    deliver()
    row.write({"name": "Bea"}, by=acme.alice)
    delivery.resend.defer(account_id=acme.account.id, delivery_id=endpoint.deliveries.get().id)
    run_jobs()
    first, second = receiver.requests
    assert (first.id, first.body) == (second.id, second.body)
    Webhook(secret).verify(second.body, second.headers)
    assert endpoint.deliveries.filter(cause="resend").count() == 1
    # Not if the webhook was turned off meanwhile.
    delivery.defer_resend(endpoint.deliveries.get(cause="event"))
    endpoint.write({"enabled": False})
    assert run_jobs() == 1
    assert (len(receiver.requests), endpoint.deliveries.count()) == (2, 2)


def test_at_most_one_message_of_an_account_waits(acme, other, receiver):
    """An account with many slow endpoints must not fill the queue, which all accounts share."""
    first, second = (add_endpoint(acme.account, receiver.url)[0] for _ in range(2))
    entry = make_delivery(first)
    delivery.defer_test(first)
    for defer in (lambda: delivery.defer_test(second), lambda: delivery.defer_resend(entry)):
        with pytest.raises(Conflict):
            defer()
    delivery.defer_test(add_endpoint(other.account, receiver.url)[0])
    assert run_jobs() == 2
    delivery.defer_resend(entry)
    assert run_jobs() == 1


def test_all_events_since_a_time_are_sent_again_in_order(acme, endpoint, receiver):
    for name in ("Ann", "Bea", "Cid"):
        make_client(acme.alice, name)
    deliver()
    second = acme.account.changes.get(number=receiver.numbers[1])
    assert endpoint.resend_since(second.at) == 2
    deliver()
    assert receiver.numbers[3:] == receiver.numbers[1:3]
    assert [request.id for request in receiver.requests[3:]] == [request.id for request in receiver.requests[1:3]]
    assert endpoint.resend_since(timezone.now()) == 0
    acme.account.changes.filter(number__lt=second.number).delete()
    assert endpoint.resend_since(timezone.now() - timedelta(days=400)) == 2


def test_a_range_of_events_is_sent_again_before_new_ones(acme, endpoint, receiver):
    for name in ("Ann", "Bea", "Cid", "Dan"):
        make_client(acme.alice, name)
    deliver()
    numbers = list(receiver.numbers)
    start, end = (acme.account.changes.get(number=numbers[place]).at for place in (1, 3))
    assert endpoint.resend_since(start, end) == 2
    make_client(acme.alice, "Eva")
    with pytest.raises(FieldError, match="earlier request"), transaction.atomic():
        endpoint.resend_since(start)
    with pytest.raises(FieldError, match="after since"), transaction.atomic():
        endpoint.resend_since(end, start)
    deliver()
    assert receiver.numbers[4:] == [*numbers[1:3], numbers[3] + 1]
    # The range is over, so that all can be sent again.
    assert endpoint.resend_since(start) == 4
    deliver()
    assert receiver.numbers[7:] == [*numbers[1:], numbers[3] + 1]
    assert endpoint.resend_since(start - timedelta(days=9), start - timedelta(days=8)) == 0


def test_old_entries_are_erased(acme, endpoint, receiver):
    make_delivery(endpoint, at=timezone.now() - timedelta(days=30, seconds=1))
    kept = make_delivery(endpoint, at=timezone.now() - timedelta(days=29, hours=23))
    erase_outdated_rows()
    assert list(endpoint.deliveries.all()) == [kept]
