"""Voting on the pages."""

import pytest

from accounts.sessions.models import Session
from tests.support.factories import PASSWORD, make_post
from tests.support.pages import Visitor, path_of_post
from tests.support.queries import capture_queries
from tests.support.writing import votes


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


def press(visitor: Visitor, post, **kwargs):
    """Press the vote button on the page of the post."""
    return button(visitor.get(f"/app/posts/{post.id}"), post).submit("vote", **kwargs)


def button(page, post):
    return next(form for form in page.forms.values() if form.action == f"/app/posts/{post.id}/vote")


def send(visitor: Visitor, post, vote: str = "1", **kwargs):
    """Send a vote as htmx does."""
    # A page with a form sets the cookie: the sign-in page for visitors, the forum for users.
    for path in ("/app/sign-in", "/"):
        if "csrf" not in visitor.cookies:
            visitor.get(path)
    headers = {"HX-Request": "true", "X-CSRFToken": visitor.cookies["csrf"]}
    return visitor.post(f"/app/posts/{post.id}/vote", {"vote": vote}, headers=headers, **kwargs)


def test_it_works(acme, post):
    carol = acme.page(acme.carol)
    response = press(carol, post, headers={"Referer": f"http://{acme.host}/?order=top"})
    assert (response.status_code, response.headers["Location"]) == (303, f"/?order=top#vote-{post.id}")
    page = carol.get(response.headers["Location"])
    assert "You have voted for “Dark mode”." in page
    assert votes(post) == 1
    [pressed] = page.html.select(".vote button")
    assert (pressed["aria-pressed"], pressed["value"]) == ("true", "0")
    response = button(page, post).submit("vote").follow()
    assert "Your vote for “Dark mode” is withdrawn." in response
    assert votes(post) == 0


def test_htmx_replaces_the_button(acme, post):
    """A repeated vote changes nothing."""
    carol = acme.page(acme.carol)
    for _ in range(2):
        fragment = send(carol, post)
        assert fragment.status_code == 200
        assert "<html" not in fragment
        [pressed] = fragment.html.select(".vote button")
        assert (pressed["aria-pressed"], pressed["value"], pressed.span.text) == ("true", "0", "1")
        assert votes(post) == 1
    for _ in range(2):
        assert 'aria-pressed="false"' in send(carol, post, "0")
        assert votes(post) == 0


def test_a_visitor_can_vote_after_signing_in(acme, post):
    visitor = acme.page()
    response = press(visitor, post)
    assert response.status_code == 303
    assert response.headers["Location"] == f"/app/posts/{post.id}/vote/first"
    form = response.follow().click("Use a password instead").forms["sign-in"]
    form["login"], form["password"] = "carol", PASSWORD
    page = form.submit().follow()
    assert "Dark mode" in page
    # A GET request changes nothing.
    assert votes(post) == 0
    response = page.forms["vote"].submit()
    assert (response.status_code, response.headers["Location"]) == (303, path_of_post(post))
    assert votes(post) == 1
    assert visitor.get(f"/app/posts/{post.id}/vote").headers["Location"] == f"/app/posts/{post.id}"


def test_htmx_redirects_visitors_to_the_page_for_a_first_vote(acme, post):
    response = send(acme.page(), post)
    assert response.headers["HX-Redirect"] == f"/app/posts/{post.id}/vote/first"
    carol = acme.page(acme.carol)
    Session.objects.all().delete()
    # Removing a vote must not lead to the page that asks for one.
    location = send(carol, post, "0").headers["HX-Redirect"]
    assert location == f"/app/sign-in?next=%2Fapp%2Fposts%2F{post.id}&unsaved=1"


def test_it_rejects_votes_for_deleted_posts(acme, post):
    carol = acme.page(acme.carol)
    page = carol.get(f"/app/posts/{post.id}")
    post.trash(by=acme.bob)
    assert "was deleted in the meantime" in button(page, post).submit("vote", status=404)
    fragment = send(carol, post, status=404)
    assert "was deleted in the meantime" in fragment
    assert fragment.headers["HX-Retarget"] == "#messages"
    assert "was deleted in the meantime" in carol.get(f"/app/posts/{post.id}/vote", status=404)


def test_a_post_merged_meanwhile_redirects_to_the_original(acme, post):
    original = make_post(acme.bob, "Themes")
    carol = acme.page(acme.carol)
    page = carol.get(f"/app/posts/{post.id}")
    post.merge_into(original, by=acme.bob)
    response = button(page, post).submit("vote")
    assert response.headers["Location"] == path_of_post(original)
    assert "was merged into this one" in response.follow()
    fragment = send(carol, post, status=409)
    assert fragment.html.a["href"] == path_of_post(original)
    assert fragment.headers["HX-Retarget"] == "#messages"
    assert carol.get(f"/app/posts/{post.id}/vote").headers["Location"] == f"/app/posts/{original.id}"
    assert not acme.account.votes.exists()


def test_it_rejects_invalid_values(acme, post):
    carol = acme.page(acme.carol)
    for vote in ("", "2", "yes", "-1"):
        send(carol, post, vote, status=422)
    assert votes(post) == 0


def test_who_may_vote(acme, post):
    private = make_post(acme.bob, "Secret", private=True)
    for user in (acme.carol, acme.bob, acme.alice):
        assert send(acme.page(user), post).status_code == 200
    assert votes(post) == 3
    send(acme.page(acme.carol), private, status=404)
    assert send(acme.page(acme.bob), private).status_code == 200


def test_it_takes_few_statements(acme, post):
    carol = acme.page(acme.carol)
    carol.get("/")
    queries = capture_queries(lambda: send(carol, post))[1]
    # The session; the forum; the locked post, twice; the existing vote; the new vote; the count.
    assert len(queries) <= 8, queries
