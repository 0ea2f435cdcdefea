"""The timeline of a client: filters and older entries, with and without JavaScript, by keyboard."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.support.factories import make_client, make_deal, make_note, make_post, make_task


@pytest.fixture
def northwind(acme):
    client = make_client(acme.bob, "Northwind", city="Gdynia", responsible_id=acme.bob.id)
    statuses = {status.code: status.id for status in acme.account.statuses_of_kind("deal")}
    deal = make_deal(
        acme.bob, "The roof", client_id=client.id, price="12000", currency="EUR", status_id=statuses["new"]
    )
    now = timezone.now()
    for days in range(2, 22):
        make_note(acme.bob, f"Talk {days}", client_id=client.id, kind="meeting", noted_at=now - timedelta(days=days))
    make_note(
        acme.bob,
        "Wants an offer by Friday.\nThe barn is bigger than the house.",
        deal_id=deal.id,
        kind="call",
        duration=15,
        noted_at=now - timedelta(days=1),
    )
    make_task(acme.bob, "Send the offer", deal_id=deal.id).write({"closed": True}, by=acme.bob)
    make_post(acme.carol, "Invoices by e-mail").cast_proxy_vote(by=acme.bob, client_id=client.id)
    client.write({"city": "Gdańsk", "responsible_id": acme.alice.id, "tags": ["vip"]}, by=acme.bob)
    deal.write({"status_id": statuses["won"]}, by=acme.bob)
    return client


def test_filters_and_older_entries(acme, northwind, browse):
    page = browse(acme.bob, width=390)
    page.goto(f"/app/clients/{northwind.id}")
    timeline = page.locator("#timeline")
    expect(timeline.get_by_text("Deal moved")).to_be_visible()
    timeline.get_by_role("link", name="Older").press("Enter")
    expect(timeline.get_by_text("Talk 21")).to_be_visible()
    expect(timeline.get_by_text("Deal moved")).to_have_count(0)
    timeline.get_by_role("link", name="Tasks").press("Enter")
    expect(timeline.get_by_role("link", name="Send the offer")).to_have_count(2)
    expect(timeline.get_by_text("Talk 21")).to_have_count(0)
    timeline.get_by_role("link", name="Send the offer").first.click()
    expect(page.get_by_role("heading", name="Send the offer")).to_be_visible()


def test_the_first_screen(acme, northwind, browse):
    page = browse(acme.bob, width=1280)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"/app/clients/{northwind.id}")
    expect(page.locator(".key-figures")).to_be_in_viewport(ratio=1)
    expect(page.locator("#timeline .entries > li").first).to_be_in_viewport(ratio=1)


def test_a_phone_shows_the_current_tab(acme, northwind, browse):
    page = browse(acme.bob, width=390)
    page.goto("/app/reports/answers")
    expect(page.get_by_role("link", name="Response time")).to_be_in_viewport(ratio=0.9)
    page.goto(f"/app/clients/{northwind.id}")
    changes = page.locator("#timeline").get_by_role("link", name="Changes")
    changes.click()
    expect(changes).to_have_attribute("aria-current", "page")
    expect(changes).to_be_in_viewport(ratio=0.9)
