"""Permanent deletion of a comment by its author or the team."""

import pytest

from accounts.sessions.models import Session
from forum.posts.models import Post
from tests.support.factories import make_comment, make_forum, make_post, make_user
from tests.support.pages import Visitor, path_of_post
from tests.support.queries import capture_queries
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


def test_it_works(acme, post):
    """The author and the team delete a comment. The time of the last change of the post stays the same."""
    other = make_comment(post, acme.bob, "Soon")
    for user in (acme.carol, acme.bob, acme.alice):
        comment = make_comment(post, acme.carol, "Yes please")
        before = Post.objects.get(pk=post.pk).updated_at
        visitor = acme.page(user)
        confirmation = visitor.get(f"/app/posts/{post.id}").html.find(id=f"comment-{comment.id}").find(class_="really")
        assert "The comment will be deleted for good: nobody can restore it." in confirmation.get_text()
        form = form_of(visitor, comment)
        response = form.submit()
        assert (response.status_code, response.headers["Location"]) == (303, path_of_post(post))
        page = response.follow()
        assert "The comment is deleted." in page
        assert "Yes please" not in page
        assert page.html.find(id="comments-title").get_text().strip() == "1 comment"
        assert comments(post) == [other.comment]
        assert Post.objects.get(pk=post.pk).updated_at == before
        # A second click deletes nothing else.
        response = form.submit()
        assert (response.status_code, response.headers["Location"]) == (303, path_of_post(post))
        assert "That comment is no longer here." in response.follow()
    assert not Post.objects.get(pk=post.pk).has_other_participants()


def test_it_rejects_other_users(acme, post, comment):
    dan = make_user(acme.account, "dan")
    for user in (None, dan):
        assert form_of(acme.page(user), comment) is None
    response = sender(acme.page(dan))(path_of(comment), status=403)
    assert "Only the author of a comment and the team can delete it." in response
    acme.page(acme.carol).post(path_of(comment), status=403)
    acme.page(acme.carol).get(path_of(comment), status=405)
    # The author may not see a post that became private.
    post.write({"private": True}, by=acme.bob)
    sender(acme.page(acme.carol))(path_of(comment), status=404)
    assert comments(post) == ["Yes please"]


def test_a_comment_added_by_htmx_can_be_deleted(acme, post):
    carol = acme.page(acme.carol)
    form = carol.get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"] = "By accident"
    fragment = form.submit(headers={"HX-Request": "true"})
    delete_form = next(form for form in fragment.forms.values() if form.action.endswith("/delete"))
    assert "The comment is deleted." in delete_form.submit().follow()
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
    assert response.headers["Location"] == path_of_post(original)
    assert "merged into this one in the meantime. You can delete the comment here." in response.follow()
    comment.refresh_from_db()
    assert "The comment is deleted." in form_of(carol, comment).submit().follow()
    assert comments(original) == ["Soon"]
    # Undoing the merge moves the remaining comments back and counts them.
    Post.objects.get(pk=post.pk).undo_merge(by=acme.bob)
    assert (comments(post), comments(original)) == ([], ["Soon"])


def test_it_rejects_comments_of_another_post_or_forum(acme, post, comment):
    elsewhere = make_comment(make_post(acme.bob, forum_id=make_forum(acme.account).id), acme.carol)
    for other in (make_comment(make_post(acme.bob, "Light mode"), acme.carol), elsewhere):
        response = sender(acme.page(acme.alice))(f"/app/posts/{post.id}/comments/{other.id}/delete")
        assert response.headers["Location"] == path_of_post(post)
        other.refresh_from_db()
    sender(acme.page(acme.alice))(path_of(elsewhere), status=404)
    elsewhere.refresh_from_db()
    assert comments(post) == ["Yes please"]


def test_an_ended_session_leads_to_the_sign_in_page(acme, post, comment):
    form = form_of(acme.page(acme.carol), comment)
    Session.objects.all().delete()
    assert form.submit().headers["Location"].startswith("/app/sign-in?next=")
    assert comments(post) == ["Yes please"]


def test_the_user_stays_on_the_page_of_a_long_list(acme, post, monkeypatch):
    for module in ("forum.posts.pages", "forum.comments.pages"):
        monkeypatch.setattr(f"{module}.COMMENTS_PER_PAGE", 2)
    alice = acme.page(acme.alice)
    created = [make_comment(post, acme.bob) for _ in range(5)]
    # The index of the comment, and the page it is on. Comment 3 is the last one on page 2, so the user is sent to page 1.
    for number, query in ((2, "?page=2"), (4, "?page=2"), (3, "?page=2"), (0, "")):
        response = form_of(alice, created[number], "?page=last" if number == 4 else query).submit()
        assert response.headers["Location"] == f"{path_of_post(post)}{query if number != 3 else ''}"
        response.follow(status=200)


def test_it_takes_few_statements(acme, post, comment):
    form = form_of(acme.page(acme.carol), comment)
    response, queries = capture_queries(form.submit)
    assert response.status_code == 303
    # The session; the forum; the locked post, twice; the comment; its replies; its deletion; the count; the event.
    assert len(queries) <= 9, queries
