"""Merges of duplicates. A merge moves votes and comments, and keeps one vote for each voter. Undoing it moves them back."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.statuses.models import Status
from core.db.transactions import in_transaction
from core.errors import FieldErrors
from forum.posts.models import Post
from tests.support.assertions import assert_refused, errors_of, read
from tests.support.factories import (
    make_category,
    make_client,
    make_comment,
    make_contact,
    make_forum,
    make_post,
    make_task,
    make_user,
    make_voters,
)
from tests.support.sort_keys import assert_sort_keys_are_correct
from tests.support.threads import at_once


def mergeable_values(*posts: Post) -> list[dict]:
    """Return all values that a merge may change, for each of the posts."""
    values = []
    for post in posts:
        row = Post.objects.get(pk=post.pk)
        values.append(
            {
                "columns": [getattr(row, name) for name in Post.RELOADED_FIELDS if name != "handled_at"],
                "votes": list(post.account.votes.filter(post_id=post.id).order_by("user_id").values()),
                "proxy_votes": list(
                    post.account.proxy_votes.filter(post_id=post.id)
                    .order_by("client_id", "contact_id")
                    .values("client_id", "contact_id", "user_id", "created_at", "from_post_id")
                ),
                "comments": list(post.account.comments.filter(post_id=post.id).order_by("id").values()),
            }
        )
    return values


def assert_counts_are_correct(*posts: Post) -> None:
    for post in posts:
        row = Post.objects.get(pk=post.pk)
        votes = [
            queryset.filter(post_id=post.id).count() for queryset in (post.account.votes, post.account.proxy_votes)
        ]
        assert row.votes_cache == sum(votes)
        comments = post.account.comments.filter(post_id=post.id)
        counts = [comments.filter(internal=internal).count() for internal in (False, True)]
        assert [row.comments_cache, row.internal_comments_cache] == counts
    assert_sort_keys_are_correct()


def raises_field_errors(errors: dict):
    return pytest.raises(FieldErrors, check=lambda error: errors_of(error) == errors)


@pytest.fixture
def posts(acme) -> tuple[Post, Post, Post]:
    return make_post(acme.carol, "A"), make_post(acme.carol, "B"), make_post(acme.carol, "C")


def test_it_works(acme, posts):
    original, duplicate, _ = posts
    voter_for_both, voter_for_duplicate = make_user(acme.account), make_user(acme.account)
    client, contact = make_client(acme.alice), make_contact(acme.alice)
    original.vote(by=voter_for_both)
    for user in (voter_for_both, voter_for_duplicate):
        duplicate.vote(by=user)
    original.cast_proxy_vote(client_id=client.id, by=acme.bob)
    duplicate.cast_proxy_vote(client_id=client.id, by=acme.bob)
    duplicate.cast_proxy_vote(contact_id=contact.id, by=acme.bob)
    make_comment(original, acme.carol)
    comments = [make_comment(duplicate, acme.carol), make_comment(duplicate, acme.bob)]
    before = mergeable_values(original, duplicate)

    duplicate.merge_into(original, by=acme.bob)
    assert_counts_are_correct(original, duplicate)
    assert (original.votes_cache, original.comments_cache) == (4, 3)
    assert (duplicate.duplicate_from_id, duplicate.comments_cache, duplicate.votes_cache) == (original.id, 0, 4)
    assert (duplicate.status_code, duplicate.closed) == ("duplicate", True)
    assert set(acme.account.votes.filter(from_post_id=duplicate.id).values_list("post_id", "user_id")) == {
        (original.id, voter_for_duplicate.id)
    }
    assert acme.account.proxy_votes.get(from_post_id=duplicate.id).contact_id == contact.id
    moved = acme.account.comments.filter(from_post_id=duplicate.id)
    assert list(moved.order_by("id").values_list("id", "post_id")) == [(row.id, original.id) for row in comments]

    duplicate.undo_merge(by=acme.bob)
    assert mergeable_values(original, duplicate) == before
    assert (duplicate.status_code, duplicate.closed) == ("new", False)


def test_undoing_a_merge_keeps_later_votes_and_comments(acme, posts):
    original, duplicate, _ = posts
    voter, other = make_voters(duplicate, 2)
    duplicate.merge_into(original, by=acme.bob)
    original.withdraw_vote(by=voter)
    original.vote(by=acme.alice)
    make_comment(original, acme.alice, "later")
    duplicate.undo_merge(by=acme.bob)
    assert_counts_are_correct(original, duplicate)
    assert list(acme.account.votes.filter(post_id=original.id).values_list("user_id", flat=True)) == [acme.alice.id]
    assert set(acme.account.votes.filter(post_id=duplicate.id).values_list("user_id", flat=True)) == {
        voter.id,
        other.id,
    }
    assert acme.account.comments.get(post_id=original.id).comment == "later"


def test_a_voter_of_two_duplicates_is_counted_while_one_is_merged(acme, posts):
    original, first, second = posts
    client = make_client(acme.alice)
    former_voter = make_user(acme.account)
    for post in (first, second):
        post.vote(by=acme.alice)
        post.vote(by=former_voter)
        post.cast_proxy_vote(client_id=client.id, by=acme.bob)
    first.vote(by=acme.carol)
    for post in (first, second):
        post.merge_into(original, by=acme.bob)
    original.withdraw_vote(by=former_voter)
    assert original.votes_cache == 3
    first.undo_merge(by=acme.bob)
    assert_counts_are_correct(original, first, second)
    assert acme.account.votes.get(post_id=original.id).from_post_id == second.id
    assert acme.account.proxy_votes.get(post_id=original.id).from_post_id == second.id
    second.undo_merge(by=acme.bob)
    assert_counts_are_correct(original, first, second)
    assert Post.objects.get(pk=original.pk).votes_cache == 0


def test_a_merge_includes_earlier_merges(acme, posts):
    last, middle, first = posts
    for post in posts:
        make_voters(post, 2)
        make_comment(post, acme.carol)
        make_comment(post, acme.bob)
    before = mergeable_values(*posts)
    first.merge_into(middle, by=acme.bob)
    after_first_merge = mergeable_values(*posts)
    middle.merge_into(last, by=acme.bob)
    assert_counts_are_correct(*posts)
    assert (last.votes_cache, last.comments_cache) == (6, 6)
    reason = f"which was merged into post {last.id}: undo that first"
    with raises_field_errors({"post": [f"was merged into post {middle.id}, {reason}"]}), transaction.atomic():
        first.undo_merge(by=acme.bob)
    middle.undo_merge(by=acme.bob)
    assert mergeable_values(*posts) == after_first_merge
    first.undo_merge(by=acme.bob)
    assert mergeable_values(*posts) == before


def test_it_rejects_posts_that_cannot_be_merged(acme, posts):
    original, duplicate, other = posts
    task, trashed = make_task(acme.bob), make_post(acme.carol)
    trashed.trash(by=acme.bob)
    post_of_other_forum = make_post(acme.carol, forum_id=make_forum(acme.account).id)
    private = make_post(acme.carol, private=True)
    merged = make_post(acme.carol)
    merged.merge_into(other, by=acme.bob)
    for source, target, errors in (
        (original, original, {"duplicate_from_id": ["is the post itself"]}),
        (merged, original, {"post": [f"was merged into post {other.id}"]}),
        (original, merged, {"duplicate_from_id": [f"was itself merged into post {other.id}"]}),
        (original, task, {"duplicate_from_id": ["is a task"]}),
        (task, original, {"post": ["is a task"]}),
        (original, trashed, {"duplicate_from_id": ["is in the trash"]}),
        (trashed, original, {"post": ["is in the trash"]}),
        (post_of_other_forum, original, {"duplicate_from_id": ["is in another forum"]}),
        (private, original, {"duplicate_from_id": ["is not private, as the post is"]}),
    ):
        before = mergeable_values(source, target)
        with raises_field_errors(errors), transaction.atomic():
            source.merge_into(target, by=acme.bob)
        assert mergeable_values(source, target) == before
    with raises_field_errors({"post": ["is not merged into another"]}), transaction.atomic():
        original.undo_merge(by=acme.bob)
    # Posts of different categories can be merged, and private posts into private ones.
    duplicate.write({"category_id": make_category(acme.account).id}, by=acme.bob)
    duplicate.merge_into(original, by=acme.bob)
    private.merge_into(make_post(acme.carol, kind="private"), by=acme.bob)


def test_it_rejects_votes_and_comments_on_a_merged_post(acme, posts):
    original, duplicate, _ = posts
    client = make_client(acme.alice)
    duplicate.merge_into(original, by=acme.bob)
    # An object that was loaded before the merge.
    outdated = Post.objects.get(pk=duplicate.pk)
    outdated.duplicate_from_id = None
    errors = {"post": [f"was merged into post {original.id}"]}
    for write in (
        lambda: outdated.vote(by=acme.alice),
        lambda: outdated.withdraw_vote(by=acme.alice),
        lambda: outdated.cast_proxy_vote(client_id=client.id, by=acme.alice),
        lambda: outdated.withdraw_proxy_vote(client_id=client.id),
        lambda: outdated.comment(by=acme.alice, text="a"),
    ):
        with raises_field_errors(errors), transaction.atomic():
            write()
    paths = [("POST", "vote"), ("DELETE", "vote"), ("POST", "comments")]
    for method, path in paths:
        body = {"comment": {"comment": "a"}} if path == "comments" else {}
        response = acme.json().request(method, f"/app/posts/{duplicate.id}/{path}.json", json=body)
        assert_refused(response, 422, "validation_failed", errors)
    body = {"post": {"task_kind": "comment", "post_id": duplicate.id, "content": "a"}}
    assert_refused(acme.json().post("/app/posts.json", json=body), 422, "validation_failed", errors)
    assert_counts_are_correct(original, duplicate)


# The status


def test_without_a_duplicate_status_the_status_is_kept(acme, posts):
    original, duplicate, _ = posts
    acme.account.statuses.get(kind=Status.Kind.POST, code="duplicate").delete()
    duplicate.merge_into(original, by=acme.bob)
    assert (duplicate.status_id, duplicate.closed) == (original.status_id, False)
    assert not acme.account.status_changes.exists()
    duplicate.undo_merge(by=acme.bob)
    assert (duplicate.status_id, duplicate.closed) == (original.status_id, False)


def test_undoing_a_merge_keeps_later_decisions_of_the_team(acme, posts):
    original, duplicate, _ = posts
    statuses = {status.code: status for status in acme.account.statuses.filter(kind=Status.Kind.POST)}
    duplicate.write({"status": statuses["planned"], "closed": True}, by=acme.bob)
    duplicate.merge_into(original, by=acme.bob)
    duplicate.undo_merge(by=acme.bob)
    assert (duplicate.status_code, duplicate.closed) == ("planned", True)
    duplicate.merge_into(original, by=acme.bob)
    duplicate.write({"status": statuses["rejected"]}, by=acme.bob)
    duplicate.undo_merge(by=acme.bob)
    duplicate.refresh_from_db()
    assert (duplicate.status_id, duplicate.closed) == (statuses["rejected"].id, True)
    changes = acme.account.status_changes.of_post(duplicate.id).values_list("from_name", "name")
    assert list(changes) == [
        ("New", "Planned"),
        ("Planned", "Duplicate"),
        ("Duplicate", "Planned"),
        ("Planned", "Duplicate"),
        ("Duplicate", "Rejected"),
    ]


def test_the_former_status_of_a_duplicate_may_be_erased(acme, posts):
    original, duplicate, _ = posts
    planned = acme.account.statuses.get(kind=Status.Kind.POST, code="planned")
    duplicate.write({"status": planned}, by=acme.bob)
    duplicate.merge_into(original, by=acme.bob)
    planned.erase()
    duplicate.undo_merge(by=acme.bob)
    assert duplicate.duplicate_from_id is None
    duplicate.refresh_from_db()
    assert duplicate.status_id == acme.account.statuses.get(kind=Status.Kind.POST, code="duplicate").id


# The trash


def erase(post: Post, by) -> None:
    """Erase a post as housekeeping does after 30 days in the trash."""
    Post.objects.get(pk=post.pk).trash(by=by)
    Post.objects.filter(pk=post.pk).update(trashed_at=timezone.now() - timedelta(days=31))
    assert Post.objects.erase(before=timezone.now() - timedelta(days=30), limit=10) == 1


def test_trashed_posts_are_not_counted_again(acme, posts):
    original, duplicate, _ = posts
    make_voters(duplicate, 2)
    make_comment(duplicate, acme.carol)
    before = mergeable_values(original, duplicate)
    duplicate.merge_into(original, by=acme.bob)
    for post in (original, duplicate):
        row = Post.objects.get(pk=post.pk)
        row.trash(by=acme.alice)
        assert_counts_are_correct(original, duplicate)
        assert not acme.account.posts.listed_for(acme.alice).filter(id=duplicate.id).exists()
        row.restore()
    duplicate.undo_merge(by=acme.bob)
    assert mergeable_values(original, duplicate) == before


def test_duplicates_of_an_erased_original_are_restored(acme, posts):
    original, duplicate, _ = posts
    make_voters(duplicate, 2)
    make_comment(duplicate, acme.carol)
    before = mergeable_values(duplicate)
    duplicate.merge_into(original, by=acme.bob)
    erase(original, acme.alice)
    assert mergeable_values(duplicate) == before
    assert acme.account.status_changes.get(post_id=duplicate.id, name="New").user_id == acme.alice.id


def test_votes_and_comments_of_an_erased_duplicate_stay(acme, posts):
    last, middle, first = posts
    make_voters(middle, 2)
    make_comment(middle, acme.carol)
    first.merge_into(middle, by=acme.bob)
    middle.merge_into(last, by=acme.bob)
    erase(middle, acme.alice)
    assert_counts_are_correct(last, first)
    last.refresh_from_db()
    assert (last.votes_cache, last.comments_cache) == (2, 1)
    assert not acme.account.votes.filter(from_post_id__isnull=False).exists()
    first.refresh_from_db()
    assert first.duplicate_from_id == last.id
    first.undo_merge(by=acme.bob)


# The change feed


@pytest.mark.django_db(transaction=True)
def test_a_merge_is_in_the_change_feed(acme):
    original, duplicate = make_post(acme.carol), make_post(acme.carol)
    make_comment(duplicate, acme.carol)
    client = acme.json()
    since = read(client.get("/app/changes.json?limit=1000"))["cursor"]
    duplicate.merge_into(original, by=acme.bob)
    changes = read(client.get(f"/app/changes.json?since={since}"))["changes"]
    assert {(change["resource"], change["id"], change["change"]) for change in changes} == {
        ("post", original.id, "updated"),
        ("post", duplicate.id, "updated"),
    }


# Concurrency


@pytest.mark.django_db(transaction=True)
def test_simultaneous_votes_comments_and_merges_are_counted(acme):
    users = [make_user(acme.account) for _ in range(3)]
    client = make_client(acme.alice)

    def result_or_error(function):
        try:
            return in_transaction(function)
        except FieldErrors as error:
            return error

    for round_number in range(4):
        first, second = make_post(acme.carol), make_post(acme.carol)
        duplicate, original = (first, second) if round_number % 2 else (second, first)
        duplicate.vote(by=users[2])

        def reload(post):
            return Post.objects.get(pk=post.pk)

        def call(name, post, **arguments):
            return lambda: result_or_error(lambda: getattr(reload(post), name)(**arguments))

        at_once(
            lambda d=duplicate, o=original: result_or_error(lambda: reload(d).merge_into(reload(o), by=acme.bob)),
            # Of merges in opposite directions, one is rejected.
            lambda d=duplicate, o=original: result_or_error(lambda: reload(o).merge_into(reload(d), by=acme.bob)),
            call("vote", duplicate, by=users[0]),
            call("vote", original, by=users[0]),
            call("withdraw_vote", duplicate, by=users[2]),
            call("comment", duplicate, by=users[1], text="a"),
            call("cast_proxy_vote", duplicate, by=acme.bob, client_id=client.id),
        )
        assert_counts_are_correct(first, second)
        merged = [post for post in map(reload, (first, second)) if post.duplicate_from_id is not None]
        assert len(merged) == 1
        # The original has a vote of each voter of the duplicate, and all comments.
        voters_of_duplicate = acme.account.votes.filter(post_id=merged[0].id).values_list("user_id", flat=True)
        voters_of_original = acme.account.votes.filter(post_id=merged[0].duplicate_from_id).values_list(
            "user_id", flat=True
        )
        assert set(voters_of_duplicate) <= set(voters_of_original)
        assert not acme.account.comments.filter(post_id=merged[0].id).exists()
        at_once(
            call("undo_merge", merged[0], by=acme.bob),
            call("undo_merge", merged[0], by=acme.bob),
            call("vote", reload(merged[0]), by=users[1]),
        )
        assert_counts_are_correct(first, second)
        assert not Post.objects.filter(duplicate_from_id__isnull=False).exists()
