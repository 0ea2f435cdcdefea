"""The deal board in JSON: columns, totals, filters, and the next cards of a column."""

from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from team.board import columns
from tests.support.assertions import on_the_wire, read
from tests.support.factories import make_client, make_deal, make_task
from tests.support.queries import capture_queries
from tests.support.tables import table

PATH = "/app/deals/board.json"
# The user with the account, the pipelines, the statuses, the totals, the ids of the first cards, the cards.
STATEMENTS = 6


def get(acme, query: str = "", user=None) -> dict:
    client = acme.json() if user is None else acme.json(user)
    response = client.get(f"{PATH}?{query}")
    assert response.status_code == 200, response.text
    return read(response)


def names(answer) -> dict[int | None, list[str]]:
    return {column["status_id"]: [deal["name"] for deal in column["deals"]] for column in answer["columns"]}


def column(answer, status_id: int | None) -> dict:
    [found] = [column for column in answer["columns"] if column["status_id"] == status_id]
    return found


def test_it_works(acme, statuses):
    client = make_client(acme.bob, "Northwind")
    yesterday = timezone.localdate() - timedelta(days=1)
    fields = {"client_id": client.id, "responsible_id": acme.bob.id, "expected_close_date": yesterday}
    roof = make_deal(acme.bob, "Roof", price="12000.5", status_id=statuses["proposal"], **fields)
    make_deal(acme.bob, "Barn", price="100", currency="PLN", status_id=statuses["proposal"])
    make_deal(acme.bob, "Fence", status_id=statuses["proposal"])
    make_deal(acme.bob, "House", price="7", status_id=statuses["won"])
    make_deal(acme.bob, "Deleted", price="5", status_id=statuses["won"]).trash(by=acme.bob)
    roof.refresh_from_db()
    client = acme.json()
    client.get(PATH)
    response, queries = capture_queries(lambda: client.get(PATH))
    assert len(queries) == STATEMENTS, queries
    answer = read(response)
    assert answer["pipeline_id"] == 1
    assert [(found["status_id"], found["count"]) for found in answer["columns"]] == [
        (statuses["new"], 0),
        (statuses["qualified"], 0),
        (statuses["proposal"], 3),
        (statuses["won"], 1),
        (statuses["lost"], 0),
    ]
    proposal = column(answer, statuses["proposal"])
    assert proposal["totals"] == [
        {"currency": "EUR", "count": 2, "sum": Decimal("12000.5"), "weighted_sum": Decimal("7200.3")},
        {"currency": "PLN", "count": 1, "sum": 100, "weighted_sum": 60},
    ]
    assert column(answer, statuses["won"])["totals"] == [{"currency": "EUR", "count": 1, "sum": 7, "weighted_sum": 7}]
    assert [deal["name"] for deal in proposal["deals"]] == ["Fence", "Barn", "Roof"]
    assert proposal["next"] is None
    assert proposal["deals"][2] == {
        "id": roof.id,
        "name": "Roof",
        "client_id": fields["client_id"],
        "client_name": "Northwind",
        "price": Decimal("12000.5"),
        "currency": "EUR",
        "responsible_id": acme.bob.id,
        "expected_close_date": yesterday.isoformat(),
        "stage_entered_at": on_the_wire(roof.stage_entered_at),
        "overdue": True,
        "rotting": False,
    }


def test_a_deal_rots_unless_a_task_is_planned(acme, statuses):
    deals = {name: make_deal(acme.bob, name, status_id=statuses["new"]) for name in ("rotting", "planned", "fresh")}
    closed = make_deal(acme.bob, "won", status_id=statuses["won"])
    make_task(acme.bob, deal_id=deals["planned"].id)
    make_task(acme.bob, deal_id=deals["rotting"].id, closed=True)
    old = timezone.now() - timedelta(days=7, minutes=1)
    acme.account.deals.filter(id__in=[deals["rotting"].id, deals["planned"].id, closed.id]).update(stage_entered_at=old)
    answer = get(acme)
    rotting = {deal["name"]: deal["rotting"] for found in answer["columns"] for deal in found["deals"]}
    assert rotting == {"rotting": True, "planned": False, "fresh": False, "won": False}


FILTERS = [
    ("", "abc", 3),
    ("mine=true", "ab", 2),
    ("responsible_id=me", "ab", 2),
    ("responsible_id__not=me", "c", 1),
    ("mine=true&responsible_id=1", "", 0),
    ("price__after=1", "bc", 2),
    ("price__after=1&mine=true", "b", 1),
    ("q=cottage", "c", 1),
    ("q=cottage&price__after=100", "", 0),
    ("q=nothing+such", "", 0),
    ("tags=vip", "b", 1),
]


@table("max_counted", [5000, 0])
def test_it_filters(acme, statuses, monkeypatch, max_counted):
    monkeypatch.setattr(columns, "MAX_COUNTED", max_counted)
    make_deal(acme.bob, "c", description="A cottage", price=3, responsible_id=acme.alice.id, status_id=statuses["new"])
    make_deal(acme.bob, "b", price=2, responsible_id=acme.bob.id, tags=["vip"], status_id=statuses["new"])
    make_deal(acme.bob, "a", price=1, responsible_id=acme.bob.id, status_id=statuses["new"])
    for query, expected, count in FILTERS:
        new = column(get(acme, query), statuses["new"])
        assert "".join(deal["name"] for deal in new["deals"]) == expected, query
        is_stored = not query or query in ("mine=true", "responsible_id=me", "mine=true&responsible_id=1")
        if max_counted or is_stored or not expected:
            assert (new["count"], sum(total["count"] for total in new["totals"])) == (count, count), query
        else:
            assert (new["count"], new["totals"]) == (None, None), query


@table("code", ["new", None])
def test_more_deals_of_a_column_follow(acme, statuses, monkeypatch, code):
    monkeypatch.setattr(columns, "COLUMN_SIZE", 2)
    status_id = statuses[code] if code else None
    for name in "edcba":
        make_deal(acme.bob, name, price=1, responsible_id=acme.bob.id, status_id=status_id)
    # Equal positions are ordered by id.
    acme.account.deals.update(board_position=1)
    for query, max_counted, count in (
        ("", 5000, 5),
        ("", 0, 5),
        ("mine=true", 5000, 5),
        ("mine=true", 0, 5),
        ("price__after=0", 5000, 5),
        ("price__after=0", 0, None),
    ):
        monkeypatch.setattr(columns, "MAX_COUNTED", max_counted)
        found = column(get(acme, query), status_id)
        pages = ["".join(deal["name"] for deal in found["deals"])]
        while found["next"]:
            [found] = get(acme, f"{query}&column={status_id or 0}&after={found['next']}")["columns"]
            pages.append("".join(deal["name"] for deal in found["deals"]))
            assert found["count"] == count
        assert pages == ["ed", "cb", "a"], query


def test_deals_without_a_status_have_a_column(acme, statuses):
    yesterday = timezone.localdate() - timedelta(days=1)
    make_deal(acme.bob, "Order 7", price="19.9", expected_close_date=yesterday)
    order = make_deal(acme.bob, "Order 8", responsible_id=acme.bob.id)
    make_deal(acme.bob, "Roof", status_id=statuses["new"])
    client = acme.json()
    client.get(PATH)
    response, queries = capture_queries(lambda: client.get(PATH))
    assert len(queries) == STATEMENTS, queries
    answer = read(response)
    assert list(names(answer)) == [None, *(statuses[code] for code in ("new", "qualified", "proposal", "won", "lost"))]
    none = answer["columns"][0]
    assert [deal["name"] for deal in none["deals"]] == ["Order 8", "Order 7"]
    assert (none["count"], none["totals"]) == (
        2,
        [{"currency": "EUR", "count": 2, "sum": Decimal("19.9"), "weighted_sum": 0}],
    )
    assert [(deal["stage_entered_at"], deal["overdue"], deal["rotting"]) for deal in none["deals"]] == [
        (None, False, False),
        (None, True, False),
    ]
    # A board without such deals, by its filters or its pipeline, has no such column.
    assert names(get(acme, "mine=true"))[None] == ["Order 8"]
    assert names(get(acme, "price__after=1"))[None] == ["Order 7"]
    assert None not in names(get(acme, "price__after=20"))
    assert names(get(acme, "price__after=20&column=0")) == {None: []}
    pipeline = acme.account.pipelines.create(name="Partners", position=0)
    assert names(get(acme)) == {None: ["Order 8", "Order 7"]}
    assert None not in names(get(acme, "pipeline_id=1"))
    response = acme.json().get(f"{PATH}?pipeline_id=1&column=0")
    assert read(response)["errors"] == {"column": ["is not a status of this pipeline any more"]}
    assert get(acme, "column=0")["pipeline_id"] == pipeline.id
    order.write({"status_id": statuses["won"]}, by=acme.bob)
    acme.account.change(agents_see="own")
    assert names(get(acme)) == {}


def test_each_pipeline_has_its_own_board(acme, statuses):
    pipeline = acme.account.pipelines.create(name="Partners", position=2)
    status = acme.account.statuses.create(kind="deal", code="met", name="Met", pipeline_id=pipeline.id)
    make_deal(acme.bob, "a", status_id=statuses["new"])
    make_deal(acme.bob, "b", status_id=status.id)
    assert [name for found in names(get(acme)).values() for name in found] == ["a"]
    for query in (f"pipeline_id={pipeline.id}", f"column={status.id}"):
        answer = get(acme, query)
        assert (answer["pipeline_id"], names(answer)) == (pipeline.id, {status.id: ["b"]})


def test_limited_agents_see_their_deals_and_their_sums(acme, statuses):
    make_deal(acme.alice, "hers", price=5, responsible_id=acme.alice.id, status_id=statuses["new"])
    make_deal(acme.alice, "nobody's", price=5, status_id=statuses["new"])
    make_deal(acme.alice, "his", price=2, responsible_id=acme.bob.id, status_id=statuses["new"])
    acme.account.change(agents_see="own")
    for query in ("", "price__after=0", f"responsible_id={acme.alice.id}"):
        new = column(get(acme, query), statuses["new"])
        is_own = not query.startswith("responsible")
        assert [deal["name"] for deal in new["deals"]] == (["his"] if is_own else [])
        assert [total["sum"] for total in new["totals"]] == ([2] if is_own else [])
    assert column(get(acme, user=acme.alice_token), statuses["new"])["count"] == 3


def test_it_rejects_invalid_parameters(acme):
    for query, errors in (
        ("pipeline_id=x", {"pipeline_id": ["is not an id"]}),
        ("pipeline_id=99999", {"pipeline_id": ["is not a pipeline of this account any more"]}),
        ("column=99999", {"column": ["is not a status of this pipeline any more"]}),
        ("after=x", {"after": ["is not the `next` of a column"]}),
        ("price__after=x", {"price__after": ["is not a number"]}),
        ("mine=maybe", {"mine": ["is not true or false"]}),
        (f"q={'a' * 256}", {"q": ["is too long (maximum is 255 characters)"]}),
    ):
        response = acme.json().get(f"{PATH}?{query}")
        assert (response.status_code, read(response)["errors"]) == (422, errors)
    response = acme.json().get(f"{PATH}?colour=red")
    assert (response.status_code, response.headers["X-Ignored-Parameters"]) == (200, "colour")
    assert acme.json().get(f"{PATH}?colour=red", headers={"Prefer": "handling=strict"}).status_code == 422


def test_numbers_equal_a_count_of_the_rows(acme, statuses):
    for number in range(7):
        deal = make_deal(acme.bob, price=number, currency="EUR" if number % 2 else "PLN", status_id=statuses["new"])
        if number == 0:
            deal.write({"status_id": statuses["lost"]}, by=acme.bob)
    # Deals that match a filter are counted, and the numbers of all deals are stored.
    for query in ("", "price__empty=false"):
        totals = column(get(acme, query), statuses["new"])["totals"]
        assert {total["currency"]: (total["count"], total["sum"]) for total in totals} == {
            "EUR": (3, 9),
            "PLN": (3, 12),
        }
