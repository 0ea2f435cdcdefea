"""Editing a comment, and its earlier versions."""

import pytest

from tests.support.factories import make_comment, make_post, make_user
from tests.support.pages import path_of_post
from tests.support.queries import capture_queries
from tests.support.writing import comments, sender


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


@pytest.fixture
def comment(acme, post):
    return make_comment(post, acme.carol, "Yes please")


def path(comment, action: str = "edit") -> str:
    return f"/app/posts/{comment.post_id}/comments/{comment.id}/{action}"


def fill_in(visitor, comment, text: str = "No, *thanks*"):
    form = visitor.get(path(comment)).forms["comment-form"]
    form["content"] = text
    return form


def shown(page, comment) -> str:
    return " ".join(page.html.find(id=f"comment-{comment.id}").get_text(" ").split())


def test_it_works(acme, post, comment):
    carol = acme.page(acme.carol)
    page = carol.get(f"/app/posts/{post.id}")
    assert "edited" not in shown(page, comment)
    form = page.click("Edit", href=path(comment)).forms["comment-form"]
    assert form["content"].value.strip() == "Yes please"
    form["content"] = "No, *thanks*"
    response = form.submit()
    assert (response.status_code, response.headers["Location"]) == (303, f"{path_of_post(post)}#comment-{comment.id}")
    assert comments(post) == ["No, *thanks*"]
    comment.refresh_from_db()
    assert (comment.edited_at, comment.edited_by_other) == (comment.updated_at, False)
    for user in (None, acme.carol, acme.bob):
        assert "edited just now No, thanks" in shown(acme.page(user).get(f"/app/posts/{post.id}"), comment)


def test_a_page_with_errors_says_whether_the_comment_is_internal(acme, post):
    internal = post.comment(by=acme.bob, text="For us", internal=True)
    page = fill_in(acme.page(acme.bob), internal, "").submit(status=422)
    page.mustcontain("Internal: only the team can see it", no="Everyone sees that it was edited.")


def test_the_team_edits_any_comment_and_sees_all_versions(acme, post, comment):
    fill_in(acme.page(acme.carol), comment, "Second").submit()
    bob = acme.page(acme.bob)
    fill_in(bob, comment, "Third").submit()
    page = acme.page().get(f"/app/posts/{post.id}")
    assert "edited by the team" in shown(page, comment)
    assert path(comment, "history") not in page
    page = bob.get(f"/app/posts/{post.id}").click("Earlier versions")
    assert [element.get_text() for element in page.html.select("pre")] == ["Third", "Second", "Yes please"]
    headings = [" ".join(element.get_text().split()) for element in page.html.select("main h2")]
    assert headings == ["Current version", "Replaced by Bob Nowak, just now", "Replaced by Carol Member, just now"]
    assert "Nobody has edited this comment." in bob.get(path(make_comment(post, acme.bob), "history"))


def test_an_unchanged_text_is_no_edit(acme, post, comment):
    carol = acme.page(acme.carol)
    fill_in(carol, comment, "Yes please").submit(status=303)
    comment.refresh_from_db()
    assert comment.edited_at is None
    assert not acme.account.comment_versions.exists()
    assert carol.get(path(comment)).click("Cancel").follow().request.path == path_of_post(post)


def test_versions_are_erased_with_the_comment(acme, post, comment):
    post.edit_comment(comment, "No", by=acme.carol)
    post.erase_comment(comment)
    assert not acme.account.comment_versions.exists()


def test_it_rejects_invalid_texts(acme, post, comment):
    form = fill_in(acme.page(acme.carol), comment)
    for text, error in (("", "Can't be blank"), (" \n", "Can't be blank"), ("x" * 65537, "at most 65536")):
        form["content"] = text
        assert error in form.submit(status=422).html.get_text()
    assert comments(post) == ["Yes please"]


def test_it_rejects_other_users(acme, comment):
    acme.page(acme.carol).get(path(comment, "history"), status=403)
    dan = acme.page(make_user(acme.account, "dan"))
    dan.get(path(comment), status=403)
    sender(dan)(path(comment), {"content": "x"}, status=403)
    assert comments(comment.account.posts.get(id=comment.post_id)) == ["Yes please"]


def test_it_rejects_comments_on_posts_that_the_author_may_no_longer_see(acme, post, comment):
    carol = acme.page(acme.carol)
    form = fill_in(carol, comment)
    post.write({"private": True}, by=acme.bob)
    carol.get(path(comment), status=404)
    response = form.submit(status=404)
    assert "This comment was deleted or moved in the meantime" in response
    assert response.forms["comment-form"]["content"].value.strip() == "No, *thanks*"
    assert comments(post) == ["Yes please"]


def test_a_text_that_was_changed_meanwhile_is_shown(acme, post, comment):
    form = fill_in(acme.page(acme.carol), comment)
    post.edit_comment(comment, "Without insults", by=acme.bob)
    response = form.submit(status=409)
    assert response.html.select_one("pre").get_text() == "Without insults"
    response.forms["comment-form"].submit(status=303)
    assert comments(post) == ["No, *thanks*"]


def test_it_takes_few_statements(acme, comment):
    form = fill_in(acme.page(acme.carol), comment)
    response, queries = capture_queries(form.submit)
    assert response.status_code == 303
    # The session; the forum; the locked post, twice; the comment; the version; the comment; the post.
    assert len(queries) == 9, queries
