"""Two tabs, double clicks, ended sessions: the user gets a message and loses no input."""

from playwright.sync_api import expect

from accounts.sessions.models import Session
from tests.support.factories import make_post
from tests.support.pages import path_of_post
from tests.support.people import at, count_of, messages_on, sign_in, vote_button

DELETED_MESSAGE = "This suggestion was deleted in the meantime"


def test_voting_for_a_suggestion_that_was_deleted_meanwhile(acme, browse):
    post = make_post(acme.bob, "Soon gone")
    page = browse(acme.carol)
    page.goto("/")
    bob = browse(acme.bob)
    bob.goto(f"/app/posts/{post.id}")
    bob.locator("summary").filter(has_text="Delete").click()
    bob.get_by_role("button", name="Delete it").click()
    expect(messages_on(bob)).to_contain_text("“Soon gone” is deleted.")
    vote_button(page, post).click()
    expect(page.get_by_text(DELETED_MESSAGE)).to_be_visible()


def test_voting_for_a_suggestion_that_was_merged_meanwhile(acme, browse):
    post, original = make_post(acme.bob, "Twice"), make_post(acme.bob, "Once")
    page = browse(acme.carol)
    page.goto(f"/app/posts/{post.id}")
    post.merge_into(original, by=acme.bob)
    vote_button(page, post).click()
    expect(page.get_by_role("alert")).to_contain_text("was merged into another one")
    page.get_by_role("alert").get_by_role("link", name="Once").click()
    expect(page).to_have_url(at(path_of_post(original)))
    expect(count_of(page, original)).to_have_text("0")


def test_a_session_that_ends_while_writing(acme, browse):
    post = make_post(acme.bob)
    page = browse(acme.carol)
    page.goto(f"/app/posts/{post.id}")
    page.get_by_label("Your comment").fill("A long text,\nwith some thought in it.")
    Session.objects.all().delete()
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("You are no longer signed in. Nothing is lost")
    expect(page.get_by_label("Your comment")).to_have_value("A long text,\nwith some thought in it.")
    page.get_by_label("Login or e-mail").fill("carol")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in and comment").click()
    expect(page.get_by_role("alert")).to_contain_text("The login or the password is wrong.")
    expect(page.get_by_label("Your comment")).to_have_value("A long text,\nwith some thought in it.")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in and comment").click()
    expect(page.locator("#comments")).to_contain_text("with some thought in it.")
    expect(page.get_by_label("Your menu")).to_contain_text("Carol Member")
    assert [comment.user_id for comment in acme.account.comments.all()] == [acme.carol.id]


def test_signing_in_in_another_tab(acme, browse):
    """The form in the first tab has expired; it is shown again with its input."""
    first = browse(acme.carol, javascript=False)
    first.goto("/app/posts/new")
    first.get_by_label("Title").fill("Typed in the first tab")
    second = first.context.new_page()
    second.goto("/")
    second.get_by_label("Your menu").click()
    second.get_by_role("button", name="Sign out").click()
    second.get_by_role("link", name="Sign in").click()
    sign_in(second, acme.carol)
    expect(second.get_by_label("Your menu")).to_be_visible()
    first.get_by_role("button", name="Post", exact=True).click()
    expect(first.get_by_role("alert")).to_contain_text("Nothing is lost")
    expect(first.get_by_label("Title")).to_have_value("Typed in the first tab")
    first.get_by_role("button", name="Post", exact=True).click()
    expect(messages_on(first)).to_have_text("Thank you! Your suggestion is posted.")


def test_the_server_does_not_respond(acme, browse, faults):
    """The message appears in view, no input is lost, and the next response removes the message."""
    post = make_post(acme.bob)
    page = browse(acme.carol)
    page.goto(f"/app/posts/{post.id}")
    text, preview = page.get_by_label("Your comment"), page.get_by_role("button", name="Preview")
    text.fill("A long text")
    page.context.set_offline(True)
    for button in (vote_button(page, post), page.get_by_role("button", name="Comment", exact=True), preview):
        page.evaluate("document.getElementById('messages').replaceChildren()")
        button.click()
        expect(messages_on(page)).to_have_text("There was no answer. Check your connection and try again.")
        expect(page.get_by_role("alert")).to_be_focused()
    page.context.set_offline(False)
    # A proxy responds with its own error page.
    page.route("**/comments", lambda route: route.fulfill(status=502, content_type="text/html", body="<p>Bad</p>"))
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(messages_on(page)).to_contain_text("The service is not available at the moment.")
    expect(text).to_have_value("A long text")
    vote_button(page, post).click()
    expect(count_of(page, post)).to_have_text("1")
    expect(messages_on(page)).to_be_empty()
    assert {fault.partition(":")[0] for fault in faults} == {"console", "502"}
    faults.clear()


def test_the_server_does_not_respond_while_typing(acme, browse, faults):
    page = browse(acme.carol)
    page.goto("/app/posts/new")
    page.context.set_offline(True)
    with page.expect_event("requestfailed"):
        page.get_by_label("Title").press_sequentially("Dark")
    expect(messages_on(page)).to_be_empty()
    page.context.set_offline(False)
    page.goto("/")
    page.context.set_offline(True)
    page.get_by_role("searchbox").press_sequentially("dark")
    expect(messages_on(page)).to_contain_text("There was no answer.")
    expect(page.get_by_role("searchbox")).to_be_focused()
    faults.clear()


def test_going_back_to_a_filled_form(acme, browse):
    page = browse(acme.carol)
    page.goto("/app/posts/new")
    page.get_by_label("Title").fill("Half a thought")
    page.get_by_label("Details").fill("With some words")
    page.get_by_role("link", name="Roadmap").click()
    expect(page).to_have_url(at("/app/roadmap"))
    page.go_back()
    expect(page.get_by_label("Details")).to_have_value("With some words")
    expect(page.get_by_label("Title")).to_have_value("Half a thought")


def test_a_double_click(acme, browse):
    page = browse(acme.carol)
    page.goto("/app/posts/new")
    page.get_by_label("Title").fill("Only once")
    page.get_by_role("button", name="Post", exact=True).dblclick()
    expect(page.get_by_role("heading", level=1)).to_have_text("Only once")
    page.get_by_label("Your comment").fill("This too")
    page.get_by_role("button", name="Comment", exact=True).dblclick()
    expect(page.locator("#comments li")).to_have_count(1)
    expect(page.locator("#comments")).to_contain_text("This too")
    page.reload()
    expect(page.locator("#comments li")).to_have_count(1)
    assert acme.account.posts.count() == 1
