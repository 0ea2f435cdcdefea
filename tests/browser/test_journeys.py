"""Frequent tasks of the team, counted by clicks. Keys are not counted."""

import pytest
from playwright.sync_api import Page, expect

from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from tests.support.axe import expect_no_faults
from tests.support.factories import make_client, make_deal

COUNTER = """
addEventListener("click", (event) => {
  // A click that a key has caused has no detail.
  if (event.isTrusted && event.detail) sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks") ?? 0) + 1);
}, true);
"""


@pytest.fixture
def open_counting(browse):
    """Return a function that opens a page whose clicks are counted."""

    def open_page(user) -> Page:
        page = browse(user)
        page.add_init_script(COUNTER)
        return page

    return open_page


def clicks_of(page: Page) -> int:
    return int(page.evaluate("() => sessionStorage.getItem('clicks')") or 0)


def add_filter(page: Page, name: str, *, number: int) -> None:
    """Open the menu of filters with a click, and choose a field by typing. The list has `number` filters before."""
    # Until then, the page of the filter before replaces the menu.
    expect(page.locator(".chip.filter")).to_have_count(number)
    page.locator("[data-filter-menu] summary").click()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page.locator("#filter")).to_be_visible()


def test_three_conditions_with_an_or_are_saved_and_shared(acme, open_counting):
    """At most 8 clicks."""
    adler = make_client(acme.bob, "Adler", city="Gdynia")
    make_deal(acme.bob, "Roof", price=5000, client_id=adler.id)
    make_deal(acme.bob, "Wall", price=10, client_id=adler.id)
    make_deal(acme.bob, "Gate", price=10, expected_close_date="2020-01-01")
    page = open_counting(acme.bob)
    page.goto("/app/deals")
    add_filter(page, "amount", number=0)
    page.locator("#filter-operator").select_option("after")
    page.get_by_label("Value").fill("1000")
    page.keyboard.press("Enter")
    add_filter(page, "client address city", number=1)
    page.get_by_label("Value").fill("Gdynia")
    page.keyboard.press("Enter")
    add_filter(page, "expected close", number=2)
    page.get_by_label("When").select_option("last_year")
    page.locator("#filter-operator").select_option("before")
    page.get_by_label("Joined with").select_option("new")
    page.locator("#filter").get_by_role("button", name="Add filter").click()
    expect(page.locator("tbody th")).to_have_text(["Gate", "Roof"])
    page.get_by_text("Save as a view").click()
    page.get_by_label("Name of the view").fill("Hot")
    page.get_by_label("Share with the team").check()
    page.get_by_label("Name of the view").press("Enter")
    expect(page.locator("#messages")).to_contain_text("The view Hot is saved.")
    assert acme.account.saved_views.get().shared
    assert clicks_of(page) <= 8


def test_client_contact_and_deal_with_one_form(acme, open_counting):
    """At most 4 clicks from the start page."""
    page = open_counting(acme.bob)
    page.goto("/app")
    page.locator(".menu.new summary").click()
    page.locator(".menu.new").get_by_role("link", name="Deal").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("[name=name]")).to_be_focused()
    page.keyboard.type("Shelves")
    page.keyboard.press("Tab")
    page.keyboard.type("Northwind")
    expect(dialog.get_by_role("radio", name="New client “Northwind”")).to_be_checked()
    for name, value in (("client-email", "office@northwind.example"), ("contact-name", "Ann")):
        dialog.locator(f"[name={name}]").focus()
        page.keyboard.type(value)
    expect_no_faults(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#messages").get_by_role("link", name="Shelves")).to_be_visible()
    deal = Deal.objects.get()
    client, contact = Client.objects.get(id=deal.client_id), Contact.objects.get(id=deal.contact_id)
    assert (client.name, client.email) == ("Northwind", "office@northwind.example")
    assert (contact.name, contact.client_id) == ("Ann", client.id)
    assert clicks_of(page) <= 4


def test_a_selection_is_kept_on_the_next_page(acme, browse):
    for number in range(30):
        make_client(acme.bob, f"Client {number:02}")
    page = browse(acme.bob)
    page.goto("/app/clients?sort=name")
    page.get_by_label("Select Client 00").check()
    page.get_by_role("link", name="Next").click()
    page.get_by_label("Select Client 29").check()
    bar = page.locator("#selection")
    expect(bar.locator("output")).to_have_text("Selected: 2")
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_label("Select Client 00")).to_be_checked()
    bar.get_by_label("What to do with the selected entries").select_option("add_tags")
    bar.get_by_role("button", name="Continue").click()
    page.get_by_label("Tags").fill("vip")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("2")
    assert acme.account.clients.filter(tags=["vip"]).count() == 2
    page.goto("/app/clients?sort=name")
    expect(page.get_by_label("Select Client 00")).not_to_be_checked()


def test_columns_are_dragged_and_resized(acme, browse):
    make_client(acme.bob, "Adler", city="Gdynia", email="a@example.com")
    page = browse(acme.bob, width=1400)
    page.goto("/app/clients?sort=name")
    headings = page.locator("thead [data-column]")
    before = headings.all_inner_texts()
    page.locator("thead [data-column=city]").drag_to(page.locator("thead [data-column=email]"))
    expect(headings.nth(1)).to_have_text("City")
    assert sorted(headings.all_inner_texts()) == sorted(before)
    edge = page.locator("thead [data-column=city] .edge")
    box = edge.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 152, box["y"] + 5, steps=5)
    with page.expect_response("**/layout"):
        page.mouse.up()
    width = page.locator("thead [data-column=city]").bounding_box()["width"]
    page.reload()
    assert abs(page.locator("thead [data-column=city]").bounding_box()["width"] - width) < 3
