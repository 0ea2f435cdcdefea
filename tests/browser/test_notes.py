"""The team records a call and plans a task on the page of a client: by keyboard, and without JavaScript."""

from playwright.sync_api import expect

from tests.support.factories import make_client
from tests.support.people import at, messages_on


def test_by_keyboard(acme, browse):
    client = make_client(acme.bob, "Northwind")
    page = browse(acme.bob, width=390)
    page.goto(f"/app/clients/{client.id}")
    composer = page.locator("#composer")
    expect(composer.get_by_label("Minutes")).to_be_hidden()
    expect(composer.get_by_label("Text")).to_be_hidden()
    composer.get_by_role("radio", name="Note").focus()
    page.keyboard.press("ArrowRight")
    expect(composer.get_by_role("radio", name="Call")).to_be_checked()
    text = composer.get_by_label("Text")
    text.press_sequentially("Wants chairs. @al")
    page.get_by_role("option", name="@alice").wait_for()
    page.keyboard.press("Enter")
    expect(text).to_have_value("Wants chairs. @alice ")
    composer.get_by_label("Minutes").fill("15")
    text.focus()
    page.keyboard.press("Control+Enter")
    expect(messages_on(page)).to_contain_text("The call is saved.")
    [note] = acme.account.notes.all()
    assert (note.kind, note.content, note.duration) == ("call", "Wants chairs. @alice", 15)
    assert note.mentioned_user_ids == [acme.alice.id]
    page.get_by_role("link", name="Open the note").click()
    page.get_by_role("link", name="Edit").click()
    # Without its scripts, the page has no shortcuts.
    page.wait_for_url(at(f"/app/notes/{note.id}/edit"))
    page.get_by_label("Text").fill("Wants tables.")
    page.keyboard.press("Control+Enter")
    expect(messages_on(page)).to_contain_text("The note is saved.")
    note.refresh_from_db()
    assert note.content == "Wants tables."


def test_without_javascript(acme, browse):
    client = make_client(acme.bob, "Northwind")
    page = browse(acme.bob, javascript=False)
    page.goto(f"/app/clients/{client.id}")
    composer = page.locator("#composer")
    expect(composer.get_by_label("Text")).to_be_hidden()
    composer.get_by_text("Note", exact=True).click()
    composer.get_by_label("Text").fill("They moved.")
    # The text stays when the kind changes.
    composer.get_by_text("Meeting", exact=True).click()
    composer.get_by_label("Minutes").fill("-1")
    composer.get_by_role("button", name="Save").click()
    expect(composer.get_by_label("Text")).to_have_value("They moved.")
    expect(composer.locator(".field-error")).to_be_visible()
    composer.get_by_label("Minutes").fill("30")
    composer.get_by_role("button", name="Save").click()
    expect(messages_on(page)).to_contain_text("The meeting is saved.")
    composer.locator(".kinds").get_by_text("Task", exact=True).click()
    composer.get_by_label("New task").fill("Send the catalogue")
    composer.get_by_role("button", name="Save").click()
    expect(messages_on(page)).to_contain_text("The task is added.")
    page.get_by_role("button", name="Complete “Send the catalogue”").click()
    expect(messages_on(page)).to_contain_text("The task is completed.")
    assert acme.account.notes.get().duration == 30
