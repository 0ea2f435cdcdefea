"""Comments of a post or task, as JSON."""

from datetime import timedelta

import pytest

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import comment_body
from tests.support.factories import make_post, make_task
from tests.support.tables import table


def path(post) -> str:
    return f"/app/posts/{post.id}/comments.json"


def url(post) -> str:
    return f"http://acme.example.test{path(post)}"


@pytest.mark.parametrize("make", [make_post, make_task])
def test_it_works(acme, make):
    post = make(acme.alice)
    assert_answered(acme.json().get(path(post)), 200, [], link=f'<{url(post)}?page=1>; rel="first"')
    response = acme.json().post(path(post), json={"comment": {"comment": "Yes,\nplease."}})
    row = acme.account.comments.get()
    body = comment_body(row, acme.bob, comment="Yes,\nplease.", post_id=post.id)
    location = f"http://acme.example.test/app/posts/{row.id}.json"
    assert_answered(response, 201, body, location=location)
    post.refresh_from_db()
    assert (post.comments_cache, post.updated_at) == (1, row.created_at)
    assert_answered(acme.json().get(path(post)), 200, [body], link=f'<{url(post)}?page=1>; rel="first"')


@table(
    ("body", "errors"),
    [
        ({"comment": {"comment": None}}, {"comment": ["can't be blank"]}),
        ({"comment": {"comment": " \n"}}, {"comment": ["can't be blank"]}),
        ({"comment": {"comment": "a" * 65_537}}, {"comment": ["is too long (maximum is 65536 characters)"]}),
        ({"comment": {"comment": []}}, {"comment": ["must be a single value"]}),
        ({}, {"comment": ["can't be blank"]}),
        ({"comment": "Yes"}, {"comment": ["must be an object"]}),
    ],
)
def test_it_rejects_invalid_bodies(acme, body, errors):
    response = acme.json().post(path(make_post(acme.alice)), json=body)
    assert_refused(response, 422, "validation_failed", errors)
    assert not acme.account.comments.exists()


def test_it_rejects_unknown_and_trashed_posts(acme):
    trashed = make_post(acme.alice)
    trashed.trash(by=acme.alice)
    for method in ("GET", "POST"):
        for id in (trashed.id, 10**15):
            sent = {"json": {"comment": {"comment": "a"}}}
            assert_refused(acme.json().request(method, f"/app/posts/{id}/comments.json", **sent), 404, "not_found")


def test_it_rejects_other_parameters(acme):
    path_of_comments = path(make_post(acme.alice))
    response = acme.json().get(f"{path_of_comments}?user_id=7&order=new", headers={"Prefer": "handling=strict"})
    rule = ["is not one of the parameters page, per_page, internal"]
    assert_refused(response, 422, "validation_failed", {"user_id": rule, "order": rule})


def test_pages_begin_with_the_oldest_comments(acme):
    post = make_post(acme.carol)
    comments = [post.comment(by=user, text=user.login) for user in (acme.alice, acme.bob, acme.carol)]
    # Comments are ordered by time, then by id, not by the order of creation.
    acme.account.comments.update(created_at=comments[0].created_at)
    oldest = post.comment(by=acme.carol, text="first")
    acme.account.comments.filter(id=oldest.id).update(created_at=comments[0].created_at - timedelta(seconds=1))
    make_post(acme.alice).comment(by=acme.alice, text="elsewhere")
    response = acme.json().get(f"{path(post)}?per_page=3")
    assert [comment["comment"] for comment in read(response)] == ["first", "alice", "bob"]
    assert [comment["nick"] for comment in read(response)] == ["Carol Member", "alice", "Bob Nowak"]
    assert response.headers["Link"] == (
        f'<{url(post)}?per_page=3&page=1>; rel="first", <{url(post)}?per_page=3&page=2>; rel="next"'
    )
    response = acme.json().get(f"{path(post)}?per_page=3&page=2")
    assert [comment["comment"] for comment in read(response)] == ["carol"]


def test_unknown_and_read_only_fields_are_ignored(acme):
    post = make_post(acme.alice)
    body = {"comment": {"comment": "a", "user_id": acme.alice.id, "nick": "x"}, "more": 1}
    response = acme.json().post(path(post), json=body)
    assert response.headers["X-Ignored-Fields"] == "more,user_id,nick"
    assert read(response)["user_id"] == acme.bob.id


def test_the_number_of_statements_is_independent_of_the_number_of_comments(acme, django_assert_num_queries):
    post = make_post(acme.alice)
    for number in range(5):
        post.comment(by=acme.alice, text=f"{number}")
    client = acme.json()
    client.get(path(post))
    # The token; the post; its comments.
    with django_assert_num_queries(3):
        client.get(path(post))
