"""Clients inside deals that are linked by their e-mail, and clients that only share an e-mail."""

import pytest

from crm.clients.models import Client
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_deal

ANN = {"name": "Ann", "email": " Ann@example.com"}


def post(acme, client, top=None, **values):
    return acme.json().post(
        "/app/deals.json", json={"deal": {"name": "Order", "client": client, **values}, **(top or {})}
    )


def in_bulk(acme, *clients, top=None, **headers):
    deals = [{"name": "Order", "client": client} for client in clients]
    return read(acme.json().post("/app/deals/bulk.json", json={"deals": deals, **(top or {})}, headers=headers))


def test_it_works(acme):
    client = make_client(acme.alice, "Ann K.", email="ann@EXAMPLE.com", external_ids={"erp": "1"})
    before = Client.objects.filter(id=client.id).values().get()
    deal = make_deal(acme.alice)

    def linked(nested, top) -> list[bool]:
        """Return whether a new deal, a deal of a bulk request and an update are linked to the client."""
        response = post(acme, ANN | nested, top)
        assert (response.status_code, "X-Ignored-Fields" in response.headers) == (201, False)
        [result] = in_bulk(acme, ANN | nested, top=top)
        update = acme.json().put(f"/app/deals/{deal.id}.json", json={"deal": {"client": ANN | nested}, **top})
        bodies = (read(response), result["deal"], read(update))
        acme.account.clients.exclude(id=client.id).delete()
        return [body["client_id"] == client.id for body in bodies]

    assert acme.account.link_guests_by_email is True
    assert linked({}, {}) == [True] * 3
    assert linked({"try_update": False}, {}) == [False] * 3
    # Without the setting, the request decides.
    acme.account.change(link_guests_by_email=False)
    for nested, top in (
        ({"try_update": True}, {}),
        ({}, {"try_update": True}),
        ({"try_update": "1"}, {"try_update": False}),
    ):
        assert linked(nested, top) == [True] * 3
    for flag in (None, False, "", "0"):
        assert linked({"try_update": flag}, {}) == linked({}, {"try_update": flag}) == [False] * 3
    assert Client.objects.filter(id=client.id).values().get() == before


def test_three_orders_of_a_guest(acme):
    ids = {read(post(acme, ANN))["client_id"] for _ in range(3)}
    assert [client.id for client in acme.account.clients.all()] == [*ids]
    results = in_bulk(acme, {"email": "jan@example.com"}, {"email": "JAN@example.com "}, {"email": "ann@example.com"})
    first, second, third = [result["deal"]["client_id"] for result in results]
    assert (first, third) == (second, *ids)
    assert acme.account.clients.count() == 2


def test_two_clients_with_the_email(acme):
    clients = {make_client(acme.alice, email="ann@example.com").id for _ in range(2)}
    assert read(post(acme, ANN))["client_id"] not in clients
    first, second = in_bulk(acme, ANN, ANN)
    assert first["deal"]["client_id"] != second["deal"]["client_id"]
    assert acme.account.clients.count() == 5


def test_guests_without_an_email(acme):
    make_client(acme.alice, email="")
    make_client(acme.alice)
    for email in (None, "", " ", "\u200b"):
        assert post(acme, {"name": "Guest", "email": email}).status_code == 201
    assert acme.account.clients.count() == 6


def test_external_ids_come_first(acme):
    holder = make_client(acme.alice, external_ids={"shop": "1"})
    by_email = make_client(acme.alice, email="ann@example.com")
    assert read(post(acme, ANN | {"external_ids": {"shop": 1}}))["client_id"] == holder.id
    response = post(acme, ANN | {"external_ids": {"shop": 2}})
    assert (read(response)["client_id"], response.headers["X-Ignored-Fields"]) == (
        by_email.id,
        "client.external_ids.shop",
    )
    by_email.refresh_from_db()
    assert by_email.external_ids == {}


def test_another_value_for_an_external_id_is_another_person(acme):
    client = make_client(acme.alice, email="ann@example.com", external_ids={"shop": "1"})
    guest = ANN | {"external_ids": {"shop": "2"}}
    other_id = read(post(acme, guest))["client_id"]
    assert other_id != client.id
    assert read(post(acme, guest))["client_id"] == other_id
    first, second = in_bulk(acme, ANN | {"external_ids": {"shop": "3"}}, guest)
    assert first["deal"]["client_id"] not in (client.id, other_id)
    assert second["deal"]["client_id"] == other_id


def test_clients_that_are_not_linked(acme, other):
    """A client in the trash, one that the agent may not access, and one of another account."""
    make_client(acme.alice, email="ann@example.com").trash(by=acme.alice)
    acme.account.change(agents_see="own")
    make_client(acme.alice, email="ann@example.com", responsible_id=acme.alice.id)
    make_client(other.mallory, email="ann@example.com")
    assert read(post(acme, ANN))["client_id"] == acme.account.clients.latest("id").id
    assert acme.account.clients.count() == 3


def test_it_rejects_an_invalid_try_update(acme):
    response = post(acme, ANN | {"try_update": "perhaps"})
    assert_refused(response, 422, "validation_failed", {"client.try_update": ["is not true or false"]})


@pytest.mark.parametrize("is_bulk", [False, True])
def test_try_update_leaves_another_person_alone(acme, is_bulk):
    """Two people of a family share an e-mail."""
    client = make_client(acme.alice, "Ann", email="ann@example.com", external_ids={"shop": "1"})
    before = Client.objects.filter(id=client.id).values().get()
    values = {"name": "Jan", "email": "ann@example.com", "external_ids": {"shop": "2", "new": "3"}, "try_update": True}
    if is_bulk:
        [result] = read(acme.json().post("/app/clients/bulk.json", json={"clients": [values]}))
        status, body = result["status"], result["client"]
    else:
        response = acme.json().post("/app/clients.json", json={"client": values})
        status, body = response.status_code, read(response)
    assert (status, body["id"] == client.id, body["external_ids"]) == (201, False, {"shop": "2", "new": "3"})
    assert Client.objects.filter(id=client.id).values().get() == before
    # A key that the client does not have, and the same value, are no contradiction.
    values = {"email": "ann@example.com", "external_ids": {"shop": 1.0, "erp": "9"}, "try_update": True}
    assert read(acme.json().post("/app/clients.json", json={"client": values}))["id"] == client.id
    values = {"email": "ann@example.com", "external_ids": {"other": "9"}, "try_update": True}
    assert read(acme.json().post("/app/clients.json", json={"client": values}))["id"] == client.id


def test_the_setting_in_json(acme):
    account = acme.json(acme.alice_token)
    for sent, stored in ((False, False), (None, False), (True, True)):
        body = read(account.put("/app/account.json", json={"account": {"link_guests_by_email": sent}}))
        assert body["link_guests_by_email"] == read(account.get("/app/account.json"))["link_guests_by_email"] == stored
