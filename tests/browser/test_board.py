"""The team moves deals on the board: with the mouse, by keyboard alone, and after a colleague."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.support.axe import expect_no_faults
from tests.support.factories import make_client, make_deal

PATH = "/app/deals/board"


@pytest.fixture
def statuses(acme) -> dict[str, int]:
    return {status.code: status.id for status in acme.account.statuses_of_kind("deal")}


@pytest.fixture
def deals(acme, statuses):
    client = make_client(acme.bob, "Northwind Traders")
    fields = {"client_id": client.id, "responsible_id": acme.bob.id, "currency": "EUR"}
    made = {}
    for name, code, price, days in (
        ("Garden", "new", "900", 10),
        ("Barn", "new", "12500.5", -3),
        ("Roof", "new", "100000", None),
        ("House", "proposal", "250000", 3),
        ("Fence", "won", "1200", None),
    ):
        day = None if days is None else timezone.localdate() + timedelta(days=days)
        made[name] = make_deal(acme.bob, name, price=price, status_id=statuses[code], expected_close_date=day, **fields)
    acme.account.deals.filter(id=made["House"].id).update(stage_entered_at=timezone.now() - timedelta(days=30))
    make_deal(
        acme.alice,
        "Cottage by the lake",
        price="77000",
        currency="PLN",
        status_id=statuses["qualified"],
        responsible_id=acme.alice.id,
    )
    return made


def cards(page, column: str) -> list[str]:
    return page.get_by_role("region", name=column, exact=True).locator("h3").all_inner_texts()


def expect_cards(page, column: str, names: list[str]) -> None:
    expect(page.get_by_role("region", name=column, exact=True).locator("h3")).to_have_text(names)


def totals(page, column: str):
    return page.get_by_role("region", name=column, exact=True).locator(".totals")


def test_a_card_is_dragged(acme, deals, browse, statuses):
    page = browse(acme.bob, width=1280)
    page.goto(PATH)
    expect_cards(page, "New", ["Roof", "Barn", "Garden"])
    house = page.get_by_role("link", name="House", exact=True)
    page.get_by_text("Northwind Traders").nth(0).hover()
    page.mouse.down()
    box = house.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 110, steps=8)
    page.mouse.up()
    expect_cards(page, "New", ["Barn", "Garden"])
    expect_cards(page, "Proposal", ["House", "Roof"])
    expect(page.locator("#board-news")).to_have_text("“Roof” is in Proposal now.")
    expect(totals(page, "Proposal")).to_contain_text("350,000.00 EUR")
    expect(totals(page, "New")).to_contain_text("2 deals")
    page.reload()
    expect_cards(page, "Proposal", ["House", "Roof"])


def test_a_card_is_moved_by_keyboard(acme, deals, browse):
    page = browse(acme.bob, width=390)
    page.goto(PATH)
    page.get_by_role("button", name="Pick up: Roof").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#board-news")).to_have_text("Roof is picked up: New, place 1.")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#board-news")).to_have_text("New, place 2.")
    page.keyboard.press("Escape")
    expect_cards(page, "New", ["Roof", "Barn", "Garden"])
    expect(page.get_by_role("button", name="Pick up: Roof")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#board-news")).to_have_text("“Roof” is in Qualified now.")
    expect_cards(page, "Qualified", ["Cottage by the lake", "Roof"])
    expect(page.get_by_role("button", name="Pick up: Roof")).to_be_focused()


def test_a_deal_without_a_status_gets_one_and_loses_it_again(acme, deals, browse, statuses):
    order = make_deal(acme.bob, "Order 1043", price="19.90")
    page = browse(acme.bob, width=1280)
    page.goto(PATH)
    expect_cards(page, "No status", ["Order 1043"])
    page.get_by_role("button", name="Pick up: Order 1043").focus()
    for key in ("Enter", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#board-news")).to_have_text("“Order 1043” is in New now.")
    expect(totals(page, "No status")).to_contain_text("0 deals")
    # The empty column stays, so that a wrong move can be undone.
    page.get_by_role("button", name="Pick up: Order 1043").focus()
    for key in ("Enter", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#board-news")).to_have_text("“Order 1043” has no status now.")
    expect_cards(page, "No status", ["Order 1043"])
    expect(page.get_by_role("button", name="Pick up: Order 1043")).to_be_focused()
    order.refresh_from_db()
    assert order.status_id is None
    # With the mouse.
    roof = page.get_by_role("link", name="Roof", exact=True).bounding_box()
    page.get_by_role("link", name="Order 1043", exact=True).hover()
    page.mouse.down()
    page.mouse.move(roof["x"] + 20, roof["y"] + 5, steps=8)
    page.mouse.up()
    expect_cards(page, "No status", [])
    expect(page.locator("#board-news")).to_have_text("“Order 1043” is in New now.")
    page.reload()
    expect(page.get_by_role("region", name="No status", exact=True)).to_have_count(0)


def test_a_won_deal_needs_a_reason(acme, deals, browse, statuses):
    page = browse(acme.bob, width=1280)
    page.goto(PATH)
    page.get_by_role("button", name="Pick up: House").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Why is “House” won?")
    expect(dialog).to_be_visible()
    expect_cards(page, "Proposal", ["House"])
    expect_no_faults(page)
    dialog.get_by_label("Price").check()
    dialog.get_by_role("button", name="Move to “Won”").click()
    expect_cards(page, "Won", ["House", "Fence"])
    expect(dialog).to_be_hidden()
    deal = acme.account.deals.get(name="House")
    assert (deal.status_id, deal.won_reason) == (statuses["won"], "Price")


def test_somebody_else_has_moved_the_card(acme, deals, browse, statuses):
    page = browse(acme.bob, width=1280)
    page.goto(PATH)
    deals["Roof"].write({"status_id": statuses["lost"]}, by=acme.alice)
    page.get_by_role("button", name="Pick up: Roof").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#messages")).to_contain_text("Somebody else has moved the deal meanwhile.")
    expect_cards(page, "Lost", ["Roof"])
    expect_cards(page, "Qualified", ["Cottage by the lake"])
