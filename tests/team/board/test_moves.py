"""Moves of deals between and within the columns of the board, in JSON."""

import pytest

from crm.deals.models import Deal
from team.board import moves
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import deal_body
from tests.support.factories import make_deal
from tests.support.queries import capture_queries
from tests.support.tables import table
from tests.support.threads import at_once

# The user with the account, the locked deals, the status, the position below, the outcomes, the write, the stages, the summaries.
STATEMENTS = 8


def move(acme, deal: Deal, **body):
    return acme.json().post(f"/app/deals/{deal.id}/move.json", json={"move": body})


def order(acme, status_id: int | None) -> str:
    """Return the names of the deals in a column."""
    rows = acme.account.deals.live().filter(status_id=status_id).order_by("board_position", "id")
    return "".join(rows.values_list("name", flat=True))


def make_column(acme, status_id: int | None, names: str = "abcd", position: int | None = None) -> dict[str, Deal]:
    """Create deals in this order. With a `position`, all of them have it."""
    deals = {name: make_deal(acme.bob, name, status_id=status_id) for name in reversed(names)}
    for number, name in enumerate(names):
        at = number * moves.STEP if position is None else position
        acme.account.deals.filter(id=deals[name].id).update(board_position=at)
    return deals


def test_it_works(acme, statuses):
    new, qualified = statuses["new"], statuses["qualified"]
    deals = make_column(acme, new)
    make_column(acme, qualified, "xy")
    x = acme.account.deals.get(name="x")
    client = acme.json()
    client.get("/app/statuses.json")
    path = f"/app/deals/{deals['c'].id}/move.json"
    response, queries = capture_queries(
        lambda: client.post(path, json={"move": {"status_id": qualified, "after_id": x.id, "seen_status_id": new}})
    )
    assert len(queries) == STATEMENTS, queries
    deal = acme.account.deals.get(id=deals["c"].id)
    assert_answered(response, 200, deal_body(deal, acme.bob, name="c", status_id=qualified))
    assert (order(acme, new), order(acme, qualified)) == ("abd", "xcy")


PLACES = [
    ({"after_id": 0}, "cabd"),
    ({"after_id": "a"}, "acbd"),
    ({"after_id": "b"}, "abcd"),
    ({"after_id": "c"}, "abcd"),
    ({"after_id": "d"}, "abdc"),
    ({"position": 1}, "cabd"),
    ({"position": 2}, "acbd"),
    ({"position": 4}, "abdc"),
    ({"position": 1000}, "abdc"),
    ({}, "abcd"),
]


@table("position", [None, 5])
def test_a_deal_gets_its_place(acme, statuses, position):
    """The ids decide the order of equal positions."""
    deals = make_column(acme, statuses["new"], position=position)
    if position is not None:
        ids = dict(zip("abcd", sorted(deal.id for deal in deals.values()), strict=True))
        for name, id in ids.items():
            acme.account.deals.filter(id=id).update(name=name)
        deals = {deal.name: deal for deal in acme.account.deals.all()}
    before = dict(acme.account.deals.values_list("id", "board_position"))
    for place, expected in PLACES:
        for id, at in before.items():
            acme.account.deals.filter(id=id).update(board_position=at)
        body = {name: deals[value].id if isinstance(value, str) else value for name, value in place.items()}
        updated_at = Deal.objects.get(pk=deals["c"].pk).updated_at
        assert move(acme, deals["c"], **body).status_code == 200
        assert order(acme, statuses["new"]) == expected, place
        assert Deal.objects.get(pk=deals["c"].pk).updated_at == updated_at


def test_positions_run_out_and_are_given_again(acme, statuses):
    deals = make_column(acme, statuses["new"], "abcdef")
    for _ in range(12):
        # Each move halves the distance below a.
        for name in "ef":
            assert move(acme, deals[name], after_id=deals["a"].id).status_code == 200
    assert order(acme, statuses["new"]) == "afebcd"
    positions = list(acme.account.deals.order_by("board_position").values_list("board_position", flat=True))
    assert len(set(positions)) == 6


def test_many_equal_positions_below_the_place_are_not_written(acme, statuses, monkeypatch):
    monkeypatch.setattr(moves, "ROOM_ROWS", 2)
    make_column(acme, statuses["new"], "abcdefghij", position=7)
    deals = list(acme.account.deals.order_by("id"))
    assert move(acme, deals[9], after_id=deals[3].id).status_code == 200
    ordered = list(acme.account.deals.order_by("board_position", "id"))
    assert [deals.index(deal) for deal in ordered] == [0, 1, 2, 3, 9, 4, 5, 6, 7, 8]
    assert [deal.board_position for deal in ordered[5:]] == [7] * 5


def test_a_deal_of_another_status_comes_first_without_a_place(acme, statuses):
    deals = make_column(acme, statuses["new"], "ab")
    make_column(acme, statuses["qualified"], "x")
    assert move(acme, deals["b"], status_id=statuses["qualified"]).status_code == 200
    assert order(acme, statuses["qualified"]) == "bx"


def test_deals_without_a_status_are_moved_too(acme, statuses):
    """The id 0 stands for no status. Such deals have an order of their own."""
    new = statuses["new"]
    deals = make_column(acme, None)
    make_column(acme, new, "xy")
    assert move(acme, deals["c"], position=1).status_code == 200
    assert move(acme, deals["a"], after_id=deals["b"].id, seen_status_id=0).status_code == 200
    assert order(acme, None) == "cbad"
    assert move(acme, deals["b"], status_id=new, position=2, seen_status_id=0).status_code == 200
    assert (order(acme, None), order(acme, new)) == ("cad", "xby")
    # Back to where it was.
    answer = read(move(acme, deals["b"], status_id=0, after_id=deals["c"].id, seen_status_id=new))
    assert (answer["status_id"], answer["stage_entered_at"]) == (None, None)
    assert (order(acme, None), order(acme, new)) == ("cbad", "xy")
    # Without a place, it comes first.
    x = acme.account.deals.get(name="x")
    assert move(acme, x, status_id=0).status_code == 200
    assert order(acme, None) == "xcbad"
    for body in (
        {"status_id": new, "seen_status_id": statuses["won"]},
        {"after_id": acme.account.deals.get(name="y").id},
    ):
        assert move(acme, deals["b"], **body).status_code == 409
    assert move(acme, deals["b"], status_id=0, reason="Price").status_code == 422


def test_won_and_lost_have_a_reason(acme, statuses):
    deal = make_deal(acme.bob, status_id=statuses["new"], lost_reason="Old")
    answer = read(move(acme, deal, status_id=statuses["won"], reason="Price"))
    assert (answer["won_reason"], answer["lost_reason"]) == ("Price", None)
    answer = read(move(acme, deal, status_id=statuses["won"], reason=None))
    assert answer["won_reason"] is None
    answer = read(move(acme, deal, status_id=statuses["lost"], reason="No answer"))
    assert (answer["won_reason"], answer["lost_reason"]) == (None, "No answer")
    answer = read(move(acme, deal, status_id=statuses["new"]))
    assert (answer["closed_at"], answer["lost_reason"]) == (None, "No answer")


def test_it_rejects_a_deal_that_somebody_else_has_moved(acme, statuses):
    deal = make_deal(acme.bob, status_id=statuses["won"])
    response = move(acme, deal, status_id=statuses["qualified"], seen_status_id=statuses["new"])
    message = (
        "Somebody else has moved the deal meanwhile. Look where it is now, and move it again if you still want to."
    )
    assert (response.status_code, read(response)["message"]) == (409, message)
    # A move that is sent twice succeeds twice.
    for _ in range(2):
        assert move(acme, deal, status_id=statuses["qualified"], seen_status_id=statuses["won"]).status_code == 200


def test_it_rejects_a_neighbour_that_is_not_in_the_column(acme, statuses, other):
    deals = make_column(acme, statuses["new"])
    gone = make_deal(acme.bob, status_id=statuses["qualified"])
    trashed = make_deal(acme.bob, status_id=statuses["new"])
    trashed.trash(by=acme.bob)
    for id in (gone.id, trashed.id, make_deal(other.mallory).id, 10**17):
        assert move(acme, deals["a"], after_id=id).status_code == 409
    assert order(acme, statuses["new"]) == "abcd"


def test_it_rejects_invalid_moves(acme, other, statuses):
    deal = make_deal(acme.bob, status_id=statuses["new"])
    # The ids of the statuses that every account has are the same.
    foreign = other.account.statuses.create(kind="deal", code="foreign", name="Foreign", id=10**9)
    of_posts = acme.account.statuses_of_kind("post").first()
    for body, field, rule in (
        *(({"status_id": id}, "status_id", "can't be found") for id in (10**17, foreign.id, of_posts.id)),
        ({"status_id": "x"}, "status_id", "is not a whole number"),
        ({"position": 0}, "position", "must be between 1 and 1000"),
        ({"position": 1001}, "position", "must be between 1 and 1000"),
        ({"after_id": 0, "position": 1}, "position", "can't be given together with after_id"),
        ({"reason": "Price"}, "reason", "is only for a deal that is won or lost"),
        ({"reason": "x" * 256, "status_id": statuses["won"]}, "reason", "is too long (maximum is 255 characters)"),
    ):
        assert_refused(move(acme, deal, **body), 422, "validation_failed", {field: [rule]})
    acme.account.change(agents_see="own")
    for hidden in (make_deal(other.mallory), make_deal(acme.alice, responsible_id=acme.alice.id)):
        assert_refused(move(acme, hidden, position=1), 404, "not_found")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("code", ["new", None])
def test_simultaneous_moves_lose_nothing(acme, statuses, code):
    """Moves to the same place, in opposite directions, and of the same deal end in an order with every deal once."""
    source = statuses[code] if code else None
    deals = make_column(acme, source, "abcdefgh", position=7)
    make_column(acme, statuses["qualified"], "xy")

    def moving(name: str, **body):
        return lambda: move(acme, deals[name], **body).status_code

    for _ in range(3):
        results = at_once(
            moving("a", after_id=deals["h"].id),
            moving("h", after_id=deals["a"].id),
            moving("c", after_id=deals["e"].id),
            moving("d", after_id=deals["e"].id),
            moving("b", status_id=statuses["qualified"]),
            moving("b", after_id=deals["g"].id),
        )
        assert set(results) <= {200, 409}
        assert results[:4] == [200] * 4
        names = order(acme, source) + order(acme, statuses["qualified"])
        assert sorted(names) == sorted("abcdefghxy")
        assert names.index("e") < min(names.index("c"), names.index("d"))
