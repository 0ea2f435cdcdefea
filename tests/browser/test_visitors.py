"""Visitors of a forum: they browse, search, vote, sign up and post."""

import re

import pytest
from playwright.sync_api import expect

from accounts.sessions.models import Session
from tests.support.codes import code_in_letter, wrong
from tests.support.factories import make_post
from tests.support.membership import add
from tests.support.pages import path_of_post
from tests.support.people import (
    HeldRequests,
    at,
    count_of,
    messages_on,
    sign_in,
    type_in,
    vote_button,
)


def test_signing_in_and_out(acme, browse):
    page = browse(javascript=False)
    page.goto("/?order=top")
    page.get_by_role("link", name="Sign in").click()
    expect(page.get_by_label("E-mail")).to_be_focused()
    page.get_by_role("link", name="Use a password instead").click()
    page.get_by_label("Login or e-mail").fill("carol")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The login or the password is wrong.")
    expect(page.get_by_label("Login or e-mail")).to_have_value("carol")
    sign_in(page, acme.carol)
    # The user is back on the page from which they went to sign in.
    expect(page).to_have_url("http://acme.example.test/?order=top")
    page.get_by_label("Your menu").click()
    page.get_by_role("button", name="Sign out").click()
    expect(messages_on(page)).to_have_text("You are signed out.")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()


def test_choosing_a_language(acme, browse):
    page = browse(javascript=False)
    page.goto("/")
    page.get_by_role("button", name="Polski").click()
    expect(page.locator("html")).to_have_attribute("lang", "pl")
    expect(messages_on(page)).not_to_be_empty()
    page.goto("/app/sign-in")
    expect(page.locator("html")).to_have_attribute("lang", "pl")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_paging_through_a_list(acme, browse):
    for number in range(30):
        make_post(acme.bob, f"Suggestion {number}")
    page = browse(acme.carol)
    page.goto("/")
    titles = page.locator("article h2")
    expect(titles).to_have_count(25)
    expect(titles.first).to_have_text("Suggestion 29")
    page.get_by_role("link", name="Next").click()
    expect(titles).to_have_count(5)
    page.get_by_role("link", name="Previous").click()
    # Choose again before the first response: the last choice takes effect.
    page.get_by_role("link", name="Top").click()
    expect(page.get_by_role("link", name="Top")).to_have_attribute("aria-current", "page")
    expect(page).to_have_url(at("/app/suggestions?order=top"))
    page.go_back()
    expect(page.get_by_role("link", name="Top")).not_to_have_attribute("aria-current", "page")


def test_searching_within_a_status(acme, browse):
    planned = acme.account.statuses.get(kind="post", code="planned")
    make_post(acme.bob, "A dark theme")
    make_post(acme.bob, "Dark pages", status=planned)
    make_post(acme.bob, "Invoices in one file", status=planned)
    page = browse()
    page.goto("/")
    page.get_by_role("link", name="Planned").click()
    expect(page).to_have_url(at("/app/suggestions?status=planned"))
    expect(page.locator("article h2")).to_have_text(["Invoices in one file", "Dark pages"])
    page.get_by_role("searchbox").press_sequentially("dark")
    expect(page.locator("article h2")).to_have_text(["Dark pages"])
    page.get_by_role("link", name="Remove the filter Planned").click()
    expect(page.locator("article h2")).to_have_count(2)
    expect(page).to_have_url(at("/app/suggestions?q=dark"))


def test_voting_for_a_search_result(acme, browse):
    post = make_post(acme.bob, "A dark theme for the evening")
    make_post(acme.bob, "Invoices in one file")
    page = browse()
    page.goto("/")
    type_in(page.get_by_role("searchbox"), "dark th")
    expect(page.locator("article h2")).to_have_text(["A dark theme for the evening"])
    expect(count_of(page, post)).to_have_text("0")
    vote_button(page, post).click()
    page.get_by_role("link", name="Use a password instead").click()
    sign_in(page, acme.carol)
    expect(page.get_by_text("Vote for this suggestion?")).to_be_visible()
    page.get_by_role("button", name="Vote", exact=True).click()
    expect(page).to_have_url(at(path_of_post(post)))
    expect(messages_on(page)).to_have_text("You have voted for “A dark theme for the evening”.")
    expect(count_of(page, post)).to_have_text("1")
    # Remove the vote again.
    vote_button(page, post).click()
    expect(count_of(page, post)).to_have_text("0")
    expect(vote_button(page, post)).to_have_attribute("aria-pressed", "false")


def test_a_first_vote_with_a_code(acme, browse):
    post = make_post(acme.bob, "A dark theme")
    page = browse(javascript=False)
    page.goto("/")
    vote_button(page, post).click()
    expect(page.get_by_label("E-mail")).to_be_focused()
    page.keyboard.type("dan@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code from the e-mail")).to_be_focused()
    page.keyboard.type(wrong(code_in_letter()))
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Is not the code from the newest e-mail")
    page.get_by_label("Code from the e-mail").fill(code_in_letter())
    page.get_by_role("button", name="Vote").click()
    expect(messages_on(page)).to_have_text("You have voted for “A dark theme”.")
    expect(count_of(page, post)).to_have_text("1")
    expect(page.get_by_label("Your menu")).to_be_visible()


@pytest.mark.parametrize("session_ends", [True, False], ids=["the session ends", "too many requests"])
def test_a_search_response_during_the_navigation_to_another_page(acme, browse, session_ends):
    """A late response to a search must not replace the other page. If the user stays on the page, htmx follows the redirect in the response."""
    acme.account.forums.update(access="private")
    add(acme.forum, acme.carol)
    held_routes = {}

    def search():
        """Return a page with a pending search."""
        page = browse(acme.carol)
        page.goto("/")
        page.route(re.compile("q=dark"), lambda route: held_routes.update(search=route), times=1)
        page.get_by_role("searchbox").fill("dark")
        while "search" not in held_routes:
            page.wait_for_timeout(20)
        return page

    def respond() -> None:
        if session_ends:
            Session.objects.all().delete()
            held_routes["search"].continue_()
        else:
            held_routes["search"].fulfill(status=429, content_type="text/html", body="<p>Too many requests</p>")

    page = search()
    page.route("**/sign-out", lambda route: held_routes.update(out=route))
    page.get_by_label("Your menu").click()
    with page.expect_request("**/sign-out"):
        page.get_by_role("button", name="Sign out").dispatch_event("click")
    with page.expect_response(re.compile("q=dark")):
        respond()
    # Give htmx time to process the response, which must have no visible effect.
    page.wait_for_timeout(100)
    held_routes["out"].continue_()
    expect(messages_on(page)).to_have_text("You are signed out.")

    held_routes.clear()
    page = search()
    respond()
    if session_ends:
        expect(page).to_have_url(at("/app/sign-in"))
        sign_in(page, acme.carol)
    expect(page.get_by_role("searchbox")).to_have_value("dark")
    expect(page.locator("#results")).to_contain_text("Results for “dark”")


def test_voting_for_a_similar_suggestion(acme, browse):
    post = make_post(acme.bob, "A dark theme for the evening")
    page = browse(javascript=False)
    page.goto("/")
    page.get_by_role("link", name="Sign in").click()
    sign_in(page, acme.carol)
    page.get_by_role("link", name="New suggestion").click()
    page.get_by_label("Title").press_sequentially("Dark theme please")
    page.get_by_label("Details").fill("My eyes hurt.")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Not posted yet")
    # The input is kept.
    expect(page.get_by_label("Details")).to_have_value("My eyes hurt.")
    expect(page.get_by_text("Is it one of these?")).to_be_visible()
    vote_button(page, post).click()
    expect(vote_button(page, post)).to_have_attribute("aria-pressed", "true")
    expect(count_of(page, post)).to_have_text("1")
    assert acme.account.posts.get().votes_cache == 1


def test_a_first_suggestion_and_comment_with_a_code(acme, browse):
    other_post = make_post(acme.bob, "Invoices in one file that is dark")
    page = browse(width=390)
    page.goto("/")
    page.get_by_role("link", name="New suggestion").click()
    # The link, then Enter after each of three pages.
    expect(page.get_by_label("Title")).to_be_focused()
    type_in(page.get_by_label("Title"), "Dark invoices")
    expect(page.locator("#similar")).to_contain_text("Invoices in one file that is dark")
    page.get_by_label("Title").fill("A lighter theme for the evening")
    page.get_by_label("Details").fill("With **holidays**.")
    page.get_by_label("Title").press("Enter")
    expect(page.get_by_label("E-mail")).to_be_focused()
    expect(page.locator("#draft strong").last).to_have_text("holidays")
    page.get_by_role("link", name="Change it").click()
    expect(page.get_by_label("Details")).to_have_value("With **holidays**.")
    page.get_by_label("Title").fill("A dark theme")
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_label("E-mail")).to_be_focused()
    page.keyboard.type("dan@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code from the e-mail")).to_be_focused()
    expect(page.locator("main")).to_contain_text("dan@example.com")
    page.keyboard.type(code_in_letter())
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("A dark theme")
    post = acme.account.posts.exclude(id=other_post.id).get()
    expect(page).to_have_url(at(path_of_post(post)))
    page.get_by_label("What should we call you?").fill("Dan")
    page.keyboard.press("Enter")
    expect(messages_on(page)).to_have_text("Thank you, Dan.")
    expect(page).to_have_url(at(path_of_post(post)))
    expect(page.get_by_label("What should we call you?")).to_have_count(0)

    page = browse(width=390)
    page.goto(f"/app/posts/{post.id}")
    # The form is at the end of the page, so it must not have the focus when the page opens.
    expect(page.get_by_label("Your comment")).not_to_be_focused()
    page.get_by_label("Your comment").fill("It would help my eyes.")
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.get_by_label("E-mail")).to_be_focused()
    page.keyboard.type("dan@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code from the e-mail")).to_be_focused()
    page.keyboard.type(code_in_letter())
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your comment is posted.")).to_be_visible()
    expect(page.locator("#comments")).to_contain_text("It would help my eyes.")
    expect(page.locator("#comments .who-said")).to_have_text("Dan")


@pytest.mark.parametrize("first", ["the list", "the vote"])
def test_voting_while_the_list_is_loading(acme, browse, first):
    """A list that was rendered before a vote and arrives after it must not remove the vote from the page."""
    post = make_post(acme.bob, "A dark theme for the evening")
    page = browse(acme.carol)
    page.goto("/app/posts/new")
    type_in(page.get_by_label("Title"), "Dark theme")
    page.locator("#similar section").evaluate("(list) => { list.dataset.old = 'yes'; }")
    fetch_list = "fetch('/app/posts/similar?title=Dark+theme+please').then((response) => response.text())"
    list_before_the_vote = page.evaluate(fetch_list)
    held_requests = HeldRequests(page, "similar", "vote")
    page.get_by_label("Title").fill("Dark theme please")
    similar = held_requests.wait_for("similar")
    vote_button(page, post).click()
    vote = held_requests.wait_for("vote")
    if first == "the vote":
        vote.continue_()
        expect(count_of(page, post)).to_have_text("1")
    similar.fulfill(body=list_before_the_vote, content_type="text/html; charset=utf-8")
    expect(page.locator("#similar section")).not_to_have_attribute("data-old", "yes")
    if first == "the list":
        vote.continue_()
    expect(count_of(page, post)).to_have_text("1")
    expect(vote_button(page, post)).to_have_attribute("aria-pressed", "true")
    # The button works as before.
    vote_button(page, post).click()
    held_requests.wait_for("vote").continue_()
    expect(count_of(page, post)).to_have_text("0")


def test_signing_up_and_posting(acme, browse):
    page = browse()
    page.goto("/")
    page.get_by_role("link", name="Sign up").click()
    page.get_by_label("E-mail").fill("erin@example.org")
    page.get_by_role("button", name="Send me a code").click()
    # A wrong address can be changed, and a code sent again.
    page.get_by_role("link", name="Change the address").click()
    page.get_by_label("E-mail").fill("erin@example.com")
    page.get_by_role("button", name="Send me a code").click()
    page.get_by_role("button", name="Send again").click()
    expect(messages_on(page)).to_contain_text("another code is on its way")
    page.get_by_label("Code from the e-mail").fill(code_in_letter())
    page.locator("#code button").click()
    page.get_by_role("button", name="Not now").click()
    page.get_by_role("link", name="New suggestion").click()
    page.get_by_label("Title").fill("Opening hours on the first page")
    page.get_by_label("Details").fill("With **holidays**.")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#writing-preview strong")).to_have_text("holidays")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(messages_on(page)).to_have_text("Thank you! Your suggestion is posted.")
    expect(page.get_by_role("heading", level=1)).to_have_text("Opening hours on the first page")
    [post] = acme.account.posts.all()
    expect(page).to_have_url(at(path_of_post(post)))
    assert (post.user.email, post.user.role, post.user.asks_name) == ("erin@example.com", "member", False)
