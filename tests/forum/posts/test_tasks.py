"""`completed_at` and the deal of a task."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from forum.posts.models import Post
from tests.support.assertions import on_the_wire, read
from tests.support.factories import make_deal, make_post, make_task


def stored(post: Post):
    return Post.objects.values_list("completed_at", flat=True).get(pk=post.pk)


def test_it_works(acme):
    before = timezone.now()
    task = make_task(acme.alice)
    assert stored(task) is None
    for body, is_closed in (({"closed": True}, True), ({"closed": False}, False), ({"status": "completed"}, True)):
        response = read(acme.json().put(f"/app/posts/{task.id}.json", json={"post": body}))
        completed_at = stored(task)
        assert response["completed_at"] == (on_the_wire(completed_at) if is_closed else None)
        assert not is_closed or before < completed_at < timezone.now()


def test_a_closed_task_keeps_its_time(acme):
    task = make_task(acme.alice, closed=True)
    first = stored(task)
    task.write({"closed": True, "title": "Other"}, by=acme.alice)
    assert stored(task) == first is not None
    # A suggestion has none.
    assert stored(make_post(acme.alice, closed=True)) is None


def test_the_database_refuses_other_writers(acme):
    """They would close a task without its time, or open it with one."""
    task, done = make_task(acme.alice), make_task(acme.alice, closed=True)
    for row in (task, done):
        with pytest.raises(IntegrityError, match="completion_of_task"), transaction.atomic():
            Post.objects.filter(pk=row.pk).update(closed=not row.closed)
    Post.objects.filter(pk=task.pk).update(closed=True, completed_at=done.completed_at)


def test_it_cannot_be_written(acme):
    task = make_task(acme.alice)
    response = acme.json().put(f"/app/posts/{task.id}.json", json={"post": {"completed_at": "2009-01-26T18:06:53Z"}})
    assert response.headers["X-Ignored-Fields"] == "completed_at"
    assert stored(task) is None


def test_the_task_of_a_deal_in_the_trash(acme):
    deal = make_deal(acme.alice)
    task = make_task(acme.alice, deal_id=deal.id, scheduled_at=datetime(2026, 11, 20, tzinfo=UTC))
    deal.trash(by=acme.alice)
    assert Post.objects.values_list("deal_id", "trashed_deal_id").get(pk=task.pk) == (None, deal.id)
    # A request may name a deal in the trash.
    response = acme.json().post(
        "/app/posts.json", json={"post": {"title": "Next", "task_kind": "task", "deal_id": deal.id}}
    )
    assert (read(response)["deal_id"], response.headers["X-Pending-Links"]) == (None, "deal_id")
    deal.restore()
    assert set(acme.account.posts.values_list("deal_id", "trashed_deal_id")) == {(deal.id, None)}
    deal.delete()
    assert set(acme.account.posts.values_list("deal_id", "trashed_deal_id")) == {(None, None)}
