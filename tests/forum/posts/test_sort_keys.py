"""The sort keys of posts: copies that follow each change, and updates of posts without entries in indexes."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from forum.posts.models import Post
from forum.posts.sort_keys import COPIED_COLUMNS, PostSortKey
from tests.support.factories import make_category, make_client, make_post, make_task
from tests.support.indexes import columns_changed_by, indexed_columns
from tests.support.sort_keys import assert_sort_keys_are_correct
from tests.support.tables import table


def key_of(post: Post) -> PostSortKey | None:
    return PostSortKey.objects.filter(account_id=post.account_id, id=post.id).first()


def test_it_works(acme):
    post = make_post(acme.carol)
    post.vote(by=acme.bob)
    comment = post.comment(by=acme.bob, text="yes")
    post.refresh_from_db()
    key = key_of(post)
    assert {name: getattr(key, name) for name in COPIED_COLUMNS} == {
        "forum_id": acme.forum.id,
        "category_id": acme.category.id,
        "status_id": post.status_id,
        "visibility": 1,
        "client_id": None,
        "contact_id": None,
        "deal_id": None,
        "votes_cache": 1,
        "comments_cache": 1,
        "trending": post.trending,
        "updated_at": comment.created_at,
    }


def test_a_task_has_a_sort_key(acme):
    client = make_client(acme.alice)
    task = make_task(acme.alice, client_id=client.id)
    key = key_of(task)
    assert (key.forum_id, key.category_id, key.visibility, key.client_id) == (None, None, 0, client.id)


def test_each_change_of_a_post_changes_its_sort_key(acme):
    post, original, client = make_post(acme.carol), make_post(acme.carol), make_client(acme.alice)
    category = make_category(acme.account, "Second")
    planned = acme.account.statuses.get(kind="post", code="planned")
    for change in (
        lambda: post.vote(by=acme.alice),
        lambda: post.vote(by=acme.bob),
        lambda: post.withdraw_vote(by=acme.alice),
        lambda: post.comment(by=acme.carol, text="yes"),
        lambda: post.write({"title": "Another", "private": True}, by=acme.bob),
        *(
            partial(Post.objects.filter(pk=post.pk).update, **values)
            for values in (
                {"category_id": category.id},
                {"status_id": planned.id},
                {"approved": False},
                {"kind": "private", "private": False},
                {"created_at": timezone.now() - timedelta(days=1)},
                {"votes_cache": 7},
                {"duplicate_from_id": original.id},
                {"duplicate_from_id": None, "category_id": acme.category.id, "kind": "question", "approved": True},
                {"private": True, "votes_cache": 1},
            )
        ),
        lambda: acme.account.posts.update(client_id=client.id),
        lambda: client.trash(by=acme.alice),
        lambda: acme.category.erase(into=category),
        lambda: post.refresh_from_db(),
        lambda: original.refresh_from_db(),
        lambda: Post.objects.filter(pk=post.pk).update(private=False),
        lambda: post.merge_into(original, by=acme.bob),
        lambda: post.undo_merge(by=acme.bob),
        lambda: post.trash(by=acme.bob),
    ):
        change()
        assert_sort_keys_are_correct()
    assert key_of(original).category_id == category.id
    assert key_of(post) is None
    # Changes of a post in the trash are copied when it is restored.
    Post.objects.filter(pk=post.pk).update(votes_cache=7)
    assert key_of(post) is None
    post.restore()
    assert key_of(post).votes_cache == 7
    post.delete()
    original.delete()
    assert not PostSortKey.objects.exists()


@table(
    "change",
    [
        pytest.param(lambda post, cast: post.vote(by=cast.bob), id="vote"),
        pytest.param(lambda post, cast: post.withdraw_vote(by=cast.alice), id="withdrawn vote"),
        pytest.param(lambda post, cast: post.comment(by=cast.carol, text="yes"), id="comment"),
        pytest.param(lambda post, cast: post.comment(by=cast.bob, text="yes", internal=True), id="internal comment"),
        pytest.param(lambda post, cast: Post.objects.filter(pk=post.pk).update(updated_at=timezone.now()), id="change"),
    ],
)
def test_no_index_of_posts_has_a_column_that_changes_often(acme, change):
    """An index with such a column would make each vote or comment write entries in all indexes of the post."""
    post = make_post(acme.carol)
    post.vote(by=acme.alice)
    # The first act of the team changes the inbox.
    post.mark_handled()
    changed = columns_changed_by(lambda: change(post, acme), post)
    assert changed
    assert changed.isdisjoint(indexed_columns(Post))
