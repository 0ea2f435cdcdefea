"""Comments as posts of kind `comment`, at /app/posts/{id of the comment}.json."""

import pytest

from forum.posts.models import Post
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import comment_as_post_body
from tests.support.factories import make_post, make_task, make_token, make_user
from tests.support.tables import table

METHODS = ("GET", "PUT", "PATCH", "DELETE")


def path(comment) -> str:
    return f"/app/posts/{comment.id}.json"


def put(acme, comment, /, **values):
    return acme.json().put(path(comment), json={"post": values})


@pytest.mark.parametrize("make", [make_post, make_task])
def test_it_works(acme, make):
    post = make(acme.alice)
    fields = {"task_kind": "comment", "post_id": str(post.id), "content": "Yes", "title": "left alone"}
    response = acme.json().post("/app/posts.json", json={"post": fields})
    comment = acme.account.comments.get()
    body = comment_as_post_body(comment, acme.bob, "Yes")
    assert_answered(response, 201, body, location=f"http://acme.example.test{path(comment)}")
    assert_answered(acme.json().get(path(comment)), 200, body)
    before = post.title
    post.refresh_from_db()
    assert (post.title, post.comments_cache) == (before, 1)
    response = put(acme, comment, content="No <b>\n")
    comment.refresh_from_db()
    assert_answered(response, 200, comment_as_post_body(comment, acme.bob, "No <b>\n"))
    assert "&lt;b&gt;" in comment.comment_html
    assert read(acme.json().get(f"/app/posts/{post.id}/comments.json"))[0]["comment"] == "No <b>\n"

    assert_answered(acme.json().delete(path(comment)), 200, "ok")
    assert_refused(acme.json().get(path(comment)), 404, "not_found")
    post.refresh_from_db()
    assert post.comments_cache == 0


@table(
    ("values", "errors"),
    [
        ({"content": ""}, {"content": ["can't be blank"]}),
        ({"content": None}, {"content": ["can't be blank"]}),
        ({"comment": " "}, {"comment": ["can't be blank"]}),
        ({"content": "a" * 65_537}, {"content": ["is too long (maximum is 65536 characters)"]}),
        ({"content": "a", "task_kind": "task"}, {"task_kind": ["is not one of comment"]}),
    ],
)
def test_it_rejects_invalid_values(acme, values, errors):
    comment = make_post(acme.alice).comment(by=acme.alice, text="Yes")
    assert_refused(put(acme, comment, **values), 422, "validation_failed", errors)
    comment.refresh_from_db()
    assert comment.comment == "Yes"


def test_it_rejects_members_other_accounts_and_trashed_posts(acme, other):
    post = make_post(acme.carol)
    comment = post.comment(by=acme.carol, text="Yes")
    carol = acme.json(make_token(acme.carol))
    for method in METHODS:
        request = {"method": method, "url": path(comment), "json": {"post": {"content": "No"}}}
        assert carol.request(**request).status_code == 403
        assert_refused(other.json().request(**request), 404, "not_found")
    post.trash(by=acme.alice)
    for method in METHODS:
        request = {"method": method, "url": path(comment), "json": {"post": {"content": "No"}}}
        assert_refused(acme.json().request(**request), 404, "not_found")
    post.restore()
    assert read(acme.json().get(path(comment)))["content"] == "Yes"


def test_who_may_change_a_comment(acme):
    """The rule is tested on the model, because members have no access to the Account API."""
    post = make_post(acme.alice, private=True)
    by_carol, by_bob = (post.comment(by=user, text="Yes") for user in (acme.carol, acme.bob))
    for comment, user, expected in (
        (by_carol, acme.carol, True),
        (by_bob, acme.carol, False),
        *((by_carol, make_user(acme.account, role=role), True) for role in ("agent", "admin", "owner")),
    ):
        assert comment.may_be_changed_by(user) is expected


def test_the_changed_field_wins_when_the_whole_comment_is_sent_back(acme):
    comment = make_post(acme.alice).comment(by=acme.alice, text="Yes")
    body = read(acme.json().get(path(comment)))
    response = put(acme, comment, **body)
    assert (response.status_code, read(response)) == (200, body)
    for field in ("content", "comment"):
        body = read(put(acme, comment, **{**body, field: f"New {field}"}))
        assert body["content"] == body["comment"] == f"New {field}"
    response = put(acme, comment, user_id=7, post_id=8, content="Yes")
    assert response.headers["X-Ignored-Fields"] == "user_id,post_id"
    assert read(response)["post_id"] == comment.post_id


def test_a_merged_comment_can_be_changed_and_deleted(acme):
    post, original = make_post(acme.alice), make_post(acme.alice)
    comment = post.comment(by=acme.alice, text="Yes")
    post.merge_into(original, by=acme.alice)
    body = read(put(acme, comment, content="No"))
    assert (body["post_id"], body["content"]) == (original.id, "No")
    assert acme.json().delete(path(comment)).status_code == 200
    original.refresh_from_db()
    assert original.comments_cache == 0


def test_a_change_of_the_comment_updates_the_post(acme):
    post = make_post(acme.alice)
    comment = post.comment(by=acme.alice, text="Yes")
    Post.objects.filter(pk=post.pk).update(updated_at="2026-01-01T00:00:00Z")
    put(acme, comment, content="No")
    comment.refresh_from_db()
    post.refresh_from_db()
    assert post.updated_at == comment.updated_at


def test_reading_takes_few_queries(acme, django_assert_num_queries):
    post = make_post(acme.alice)
    comment = post.comment(by=acme.alice, text="Yes")
    client = acme.json()
    client.get(path(post))
    # The token and the post. For a comment, another statement follows the search for a post with this id.
    with django_assert_num_queries(2):
        client.get(path(post))
    with django_assert_num_queries(3):
        client.get(path(comment))
