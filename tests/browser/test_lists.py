"""The lists of records: nothing covers the rows while some are selected, and the shortcuts of the list are shown."""

import pytest
from playwright.sync_api import Page, expect

from crm.clients.models import Client
from tests.support.axe import expect_no_faults
from tests.support.factories import make_client, make_contact, make_task

# Return the boxes that another element covers, in the part of the window where the list is shown.
COVERED = """() => {
  const frame = document.querySelector(".table-frame").getBoundingClientRect();
  return [...document.querySelectorAll("tbody .pick input")].filter((box) => {
    const { left, right, top, bottom } = box.getBoundingClientRect();
    if (top < frame.top + 40 || bottom > Math.min(frame.bottom, innerHeight) || top < 0) return false;
    return [top + 1, bottom - 1].some((y) => document.elementFromPoint((left + right) / 2, y) !== box);
  }).map((box) => box.getAttribute("aria-label"));
}"""


@pytest.fixture
def clients(acme) -> list[Client]:
    return [make_client(acme.bob, f"Client {number:02}", city="Gdynia") for number in range(30)]


@pytest.mark.parametrize("width", [1000, 1280])
def test_the_form_of_the_selection_covers_no_rows(acme, clients, browse, width):
    page: Page = browse(acme.bob, width=width)
    page.goto("/app/clients?sort=name")
    page.get_by_label("Select Client 00").check()
    bar = page.locator("#selection")
    expect(bar).to_be_in_viewport()
    expect(page.get_by_role("searchbox", name="Search this list")).to_be_hidden()
    for distance in (0, 120, 5000):
        page.evaluate("(y) => window.scrollTo(0, y)", distance)
        assert page.evaluate(COVERED) == []
        expect(bar).to_be_in_viewport()
    bar.get_by_label("All entries of this list").check()
    expect(bar.locator("output")).to_be_hidden()
    page.get_by_label("Select Client 00").uncheck()
    expect(bar).to_be_visible()
    bar.get_by_label("All entries of this list").uncheck()
    expect(bar).to_be_hidden()
    expect(page.get_by_role("searchbox", name="Search this list")).to_be_visible()


def test_the_selection_of_a_page_without_javascript(acme, clients, browse):
    page = browse(acme.bob, javascript=False)
    page.goto("/app/clients?sort=name")
    expect(page.get_by_label("Select all entries of this page")).to_be_hidden()
    heading, name = (page.locator(f"{part} th:not(.pick)").first.bounding_box() for part in ("thead", "tbody"))
    assert heading is not None
    assert name is not None
    assert heading["x"] == name["x"]
    expect(page.locator("#selection button:not([data-clear])")).to_be_visible()
    # The export of the list needs no JavaScript either.
    page.locator("summary", has_text="Export").click()
    page.get_by_label("Excel (XLSX)").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename.endswith(".xlsx")


def test_the_shortcuts_of_the_list(acme, clients, browse):
    page = browse(acme.bob)
    page.goto("/app/clients?sort=name")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Client 01")).to_be_focused()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Shortcuts")
    expect(keys.get_by_text("Select the entry")).to_be_visible()
    expect_no_faults(page)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("link", name="Change: E-mail").nth(1)).to_be_focused()
    page.keyboard.press("e")
    form = page.locator("td.editing")
    expect(form.get_by_label("E-mail")).to_be_focused()
    form.get_by_label("E-mail").fill("office@client.example")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="office@client.example")).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_label("Select Client 01")).to_be_checked()


def test_a_record_beside_the_list(acme, browse):
    """A button or a key opens it, and Escape closes it and returns to the row."""
    client = make_client(acme.bob, "Northwind", city="Gdynia")
    make_contact(acme.bob, "Ann", client_id=client.id)
    page = browse(acme.bob, width=1280)
    page.goto("/app/clients?sort=name")
    row = page.get_by_role("row", name="Northwind")
    row.hover()
    row.get_by_role("button", name="Quick view: Northwind").click()
    panel = page.get_by_role("dialog")
    expect(panel.get_by_role("heading", name="Northwind")).to_be_visible()
    expect(panel.get_by_role("link", name="Ann", exact=True)).to_be_visible()
    expect(panel.get_by_text("Gdynia")).to_be_visible()
    expect_no_faults(page)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(row.get_by_role("button", name="Quick view: Northwind")).to_be_focused()

    # A list whose rows have no panels shows their fields.
    make_task(acme.bob, "Call them", client_id=client.id)
    page.goto("/app/tasks/list")
    page.keyboard.press("j")
    page.keyboard.press("p")
    expect(panel.get_by_role("heading", name="Call them")).to_be_visible()
    expect(panel.get_by_role("link", name="Northwind")).to_be_visible()
    expect_no_faults(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Call them")).to_be_focused()
