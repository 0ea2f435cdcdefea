"""The team adds clients from any page: in the dialog by keyboard alone, and without JavaScript."""

from django.utils.translation import gettext, override, pgettext
from playwright.sync_api import Page, expect

from crm.clients.models import Client
from crm.deals.models import Deal
from tests.support.axe import expect_no_faults
from tests.support.factories import make_client, make_field_definition


def open_dialog(page: Page):
    """Open the dialog for a new client by keyboard alone, and return it."""
    page.keyboard.press("c")
    expect(page.locator(".menu.new a").first).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("[name=name]")).to_be_focused()
    return dialog


def test_the_dialog_by_keyboard(acme, browse):
    make_client(acme.bob, "Northwind", email="office@northwind.example")
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S", "M"], required=True)
    language = "pl"
    page = browse(acme.bob, width=390, language=language)
    page.goto("/app/suggestions")
    with override(language):
        dialog = open_dialog(page)
        page.keyboard.type("Northwind")
        expect(dialog.get_by_text(pgettext("records", "Is it one of these?"))).to_be_visible()
        expect(dialog.get_by_role("link", name="Northwind")).to_be_visible()
        expect_no_faults(page)

        # The typed name stays while the required field is missing.
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_be_focused()
        expect(dialog.locator("[name=name]")).to_have_value("Northwind")
        dialog.locator("[name='additional_fields[size]']").select_option("M")
        dialog.get_by_role("button", name=gettext("Add and enter another")).press("Enter")
        expect(dialog.get_by_text("Northwind")).to_be_visible()
        expect(dialog.locator("[name=name]")).to_have_value("")

        dialog.locator("[name=name]").fill("Southwind")
        dialog.locator("[name='additional_fields[size]']").select_option("S")
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(page.locator("#messages").get_by_role("link", name="Southwind")).to_be_visible()
        expect(page.locator(".menu.new summary")).to_be_focused()
    assert list(Client.objects.order_by("id").values_list("name", flat=True)) == ["Northwind", "Northwind", "Southwind"]


def test_escape_closes_the_dialog(acme, browse):
    page = browse(acme.bob)
    page.goto("/app/suggestions")
    dialog = open_dialog(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator(".menu.new summary")).to_be_focused()
    # The key c is a letter in a text field.
    page.goto("/app/clients/new")
    page.locator("[name=name]").press("c")
    expect(page.locator("[name=name]")).to_have_value("c")
    expect(page.locator(".menu.new a").first).to_be_hidden()


def test_what_is_added_appears_behind_the_dialog(acme, browse):
    client = make_client(acme.bob, "Northwind")
    page = browse(acme.bob, width=1280)
    page.goto("/app/clients")
    dialog = open_dialog(page)
    for name in ("Southwind", "Westwind"):
        dialog.get_by_label("Name", exact=True).fill(name)
        dialog.get_by_role("button", name="Add and enter another").click()
        expect(dialog.get_by_text(f"{name} is added.")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_role("table").get_by_role("link", name="Westwind")).to_be_visible()
    expect(page.get_by_text("3 entries", exact=True)).to_be_visible()

    # On the page of a client, a new deal belongs to it. What is typed there stays.
    page.goto(f"/app/clients/{client.id}?compose=note")
    page.locator("#note-content").fill("They called.")
    page.locator("h1").click()
    page.keyboard.press("c")
    page.locator(".menu.new").get_by_role("link", name="Deal").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("radio", name="Northwind")).to_be_checked()
    dialog.get_by_label("Name", exact=True).fill("Shelves")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#messages").get_by_role("link", name="Shelves")).to_be_visible()
    expect(page.locator("[data-live=deals]").get_by_role("link", name="Shelves")).to_be_visible()
    expect(page.locator("#note-content")).to_have_value("They called.")


def test_back_after_saving(acme, browse):
    """The browser loads the page again, with what was typed. The form is the same, so a correction is a question."""
    page = browse(acme.bob, width=390, theme="dark")
    page.goto("/app/deals/new")
    page.get_by_label("Name", exact=True).fill("Shelves")
    page.get_by_label("Amount").fill("100")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Shelves")
    page.go_back()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Shelves")
    page.get_by_label("Amount").fill("250")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#sent-before").get_by_role("cell", name="250")).to_be_visible()
    expect_no_faults(page)
    page.get_by_role("button", name="Change what is saved").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Shelves")
    assert list(Deal.objects.values_list("price", flat=True)) == [250]


def test_without_javascript(acme, browse):
    language = "en"
    page = browse(acme.bob, width=1280, language=language, javascript=False)
    page.goto("/app/suggestions")
    with override(language):
        page.get_by_label(pgettext("menu", "New")).click()
        page.locator(".menu.new a").first.click()
        page.get_by_label(gettext("Name"), exact=True).fill("Northwind")
        page.get_by_role("button", name=gettext("Add"), exact=True).click()
        expect(page.locator("#messages").get_by_role("link", name="Northwind")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Northwind")
