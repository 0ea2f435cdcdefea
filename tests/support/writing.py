"""Helpers of the tests of the pages with forms."""

from tests.support.pages import Visitor


def comments(post) -> list[str]:
    """Return the texts of a post's comments, and assert that their cached numbers are right."""
    post.refresh_from_db(fields=["comments_cache", "internal_comments_cache"])
    rows = list(post.account.comments.filter(post_id=post.id).order_by("id").values_list("comment", "internal"))
    internal_count = sum(internal for _text, internal in rows)
    assert (post.comments_cache, post.internal_comments_cache) == (len(rows) - internal_count, internal_count)
    return [text for text, _internal in rows]


def votes(post) -> int:
    """Return the count of votes, after asserting that it equals the number of rows."""
    post.refresh_from_db(fields=["votes_cache"])
    assert post.votes_cache == post.account.votes.filter(post_id=post.id).count()
    return post.votes_cache


def sender(visitor: Visitor):
    """Return a function that sends a form with the page's CSRF token."""
    visitor.get("/app/sign-in")
    if "csrf" not in visitor.cookies:
        visitor.get("/")

    def send(path, values=(), **kwargs):
        return visitor.post(path, values, headers={"X-CSRFToken": visitor.cookies["csrf"]}, **kwargs)

    return send
