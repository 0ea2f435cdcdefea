"""What people do from page to page, with JavaScript and without."""

import pytest
from playwright.sync_api import expect

from tests.factories import PASSWORD, make_post

pytestmark = pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "none"])


@pytest.fixture
def acme(transactional_db, acme):
    return acme


def test_signing_in_and_out(acme, browse, javascript):
    page = browse(javascript=javascript)
    page.goto("/?order=top")
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("Login or e-mail").fill("carol")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("The login or the password is wrong.")
    expect(page.get_by_label("Login or e-mail")).to_have_value("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    # Back where it began.
    expect(page).to_have_url("http://acme.example.test/?order=top")
    page.locator("summary").filter(has_text="Carol Member").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("status")).to_have_text("You are signed out.")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()


def test_choosing_a_language(acme, browse, javascript):
    page = browse(javascript=javascript)
    page.goto("/")
    page.get_by_role("button", name="Polski").click()
    expect(page.locator("html")).to_have_attribute("lang", "pl")
    expect(page.get_by_role("status")).to_be_visible()
    page.goto("/app/sign-in")
    expect(page.locator("html")).to_have_attribute("lang", "pl")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_paging_through_a_list(acme, browse, javascript):
    for number in range(30):
        make_post(acme.bob, f"Suggestion {number}")
    page = browse(acme.carol, javascript=javascript)
    page.goto("/")
    titles = page.locator("article h2")
    expect(titles).to_have_count(25)
    expect(titles.first).to_have_text("Suggestion 29")
    page.get_by_role("link", name="Next").click()
    expect(titles).to_have_count(5)
    page.get_by_role("link", name="Previous").click()
    page.get_by_role("link", name="Top").click()
    expect(page.get_by_role("link", name="Top")).to_have_attribute("aria-current", "page")
