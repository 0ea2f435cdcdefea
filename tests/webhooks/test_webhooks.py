"""CRUD of webhooks in the Account API."""

from datetime import timedelta

import pytest
from django.utils import timezone

from core.changes.followers import Follower
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_delivery
from tests.support.receiver import add_endpoint
from webhooks.models import Delivery, Endpoint, event_types

PATH = "/app/webhooks.json"
URL = "https://hooks.example.com/rostrum"


def item(row: Endpoint, end: str = "") -> str:
    return f"/app/webhooks/{row.id}{end}.json"


def on_wire(row: Endpoint, **changes) -> dict:
    return {
        "id": row.id,
        "name": row.name,
        "url": row.url,
        "events": row.events,
        "format": row.format,
        "public_key": row.public_key,
        "includes_imports": row.includes_imports,
        "enabled": row.enabled,
        "disabled_reason": row.disabled_reason,
        "failing_since": None,
        "delivered_at": None,
        "created_at": on_the_wire(row.created_at),
        "updated_at": on_the_wire(row.updated_at),
        **changes,
    }


@pytest.fixture
def client(acme):
    return acme.json(acme.alice_token)


@pytest.fixture
def row(acme) -> Endpoint:
    return add_endpoint(acme.account, URL)[0]


def test_it_works(acme, client):
    body = {"webhook": {"name": "Sales", "url": URL, "events": ["post.updated", "client.created", "post.updated"]}}
    response = client.post(PATH, json=body)
    row = acme.account.webhooks.get()
    [secret] = row.secrets
    assert secret.startswith("whsec_")
    assert row.public_key.startswith("whpk_")
    assert row.events == ["post.updated", "client.created"]
    body = on_wire(row, secret=secret)
    assert_answered(response, 201, body, location=f"http://acme.example.test{item(row)}")
    assert_answered(client.get(item(row)), 200, on_wire(row))
    assert read(client.get(PATH)) == [on_wire(row)]
    follower = Follower.objects.get(name="webhook", key=row.id)
    assert (follower.cursor, follower.due_at) == (follower.newest, None)


def test_the_secret_is_not_stored_with_an_idempotency_key(acme, client):
    headers = {"Idempotency-Key": "one"}
    first = client.post(PATH, json={"webhook": {"url": URL}}, headers=headers)
    again = client.post(PATH, json={"webhook": {"url": URL}}, headers=headers)
    assert read(again) == {**read(first), "secret": None}
    assert acme.account.webhooks.count() == 1


NO_ADDRESS, OWN = (
    "is not an address of the public internet",
    "is an address of this service, which a webhook cannot call",
)
NO_EVENTS = "must be a list of events, or null for all"


def test_it_rejects_values(acme, client, monkeypatch):
    acme.account.hosts.create(name="forum.of-acme.example")
    for values, errors in (
        ({}, {"url": "can't be blank"}),
        ({"url": "example.com"}, {"url": "is not an address such as https://example.com/hook"}),
        ({"url": "http://127.0.0.1/"}, {"url": NO_ADDRESS}),
        ({"url": "http://[::ffff:10.0.0.1]/"}, {"url": NO_ADDRESS}),
        ({"url": "https://example.com:8443/"}, {"url": "must have port 80 or 443"}),
        ({"url": "https://forum.of-acme.example/"}, {"url": OWN}),
        ({"url": URL + "x" * 2000}, {"url": "is too long (maximum is 2000 characters)"}),
        ({"url": URL, "events": []}, {"events": NO_EVENTS}),
        ({"url": URL, "events": "client.created"}, {"events": NO_EVENTS}),
        ({"url": URL, "events": [1]}, {"events": NO_EVENTS}),
        ({"url": URL, "events": ["client.gone"]}, {"events": "has client.gone, which is not an event"}),
        ({"url": URL, "events": ["status.restored"]}, {"events": "has status.restored, which is not an event"}),
        (
            {"url": URL, "format": "xml", "enabled": "perhaps"},
            {"format": "is not one of standard, slack, teams", "enabled": "is not true or false"},
        ),
    ):
        expected = {name: [rule] for name, rule in errors.items()}
        assert_refused(client.post(PATH, json={"webhook": values}), 422, "validation_failed", expected)
    assert not acme.account.webhooks.exists()
    monkeypatch.setattr(Endpoint, "MAX_PER_ACCOUNT", 1)
    assert [client.post(PATH, json={"webhook": {"url": URL}}).status_code for _ in range(2)] == [201, 422]


def test_null_means_all_events(client, row):
    body = client.put(item(row), json={"webhook": {"events": ["deal.created"], "format": "slack"}})
    assert (read(body)["events"], read(body)["format"]) == (["deal.created"], "slack")
    body = client.put(item(row), json={"webhook": {"events": None, "format": None}})
    assert (read(body)["events"], read(body)["format"]) == (None, "slack")


def test_it_is_disabled_and_enabled(acme, client, row):
    body = read(client.put(item(row), json={"webhook": {"enabled": False}}))
    assert (body["enabled"], body["disabled_reason"]) == (False, "user")
    assert Follower.objects.get(name="webhook").due_at.year == 9999
    body = read(client.patch(item(row), json={"webhook": {"enabled": True}}))
    assert (body["enabled"], body["disabled_reason"]) == (True, None)
    assert Follower.objects.get(name="webhook").due_at <= timezone.now()


def test_another_address_is_tried_at_once(acme, client, row):
    future = timezone.now() + timedelta(hours=5)
    Follower.objects.filter(name="webhook").update(due_at=future, failures=4)
    Endpoint.objects.update(failing_since=timezone.now())
    body = read(client.put(item(row), json={"webhook": {"url": URL + "/new"}}))
    assert body["failing_since"] is None
    follower = Follower.objects.get(name="webhook")
    assert follower.failures == 0
    assert follower.due_at < future
    assert_refused(
        client.put(item(row), json={"webhook": {"url": "http://10.0.0.1/"}}),
        422,
        "validation_failed",
        {"url": ["is not an address of the public internet"]},
    )


def test_the_secret_is_replaced(client, row):
    [old] = row.secrets
    body = read(client.post(item(row, "/secret")))
    row.refresh_from_db()
    assert row.secrets == [body["secret"], old]
    assert body == on_wire(row, secret=body["secret"])


def test_it_has_no_public_key_if_its_secret_cannot_be_decrypted(client, row, settings):
    settings.SECRET_KEY = "another" * 10
    assert read(client.get(item(row)))["public_key"] is None


def test_it_is_deleted_with_its_log(acme, client, row):
    make_delivery(row)
    assert_answered(client.delete(item(row)), 200, "ok")
    assert client.get(item(row)).status_code == 404
    assert not Follower.objects.filter(name="webhook").exists()
    assert not Delivery.objects.exists()


def test_every_kind_of_resource_has_events():
    kinds = {"client", "contact", "contact_list", "deal", "post", "status"}
    assert {name.partition(".")[0] for name in event_types()} >= kinds
    assert "client.restored" in event_types()
