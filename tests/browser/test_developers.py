"""A developer creates a token and runs every example."""

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Locator, Page, expect

from accounts.examples.operations import CODE_LANGUAGES, Example, FilledExample, examples, sections
from forum.notifications.models import NotificationReason
from tests.support.factories import make_client, make_post
from tests.support.people import at

PATH = "/app/account/api"
# The other sections use rows that these sections create, so these run first.
FIRST = ["clients", "contact-lists", "contacts", "deals", "posts", "statuses", "webhooks"]
# Examples that the state of their row refuses. A bulk change of one row is complete at once, and the message is a draft without recipients.
# The import is cancelled before it starts, and deleted after.
REFUSED = {
    "cancel_bulk_change": "409 Conflict",
    "ask_deletion": "422 Unprocessable Entity",
    "cancel_deletion": "409 Conflict",
    "cancel_message": "409 Conflict",
    "delete_import": "409 Conflict",
    "cancel_import": "409 Conflict",
    "send_message": "422 Unprocessable Entity",
}
ORDER = [*FIRST, *(section for section in sections() if section not in FIRST and section != "trash")]


def form_of(page: Page, example: Example) -> Locator:
    return page.locator(f'form[data-example="{example.id}"]')


def make_token(page: Page) -> str:
    page.goto(f"{PATH}/tokens/new")
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
    expected = (REFUSED[example.id],) if example.id in REFUSED else ("200 OK", "201 Created")
    assert status.inner_text() in expected, f"{example.id}: {form.inner_text()}"
    return form.locator("[data-response]")


def open_section(page: Page, section: str, token: str = "") -> list[Example]:
    page.goto(f"{PATH}/{section}")
    page.evaluate("document.querySelectorAll('details.example').forEach((element) => { element.open = true; })")
    if sections()[section][0].language == "json":
        page.get_by_label("API token").fill(token)
    return sections()[section]


@pytest.mark.soak
def test_every_example_runs(acme, browse):
    acme.account.partner_key = "acme-partner"
    acme.account.save(update_fields=["partner_key"])
    # Only the service creates notifications, so this one exists before.
    make_post(acme.bob).comment(by=acme.bob, text="New", agent="test")
    # A merge needs a second client.
    make_client(acme.bob)
    activity = acme.account.activities.order_by("-id").first()
    acme.account.notifications.create(
        user_id=acme.alice.id, activity_id=activity.id, reason=NotificationReason.EVERYTHING
    )
    page = browse(acme.alice)
    page.on("dialog", lambda dialog: dialog.accept())
    token = make_token(page)
    # Beside the new token, the page shows one example.
    expect(page.locator("#made [data-code]")).to_contain_text(f"Authorization: Bearer {token}")
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
                if form_of(page, example).get_by_text("There is nothing of this kind yet").count():
                    # An earlier example of the section has created the row.
                    open_section(page, section, token)
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


HOSTILE = '\'; echo "$HOME" `id` ${id} #{id} \\\' \\\\ """ \'\'\' <?php ?> \tŁódź\n""""'


@pytest.mark.parametrize("section", ["posts", "forum-api-xml"])
def test_scripts_and_the_server_write_the_same_code(acme, browse, section):
    make_post(acme.alice)
    page = browse(acme.alice)
    for key, language in CODE_LANGUAGES.items():
        response = page.goto(f"{PATH}/{section}?lang={key}")
        served = [element.text for element in BeautifulSoup(response.text(), "html.parser").select("[data-code]")]
        shown = page.locator("[data-code]").evaluate_all("(elements) => elements.map((element) => element.textContent)")
        assert shown == served
        # A change of a field.
        page.evaluate("document.querySelectorAll('details.example').forEach((element) => { element.open = true; })")
        form = page.locator("form:has([data-body]):has([data-place='path'])").first
        form.locator("[data-body]").fill(HOSTILE)
        form.locator("[data-place='path']").first.fill("'/?#")
        example = examples()[form.get_attribute("data-example")]
        request = FilledExample(
            example,
            form.get_attribute("data-address"),
            "alice",
            {"path.id": "'/?#", "path.category_name": "'/?#"} | parameters_of(form),
            HOSTILE,
        ).request
        assert form.locator("[data-code]").evaluate("(element) => element.textContent") == language.write(request)


def parameters_of(form: Locator) -> dict[str, str]:
    """Return the values of the fields of a form, by the keys of their parameters."""
    fields = form.locator("[data-place]")
    return fields.evaluate_all("(fields) => Object.fromEntries(fields.map((field) => [field.name, field.value]))")


def test_the_language_of_the_code_can_be_changed_without_losing_edits(acme, browse):
    page = browse(acme.alice)
    open_section(page, "clients")
    form = page.locator('form[data-example="create_client"]')
    form.locator("[data-body]").fill('{"client": {"name": "Edited"}}')
    form.get_by_role("link", name="Ruby").click()
    expect(form.locator("[data-code]")).to_contain_text('request.body = \'{"client": {"name": "Edited"}}\'')
    expect(page.locator("[data-code-language=ruby][aria-current]")).to_have_count(len(sections()["clients"]))
    expect(page).to_have_url(at(f"{PATH}/clients?lang=ruby"))
    # The links to the other sections keep the language.
    page.get_by_role("navigation", name="Resources").get_by_role("link", name="Deals").click()
    expect(page.locator("[data-code]").first).to_contain_text('require "net/http"')


def test_a_new_token_is_filled_in_until_the_user_signs_out(acme, browse):
    page = browse(acme.alice)
    token = make_token(page)
    page.goto(f"{PATH}/clients")
    expect(page.get_by_label("API token")).to_have_value(token)
    expect(page.locator("[data-code]").first).to_contain_text(f"Bearer {token}")
    # Without a token in the field, the request is made with the session.
    page.get_by_label("API token").fill("")
    expect(page.locator("[data-code]").first).to_contain_text("Bearer YOUR_API_TOKEN")


def test_swagger_ui(acme, browse):
    """It sends requests of a signed-in user, and has the color scheme of the pages."""
    page = browse(acme.bob, theme="dark")
    page.goto("/app/docs/swagger")
    page.get_by_role("heading", name="Rostrum").wait_for()
    root = page.locator("html")
    # Swagger UI's own stylesheet has a dark theme.
    expect(root).to_have_css("color-scheme", "dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_css("color-scheme", "normal")
    page.locator("#operations-tag-Account").click()
    page.locator("#operations-Account-read_account").get_by_role("button").first.click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("200")
    expect(page.locator(".live-responses-table .highlight-code").first).to_contain_text('"prefix": "acme"')
    page.get_by_role("button", name="Authorize").first.click()
    headings = page.locator(".auth-container h4").all_inner_texts()
    assert [heading.split()[0] for heading in headings] == ["bearer", "api_token", "basic"]
