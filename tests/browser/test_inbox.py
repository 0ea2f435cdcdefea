"""The team's inbox in a browser, and the beginning of the pages on a phone."""

from playwright.sync_api import expect

from tests.support.factories import make_post
from tests.support.people import messages_on


def test_several_suggestions_get_a_status(acme, browse):
    posts = [make_post(acme.carol, f"Idea {number}") for number in range(2)]
    page = browse(acme.bob)
    page.goto("/app/inbox")
    for post in posts:
        page.get_by_label(f"Select “{post.title}”").check()
    page.get_by_text("More actions").click()
    page.get_by_role("button", name="Set status").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a value for “Status” first.")
    page.get_by_text("More actions").click()
    page.get_by_label("Status").select_option("Planned")
    page.get_by_role("button", name="Set status").click()
    expect(messages_on(page)).to_contain_text("2 suggestions have a new status.")


def test_the_first_suggestion_starts_in_the_upper_half_of_a_phone(acme, browse):
    acme.account.forums.update(description="What should we build next? Vote for what you miss, and tell us more.")
    make_post(acme.carol, "A dark theme for the evening", tags=["design"])
    for user, language in ((None, "pl"), (acme.carol, "en"), (acme.bob, "pl")):
        page = browse(user, width=390, language=language)
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto("/")
        box = page.locator(".post").first.bounding_box()
        assert box is not None
        assert box["y"] < 844 / 2, (user, language)
