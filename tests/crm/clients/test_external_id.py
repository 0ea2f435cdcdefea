"""The field `external_id` of a client, which is one of its external ids."""

import pytest

from crm.clients.models import ClientExternalId
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client
from tests.support.tables import table


def post(acme, **values):
    return acme.json().post("/app/clients.json", json={"client": values})


def put(acme, client, **values):
    return acme.json().put(f"/app/clients/{client['id']}.json", json={"client": values})


def values_in(body: dict) -> tuple:
    """Return the external id from each of the three fields of a body that contain it."""
    return (
        body.get("external_id"),
        body["additional_fields"].get("external_id"),
        body["external_ids"].get("external_id"),
    )


def find(acme, query: str) -> list[dict]:
    return read(acme.json().get(f"/app/clients.json?{query}"))


def test_it_works(acme, other):
    make_client(other.mallory, external_ids={"external_id": "17"}, email="ann@example.com")
    for query in ("external_id=17", "email=ann@example.com"):
        assert find(acme, query) == []
    response = post(acme, name="Ann", external_id=17)
    assert (response.status_code, values_in(read(response))) == (201, ("17", "17", "17"))
    assert "X-Ignored-Fields" not in response.headers
    client = read(response)
    for query in ("external_id=17", "external_ids[external_id]=17"):
        assert find(acme, query) == [client]
    for query in ("external_id=18", "external_id=17&tag=vip"):
        assert find(acme, query) == []
    assert {row.key for row in ClientExternalId.objects.all()} == {"external_id"}
    # The external id of a client in the trash is free.
    acme.json().delete(f"/app/clients/{client['id']}.json")
    assert find(acme, "external_id=17") == []
    assert post(acme, name="Jan", external_id="17").status_code == 201
    acme.account.clients.get(id=client["id"]).restore()
    assert values_in(read(acme.json().get(f"/app/clients/{client['id']}.json"))) == (None, None, None)


@table(
    ("value", "rule"),
    [
        *((value, "external_id must be a text of 1-255 characters") for value in ([], True, "a" * 256, "a\0")),
        ("17", "external_id 17 belongs to client {}"),
    ],
)
def test_it_rejects_invalid_and_taken_values(acme, value, rule):
    holder = read(post(acme, name="Ann", external_id="17"))
    errors = {"external_ids": [rule.format(holder["id"])]}
    for fields in ({"external_id": value}, {"additional_fields": {"external_id": value}}):
        assert_refused(post(acme, name="Jan", **fields), 422, "validation_failed", errors)
    results = acme.json().post("/app/clients/bulk.json", json={"clients": [{"name": "Jan", "external_id": value}]})
    assert read(results)[0]["errors"] == errors


def test_null_or_blank_removes_the_external_id(acme):
    for shop, value in (("1", None), ("2", ""), ("3", " ")):
        client = read(post(acme, name="Ann", external_id="17", external_ids={"shop": shop}))
        body = read(put(acme, client, external_id=value))
        assert (values_in(body), body["external_ids"]) == ((None, None, None), {"shop": shop})


@table("container", [None, "additional_fields", "external_ids"])
def test_the_changed_value_wins_when_the_whole_client_is_sent_back(acme, container):
    original = read(post(acme, name="Ann", external_id="1", additional_fields={"size": 42}))
    change = {"external_id": "2"}
    changes = change if container is None else {container: {**original[container], **change}}
    body = read(put(acme, original, **{**original, **changes}))
    assert values_in(body) == ("2", "2", "2")
    assert body["additional_fields"]["size"] == 42
    assert values_in(read(put(acme, body, **body))) == ("2", "2", "2")


def test_try_update_finds_a_client_by_its_external_id(acme):
    client = read(post(acme, name="Ann", external_id="17"))
    response = post(acme, name="Ann K.", external_id=17, try_update=True)
    assert (response.status_code, read(response)["id"]) == (200, client["id"])
    body = {"try_update": True, "clients": [{"name": "A", "external_id": 17}, {"name": "B", "external_id": 18}]}
    results = read(acme.json().post("/app/clients/bulk.json", json=body))
    assert [result["status"] for result in results] == [200, 201]
    assert results[0]["client"]["id"] == client["id"]


def test_a_put_by_another_external_id_sets_the_field(acme):
    body = {"client": {"name": "Ann", "external_id": "17"}}
    response = acme.json().put("/app/clients.json?external_ids[shop]=1", json=body)
    assert (response.status_code, read(response)["external_ids"]) == (201, {"external_id": "17", "shop": "1"})


@pytest.mark.parametrize("query", ["external_id=17", "email=ann@example.com"])
def test_it_takes_few_queries(acme, query, django_assert_max_num_queries):
    client = make_client(acme.alice, email="ann@example.com", external_ids={"external_id": "17"})
    find(acme, query)
    # The token; the holder of the external id; the planner setting; an estimate; the ids; the rows; a savepoint and its release.
    with django_assert_max_num_queries(8):
        assert find(acme, query)[0]["id"] == client.id
