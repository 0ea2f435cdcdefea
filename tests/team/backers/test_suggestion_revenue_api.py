"""Suggestions in the order of revenue or clients in the Account API. `tests/team/backers/test_segments.py` has the filters."""

from decimal import Decimal

import pytest
from django.db.models import Func, Value

from team.backers.api import LIMITED, TOO_SLOW
from team.backers.segments import SuggestionFilter
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.factories import make_client, make_deal, make_forum, make_post, make_saved_view
from tests.support.post_revenue import store_revenue
from tests.support.queries import capture_queries

PATH = "/app/posts/revenue.json"


@pytest.fixture
def posts(acme) -> dict:
    """Suggestions in two forums."""
    forum = make_forum(acme.account)
    posts = {name: make_post(acme.alice, name) for name in ("Rich", "Common", "Of nobody")}
    posts["Elsewhere"] = make_post(acme.alice, "Elsewhere", forum_id=forum.id)
    rich, poor = make_client(acme.alice, city="Gdynia"), make_client(acme.alice, city="Sopot")
    make_deal(acme.alice, client_id=rich.id, price="1000.5", currency="EUR")
    make_deal(acme.alice, client_id=poor.id, price="3", currency="EUR")
    make_deal(acme.alice, client_id=poor.id, price="5000", currency="PLN")
    for name, client in (("Rich", rich), ("Common", poor), ("Common", make_client(acme.alice)), ("Elsewhere", poor)):
        posts[name].cast_proxy_vote(by=acme.alice, client_id=client.id)
    store_revenue(acme.account)
    return posts


def titles(acme, query: str = "") -> list[str]:
    return [row["title"] for row in read(acme.json().get(f"{PATH}{query}"))]


def test_it_works(acme, posts):
    json, view = acme.json(), make_saved_view(acme.alice, query="city=Sopot", shared=True)
    assert titles(acme) == ["Rich", "Elsewhere", "Common"]
    path = f"{PATH}?order=clients&segment={view.id}&forum_id={acme.forum.id}"
    response, queries = capture_queries(lambda: json.get(path))
    figures = {"open_sum": 3, "won_deals": 0, "won_sum": 0}
    row = {
        "id": posts["Common"].id,
        "forum_id": acme.forum.id,
        "title": "Common",
        "status": "new",
        "votes": 2,
        "clients": 2,
        "revenue": [
            {"currency": "EUR", "open_deals": 1, **figures},
            {"currency": "PLN", "open_deals": 1, **figures, "open_sum": 5000},
        ],
    }
    assert_answered(response, 200, [row], link=f'<http://{acme.host}{path}&page=1>; rel="first"')
    # The token, the view, the forums, the limit of time, the ids, the posts and their figures.
    assert len(queries) == 7, queries
    assert read(json.get(PATH))[0]["revenue"][0]["open_sum"] == Decimal("1000.5")


def test_orders_and_filters(acme, posts):
    for query, expected in {
        "?order=clients": ["Common", "Elsewhere", "Rich"],
        "?order=clients&per_page=1&page=2": ["Elsewhere"],
        "?min_revenue=3.01": ["Rich"],
        "?min_clients=2": ["Common"],
        "?forum_id=987654": [],
        "?segment=&order=": ["Rich", "Elsewhere", "Common"],
    }.items():
        assert titles(acme, query) == expected, query


def test_it_rejects_invalid_parameters(acme, posts):
    for query, errors in (
        ("order=votes", {"order": "is not one of revenue, clients"}),
        ("forum_id=x", {"forum_id": "is not an id"}),
        ("segment=7", {"segment": "was deleted, or is not shared with you"}),
        ("min_revenue=x&min_clients=-1", {"min_revenue": "is not a number", "min_clients": "is not a whole number"}),
        ("page=0", {"page": "must be a whole number, 1 or more"}),
    ):
        expected = {name: [rule] for name, rule in errors.items()}
        assert_refused(acme.json().get(f"{PATH}?{query}"), 422, "validation_failed", expected)


def test_it_rejects_limited_agents(acme, other, posts):
    acme.account.change(agents_see="own")
    assert_refused(acme.json().get(PATH), 403, "forbidden", message=LIMITED)
    assert len(read(acme.json(acme.alice_token).get(PATH))) == 3
    assert read(other.json().get(PATH)) == []


def test_it_rejects_filters_that_take_too_long(acme, posts, monkeypatch):
    monkeypatch.setattr("core.search.queries.TIME_LIMIT_MS", 100)
    slow = Func(Value(3), function="pg_sleep")
    monkeypatch.setattr(SuggestionFilter, "select", lambda self, rows: rows.alias(slept=slow).exclude(slept=None))
    response = acme.json().get(f"{PATH}?min_clients=1")
    assert_refused(response, 422, "validation_failed", {"min_clients": [TOO_SLOW]})


def test_the_rows_behind_a_suggestion(acme, posts):
    """The lists of clients and deals have a filter with which the numbers of the report link to their rows."""
    json, id = acme.json(), posts["Common"].id
    assert len(read(json.get(f"/app/clients.json?post_id={id}"))) == 2
    assert [row["price"] for row in read(json.get(f"/app/deals.json?post_id={id}&currency=PLN"))] == [5000]
    assert read(json.get("/app/deals.json?post_id=987654")) == []
    assert json.get("/app/contacts.json?post_id=1").headers["X-Ignored-Parameters"] == "post_id"
    errors = {"post_id": ["is not a number that is possible here"]}
    assert_refused(json.get("/app/clients.json?post_id=x"), 422, "validation_failed", errors)
