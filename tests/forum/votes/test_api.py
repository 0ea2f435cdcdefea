"""Votes for a post as JSON: one for each user."""

import pytest

from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import post_body
from tests.support.factories import make_post, make_task


def path(post) -> str:
    return f"/app/posts/{post.id}/vote.json"


@pytest.mark.parametrize("make", [make_post, make_task])
def test_it_works(acme, make):
    post = make(acme.alice, "A dark theme")
    forum_fields = {
        "task_kind": str(post.task_kind),
        "category_id": post.category_id,
        "forum_id": post.forum_id,
        "agent": "factory",
    }

    def body(votes: int) -> dict:
        return post_body(post, acme.alice, title="A dark theme", votes_cache=votes, points=votes, **forum_fields)

    location = f"http://acme.example.test/app/posts/{post.id}.json"
    assert_answered(acme.json().post(path(post)), 201, body(1), location=location)
    # A second vote changes nothing.
    assert_answered(acme.json().post(path(post), json={}), 200, body(1))
    assert_answered(acme.json(acme.alice_token).post(path(post)), 201, body(2), location=location)
    assert list(acme.account.votes.order_by("user_id").values_list("post_id", "user_id")) == [
        (post.id, acme.alice.id),
        (post.id, acme.bob.id),
    ]
    assert_answered(acme.json().delete(path(post)), 200, "ok")
    # Removing a vote succeeds even if there is none.
    assert_answered(acme.json().delete(path(post)), 200, "ok")
    assert_answered(acme.json().get(f"/app/posts/{post.id}.json"), 200, body(1))


def test_it_rejects_unknown_and_trashed_posts(acme):
    trashed = make_post(acme.alice)
    trashed.trash(by=acme.alice)
    for method in ("POST", "DELETE"):
        for id in (trashed.id, 10**15):
            assert_refused(acme.json().request(method, f"/app/posts/{id}/vote.json"), 404, "not_found")


def test_fields_in_the_body_are_ignored(acme):
    response = acme.json().post(path(make_post(acme.alice)), json={"vote": 1})
    assert response.headers["X-Ignored-Fields"] == "vote"
    response = acme.json().post(path(make_post(acme.alice)), json={"vote": 1}, headers={"Prefer": "handling=strict"})
    assert_refused(response, 422, "validation_failed", {"vote": ["is not a field that can be set"]})
