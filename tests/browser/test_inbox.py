"""The team's inbox in a browser, and the beginning of the pages on a phone."""

import pytest
from playwright.sync_api import expect

from tests.support.factories import make_post
from tests.support.people import messages_on


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
    acme.account.forums.update(description="What should we build next? Vote for what you miss, and tell us more.")
    make_post(acme.carol, "A dark theme for the evening", tags=["design"])
    page = browse(getattr(acme, login) if login else None, width=390, language=language)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/")
    box = page.locator(".post").first.bounding_box()
    assert box is not None
    assert box["y"] < 844 / 2
