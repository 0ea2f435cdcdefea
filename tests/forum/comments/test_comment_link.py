"""The address of a comment, which notifications link to."""

import pytest

from tests.support.factories import make_comment, make_post, make_user
from tests.support.pages import path_of_post


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


def path(comment, post_id: int | None = None) -> str:
    return f"/app/posts/{post_id or comment.post_id}/comments/{comment.id}"


def test_it_works(acme, post):
    comment = make_comment(post, acme.carol)
    response = acme.page().get(path(comment))
    assert response.status_code == 303
    assert response.headers["Location"] == f"{path_of_post(post)}#comment-{comment.id}"


def test_it_leads_to_the_page_with_the_comment(acme, post, monkeypatch):
    for module in ("forum.posts.pages", "forum.comments.pages"):
        monkeypatch.setattr(f"{module}.COMMENTS_PER_PAGE", 2)
    # Visitors do not see the internal comment, so the other comments are on other pages for them.
    created = [post.comment(by=acme.bob, text="Text", internal=number == 0) for number in range(5)]
    pages = {}
    for user in (None, acme.bob):
        for comment in created[1:]:
            location = acme.page(user).get(path(comment)).headers["Location"]
            assert acme.page(user).get(location).html.find(id=f"comment-{comment.id}") is not None
            pages.setdefault(user, []).append(location.partition("#")[0].partition("=")[2] or "1")
    assert pages == {None: ["1", "1", "2", "2"], acme.bob: ["1", "2", "2", "3"]}


def test_it_leads_to_the_suggestion_that_the_comment_was_moved_to(acme, post):
    comment = make_comment(post, acme.carol)
    original = make_post(acme.bob, "Dark theme")
    post.merge_into(original, by=acme.bob)
    response = acme.page().get(path(comment))
    assert response.headers["Location"] == path(comment, original.id)
    assert response.follow().headers["Location"] == f"{path_of_post(original)}#comment-{comment.id}"


def test_it_rejects_comments_that_the_visitor_may_not_see(acme, post):
    private = make_comment(make_post(acme.bob, "For the team alone", private=True), acme.bob)
    internal = post.comment(by=acme.bob, text="For the team", internal=True)
    dan = acme.page(make_user(acme.account, "dan"))
    dan.get(path(private), status=404)
    dan.get(path(private, post.id)).follow().mustcontain("That comment is no longer here.")
    dan.get(path(internal)).follow().mustcontain("That comment is no longer here.", no="For the team")
    assert acme.page(acme.bob).get(path(internal)).headers["Location"].endswith(f"#comment-{internal.id}")


def test_it_rejects_a_deleted_comment(acme, post):
    comment = make_comment(post, acme.carol)
    post.erase_comment(comment)
    page = acme.page().get(path(comment)).follow(status=200)
    assert "That comment is no longer here." in page
