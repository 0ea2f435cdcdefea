from tests.support.assertions import assert_answered, assert_refused
from tests.support.factories import make_client, make_deal


def test_it_works(acme):
    client = make_client(acme.alice)
    deal = make_deal(acme.alice, client_id=client.id)
    assert_answered(acme.json().delete(f"/app/deals/{deal.id}.json"), 200, "ok")
    assert_refused(acme.json().get(f"/app/deals/{deal.id}.json"), 404, "not_found")
    assert acme.json().get(f"/app/clients/{client.id}.json").status_code == 200


def test_it_rejects_unknown_and_trashed_deals(acme):
    deal = make_deal(acme.alice)
    acme.json().delete(f"/app/deals/{deal.id}.json")
    for id in (deal.id, 10**15):
        assert_refused(acme.json().delete(f"/app/deals/{id}.json"), 404, "not_found")
