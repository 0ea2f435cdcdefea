"""Creating comments on the pages."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.sessions.models import Session
from tests.support.factories import PASSWORD, make_post
from tests.support.pages import Visitor, path_of_post
from tests.support.queries import capture_queries
from tests.support.writing import comments


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


def fill_in(visitor: Visitor, post, text: str = "**Yes** please"):
    form = visitor.get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"] = text
    return form


def test_it_works(acme, post):
    carol = acme.page(acme.carol)
    response = fill_in(carol, post, "**Yes**\r\n  please").submit(headers={"User-Agent": "Browser/1"})
    comment = acme.account.comments.get()
    assert (response.status_code, response.headers["Location"]) == (303, f"{path_of_post(post)}#comment-{comment.id}")
    assert (comment.comment, comment.user_id, comment.agent) == ("**Yes**\n  please", acme.carol.id, "Browser/1")
    assert comments(post) == [comment.comment]
    page = response.follow()
    assert "Your comment is posted." in page
    assert "<strong>Yes</strong>" in str(page.html.find(id=f"comment-{comment.id}"))
    assert page.forms["comment-form"]["content"].value.strip() == ""


def test_htmx_adds_the_comment_to_the_list(acme, post):
    carol = acme.page(acme.carol)
    fragment = fill_in(carol, post).submit(headers={"HX-Request": "true"})
    comment = acme.account.comments.get()
    assert fragment.status_code == 200
    assert "<html" not in fragment
    addition = fragment.html.find(attrs={"hx-swap-oob": "beforeend:#comments"})
    assert addition.find(id=f"comment-{comment.id}").select_one(".who-said").get_text(strip=True) == "Carol Member"
    assert fragment.forms["comment-form"]["content"].value.strip() == ""
    assert fragment.forms["comment-form"]["form_key"].value


def test_htmx_redirects_to_the_last_page_of_a_long_list(acme, post, monkeypatch):
    monkeypatch.setattr("forum.comments.pages.COMMENTS_PER_PAGE", 0)
    carol = acme.page(acme.carol)
    fragment = fill_in(carol, post).submit(headers={"HX-Request": "true"})
    comment = acme.account.comments.get()
    assert fragment.headers["HX-Redirect"] == f"{path_of_post(post)}?page=last#comment-{comment.id}"


def test_it_rejects_invalid_texts(acme, post):
    form = fill_in(acme.page(acme.carol), post)
    for text, error in (
        ("", "Can't be blank"),
        (" \r\n ", "Can't be blank"),
        ("x" * 65537, "at most 65536"),
        ("a\u0001b", "Has characters that can't be stored"),
    ):
        form["content"] = text
        for headers in ({}, {"HX-Request": "true"}):
            response = form.submit(headers=headers, status=422)
            assert error in response.html.get_text()
            assert ("<html" in response) == (not headers)
            assert response.forms["comment-form"]["content"].value.replace("\r\n", "\n").strip() == text.strip()
    assert comments(post) == []


def test_line_breaks_count_as_one_character(acme, post):
    text = "\r\n".join(["x" * 1023] * 64)
    assert fill_in(acme.page(acme.carol), post, text).submit().status_code == 303
    assert len(comments(post)[0]) == 65535


def test_a_post_that_was_deleted_meanwhile(acme, post):
    form = fill_in(acme.page(acme.carol), post)
    post.trash(by=acme.bob)
    for headers in ({}, {"HX-Request": "true"}):
        response = form.submit(headers=headers, status=404)
        assert "This suggestion was deleted in the meantime" in response
        assert "Dark mode" not in response
        assert response.forms["comment-form"]["content"].value.strip() == "**Yes** please"


def test_a_comment_on_a_post_merged_meanwhile_goes_to_the_original(acme, post):
    original = make_post(acme.bob, "Themes")
    form = fill_in(acme.page(acme.carol), post)
    post.merge_into(original, by=acme.bob)
    response = form.submit(headers={"HX-Request": "true"}, status=409)
    assert f"/app/posts/{original.id}" in response
    form = response.forms["comment-form"]
    assert "hx-post" not in response.html.form.attrs
    response = form.submit()
    assert response.headers["Location"].startswith(f"{path_of_post(original)}#comment-")
    assert comments(original) == ["**Yes** please"]


def test_htmx_replaces_the_form_if_the_session_ended(acme, post):
    carol = acme.page(acme.carol)
    form = fill_in(carol, post)
    assert form.submit().status_code == 303
    # The form that created a comment leads to it.
    assert form.submit(headers={"HX-Request": "true"}).headers["HX-Redirect"].startswith(f"{path_of_post(post)}#")
    form = fill_in(carol, post)
    Session.objects.all().delete()
    response = form.submit(headers={"HX-Request": "true"}, status=403)
    assert "<html" not in response
    # The rest of the page is out of date too, so the next response is a whole page.
    assert "hx-post" not in response.html.form.attrs
    form = response.forms["comment-form"]
    form["login"], form["password"] = "carol", PASSWORD
    assert form.submit().status_code == 303
    assert comments(post) == ["**Yes** please"] * 2


def test_who_may_comment(acme, other, post):
    private = make_post(acme.bob, "Secret", private=True)
    carol, bob = acme.page(acme.carol), acme.page(acme.bob)
    # A visitor signs in after writing (`tests/forum/texts/test_drafts.py`).
    assert acme.page().get(f"/app/posts/{post.id}").forms["comment-form"]["act"].value == "draft"
    assert fill_in(bob, private).submit().status_code == 303
    form = fill_in(carol, post)
    form.action = f"/app/posts/{private.id}/comments"
    response = form.submit(status=404)
    assert "Secret" not in response
    other_post = make_post(other.mallory, "Theirs")
    mallory = Visitor(other.host).sign_in("mallory")
    form = fill_in(mallory, other_post)
    form.action = "/app/posts/999999/comments"
    form.submit(status=404)
    assert acme.account.comments.count() == 1
    assert carol.get(f"/app/posts/{post.id}/comments").headers["Location"] == f"/app/posts/{post.id}#comment-form"
    carol.get(f"/app/posts/{private.id}/comments", status=404)


def test_it_takes_few_statements(acme, post):
    # A new member takes one statement more, for the limit of the first day.
    acme.account.users.filter(id=acme.carol.id).update(created_at=timezone.now() - timedelta(days=2))
    form = fill_in(acme.page(acme.carol), post)
    response, queries = capture_queries(form.submit)
    assert response.status_code == 303
    # The session; the forum; the lock of the form; its stored response; the post; the comment with its count and activity;
    # storing the response.
    assert len(queries) == 7, queries
