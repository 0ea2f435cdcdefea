"""The work of the team: the tools, the messages that members see, and invitations."""

import re

from playwright.sync_api import expect

from accounts.users.models import User
from tests.support.axe import expect_no_faults
from tests.support.factories import make_client, make_note, make_post, make_user
from tests.support.pages import path_of_post
from tests.support.people import HeldRequests, at, choose_name, count_of, messages_on, open_letter, type_in, wait_until


def use_tool(page, name: str) -> None:
    # Panels that are loaded after the page replace a part of it, in which a tool may be open.
    page.wait_for_load_state("networkidle")
    page.locator("details.tool > summary").filter(has_text=name).click()


def test_merging_answering_and_undoing(acme, browse):
    original = make_post(acme.carol, "A dark theme for the evening")
    duplicate = make_post(acme.alice, "Dark colours please")
    dave = make_user(acme.account, "dave", name="Dave Other")
    for post, user in ((original, acme.carol), (original, acme.alice), (duplicate, acme.carol), (duplicate, dave)):
        post.vote(by=user)
    duplicate.comment(by=dave, text="My eyes!", agent="test")

    bob = browse(acme.bob)
    bob.goto(f"/app/posts/{duplicate.id}")
    use_tool(bob, "Merge as a duplicate")
    type_in(bob.get_by_label("Search for the original"), "evening")
    bob.get_by_role("radio", name="A dark theme for the evening").check()
    bob.get_by_role("button", name="Continue").click()
    expect(bob.get_by_text("2 + 2 votes, 1 voted for both: 3 votes afterwards.")).to_be_visible()
    bob.get_by_role("button", name="Merge").click()
    expect(messages_on(bob)).to_have_text("“Dark colours please” is merged into this suggestion.")
    # Alice, carol and dave.
    expect(count_of(bob, original)).to_have_text("3")

    use_tool(bob, "Status and response")
    bob.get_by_label("Status", exact=True).select_option("Planned")
    bob.get_by_label("Official response").fill("We begin with it **in May**.")
    bob.get_by_role("button", name="Save").first.click()
    expect(messages_on(bob)).to_have_text("Saved.")

    carol = browse(acme.carol)
    carol.goto(f"/app/posts/{duplicate.id}")
    expect(carol.get_by_text("This suggestion was merged into:")).to_be_visible()
    carol.get_by_role("link", name=original.title).click()
    expect(carol).to_have_url(at(path_of_post(original)))
    expect(carol.get_by_text("“Dark colours please” was merged into this suggestion.")).to_be_visible()
    expect(count_of(carol, original)).to_have_text("3")
    expect(carol.locator("#response")).to_contain_text("We begin with it in May.")
    expect(carol.locator("#response")).to_contain_text("Bob Nowak")
    expect(carol.locator(".timeline li")).to_contain_text(["Suggested", "Planned"])
    expect(carol.locator("#comments")).to_contain_text("My eyes!")
    carol.get_by_role("link", name="Roadmap").click()
    expect(carol.get_by_role("region", name="Planned")).to_contain_text("A dark theme for the evening")

    bob.goto(f"/app/posts/{original.id}")
    bob.get_by_role("region", name="Merged into this one").get_by_role("link").click()
    expect(bob.get_by_text("Other readers see only its text and this link.")).to_be_visible()
    use_tool(bob, "Merge as a duplicate")
    bob.get_by_role("button", name="Undo the merge").click()
    expect(messages_on(bob)).to_contain_text("on its own again")
    expect(count_of(bob, duplicate)).to_have_text("2")
    carol.goto(f"/app/posts/{duplicate.id}")
    expect(carol.locator("#comments")).to_contain_text("My eyes!")
    carol.goto(f"/app/posts/{original.id}")
    expect(count_of(carol, original)).to_have_text("2")
    expect(carol.locator("#comments")).not_to_contain_text("My eyes!")


def test_inviting_an_agent(acme, browse):
    alice = browse(acme.alice, javascript=False)
    alice.goto("/app/account/users")
    alice.get_by_role("link", name="Invite", exact=True).click()
    alice.get_by_label("E-mail").fill("dora@acme.example")
    alice.get_by_label("Role").select_option("agent")
    alice.get_by_role("button", name="Send an invitation").click()
    expect(messages_on(alice)).to_have_text("An invitation is on its way to dora@acme.example.")

    dora = browse(javascript=False)
    open_letter(dora)
    expect(dora.get_by_text("You will be an agent, part of the team.")).to_be_visible()
    choose_name(dora, "Dora Dąb")
    dora.get_by_label("Your menu").click()
    dora.get_by_role("link", name="API").click()
    expect(dora.get_by_role("heading", name="Your tokens")).to_be_visible()

    alice.get_by_role("link", name="Team", exact=True).click()
    row = alice.get_by_role("listitem").filter(has_text="Dora Dąb")
    expect(row).to_contain_text("Agent")
    alice.get_by_role("link", name="Invitations").click()
    expect(alice.get_by_text("Nobody is invited at the moment.")).to_be_visible()
    assert acme.account.users.get(login="dora").role == User.Role.AGENT


def test_tools_that_load_while_the_suggestion_is_deleted(acme, browse):
    """The tools are fetched in the background, and must not replace the page with the message."""
    post = make_post(acme.carol, "Deleted by mistake")
    page = browse(acme.alice)
    held_requests, loaded_urls = HeldRequests(page, "team", "delete"), []
    page.expose_function("recordLoad", lambda url: loaded_urls.append(url))
    page.goto(f"/app/posts/{post.id}")
    page.evaluate("document.addEventListener('htmx:afterOnLoad', (event) => recordLoad(event.detail.xhr.responseURL))")
    page.locator("summary").filter(has_text="Delete").click()
    page.get_by_role("button", name="Delete it").dispatch_event("click")
    delete, team = held_requests.wait_for("delete"), held_requests.wait_for("team")
    # Delete the post, as if the service had processed the held request and only the response were late.
    post.trash(by=acme.alice)
    team.continue_()
    # Wait until htmx has processed the response. Only an event of the page shows that.
    wait_until(page, lambda: loaded_urls)
    # Restore it for the held request, which then deletes it.
    post.restore()
    delete.continue_()
    expect(messages_on(page)).to_have_text("“Deleted by mistake” is deleted. For 30 days an admin can restore it.")


def test_moving_a_status_by_its_buttons(acme, browse):
    """The focus stays on the button, so that it can be pressed again."""
    page = browse(acme.alice)
    page.goto("/app/account/statuses")
    row = page.locator(".ordered > li").filter(has=page.locator(".badge", has_text="Planned"))
    up, down = row.locator("[value=up]"), row.locator("[value=down]")
    order = acme.account.statuses_of_kind("post").values_list("name", flat=True)
    up.focus()
    for key, position in [("Enter", 1), ("Enter", 0)]:
        with page.expect_response("**/statuses") as response_info:
            page.keyboard.press(key)
        assert response_info.value.status == 204
        assert order[position] == "Planned"
    # The status is the first one now.
    expect(up).to_be_disabled()
    expect(row.locator("[data-handle]")).to_be_focused()
    with page.expect_response("**/statuses"):
        down.click()
    expect(down).to_be_focused()
    assert order[1] == "Planned"
    page.reload()
    expect(page.locator(".ordered > li").nth(1)).to_contain_text("Planned")


def test_the_menu_closes_when_it_loses_the_focus(acme, browse):
    page = browse(acme.alice)
    page.goto("/")
    page.get_by_label("Your menu").focus()
    page.keyboard.press("Enter")
    menu = page.locator(".top details.menu:not(.new)")
    page.keyboard.press("Tab")
    expect(menu.get_by_role("link", name="Profile")).to_be_focused()
    menu.get_by_role("button", name="Sign out").focus()
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Tab")
    expect(menu).not_to_have_attribute("open", "")


def test_restoring_a_deleted_suggestion(acme, browse):
    post = make_post(acme.carol, "Deleted by mistake")
    page = browse(acme.alice, javascript=False)
    page.goto(f"/app/posts/{post.id}")
    page.locator("summary").filter(has_text="Delete").click()
    page.get_by_role("button", name="Delete it").click()
    expect(messages_on(page)).to_contain_text("“Deleted by mistake” is deleted.")
    expect(page.locator("article")).to_have_count(0)
    page.get_by_label("Your menu").click()
    page.get_by_role("link", name="Account settings").click()
    page.get_by_role("link", name="Trash").click()
    page.get_by_role("button", name=re.compile("Restore.*Deleted by mistake")).click()
    expect(messages_on(page)).to_have_text("Deleted by mistake is restored.")
    expect(page.get_by_text("The trash is empty.")).to_be_visible()
    page.goto("/")
    expect(page.locator("article h2")).to_have_text(["Deleted by mistake"])


def test_the_palette(acme, browse):
    """Ctrl+K searches, goes to pages, and creates, by keyboard alone."""
    client = make_client(acme.bob, "Northwind")
    make_note(acme.bob, "Wants chairs", client_id=client.id, kind="call")
    page = browse(acme.bob, width=1280)
    page.goto("/app/tasks")
    page.keyboard.press("Control+k")
    palette = page.locator("#palette")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("chairs")
    expect(palette.get_by_role("option", name="Wants chairs")).to_be_visible()
    expect_no_faults(page)
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type("new deal")
    page.keyboard.press("Enter")
    expect(page.locator("#dialog [name=name]")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("contacts")
    expect(palette.get_by_role("option", name="Contacts").first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/app/contacts$"))
