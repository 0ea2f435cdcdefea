"""The team's inbox in a browser, and the beginning of the pages on a phone."""

import pytest
from playwright.sync_api import expect

from forum.models import Post
from tests.support.factories import make_post
from tests.support.people import at, messages_on


def test_the_team_empties_its_inbox_by_keyboard(acme, browse):
    acme.account.forums.update(approval=True)
    posts = [make_post(acme.carol, f"Idea {number}") for number in range(4)]
    page = browse(acme.bob)
    page.goto("/app/inbox")
    keyboard, rows = page.keyboard, page.locator("[data-row]")
    expect(rows).to_have_count(4)
    keyboard.press("?")
    expect(page.get_by_text("Next and previous suggestion")).to_be_visible()
    # The second one, back to the first one, and open it.
    for key in "jjk":
        keyboard.press(key)
    expect(page.get_by_role("link", name="Idea 0")).to_be_focused()
    keyboard.press("Enter")
    expect(page).to_have_url(at(f"/app/posts/{posts[0].id}"))
    page.go_back()
    # Select and approve two, then mark them as handled, one by one.
    for key in ("j", "x", "j", "x", "a"):
        keyboard.press(key)
    expect(messages_on(page)).to_have_text("2 suggestions are approved.")
    for number in (2, 1):
        expect(rows).to_have_count(number)
        keyboard.press("j")
        keyboard.press("e")
        expect(rows).to_have_count(number - 1)
    expect(page.get_by_text("There is nothing new.")).to_be_visible()
    assert [post.approved for post in Post.objects.order_by("id")] == [True, True, False, False]


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
    for key in "jxe":
        page.keyboard.press(key)
    expect(page.locator("[name=id]")).not_to_be_checked()
    assert Post.objects.get().handled_at is None


def test_several_suggestions_get_a_status(acme, browse, javascript):
    posts = [make_post(acme.carol, f"Idea {number}") for number in range(2)]
    page = browse(acme.bob, javascript=javascript)
    page.goto("/app/inbox")
    for post in posts:
        page.get_by_label(f"Select “{post.title}”").check()
    page.get_by_text("More actions").click()
    page.get_by_role("button", name="Set status").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a value for “Status” first.")
    page.get_by_text("More actions").click()
    page.get_by_label("Status").select_option("Planned")
    page.get_by_role("button", name="Set status").click()
    expect(messages_on(page)).to_have_text("2 suggestions have a new status.")


@pytest.mark.parametrize("language", ["en", "pl"])
@pytest.mark.parametrize("login", ["", "carol", "bob"])
def test_the_first_suggestion_starts_in_the_upper_half_of_a_phone(acme, browse, language, login):
    acme.account.forums.update(description="What we build next: your wishes decide.")
    make_post(acme.carol, "A dark theme for the evening", tags=["design"])
    page = browse(getattr(acme, login) if login else None, width=390, language=language)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/")
    box = page.locator(".post").first.bounding_box()
    assert box is not None
    assert box["y"] < 844 / 2
