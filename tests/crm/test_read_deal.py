from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import deal_body
from tests.support.factories import make_client, make_deal


def test_it_works(acme):
    client = make_client(acme.alice)
    deal = make_deal(acme.bob, "Deal", client_id=client.id, price=100, external_ids={"order": "1"}, tags=["big"])
    assert_answered(
        acme.json().get(f"/app/deals/{deal.id}.json"),
        200,
        deal_body(
            deal,
            acme.bob,
            name="Deal",
            client_id=client.id,
            price=100,
            external_ids={"order": "1"},
            tags=["big"],
        ),
    )


def test_it_rejects_deals_that_do_not_exist(acme):
    trashed, client = make_deal(acme.bob), make_client(acme.bob)
    trashed.trash(by=acme.bob)
    for id in (trashed.id, client.id, 10**15):
        assert_refused(acme.json().get(f"/app/deals/{id}.json"), 404, "not_found")
