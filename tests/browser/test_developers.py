"""A developer creates a token and runs every example."""

from playwright.sync_api import Locator, Page, expect

from accounts.pages.examples import Example, sections
from tests.support.people import at

PATH = "/app/account/api"
# The other sections use rows that these sections create, so these run first.
FIRST = ["clients", "contact-lists", "contacts", "deals", "posts", "statuses"]
ORDER = [*FIRST, *(section for section in sections() if section not in FIRST and section != "trash")]


def form_of(page: Page, example: Example) -> Locator:
    return page.locator(f'form[data-example="{example.id}"]')


def make_token(page: Page) -> str:
    page.goto(PATH)
    page.get_by_label("Label").fill("My shop")
    page.get_by_label("Expires").select_option("In 30 days")
    page.get_by_role("button", name="Create token").click()
    token = page.get_by_label("Token").input_value()
    assert token.endswith("/acme")
    return token


def run(page: Page, example: Example) -> Locator:
    """Run an example unchanged, and return the element of its response. Dispatching the event is faster than a click."""
    form = form_of(page, example)
    form.locator("[data-run]").dispatch_event("click")
    status = form.locator("[data-response] [data-status]")
    status.wait_for()
    assert status.inner_text() in ("200 OK", "201 Created"), f"{example.id}: {form.inner_text()}"
    return form.locator("[data-response]")


def open_section(page: Page, section: str, token: str = "") -> list[Example]:
    page.goto(f"{PATH}/{section}")
    page.evaluate("document.querySelectorAll('details.example').forEach((element) => { element.open = true; })")
    if sections()[section][0].language == "json":
        page.get_by_label("API token").fill(token)
    return sections()[section]


def test_every_example_runs(acme, browse):
    acme.account.partner_key = "acme-partner"
    acme.account.save(update_fields=["partner_key"])
    page = browse(acme.alice)
    page.on("dialog", lambda dialog: dialog.accept())
    token = make_token(page)
    # Beside the new token, the page shows one example.
    expect(page.locator("#made [data-curl]")).to_contain_text(f"Authorization: Bearer {token}")
    page.locator("#made").get_by_role("button", name="Run").click()
    expect(page.locator("#made [data-status]")).to_have_text("200 OK")

    ids_run = set()
    for section in ORDER:
        section_examples = open_section(page, section, token)
        creating = [example for example in section_examples if example.created_kind]
        for example in creating:
            response_element = run(page, example)
            offer = response_element.locator("[data-offer]")
            if offer.is_visible():
                offer.dispatch_event("click")
                expect(offer).to_have_text("It is filled in")
            ids_run.add(example.id)
        for example in section_examples:
            if not example.created_kind and not example.is_destructive:
                run(page, example)
                ids_run.add(example.id)
    # Delete the created rows, the last first; then restore one.
    for section in reversed(ORDER):
        if destructive := [example for example in sections()[section] if example.is_destructive]:
            open_section(page, section, token)
            for example in sorted(destructive, key=lambda example: example.path, reverse=True):
                run(page, example)
                ids_run.add(example.id)
    for example in open_section(page, "trash", token):
        run(page, example)
        ids_run.add(example.id)
    assert ids_run == {example.id for section_examples in sections().values() for example in section_examples}
    # The requests used the token, not the session.
    page.goto(PATH)
    expect(page.locator("#tokens")).to_contain_text("last used")


def test_a_deleting_example_asks_for_confirmation(acme, browse):
    page = browse(acme.alice)
    by_id = {example.id: example for example in open_section(page, "clients")}
    run(page, by_id["create_client"]).locator("[data-offer]").click()
    messages = []

    def refuse(dialog) -> None:
        messages.append(dialog.message)
        dialog.dismiss()

    page.once("dialog", refuse)
    form = form_of(page, by_id["delete_client"])
    form.get_by_role("button", name="Run").click()
    assert messages == ["Run it? It deletes from this account."]
    expect(form.locator("[data-response]")).to_be_empty()
    assert acme.account.clients.live().count() == 1
    page.once("dialog", lambda dialog: dialog.accept())
    run(page, by_id["delete_client"])
    assert acme.account.clients.live().count() == 0


def test_examples_run_without_javascript(acme, browse):
    page = browse(acme.alice, javascript=False)
    make_token(page)
    page.goto(f"{PATH}/clients")
    by_id = {example.id: example for example in sections()["clients"]}

    def run(id: str, *, succeeds: bool = True) -> Locator:
        if not form_of(page, by_id[id]).is_visible():
            page.locator(f"#{id} > summary").click()
        form_of(page, by_id[id]).get_by_role("button", name="Run").click()
        expect(page).to_have_url(at(f"{PATH}/clients"))
        form = form_of(page, by_id[id])
        if succeeds:
            expect(form.locator("[data-status]")).to_have_class("good")
        return form

    run("create_client")
    # After reloading, the other examples contain the new id.
    page.goto(f"{PATH}/clients")
    client = acme.account.clients.get()
    expect(run("read_client").locator("[data-line]")).to_contain_text(f"/app/clients/{client.id}.json")
    expect(run("delete_client", succeeds=False).get_by_role("alert")).to_contain_text("Nothing was deleted")
    assert acme.account.clients.live().count() == 1
    form_of(page, by_id["delete_client"]).get_by_label("I am sure").check()
    run("delete_client")
    assert acme.account.clients.live().count() == 0


def test_the_reference_has_the_color_scheme_of_the_pages(acme, browse):
    page = browse(theme="dark")
    page.goto("/app/docs")
    page.get_by_role("heading", name="Rostrum").wait_for()
    root = page.locator("html")
    # Swagger UI's own stylesheet has a dark theme.
    expect(root).to_have_css("color-scheme", "dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_css("color-scheme", "normal")
