"""The Account API (JSON) for suggestions of others: the team sets their authors and times, and merges them."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from core.errors import FieldError
from forum.posts.models import Post
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_post, make_task, make_user


def create(acme, **values):
    return acme.json().post("/app/posts.json", json={"post": {"title": "Dark theme", **values}})


def test_it_works(acme):
    body = read(create(acme, user_id=acme.carol.id, created_at="2025-03-01T12:00:00Z"))
    post = acme.account.posts.get(id=body["id"])
    assert (post.user_id, post.created_at) == (acme.carol.id, datetime(2025, 3, 1, 12, tzinfo=UTC))
    # An update ignores both.
    values = {"user_id": acme.bob.id, "created_at": "2026-01-01T00:00:00Z", "title": "Darker"}
    response = acme.json().put(f"/app/posts/{post.id}.json", json={"post": values})
    assert response.headers["X-Ignored-Fields"] == "user_id,created_at"
    assert read(create(acme, user_id=None, created_at=None))["user_id"] == acme.bob.id


def test_it_rejects_authors_and_times(acme):
    soon = timezone.now() + timedelta(hours=1)
    for values, errors in (
        ({"user_id": 10**9}, {"user_id": ["can't be found"]}),
        ({"user_id": make_user(acme.account, is_active=False).id}, {"user_id": ["can't be found"]}),
        ({"created_at": soon.isoformat()}, {"created_at": ["is in the future"]}),
        ({"created_at": "soon"}, {"created_at": ["is not a date"]}),
    ):
        response = create(acme, **values)
        found = read(response)["errors"]
        assert (response.status_code, found.keys()) == (422, errors.keys())
        assert values.get("created_at") == "soon" or found == errors
    with pytest.raises(FieldError, match="chosen by the team"):
        Post(account=acme.account).write({"title": "x", "user_id": acme.bob.id}, by=acme.carol)


def test_a_suggestion_is_merged_and_the_merge_is_undone(acme):
    post, original = make_post(acme.carol), make_post(acme.carol)
    path = f"/app/posts/{post.id}/merge.json"
    post.vote(by=acme.carol)
    merged = read(acme.json().post(path, json={"merge": {"duplicate_from_id": original.id}}))
    assert merged["duplicate_from_id"] == original.id
    assert acme.account.posts.get(id=original.id).votes_cache == 1
    assert read(acme.json().delete(path))["duplicate_from_id"] is None
    assert acme.account.posts.get(id=original.id).votes_cache == 0
    assert_refused(acme.json().delete(path), 422, "validation_failed", {"post": ["is not merged into another"]})


def test_it_rejects_merges(acme):
    post, task = make_post(acme.carol), make_task(acme.bob)
    foreign = 10**9
    for id, rule in (
        (None, "can't be blank"),
        (post.id, "is the post itself"),
        (task.id, "is a task"),
        (foreign, "can't be found"),
    ):
        response = acme.json().post(f"/app/posts/{post.id}/merge.json", json={"merge": {"duplicate_from_id": id}})
        assert_refused(response, 422, "validation_failed", {"duplicate_from_id": [rule]})
