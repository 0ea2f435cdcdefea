"""Voting on the pages."""

import pytest

from accounts.models import Session
from tests.support.factories import PASSWORD, make_post
from tests.support.membership import add
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.tables import table
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
    carol = acme.page(acme.carol)
    fragment = send(carol, post)
    assert fragment.status_code == 200
    assert "<html" not in fragment
    [pressed] = fragment.html.select(".vote button")
    assert (pressed["aria-pressed"], pressed["value"], pressed.span.text) == ("true", "0", "1")
    assert 'aria-pressed="false"' in send(carol, post, "0")
    assert votes(post) == 0


def test_a_repeated_vote_changes_nothing(acme, post):
    carol = acme.page(acme.carol)
    for _ in range(2):
        send(carol, post)
        assert votes(post) == 1
    for _ in range(2):
        send(carol, post, "0")
        assert votes(post) == 0


def test_a_visitor_can_vote_after_signing_in(acme, post):
    visitor = acme.page()
    response = press(visitor, post)
    assert response.status_code == 303
    assert response.headers["Location"] == f"/app/posts/{post.id}/vote/first"
    form = response.follow().click("Sign in with a password").forms["sign-in"]
    form["login"], form["password"] = "carol", PASSWORD
    page = form.submit().follow()
    assert "Dark mode" in page
    # A GET request changes nothing.
    assert votes(post) == 0
    response = page.forms["vote"].submit()
    assert (response.status_code, response.headers["Location"]) == (303, f"/app/posts/{post.id}")
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
    assert response.headers["Location"] == f"/app/posts/{original.id}"
    assert "was merged into this one" in response.follow()
    fragment = send(carol, post, status=409)
    assert fragment.html.a["href"] == f"/app/posts/{original.id}"
    assert fragment.headers["HX-Retarget"] == "#messages"
    assert carol.get(f"/app/posts/{post.id}/vote").headers["Location"] == f"/app/posts/{original.id}"
    assert not acme.account.votes.exists()


@table("vote", ["", "2", "yes", "-1"])
def test_it_rejects_invalid_values(acme, post, vote):
    send(acme.page(acme.carol), post, vote, status=422)
    assert votes(post) == 0


def test_who_may_vote(acme, other, post):
    private = make_post(acme.bob, "Secret", private=True)
    other_post = make_post(other.mallory, "Of other")
    post_of_acme = acme.account.posts.get(id=post.id)
    for user in (acme.carol, acme.bob, acme.alice):
        assert send(acme.page(user), post).status_code == 200
    assert votes(post) == 3
    carol = acme.page(acme.carol)
    send(carol, private, status=404)
    # Each account numbers its own rows, so acme may have a post with this id.
    if not acme.account.posts.filter(id=other_post.id).exists():
        send(carol, other_post, status=404)
    assert send(acme.page(acme.bob), private).status_code == 200
    assert not other.account.votes.exists()
    mallory = Visitor(other.host).sign_in("mallory")
    send(mallory, post_of_acme, status=404 if not other.account.posts.filter(id=post.id).exists() else 200)
    assert votes(post) == 3


def test_users_may_vote_in_a_private_forum(acme, post):
    forum = acme.forum
    forum.access = "private"
    forum.save()
    add(forum, acme.carol)
    assert "HX-Redirect" in send(acme.page(), post).headers
    assert acme.page().get(f"/app/posts/{post.id}/vote").status_code == 303
    assert send(acme.page(acme.carol), post).status_code == 200


def test_it_rejects_a_form_of_another_site(acme, post):
    acme.page(acme.carol).post(f"/app/posts/{post.id}/vote", {"vote": "1"}, status=403)
    assert votes(post) == 0


def test_it_takes_few_statements(acme, post):
    carol = acme.page(acme.carol)
    carol.get("/")
    queries = capture_queries(lambda: send(carol, post))[1]
    # The session; the forum; the locked post, twice; the existing vote; the new vote; the count.
    assert len(queries) <= 8, queries
