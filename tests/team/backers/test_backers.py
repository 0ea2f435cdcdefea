"""The clients behind a suggestion, and the sums of their deals."""

from decimal import Decimal

import pytest

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.factories import (
    make_client,
    make_contact,
    make_deal,
    make_post,
    make_task,
    make_user,
    make_user_link,
)
from tests.support.lists import link_to_first_page
from tests.support.queries import capture_queries


def path_of(post, name: str = "clients") -> str:
    return f"/app/posts/{post.id}/{name}.json"


def backers(acme, post, user=None) -> list[str]:
    client = acme.json(acme.alice_token) if user is None else acme.json()
    return [row["name"] for row in read(client.get(path_of(post)))]


@pytest.fixture
def post(acme):
    return make_post(acme.alice, "Dark mode")


def sums(currency: str, open_deals: int = 0, open_sum: object = 0, won_deals: int = 0, won_sum: object = 0) -> dict:
    figures = (open_deals, open_sum, won_deals, won_sum)
    return {"currency": currency, **dict(zip(("open_deals", "open_sum", "won_deals", "won_sum"), figures, strict=True))}


def test_it_works(acme, post, statuses):
    small, large, without = (make_client(acme.alice, name) for name in ("Small", "Large", "Without deals"))
    for client in (small, large, without):
        post.cast_proxy_vote(by=acme.alice, client_id=client.id)
    make_client(acme.alice, "Not behind it")
    make_deal(acme.alice, client_id=small.id, price="100", currency="EUR")
    make_deal(acme.alice, client_id=small.id, price="999999", currency="PLN", status_id=statuses["won"])
    make_deal(acme.alice, client_id=large.id, price="200.5", currency="EUR", status_id=statuses["won"])
    make_deal(acme.alice, client_id=large.id, price=None, currency="EUR", status_id=statuses["new"])
    make_deal(acme.alice, client_id=large.id, price="7000", currency="EUR", status_id=statuses["lost"])
    make_deal(acme.alice, client_id=large.id, price="8000", currency="EUR").trash(by=acme.alice)
    expected = [
        {"client_id": large.id, "name": "Large", "revenue": [sums("EUR", 1, 0, 1, Decimal("200.5"))]},
        {"client_id": small.id, "name": "Small", "revenue": [sums("EUR", 1, 100), sums("PLN", 0, 0, 1, 999999)]},
        {"client_id": without.id, "name": "Without deals", "revenue": []},
    ]
    json = acme.json()
    json.get(path_of(post))
    response, queries = capture_queries(lambda: json.get(path_of(post)))
    assert_answered(response, 200, expected, link=link_to_first_page(path_of(post)))
    # The token, the post, the clients, and the sums of their deals.
    assert len(queries) == 4, queries
    response, queries = capture_queries(lambda: json.get(path_of(post, "revenue")))
    totals = [sums("EUR", 2, 100, 1, Decimal("200.5")), sums("PLN", 0, 0, 1, 999999)]
    assert_answered(response, 200, {"clients": 3, "revenue": totals})
    assert len(queries) == 4, queries


def test_pages(acme, post):
    assert read(acme.json().get(path_of(post))) == []
    assert read(acme.json().get(path_of(post, "revenue"))) == {"clients": 0, "revenue": []}
    for number in range(3):
        post.cast_proxy_vote(by=acme.alice, client_id=make_client(acme.alice, f"Client {number}").id)
    response = acme.json().get(f"{path_of(post)}?per_page=2&page=2")
    assert [row["name"] for row in read(response)] == ["Client 2"]
    assert acme.json().get(f"{path_of(post)}?page=0").status_code == 422


def test_it_rejects_a_task_and_a_suggestion_in_the_trash(acme, post):
    post.trash(by=acme.alice)
    for row in (make_task(acme.alice), post):
        for name in ("clients", "revenue"):
            assert_refused(acme.json().get(path_of(row, name)), 404, "not_found")


def test_the_ways_to_be_behind_a_suggestion(acme):
    client = make_client(acme.alice, "Northwind")
    contact = make_contact(acme.alice, client_id=client.id)
    voter, author = make_user(acme.account), make_user(acme.account)
    make_user_link(acme.alice, voter, contact_id=contact.id)
    make_user_link(acme.alice, author, client_id=client.id)
    posts = [make_post(acme.alice) for _ in range(4)]
    posts[0].cast_proxy_vote(by=acme.alice, client_id=client.id)
    posts[1].cast_proxy_vote(by=acme.alice, contact_id=contact.id)
    posts[2].vote(by=voter)
    posts[3].cast_proxy_vote(by=acme.alice, contact_id=make_contact(acme.alice, "Without a client").id)
    posts += [make_post(acme.alice, **link) for link in ({"client_id": client.id}, {"contact_id": contact.id})]
    posts.append(make_post(author))
    # Several reasons count once.
    posts[0].vote(by=voter)
    expected = [["Northwind"]] * 3 + [[]] + [["Northwind"]] * 3
    assert [backers(acme, post) for post in posts] == expected


def test_links_that_are_not_confirmed_and_rows_in_the_trash_do_not_count(acme, post):
    client, contact = make_client(acme.alice), make_contact(acme.alice, client_id=make_client(acme.alice).id)
    post.cast_proxy_vote(by=acme.alice, client_id=client.id)
    post.cast_proxy_vote(by=acme.alice, contact_id=contact.id)
    for state in ("proposed", "rejected"):
        user = make_user(acme.account)
        make_user_link(acme.alice, user, client_id=make_client(acme.alice).id, state=state)
        post.vote(by=user)
    client.trash(by=acme.alice)
    contact.trash(by=acme.alice)
    assert backers(acme, post) == []
    client.restore()
    assert backers(acme, post) == [client.name]


def test_the_authors_and_voters_of_merged_suggestions_count(acme, post):
    for number, user in enumerate((acme.carol, voter := make_user(acme.account))):
        make_user_link(acme.alice, user, client_id=make_client(acme.alice, f"Client of {number}").id)
    duplicate = make_post(acme.carol)
    duplicate.vote(by=voter)
    duplicate.merge_into(post, by=acme.alice)
    assert backers(acme, post) == ["Client of 0", "Client of 1"]


def test_a_limited_agent_counts_only_what_they_may_access(acme, post):
    acme.account.change(agents_see="own")
    own = make_client(acme.alice, "Own", responsible_id=acme.bob.id)
    for client in (own, make_client(acme.alice, "Hidden")):
        post.cast_proxy_vote(by=acme.alice, client_id=client.id)
        make_deal(acme.alice, client_id=client.id, price="100", responsible_id=acme.bob.id)
    make_deal(acme.alice, client_id=own.id, price="5000")
    assert backers(acme, post, acme.bob) == ["Own"]
    assert read(acme.json().get(path_of(post, "revenue"))) == {"clients": 1, "revenue": [sums("EUR", 1, 100)]}
    assert backers(acme, post) == ["Own", "Hidden"]


# Pages


def test_the_page(acme, post, statuses):
    clients = [make_client(acme.alice, f"Client {number}") for number in range(7)]
    for number, client in enumerate(clients):
        post.cast_proxy_vote(by=acme.alice, client_id=client.id)
        make_deal(acme.alice, client_id=client.id, price=1000 * number, status_id=statuses["won"])
    visitor = acme.page(acme.bob)
    visitor.get(f"/app/posts/{post.id}/clients")
    page, queries = capture_queries(lambda: visitor.get(f"/app/posts/{post.id}/clients"))
    # The session, the forum, the numbers in the menu, the suggestion, the number, the clients, their sums and the totals.
    assert len(queries) == 8, queries
    text = " ".join(page.html.find("main").get_text(" ").split())
    assert "7 clients Won: 21,000.00 EUR" in text
    assert text.index("Client 6 Won: 6,000.00 EUR") < text.index("Client 1 Won: 1,000.00 EUR")

    panel = visitor.get(f"/app/posts/{post.id}/clients", headers={"HX-Request": "true"})
    assert panel.html.find("h1") is None
    assert [link.get_text() for link in panel.html.select("li a")] == [f"Client {n}" for n in (6, 5, 4, 3, 2)]
    assert panel.html.find("a", string="See all of them")
    visitor.get(f"/app/posts/{post.id}/clients?page=2", status=404)


def test_only_the_team_sees_the_panel(acme, post):
    for visitor, is_shown in ((acme.page(acme.bob), True), (acme.page(acme.carol), False), (acme.page(), False)):
        assert bool(visitor.get(f"/app/posts/{post.id}").html.find(id="backers")) == is_shown
    acme.page(acme.carol).get(f"/app/posts/{post.id}/clients", status=403)
