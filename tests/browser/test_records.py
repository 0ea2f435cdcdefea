"""The team works with a client: two people edit a field, and the search and the shortcuts work by keyboard."""

import pytest
from playwright.sync_api import expect

from crm.clients.models import Client
from tests.support.axe import expect_no_faults
from tests.support.factories import make_client, make_deal, make_task
from tests.support.people import at, messages_on, type_in

# Click a link, and press Escape as soon as an input gets the focus, before anybody could by hand.
CLICK_AND_ESCAPE = """link => new Promise((escaped) => {
  document.addEventListener("focusin", ({ target }) => {
    if (!target.matches(".fact input")) return;
    queueMicrotask(() => escaped(target.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }))));
  });
  link.click();
})"""


@pytest.fixture
def northwind(acme) -> Client:
    client = make_client(
        acme.bob, "Northwind", city="Gdynia", email="office@northwind.example", responsible_id=acme.bob.id
    )
    make_deal(acme.bob, "The roof", client_id=client.id, price="12000", currency="EUR")
    make_task(acme.bob, "Send the offer", client_id=client.id)
    return client


def city_of(client: Client) -> str | None:
    return Client.objects.get(account=client.account, id=client.id).city


def test_two_people_edit_the_same_field(acme, northwind, browse):
    bob, alice = browse(acme.bob, width=390), browse(acme.alice)
    for page in (bob, alice):
        page.goto(f"/app/clients/{northwind.id}")
        page.get_by_role("link", name="Change: City").click()
        expect(page.get_by_label("City")).to_be_focused()
    alice.get_by_label("City").fill("Kraków")
    alice.keyboard.press("Enter")
    # The timeline may have the new value already.
    expect(alice.locator("#city")).to_contain_text("Kraków")
    expect(alice.get_by_role("link", name="Change: City")).to_be_focused()
    bob.get_by_label("City").fill("Warszawa")
    bob.keyboard.press("Enter")
    expect(bob.locator("[data-theirs]")).to_have_text("Kraków")
    expect(bob.locator("[data-mine]")).to_have_text("Warszawa")
    expect_no_faults(bob)
    assert city_of(northwind) == "Kraków"
    bob.get_by_role("button", name="Use mine").click()
    expect(bob.get_by_role("link", name="Change: City")).to_be_focused()
    assert city_of(northwind) == "Warszawa"


def test_escape_keeps_the_value(acme, northwind, browse):
    page = browse(acme.bob)
    page.goto(f"/app/clients/{northwind.id}")
    page.get_by_role("link", name="Change: City").click()
    page.get_by_label("City").fill("Warszawa")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Change: City")).to_be_focused()
    expect(page.get_by_text("Gdynia")).to_be_visible()
    assert city_of(northwind) == "Gdynia"


def test_escape_works_from_the_first_moment(acme, northwind, browse):
    page = browse(acme.bob)
    page.goto(f"/app/clients/{northwind.id}")
    page.get_by_role("link", name="Change: City").evaluate(CLICK_AND_ESCAPE)
    expect(page.get_by_role("link", name="Change: City")).to_be_focused()


def test_without_javascript(acme, northwind, browse):
    page = browse(acme.bob, javascript=False)
    page.goto(f"/app/clients/{northwind.id}")
    page.get_by_role("link", name="Change: City").click()
    page.get_by_label("City").fill("Warszawa")
    page.get_by_role("button", name="Save").click()
    expect(messages_on(page)).to_contain_text("City is saved.")
    page.get_by_role("button", name="Complete “Send the offer”").click()
    expect(messages_on(page)).to_contain_text("The task is completed.")


def test_search_by_keyboard(acme, northwind, browse):
    page = browse(acme.bob, width=1280)
    page.goto("/app/clients")
    page.keyboard.press("/")
    search = page.locator("#find")
    expect(search).to_be_focused()
    type_in(search, "northw")
    expect(search).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(page.locator("#find-list")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    selected = page.locator("[role=option][aria-selected=true]")
    expect(selected).to_contain_text("Northwind")
    expect(search).to_have_attribute("aria-activedescendant", f"find-clients-{northwind.id}")
    expect_no_faults(page)
    page.keyboard.press("Enter")
    page.wait_for_url(at(f"/app/clients/{northwind.id}"))


def test_shortcuts(acme, northwind, browse):
    page = browse(acme.bob, width=1280)
    page.goto(f"/app/clients/{northwind.id}")
    page.keyboard.press("?")
    help_list = page.get_by_role("dialog", name="Shortcuts")
    expect(help_list.get_by_text("Clients")).to_be_visible()
    expect_no_faults(page)
    page.keyboard.press("Escape")
    expect(help_list).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url(at("/app/suggestions"))
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url(at("/app/clients"))
