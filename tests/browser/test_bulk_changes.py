"""The team selects rows of a list, changes them together and undoes the change, by keyboard and at 390 px."""

import pytest
from playwright.sync_api import expect

from crm.clients.models import Client
from tests.support.factories import make_client


@pytest.fixture
def clients(acme) -> list[Client]:
    return [
        make_client(acme.bob, f"Client {number}", city="Gdynia", responsible_id=acme.bob.id, tags=["shop"])
        for number in range(6)
    ]


def test_rows_are_selected_changed_and_restored(acme, clients, browse):
    page = browse(acme.bob, width=390)
    page.goto("/app/clients?sort=name")
    bar = page.locator("#selection")
    expect(bar).to_be_hidden()
    page.get_by_label("Select Client 1").check()
    expect(bar).to_contain_text("Selected: 1")
    page.get_by_label("Select Client 3").click(modifiers=["Shift"])
    expect(bar).to_contain_text("Selected: 3")
    bar.get_by_label("What to do").select_option(label="Add tags")
    bar.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Add tags: 3 clients")
    page.get_by_label("Tags").fill("spring")
    page.get_by_role("button", name="Add tags").click()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    assert acme.account.clients.filter(tags=["shop", "spring"]).count() == 3
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="Undone")).to_be_visible()
    assert acme.account.clients.filter(tags=["shop"]).count() == 6


def test_the_keyboard_selects_rows(acme, clients, browse):
    page = browse(acme.bob)
    page.goto("/app/clients?sort=name")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("#selection")).to_contain_text("Selected: 2")
    page.keyboard.press("x")
    expect(page.locator("#selection")).to_contain_text("Selected: 1")
    expect(page.get_by_label("Select Client 0")).to_be_checked()
    page.get_by_label("Select all entries of this page").check()
    expect(page.locator("#selection")).to_contain_text("Selected: 6")
    page.get_by_label("Select all entries of this page").uncheck()
    expect(page.locator("#selection")).to_be_hidden()
