"""The revenue of suggestions in the lists of the forum."""

import pytest

from tests.support.factories import make_category, make_client, make_deal, make_forum, make_post, make_saved_view
from tests.support.pages import Visitor
from tests.support.post_revenue import store_revenue
from tests.support.reading import statements, titles

LIST, INBOX = "/app/suggestions", "/app/inbox"


@pytest.fixture
def posts(acme) -> dict:
    """Three suggestions with clients, and one without."""
    won = next(status for status in acme.account.statuses_of_kind("deal") if status.outcome == "won")
    posts = {name: make_post(acme.alice, name) for name in ("Few and rich", "Many and poor", "No deals", "Nobody")}
    rich, poor, other = (make_client(acme.alice, name) for name in ("Rich", "Poor", "Other"))
    make_deal(acme.alice, client_id=rich.id, price="1000", currency="EUR")
    make_deal(acme.alice, client_id=rich.id, price="500", currency="EUR", status_id=won.id)
    make_deal(acme.alice, client_id=poor.id, price="1200", currency="EUR", status_id=won.id)
    make_deal(acme.alice, client_id=poor.id, price="999999", currency="PLN")
    for name, client in (
        ("Few and rich", rich),
        ("Many and poor", poor),
        ("Many and poor", other),
        ("No deals", other),
    ):
        posts[name].cast_proxy_vote(by=acme.alice, client_id=client.id)
    store_revenue(acme.account)
    return posts


def panel(page, title: str) -> str:
    row = next(each for each in page.html.select(".list > li") if each.h2.get_text(strip=True) == title)
    found = row.select_one(".meta + .meta")
    return found.get_text(" ", strip=True) if found else ""


def test_it_works(acme, posts):
    page = acme.page(acme.bob).get(LIST).click("Most revenue")
    assert titles(page) == ["Few and rich", "Many and poor", "No deals"]
    assert panel(page, "Few and rich") == "1 client Won: 500.00 EUR Open: 1,000.00 EUR"
    assert panel(page, "Many and poor") == "2 clients Won: 1,200.00 EUR Open: 999,999.00 PLN"
    assert panel(page, "No deals") == "1 client"
    assert "Only suggestions with clients behind them." in page
    assert page.html.select_one(".tabs [aria-current]").get_text() == "Most revenue"
    page = page.click("Most clients")
    assert titles(page) == ["Many and poor", "No deals", "Few and rich"]
    assert "order=" not in page.html.select_one(".feed a")["href"]
    assert titles(page.click(linkid="by-new")) == ["Nobody", "No deals", "Many and poor", "Few and rich"]


def test_it_takes_few_statements(acme, posts):
    bob = acme.page(acme.bob)
    # The ids, the rows and their figures; then, for a segment, the limit of time.
    in_order = len(statements(bob, f"{LIST}?order=revenue"))
    assert in_order == len(statements(bob, f"{LIST}?order=top")) + 2
    view = make_saved_view(acme.alice, shared=True)
    assert len(statements(bob, f"{LIST}?order=revenue&segment={view.id}")) == in_order + 1
    inbox = len(statements(bob, INBOX))
    assert len(statements(bob, f"{INBOX}?segment={view.id}")) == inbox + 1


def test_the_inbox_shows_the_revenue(acme, posts):
    page = acme.page(acme.bob).get(INBOX)
    assert panel(page, "Many and poor") == "2 clients Won: 1,200.00 EUR Open: 999,999.00 PLN"
    assert panel(page, "Nobody") == ""
    page = Visitor(acme.host, HTTP_ACCEPT_LANGUAGE="pl").start_session(acme.bob).get(INBOX)
    assert panel(page, "Few and rich").startswith("1 klient Wygrane:")


def test_the_order_can_be_combined_with_filters(acme, posts):
    category = make_category(acme.account, "Ideas")
    posts["Many and poor"].write({"category_id": category.id}, by=acme.alice)
    bob = acme.page(acme.bob)
    assert titles(bob.get(f"{LIST}?order=revenue&category={category.id}")) == ["Many and poor"]
    assert titles(bob.get("/Ideas?order=clients")) == ["Many and poor"]
    posts["Few and rich"].write({"status": acme.account.statuses.get(kind="post", code="planned")}, by=acme.alice)
    assert titles(bob.get(f"{LIST}?order=revenue&status=planned")) == ["Few and rich"]


def test_other_forums_and_rows_that_are_no_longer_listed_are_left_out(acme, posts):
    forum = make_forum(acme.account)
    elsewhere = make_post(acme.alice, "Elsewhere", forum_id=forum.id)
    elsewhere.cast_proxy_vote(by=acme.alice, client_id=acme.account.clients.get(name="Rich").id)
    store_revenue(acme.account)
    # The job has not run since these changes.
    posts["Many and poor"].trash(by=acme.alice)
    posts["No deals"].merge_into(posts["Nobody"], by=acme.alice)
    bob = acme.page(acme.bob)
    assert titles(bob.get(f"{LIST}?order=revenue")) == ["Few and rich"]
    posts["Few and rich"].trash(by=acme.alice)
    page = bob.get(f"{LIST}?order=revenue")
    assert titles(page) == []
    assert "No suggestion is in this list yet." in page


def test_only_users_who_see_all_clients_have_the_orders(acme, other, posts):
    acme.account.change(agents_see="own")
    for visitor in (acme.page(), acme.page(acme.carol), acme.page(acme.bob)):
        page = visitor.get(LIST)
        assert "Most revenue" not in page
        assert "1,000.00 EUR" not in page
        unknown = visitor.get(f"{LIST}?order=unknown", status=404)
        for order in ("revenue", "clients"):
            refused = visitor.get(f"{LIST}?order={order}", status=404)
            assert str(refused.html.main) == str(unknown.html.main)
    page = visitor.get(INBOX)
    assert "Few and rich" in page
    assert "1,000.00 EUR" not in page
    assert titles(acme.page(acme.alice).get(f"{LIST}?order=revenue"))[0] == "Few and rich"
    assert titles(Visitor(other.host).start_session(other.mallory).get(f"{LIST}?order=revenue")) == []
