"""The team empties its inbox by keyboard alone: with shortcuts, and without JavaScript by Tab, Space and Enter."""

import pytest
from django.utils.translation import gettext, ngettext, override
from playwright.sync_api import Locator, Page, expect

from forum.posts.models import Post
from tests.support.axe import expect_no_faults
from tests.support.factories import make_post
from tests.support.operating import tab_to
from tests.support.people import at, messages_on


@pytest.fixture
def posts(acme) -> list[Post]:
    acme.account.forums.update(approval=True)
    return [make_post(acme.carol, f"Idea {number}") for number in range(4)]


def open_inbox(page: Page, language: str) -> Locator:
    """Open the inbox, and return its rows."""
    page.goto("/app/inbox")
    expect(page.locator("html")).to_have_attribute("lang", language)
    return page.locator("[data-row]")


def go_back_to_inbox(page: Page) -> None:
    page.go_back()
    # `go_back` can return before the navigation has begun.
    expect(page).to_have_url(at("/app/inbox"))


def number_approved(n: int) -> str:
    return ngettext("%(n)d suggestion is approved.", "%(n)d suggestions are approved.", n) % {"n": n}


def expect_empty(page: Page) -> None:
    expect(page.get_by_text(gettext("There is nothing new."))).to_be_visible()
    assert [post.approved for post in Post.objects.order_by("id")] == [True, True, False, False]
    assert all(post.handled_at for post in Post.objects.filter(approved=False))


def test_shortcuts_empty_the_inbox(acme, posts, browse):
    language = "pl"
    page = browse(acme.bob, width=390, language=language)
    rows, keyboard = open_inbox(page, language), page.keyboard
    expect(rows).to_have_count(4)
    with override(language):
        next_and_previous = page.get_by_text(gettext("Next and previous suggestion"))
        keyboard.press("?")
        expect(next_and_previous).to_be_visible()
        expect_no_faults(page)
        keyboard.press("?")
        expect(next_and_previous).to_be_hidden()
        # Go to the second suggestion, back to the first one, and open it.
        for key in "jjk":
            keyboard.press(key)
        expect(page.get_by_role("link", name="Idea 0")).to_be_focused()
        keyboard.press("Enter")
        expect(page).to_have_url(at(f"/app/inbox?post={posts[0].id}"))
        expect(page.locator("[data-pane]")).to_contain_text("Idea 0")
        go_back_to_inbox(page)
        # The script of the page shows this checkbox, so from now on the keys work.
        expect(page.locator("[data-select-all]")).to_be_visible()
        # Select and approve two, then mark the others as handled, one by one.
        for key in ("j", "x", "j", "x", "a"):
            keyboard.press(key)
        expect(messages_on(page)).to_contain_text(number_approved(2))
        for number in (2, 1):
            expect(rows).to_have_count(number)
            expect(page.locator("[data-select-all]")).to_be_visible()
            keyboard.press("j")
            keyboard.press("e")
            expect(rows).to_have_count(number - 1)
        expect_empty(page)


def test_tab_and_enter_empty_the_inbox_without_javascript(acme, posts, browse):
    language = "en"
    page = browse(acme.bob, width=1280, language=language, javascript=False)
    rows, keyboard = open_inbox(page, language), page.keyboard
    with override(language):
        tab_to(page.get_by_role("link", name="Idea 0"))
        keyboard.press("Enter")
        expect(page).to_have_url(at(f"/app/inbox?post={posts[0].id}"))
        expect(page.locator("[data-pane]")).to_contain_text("Idea 0")
        go_back_to_inbox(page)
        for value, message in (("approve", number_approved(2)), ("handled", None)):
            for number in (0, 1):
                tab_to(rows.nth(number).get_by_role("checkbox"))
                keyboard.press("Space")
            tab_to(page.locator(f"button[value={value}]"))
            keyboard.press("Enter")
            if message:
                expect(messages_on(page)).to_contain_text(message)
                expect(rows).to_have_count(2)
        expect_empty(page)


def test_keys_do_nothing_where_the_user_types_or_has_switched_them_off(acme, browse):
    make_post(acme.carol, "Idea")
    page = browse(acme.bob)
    page.goto("/app/inbox")
    page.get_by_text("More actions").click()
    page.get_by_label("Status").focus()
    page.keyboard.press("e")
    page.goto("/app/profile#shortcuts")
    page.get_by_label("Single keys act on the pages of the team").uncheck()
    page.locator("#shortcuts").get_by_role("button", name="Save").click()
    expect(messages_on(page)).to_have_text("Saved.")
    page.goto("/app/inbox")
    # The focus is on the title, from which the keys would act.
    page.get_by_role("link", name="Idea").focus()
    for key in ("j", "x", "e", "a", "k", "?"):
        page.keyboard.press(key)
    expect(page).to_have_url(at("/app/inbox"))
    expect(page.locator("[name=id]")).not_to_be_checked()
    expect(page.get_by_text("They are switched off.")).to_be_hidden()
    assert Post.objects.get().handled_at is None


def test_ten_are_triaged_without_leaving_the_inbox(acme, browse):
    names = [
        "Export to PDF",
        "A dark theme",
        "A dark theme for the night",
        "Offline mode",
        "A calendar",
        "Two printers",
        "Faster search",
    ]
    posts = {name: make_post(acme.carol, name) for name in names}
    acme.account.forums.update(approval=True)
    for name in ("Cheap pills", "Good idea", "Undone"):
        posts[name] = make_post(acme.carol, name, approved=False)
    page = browse(acme.bob, width=1280)
    page.goto("/app/inbox")
    expect(page.locator("[data-select-all]")).to_be_visible()
    keyboard, pane = page.keyboard, page.locator("[data-pane] h2")

    def act(title: str, following: str, *keys: str) -> None:
        """Press the keys while a suggestion is in the pane, and wait for the next one."""
        expect(pane).to_have_text(title)
        for key in keys:
            (keyboard.press if len(key) == 1 or key in ("Enter", "Tab", "Space") else keyboard.type)(key)
        expect(pane).to_have_text(following)
        expect(page.get_by_role("link", name=following).first).to_be_focused()

    keyboard.press("j")
    act("Export to PDF", "A dark theme", "s", "Planned", "Enter")
    # The first likely duplicate is chosen.
    expect(pane).to_have_text("A dark theme")
    keyboard.press("m")
    expect(page.get_by_role("radio", name="A dark theme for the night")).to_be_focused()
    act("A dark theme", "A dark theme for the night", "Enter")
    act("A dark theme for the night", "Offline mode", "e")
    act("Offline mode", "A calendar", "g", "Me", "Enter")
    act("A calendar", "Two printers", "t", "dates", "Enter")
    expect(pane).to_have_text("Two printers")
    keyboard.press("r")
    field = page.get_by_label("Official response")
    expect(field).to_be_focused()
    field.press_sequentially("In summer.")
    field.press("Control+Enter")
    expect(pane).to_have_text("Faster search")
    act("Faster search", "Cheap pills", "e")
    act("Cheap pills", "Good idea", "#", "Spam", "Tab", "Enter")
    act("Good idea", "Undone", "a")
    expect(pane).to_have_text("Undone")
    keyboard.press("u")
    expect(messages_on(page)).to_contain_text("1 suggestion is as before.")
    expect_no_faults(page)
    rows = {post.title: post for post in Post.objects.all()}
    assert rows["Export to PDF"].status.code == "planned"
    assert rows["A dark theme"].duplicate_from_id == posts["A dark theme for the night"].id
    assert rows["A dark theme for the night"].handled_at is not None
    assert rows["Offline mode"].responsible_id == acme.bob.id
    assert rows["A calendar"].tags == ["dates"]
    assert rows["Two printers"].response == "In summer."
    assert rows["Cheap pills"].trashed_at is not None
    assert not rows["Good idea"].approved
