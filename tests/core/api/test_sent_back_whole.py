"""Clients read a resource, change one field and send all fields: unchanged values never cause an error."""

import pytest

from accounts.users.models import User
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_contact, make_deal, make_post, make_task, make_user
from tests.support.tables import table

MAKE = {"client": make_client, "contact": make_contact, "deal": make_deal, "task": make_task, "post": make_post}
KEYS = {"task": "post"}


def path_of(kind: str, row) -> str:
    return f"/app/{KEYS.get(kind, kind)}s/{row.id}.json"


def put(acme, kind: str, row, /, **fields):
    return acme.json().put(path_of(kind, row), json={KEYS.get(kind, kind): fields})


@pytest.fixture
def dave(acme) -> User:
    return make_user(acme.account, "dave", role=User.Role.AGENT)


# The changes that remove a user from the team.
DEACTIVATED, DEMOTED = {"is_active": False}, {"role": User.Role.MEMBER}


@table(("kind", "changes"), [*((kind, DEACTIVATED) for kind in MAKE), ("client", DEMOTED)])
def test_the_responsible_user_may_have_left_the_team(acme, dave, kind, changes):
    row, another = (MAKE[kind](acme.alice, responsible_id=id) for id in (dave.id, acme.bob.id))
    User.objects.filter(pk=dave.pk).update(**changes)
    body = read(acme.json().get(path_of(kind, row)))
    response = put(acme, kind, row, **body)
    assert response.status_code == 200, response.text
    assert read(response)["responsible_id"] == dave.id
    # A user who left the team cannot become responsible, even if they were before.
    errors = {"responsible_id": ["can't be found"]}
    assert_refused(put(acme, kind, another, responsible_id=dave.id), 422, "validation_failed", errors)
    assert put(acme, kind, row, responsible_id=acme.bob.id).status_code == 200
    assert_refused(put(acme, kind, row, **body), 422, "validation_failed", errors)


def test_the_responsible_user_of_bulk_updates_may_have_left_the_team(acme, dave):
    make_client(acme.alice, "Ann", external_ids={"shop": "1"}, responsible_id=dave.id)
    User.objects.filter(pk=dave.pk).update(**DEACTIVATED)
    items = [{"name": "Ann", "responsible_id": dave.id, "external_ids": {"shop": number}} for number in (1, 2)]
    response = acme.json().post("/app/clients/bulk.json", json={"try_update": True, "clients": items})
    results = read(response)
    assert [result["status"] for result in results] == [200, 422]
    assert results[0]["client"]["responsible_id"] == dave.id
    assert results[1]["errors"] == {"responsible_id": ["can't be found"]}


def test_a_link_to_a_client_trashed_meanwhile_is_pending(acme):
    """The client is trashed after the deal was read. Restoring the client will link the deal again."""
    client = make_client(acme.alice)
    deal = make_deal(acme.alice, client_id=client.id)
    body = read(acme.json().get(path_of("deal", deal)))
    client.trash(by=acme.alice)
    response = put(acme, "deal", deal, **body)
    assert (response.status_code, read(response)["client_id"]) == (200, None)
    assert response.headers["X-Pending-Links"] == "client_id"


@table("make", [make_task, make_post])
def test_a_status_is_changed_by_its_code_or_by_its_id(acme, make):
    ids = dict(acme.account.statuses.filter(kind="post").values_list("code", "id"))
    row = make(acme.alice)
    for changed, code in (
        ({}, "new"),
        ({"status_id": ids["planned"]}, "planned"),
        ({"status": "started"}, "started"),
        ({"status": "completed", "status_id": ids["completed"]}, "completed"),
        ({"status": None, "status_id": ids["new"]}, "new"),
        ({"status": "planned", "status_id": None}, "planned"),
    ):
        body = read(acme.json().get(path_of("post", row)))
        body = read(put(acme, "post", row, **{**body, **changed}))
        assert (body["status"], body["status_id"]) == (code, ids[code])


def test_it_rejects_two_different_statuses(acme):
    ids = dict(acme.account.statuses.filter(kind="post").values_list("code", "id"))
    fields = {"status": "planned", "status_id": ids["started"]}
    errors = {"status_id": ["is that of another status than planned"]}
    row = make_post(acme.alice)
    assert_refused(put(acme, "post", row, **fields), 422, "validation_failed", errors)
    response = acme.json().post("/app/posts.json", json={"post": {"title": "a", **fields}})
    assert_refused(response, 422, "validation_failed", errors)
    response = acme.json().post("/app/posts.json", json={"post": {"title": "a", **fields, "status_id": ids["planned"]}})
    assert (response.status_code, read(response)["status"]) == (201, "planned")


def test_a_deal_may_keep_an_invalid_currency(acme):
    deal, another = make_deal(acme.alice, currency="ZZZ"), make_deal(acme.alice)
    body = read(acme.json().get(path_of("deal", deal)))
    response = put(acme, "deal", deal, **body)
    assert (response.status_code, read(response)["currency"]) == (200, "ZZZ")
    errors = {"currency": ["is not a code of ISO 4217, such as EUR"]}
    assert_refused(put(acme, "deal", another, currency="ZZZ"), 422, "validation_failed", errors)
