"""Permanent deletion of a comment by its author or the team."""

import pytest

from accounts.models import Session
from forum.models import Forum, Post
from tests.support.factories import make_comment, make_forum, make_post, make_user
from tests.support.membership import add
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.tables import table
from tests.support.threads import at_once
from tests.support.writing import comments, sender


@pytest.fixture
def post(acme):
    return make_post(acme.bob, "Dark mode")


@pytest.fixture
def comment(acme, post):
    return make_comment(post, acme.carol, "Yes please")


def path_of(comment) -> str:
    return f"/app/posts/{comment.post_id}/comments/{comment.id}/delete"


def form_of(visitor: Visitor, comment, page: str = ""):
    """Return the form that deletes the comment, or None."""
    forms = visitor.get(f"/app/posts/{comment.post_id}{page}").forms
    return next((form for form in forms.values() if form.action.endswith(f"/comments/{comment.id}/delete")), None)


@table("login", ["carol", "bob", "alice"])
def test_it_works(acme, post, comment, login):
    other = make_comment(post, acme.bob, "Soon")
    visitor = acme.page(getattr(acme, login))
    confirmation = visitor.get(f"/app/posts/{post.id}").html.find(id=f"comment-{comment.id}").find(class_="really")
    assert "The comment will be deleted for good: nobody can restore it." in confirmation.get_text()
    response = form_of(visitor, comment).submit()
    assert (response.status_code, response.headers["Location"]) == (303, f"/app/posts/{post.id}")
    page = response.follow()
    assert "The comment is deleted." in page
    assert "Yes please" not in page
    assert page.html.find(id="comments-title").get_text().strip() == "1 comment"
    assert comments(post) == [other.comment]


def test_a_deletion_does_not_update_the_post(acme, post, comment):
    before = Post.objects.get(pk=post.pk).updated_at
    form_of(acme.page(acme.carol), comment).submit()
    assert Post.objects.get(pk=post.pk).updated_at == before
    # The deleted comment was the only contribution of another user.
    assert not Post.objects.get(pk=post.pk).has_other_participants()


def test_it_rejects_other_users(acme, other, post, comment):
    dan = make_user(acme.account, "dan")
    for user in (None, dan):
        assert form_of(acme.page(user), comment) is None
    response = sender(acme.page(dan))(path_of(comment), status=403)
    assert "Only the author of a comment and the team can delete it." in response
    assert sender(acme.page())(path_of(comment)).headers["Location"].startswith("/app/sign-in?next=")
    acme.page(acme.carol).post(path_of(comment), status=403)
    sender(Visitor(other.host).sign_in("mallory"))(f"/app/posts/999999/comments/{comment.id}/delete", status=404)
    acme.page(acme.carol).get(path_of(comment), status=405)
    assert comments(post) == ["Yes please"]


def test_a_comment_added_by_htmx_can_be_deleted(acme, post):
    carol = acme.page(acme.carol)
    form = carol.get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"] = "By accident"
    fragment = form.submit(headers={"HX-Request": "true"})
    delete_form = next(form for form in fragment.forms.values() if form.action.endswith("/delete"))
    assert "The comment is deleted." in delete_form.submit().follow()
    assert comments(post) == []


def test_a_second_click_deletes_nothing_else(acme, post, comment):
    form = form_of(acme.page(acme.carol), comment)
    form.submit()
    response = form.submit()
    assert (response.status_code, response.headers["Location"]) == (303, f"/app/posts/{post.id}")
    assert "That comment is no longer here." in response.follow()
    assert comments(post) == []


@pytest.mark.django_db(transaction=True)
def test_simultaneous_clicks_delete_one_comment(acme, post, comment):
    make_comment(post, acme.bob, "Soon")
    forms = [form_of(acme.page(user), comment) for user in (acme.carol, acme.bob)]
    responses = at_once(*(form.submit for form in forms))
    assert [response.status_code for response in responses] == [303, 303]
    assert comments(post) == ["Soon"]


def test_a_post_that_was_deleted_meanwhile(acme, post, comment):
    form = form_of(acme.page(acme.carol), comment)
    post.trash(by=acme.bob)
    assert "This suggestion was deleted in the meantime" in form.submit(status=404)


def test_a_post_that_was_merged_meanwhile(acme, post, comment):
    original = make_post(acme.bob, "A dark theme")
    make_comment(original, acme.bob, "Soon")
    carol = acme.page(acme.carol)
    form = form_of(carol, comment)
    post.merge_into(original, by=acme.bob)
    response = form.submit()
    assert response.headers["Location"] == f"/app/posts/{original.id}"
    assert "merged into this one in the meantime. You can delete the comment here." in response.follow()
    comment.refresh_from_db()
    assert "The comment is deleted." in form_of(carol, comment).submit().follow()
    assert comments(original) == ["Soon"]
    # Undoing the merge moves the remaining comments back and counts them.
    Post.objects.get(pk=post.pk).undo_merge(by=acme.bob)
    assert (comments(post), comments(original)) == ([], ["Soon"])


def test_it_rejects_comments_of_another_post_or_account(acme, other, post, comment):
    comment_on_other_post = make_comment(make_post(acme.bob, "Light mode"), acme.carol)
    for other_comment in (comment_on_other_post, make_comment(make_post(other.mallory), other.mallory)):
        response = sender(acme.page(acme.alice))(f"/app/posts/{post.id}/comments/{other_comment.id}/delete")
        assert response.headers["Location"] == f"/app/posts/{post.id}"
        other_comment.refresh_from_db()
    assert comments(post) == ["Yes please"]


def test_it_rejects_comments_of_another_forum(acme, comment):
    make_forum(acme.account, "second")
    sender(Visitor("second.example.org").sign_in("alice"))(path_of(comment), status=404)
    comment.refresh_from_db()


def test_users_may_delete_comments_in_a_private_forum(acme, post, comment):
    carol = acme.page(acme.carol)
    form = form_of(carol, comment)
    acme.account.forums.update(access=Forum.Access.PRIVATE)
    add(acme.forum, acme.carol)
    assert sender(acme.page())(path_of(comment)).headers["Location"].startswith("/app/sign-in?next=")
    assert "The comment is deleted." in form.submit().follow()
    assert comments(post) == []


def test_it_rejects_comments_on_private_posts(acme):
    post = make_post(acme.carol, "For the team alone", private=True)
    comment = make_comment(post, acme.bob)
    sender(acme.page(make_user(acme.account, "dan")))(path_of(comment), status=404)
    sender(acme.page(acme.carol))(path_of(comment), status=403)
    assert len(comments(post)) == 1


def test_an_ended_session_leads_to_the_sign_in_page(acme, post, comment):
    form = form_of(acme.page(acme.carol), comment)
    Session.objects.all().delete()
    assert form.submit().headers["Location"].startswith("/app/sign-in?next=")
    assert comments(post) == ["Yes please"]


def test_the_user_stays_on_the_page_of_a_long_list(acme, post, monkeypatch):
    for module in ("reading", "comments"):
        monkeypatch.setattr(f"forum.pages.{module}.COMMENTS_PER_PAGE", 2)
    alice = acme.page(acme.alice)
    created = [make_comment(post, acme.bob) for _ in range(5)]
    # The index of the comment, and the page it is on. Comment 3 is the last one on page 2, so the user is sent to page 1.
    for number, query in ((2, "?page=2"), (4, "?page=2"), (3, "?page=2"), (0, "")):
        response = form_of(alice, created[number], "?page=last" if number == 4 else query).submit()
        assert response.headers["Location"] == f"/app/posts/{post.id}{query if number != 3 else ''}"
        response.follow(status=200)


def test_the_page_is_in_polish(acme, comment):
    carol = Visitor(acme.host, HTTP_ACCEPT_LANGUAGE="pl").sign_in("carol")
    form = form_of(carol, comment)
    page = carol.get(f"/app/posts/{comment.post_id}")
    assert "Komentarz zostanie usunięty na dobre: nikt nie będzie mógł go przywrócić." in page
    assert "Komentarz został usunięty." in form.submit().follow()


def test_it_takes_few_statements(acme, post, comment):
    form = form_of(acme.page(acme.carol), comment)
    response, queries = capture_queries(form.submit)
    assert response.status_code == 303
    # The session; the forum; the locked post, twice; the comment; its deletion; the count.
    assert len(queries) <= 7, queries
