"""The filter of suggestions by customers in a browser, by keyboard."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from team.backers.models import update_post_revenues
from tests.support.factories import make_client, make_deal, make_post, make_saved_view


@pytest.fixture
def view(acme):
    """Create two suggestions with a client each, and return a view with one of these clients."""
    for number, city in enumerate(("Gdynia", "Sopot"), start=1):
        client = make_client(acme.alice, city=city)
        make_deal(acme.alice, client_id=client.id, price=number * 1000)
        make_post(acme.alice, f"Of {city}").cast_proxy_vote(by=acme.alice, client_id=client.id)
    update_post_revenues()
    return make_saved_view(acme.alice, "By the port", query="city=Gdynia", shared=True)


def test_the_list(acme, browse, view):
    page = browse(acme.bob)
    page.goto("/app/suggestions?order=clients")
    segment = page.get_by_label("Segment")
    segment.focus()
    segment.select_option("By the port")
    page.keyboard.press("Tab")
    page.keyboard.type("1000")
    page.keyboard.press("Enter")
    expect(page.locator(".post h2")).to_have_text(["Of Gdynia"])
    expect(page).to_have_url(
        f"/app/suggestions?{urlencode({'order': 'clients', 'segment': view.id, 'min_revenue': 1000, 'min_clients': ''})}"
    )
    page.get_by_label("Minimum revenue").fill("much")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Minimum revenue is not a number")
    page.get_by_label("Minimum revenue").fill("1001")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No suggestion matches these filters.")).to_be_visible()
    page.get_by_role("link", name="Remove the filter Segment “By the port”").click()
    expect(page.locator(".post h2")).to_have_text(["Of Sopot"])


def test_the_inbox(acme, browse, view):
    page = browse(acme.bob, javascript=False, width=390)
    page.goto("/app/inbox")
    page.get_by_text("Filter by customers").click()
    page.get_by_label("Segment").select_option("By the port")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.locator("[data-row] h2")).to_have_text(["Of Gdynia"])
    page.get_by_role("link", name="Unanswered").click()
    expect(page.locator("[data-row] h2")).to_have_text(["Of Gdynia"])
