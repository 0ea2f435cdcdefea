from datetime import UTC, datetime

import pytest

from crm.models import Client
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.bodies import client_body
from tests.support.factories import make_client, make_contact

LONG_AGO = datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC)


def make_old_client(acme, **fields) -> Client:
    client = make_client(acme.alice, **fields)
    Client.objects.filter(pk=client.pk).update(created_at=LONG_AGO, updated_at=LONG_AGO)
    acme.account.client_summaries.update(last_activity_at=LONG_AGO)
    return client


def test_it_works(acme):
    client = make_old_client(acme, name="Ann", email="ann@example.net", note="old", tags=["vip"])
    before = datetime.now(UTC)
    response = acme.json().put(f"/app/clients/{client.id}.json", json={"client": {"note": "new"}})
    client.refresh_from_db()
    # Only the fields of the body, the updater and the time of the update have changed.
    body = client_body(
        client,
        acme.alice,
        name="Ann",
        email="ann@example.net",
        note="new",
        tags=["vip"],
        updater_id=acme.bob.id,
    )
    assert_answered(response, 200, body)
    assert body["created_at"] == on_the_wire(LONG_AGO)
    assert before <= client.updated_at <= datetime.now(UTC)
    assert_answered(acme.json().get(f"/app/clients/{client.id}.json"), 200, body)


def test_it_rejects_a_blank_name(acme):
    client = make_old_client(acme, name="Ann")
    for name in ("", " \n", None):
        response = acme.json().put(f"/app/clients/{client.id}.json", json={"client": {"name": name, "note": "x"}})
        assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})
    client.refresh_from_db()
    assert (client.name, client.note, client.updated_at) == ("Ann", None, LONG_AGO)


@pytest.mark.parametrize("body", [{}, {"client": None}], ids=str)
def test_it_rejects_a_body_without_a_client(acme, body):
    client = make_client(acme.bob)
    response = acme.json().put(f"/app/clients/{client.id}.json", json=body)
    assert_refused(response, 422, "validation_failed", {"client": ["can't be blank"]})


def test_it_rejects_unknown_and_trashed_clients(acme):
    trashed = make_client(acme.bob)
    trashed.trash(by=acme.bob)
    for id in (trashed.id, 10**15):
        response = acme.json().put(f"/app/clients/{id}.json", json={"client": {"name": "a"}})
        assert_refused(response, 404, "not_found")


def test_a_blank_name_is_built_from_the_values_of_the_client(acme):
    client = make_client(acme.bob, "ACME", first_name="Ann", last_name="Nowak")
    for fields, name in (
        ({"name": ""}, "Ann Nowak"),
        ({"name": "", "last_name": "Kowalska"}, "Ann Kowalska"),
        ({"name": None, "first_name": "", "last_name": "", "email": "ann@example.net"}, "ann@example.net"),
    ):
        response = acme.json().put(f"/app/clients/{client.id}.json", json={"client": fields})
        assert response.status_code == 200
        assert read(response)["name"] == name


def test_patch_is_the_same_as_put(acme):
    client = make_client(acme.alice, "Ann", note="old")
    response = acme.json().patch(f"/app/clients/{client.id}.json", json={"client": {"note": "new"}})
    client.refresh_from_db()
    assert_answered(response, 200, client_body(client, acme.alice, name="Ann", note="new", updater_id=acme.bob.id))


def test_a_null_empties_a_field(acme):
    contact = make_contact(acme.bob)
    client = make_client(
        acme.bob, "Ann", note="old", company=True, discount=1, responsible_id=acme.bob.id, contact_id=contact.id
    )
    nulls = dict.fromkeys(("note", "company", "discount", "responsible_id", "contact_id"))
    response = acme.json().put(f"/app/clients/{client.id}.json", json={"client": nulls})
    client.refresh_from_db()
    assert_answered(response, 200, client_body(client, acme.bob, name="Ann"))


def test_the_whole_response_may_be_sent_back(acme):
    client = make_client(acme.bob, "Ann", external_ids={"key": "1"}, tags=["vip"], discount=7)
    body = read(acme.json().get(f"/app/clients/{client.id}.json"))
    response = acme.json().put(f"/app/clients/{client.id}.json", json={"client": body})
    client.refresh_from_db()
    assert_answered(
        response,
        200,
        {**body, "updated_at": on_the_wire(client.updated_at)},
        x_ignored_fields="id,creator_id,updater_id,contacts_count,posts_count,deals_count,last_activity,consent_at,consent_by_id,do_not_contact_at,do_not_contact_by_id,created_at,updated_at",
    )


def test_an_empty_object_changes_nothing(acme):
    client = make_client(acme.bob, "Ann", note="old")
    response = acme.json().put(f"/app/clients/{client.id}.json", json={"client": {}})
    client.refresh_from_db()
    assert_answered(response, 200, client_body(client, acme.bob, name="Ann", note="old"))


def test_a_rejected_update_changes_nothing(acme):
    client = make_client(acme.alice, "Ann", external_ids={"key": "1"}, tags=["vip"])
    other = make_client(acme.alice, external_ids={"key": "2"})
    before = Client.objects.filter(id=client.id).values().get()
    response = acme.json().put(
        f"/app/clients/{client.id}.json",
        json={"client": {"note": "new", "tags": ["else"], "external_ids": {"more": "3", "key": "2"}}},
    )
    assert_refused(response, 422, "validation_failed", {"external_ids": [f"key 2 belongs to client {other.id}"]})
    assert Client.objects.filter(id=client.id).values().get() == before
    assert read(acme.json().get("/app/clients/tags.json"))[0]["name"] == "vip"
