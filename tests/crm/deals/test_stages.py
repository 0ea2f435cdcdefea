"""The stages of deals, and the numbers and sums of the deals in each status."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from accounts.statuses.models import Status
from crm.deals.models import COUNTER, Deal, DealCount
from tests.support.assertions import assert_answered, on_the_wire
from tests.support.bodies import deal_body
from tests.support.factories import make_contact, make_deal
from tests.support.jobs import run_jobs


def put(acme, deal: Deal, **fields):
    return acme.json().put(f"/app/deals/{deal.id}.json", json={"deal": fields})


def history(deal: Deal) -> list[tuple]:
    rows = deal.account.deal_stages.filter(deal_id=deal.id).order_by("number")
    return list(rows.values_list("status_id", "entered_at", "left_at", "user_id"))


def test_it_works(acme, statuses):
    contact = make_contact(acme.alice)
    fields = {"status_id": statuses["new"], "contact_id": contact.id, "lost_reason": "x"}
    deal = make_deal(acme.alice, "Chairs", **fields)
    assert deal.stage_entered_at == deal.created_at
    response = put(acme, deal, status_id=statuses["won"], won_reason="Price", lost_reason=None)
    deal.refresh_from_db()
    assert deal.stage_entered_at == deal.closed_at == deal.updated_at
    fields |= {"status_id": statuses["won"], "won_reason": "Price", "lost_reason": None, "updater_id": acme.bob.id}
    assert_answered(response, 200, deal_body(deal, acme.alice, name="Chairs", **fields))
    created_at, moved_at = on_the_wire(deal.created_at), on_the_wire(deal.updated_at)
    stages = [
        {"status_id": statuses["new"], "entered_at": created_at, "left_at": moved_at, "user_id": acme.alice.id},
        {"status_id": statuses["won"], "entered_at": moved_at, "left_at": None, "user_id": acme.bob.id},
    ]
    path = f"/app/deals/{deal.id}/stages.json"
    link = f'<http://acme.example.test{path}?page=1>; rel="first"'
    assert_answered(acme.json().get(path), 200, stages, link=link)


def test_a_deal_without_a_status_has_no_stages(acme, statuses):
    deal = make_deal(acme.alice)
    assert (deal.stage_entered_at, deal.closed_at, history(deal)) == (None, None, [])
    put(acme, deal, status_id=statuses["won"])
    put(acme, deal, status_id=None)
    deal.refresh_from_db()
    assert (deal.stage_entered_at, deal.closed_at) == (None, None)
    assert [status for status, *_ in history(deal)] == [statuses["won"], None]


def test_a_deal_keeps_its_time_of_closing_while_its_outcome_is_the_same(acme, statuses):
    paid = acme.account.statuses.create(kind="deal", code="paid", name="Paid", outcome="won")
    deal = make_deal(acme.alice, status_id=statuses["won"])
    closed_at = deal.closed_at
    put(acme, deal, status_id=paid.id)
    deal.refresh_from_db()
    assert deal.closed_at == closed_at < deal.stage_entered_at
    put(acme, deal, status_id=statuses["lost"])
    deal.refresh_from_db()
    assert deal.closed_at == deal.stage_entered_at > closed_at
    put(acme, deal, status_id=statuses["new"])
    deal.refresh_from_db()
    assert deal.closed_at is None


def test_every_way_to_write_a_deal_is_recorded(acme, statuses):
    first, second = make_deal(acme.alice, status_id=statuses["new"]), make_deal(acme.alice, status_id=statuses["new"])
    first.write({"status_id": statuses["lost"]}, by=acme.alice)
    assert first.closed_at == first.stage_entered_at == first.updated_at
    with pytest.raises(TypeError, match=r"with Deal\.flush"):
        acme.account.deals.filter(id=first.id).update(status_id=statuses["new"])
    # The stored status counts, not one that is not written.
    second.assign({"status_id": statuses["lost"]}, by=acme.alice)
    second.assign({"status_id": statuses["new"]}, by=acme.alice)
    Deal.flush([second])
    assert second.stage_entered_at == second.created_at
    for deal in (first, second):
        deal.assign({"status_id": statuses["won"]}, by=acme.bob)
    Deal.flush([first, second])
    assert second.closed_at == second.stage_entered_at == second.updated_at
    for deal in (first, second):
        columns = (deal.closed_at, deal.stage_entered_at, deal.board_position)
        deal.refresh_from_db()
        assert columns == (deal.closed_at, deal.stage_entered_at, deal.board_position)
    for deal, expected in ((first, ["new", "lost", "won"]), (second, ["new", "won"])):
        assert [status for status, *_ in history(deal)] == [statuses[code] for code in expected]
    # A write of other fields is no stage.
    put(acme, first, name="Renamed", status_id=statuses["won"])
    assert len(history(first)) == 3
    id = first.id
    first.delete()
    assert not acme.account.deal_stages.filter(deal_id=id).exists()


@pytest.mark.parametrize("code", ["new", None])
def test_a_deal_that_gets_a_status_comes_first(acme, statuses, code):
    status_id = statuses[code] if code else None
    first, second, third = (make_deal(acme.alice, status_id=status_id) for _ in range(3))
    assert third.board_position < second.board_position < first.board_position
    put(acme, first, status_id=statuses["won"])
    put(acme, first, status_id=status_id)
    first.refresh_from_db()
    assert first.board_position < third.board_position


def test_a_change_of_the_outcome_of_a_status_changes_its_deals(acme, statuses):
    proposal = acme.account.statuses.get(id=statuses["proposal"])
    deal, other = make_deal(acme.alice, status_id=proposal.id), make_deal(acme.alice, status_id=statuses["new"])
    proposal.write({"outcome": "won"})
    run_jobs()
    deal.refresh_from_db()
    other.refresh_from_db()
    assert (deal.closed_at, other.closed_at) == (deal.stage_entered_at, None)
    proposal.write({"closed": False})
    run_jobs()
    deal.refresh_from_db()
    assert deal.closed_at is None


# Numbers and sums


def totals(acme) -> list[tuple]:
    return list(DealCount.objects.filter(account=acme.account).totals())


def test_the_totals_follow_every_change(acme, statuses):
    none, new, won = Status.NONE_ID, statuses["new"], statuses["won"]
    first = make_deal(acme.alice, status_id=new, price=Decimal("100.5"), responsible_id=acme.bob.id)
    make_deal(acme.alice, status_id=new, price=Decimal(50))
    make_deal(acme.alice, status_id=new, price=Decimal(7), currency="PLN")
    make_deal(acme.alice, status_id=new)
    make_deal(acme.alice, price=Decimal(2))
    of_none, of_new = (none, "EUR", 1, Decimal(2)), (new, "PLN", 1, Decimal(7))
    expected = [of_none, (new, "EUR", 3, Decimal("150.5")), of_new]
    assert totals(acme) == expected
    COUNTER.compact(acme.account.id, new)
    assert totals(acme) == expected
    assert DealCount.objects.filter(account=acme.account, status_id=new).count() == 3
    put(acme, first, price=200)
    assert totals(acme) == [of_none, (new, "EUR", 3, Decimal(250)), of_new]
    put(acme, first, status_id=None)
    assert totals(acme) == [(none, "EUR", 2, Decimal(202)), (new, "EUR", 2, Decimal(50)), of_new]
    COUNTER.compact(acme.account.id, none)
    put(acme, first, status_id=won)
    expected = [of_none, (new, "EUR", 2, Decimal(50)), of_new]
    assert totals(acme) == [*expected, (won, "EUR", 1, Decimal(200))]
    first.refresh_from_db()
    first.trash(by=acme.alice)
    assert totals(acme) == expected
    first.restore()
    for _ in range(2):
        assert totals(acme) == [*expected, (won, "EUR", 1, Decimal(200))]
        COUNTER.compact(acme.account.id, won)
    # All rows can be counted again.
    DealCount.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(COUNTER.count_all)
    assert totals(acme) == [*expected, (won, "EUR", 1, Decimal(200))]


def test_the_history_of_imported_deals_begins_with_their_creation(acme, statuses):
    created_at = timezone.now() - timedelta(days=40)
    deal = Deal(account=acme.account, currency="EUR")
    deal.assign({"name": "Old", "status_id": statuses["new"]}, by=acme.alice)
    deal.created_at = created_at
    Deal.flush([deal])
    assert deal.stage_entered_at == created_at
