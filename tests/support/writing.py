"""Helpers of the tests of the pages with forms."""

from tests.support.pages import Visitor


def comments(post) -> list[str]:
    """Return the texts of a post's comments, and assert that their cached number is right."""
    post.refresh_from_db(fields=["comments_cache"])
    texts = list(post.account.comments.filter(post_id=post.id).order_by("id").values_list("comment", flat=True))
    assert post.comments_cache == len(texts)
    return texts


def sender(visitor: Visitor):
    """Return a function that sends a form with the page's CSRF token."""
    visitor.get("/app/sign-in")
    if "csrf" not in visitor.cookies:
        visitor.get("/")

    def send(path, values=(), **kwargs):
        return visitor.post(path, values, headers={"X-CSRFToken": visitor.cookies["csrf"]}, **kwargs)

    return send
