from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import deal_body
from tests.support.factories import make_client, make_deal
from tests.support.tables import table


def test_it_works(acme):
    deal = make_deal(acme.alice, "Deal", price=100, description="old", external_ids={"order": "1"})
    response = acme.json().put(f"/app/deals/{deal.id}.json", json={"deal": {"description": "new"}})
    deal.refresh_from_db()
    body = deal_body(
        deal,
        acme.alice,
        name="Deal",
        price=100,
        description="new",
        external_ids={"order": "1"},
        updater_id=acme.bob.id,
    )
    assert_answered(response, 200, body)
    assert_answered(acme.json().get(f"/app/deals/{deal.id}.json"), 200, body)


@table("name", ["", "  ", None])
def test_it_rejects_a_blank_name(acme, name):
    deal = make_deal(acme.bob)
    response = acme.json().put(f"/app/deals/{deal.id}.json", json={"deal": {"name": name}})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})


def test_it_rejects_unknown_and_trashed_deals(acme):
    trashed = make_deal(acme.bob)
    trashed.trash(by=acme.bob)
    for id in (trashed.id, 10**15):
        response = acme.json().put(f"/app/deals/{id}.json", json={"deal": {"name": "a"}})
        assert_refused(response, 404, "not_found")


def test_it_rejects_a_body_without_a_deal(acme):
    deal = make_deal(acme.bob)
    response = acme.json().put(f"/app/deals/{deal.id}.json", json={})
    assert_refused(response, 422, "validation_failed", {"deal": ["can't be blank"]})


def test_nulls_and_blanks(acme):
    client = make_client(acme.alice)
    deal = make_deal(
        acme.bob, "Deal", price=1, client_id=client.id, currency="PLN", expected_close_date="2009-01-26", origin="x"
    )
    values = {"price": " ", "client_id": "", "currency": None, "expected_close_date": "", "origin": None}
    response = acme.json().put(f"/app/deals/{deal.id}.json", json={"deal": values})
    deal.refresh_from_db()
    # A deal always has a currency, so a null is ignored.
    assert_answered(response, 200, deal_body(deal, acme.bob, name="Deal", currency="PLN"))


def test_a_nested_client_is_found_or_created(acme):
    first = make_client(acme.alice, external_ids={"shop_id": "17"})
    deal = make_deal(acme.alice)
    for client, expected in (
        ({"external_ids": {"shop_id": "17"}}, lambda: first),
        ({"name": "New", "external_ids": {"shop_id": "18"}}, lambda: acme.account.clients.get(name="New")),
    ):
        response = acme.json().put(f"/app/deals/{deal.id}.json", json={"deal": {"client": client}})
        assert response.status_code == 200
        assert read(response)["client_id"] == expected().id


def test_a_null_nested_client_is_ignored(acme):
    client = make_client(acme.alice)
    deal = make_deal(acme.alice, client_id=client.id)
    response = acme.json().put(f"/app/deals/{deal.id}.json", json={"deal": {"client": None}})
    assert read(response)["client_id"] == client.id


def test_it_rejects_a_nested_client_together_with_a_client_id(acme):
    client = make_client(acme.alice)
    deal = make_deal(acme.alice)
    response = acme.json().put(
        f"/app/deals/{deal.id}.json", json={"deal": {"client": {"name": "Ann"}, "client_id": client.id}}
    )
    assert_refused(response, 422, "validation_failed", {"client": ["can't be given together with client_id"]})
