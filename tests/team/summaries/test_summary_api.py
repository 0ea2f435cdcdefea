"""The stored values of a client, a contact and a deal as JSON."""

from datetime import timedelta

from django.utils import timezone

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_client, make_contact, make_deal, make_task


def path_of(row) -> str:
    return f"/app/{row._meta.model_name}s/{row.id}/summary.json"


def test_it_works(acme):
    client = make_client(acme.alice)
    contact = make_contact(acme.alice, client_id=client.id)
    won = acme.account.statuses.get(kind="deal", code="won")
    deal = make_deal(acme.alice, client_id=client.id, contact_id=contact.id, price=100)
    make_deal(acme.alice, client_id=client.id, price=40, status_id=won.id, currency="PLN")
    at = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    make_task(acme.alice, deal_id=deal.id, scheduled_at=at)
    revenue = [
        {"currency": "EUR", "open_deals": 1, "open_sum": 100, "won_deals": 0, "won_sum": 0},
        {"currency": "PLN", "open_deals": 0, "open_sum": 0, "won_deals": 1, "won_sum": 40},
    ]
    json = acme.json()
    response = json.get(path_of(client))
    # A planned task and a new deal are no activity.
    times = {
        row: {"last_activity_at": on_the_wire(row.created_at), "next_task_at": on_the_wire(at)}
        for row in (client, contact, deal)
    }
    assert_answered(response, 200, {**times[client], "revenue": revenue})
    assert read(json.get(path_of(contact))) == times[contact]
    assert read(json.get(path_of(deal))) == times[deal]


def test_a_limited_agent_gets_the_sums_of_accessible_deals(acme):
    client = make_client(acme.alice, responsible_id=acme.bob.id)
    make_deal(acme.alice, client_id=client.id, price=100, responsible_id=acme.alice.id)
    hidden = make_client(acme.alice, responsible_id=acme.alice.id)
    acme.account.change(agents_see="own")
    assert read(acme.json().get(path_of(client)))["revenue"] == []
    assert_refused(acme.json().get(path_of(hidden)), 404, "not_found")


def test_rows_in_the_trash_and_of_others_have_none(acme, other):
    client = make_client(acme.alice)
    client.trash(by=acme.alice)
    for row in (client, make_client(other.mallory)):
        assert_refused(acme.json().get(path_of(row)), 404, "not_found")
