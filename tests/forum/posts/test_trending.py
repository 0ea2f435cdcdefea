"""The order by trend: its formula, and the triggers that keep it."""

from datetime import UTC, datetime, timedelta
from math import log2

import pytest
from django.db import connection
from django.utils import timezone

from forum.posts.models import Post
from forum.posts.sort_keys import HALF_LIFE
from tests.support.factories import make_client, make_contact, make_post, make_user, make_voters

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def trend(post: Post) -> tuple[int, float | None, float]:
    """Return the stored count of votes, their weight, and the trend."""
    return Post.objects.values_list("votes_cache", "vote_weight", "trending").get(pk=post.pk)


def recount(post: Post) -> tuple[int, float | None, float]:
    """Compute the same from the rows. Powers are relative to now, because others overflow."""
    post.refresh_from_db()
    now = timezone.now()
    votes = [
        *post.account.votes.filter(post_id=post.id).values_list("created_at", flat=True),
        *post.account.proxy_votes.filter(post_id=post.id).values_list("created_at", flat=True),
    ]

    def logarithm(moments):
        return log2(sum(2 ** ((moment - now) / HALF_LIFE) for moment in moments)) + (now - EPOCH) / HALF_LIFE

    return len(votes), logarithm(votes) if votes else None, logarithm([*votes, post.created_at])


def check(*posts: Post) -> None:
    """Assert that the stored values of the posts equal the recounted ones."""
    for post in posts:
        assert trend(post) == pytest.approx(recount(post), abs=1e-9)


def test_it_works(acme):
    post = make_post(acme.alice)
    assert trend(post) == pytest.approx((0, None, (post.created_at - EPOCH) / HALF_LIFE))
    for user in (acme.bob, acme.carol):
        post.vote(by=user)
        check(post)
    assert post.votes_cache == 2
    post.withdraw_vote(by=acme.bob)
    check(post)
    post.withdraw_vote(by=acme.carol)
    assert trend(post)[:2] == (0, None)
    assert post.votes_cache == 0


def test_a_vote_weighs_half_after_a_half_life(acme):
    """A post and a vote, both one half-life old, weigh as much as a new post without votes."""
    now = timezone.now()
    old, new = make_post(acme.alice), make_post(acme.alice)
    for post, created_at, number in ((old, now - HALF_LIFE, 1), (new, now, 0)):
        Post.objects.filter(pk=post.pk).update(created_at=created_at)
        for user in make_voters(post, number):
            post.account.votes.filter(post_id=post.id, user_id=user.id).update(created_at=now - HALF_LIFE)
    check(old, new)
    assert trend(old)[2] == pytest.approx(trend(new)[2], abs=1e-6)


def test_a_proxy_vote_weighs_as_much_as_a_vote(acme):
    post = make_post(acme.alice)
    client, contact = make_client(acme.bob), make_contact(acme.bob)
    post.vote(by=acme.bob)
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    post.cast_proxy_vote(by=acme.bob, contact_id=contact.id)
    check(post)
    post.withdraw_proxy_vote(client_id=client.id)
    check(post)
    assert trend(post)[0] == post.votes_cache == 2


def test_a_merge_copies_the_weight_of_votes(acme):
    """Copied votes keep their time, and undoing the merge removes their weight."""
    original, duplicate, other = (make_post(acme.alice) for _ in range(3))
    for post, voters in ((original, [acme.bob]), (duplicate, [acme.bob, acme.carol]), (other, [acme.carol])):
        for voter in voters:
            post.vote(by=voter)
    acme.account.votes.filter(post_id=duplicate.id).update(created_at=timezone.now() - timedelta(days=3))
    acme.account.votes.filter(post_id=other.id).update(created_at=timezone.now() - timedelta(days=30))
    check(original, duplicate, other)
    duplicate.merge_into(original, by=acme.bob)
    other.merge_into(original, by=acme.bob)
    check(original, duplicate, other)
    assert trend(original)[0] == 2
    # Carol's copy is now a copy of her older vote.
    duplicate.undo_merge(by=acme.bob)
    check(original, duplicate, other)
    other.undo_merge(by=acme.bob)
    check(original, duplicate, other)
    assert trend(original)[0] == 1


def test_a_post_in_the_trash_keeps_its_trend(acme):
    post = make_post(acme.alice)
    post.vote(by=acme.bob)
    before = trend(post)
    post.trash(by=acme.alice)
    assert trend(post) == before
    post.restore()
    assert trend(post) == before


def test_a_statement_can_write_many_votes(acme):
    first, second = make_post(acme.alice), make_post(acme.alice)
    votes = acme.account.votes
    users = [make_user(acme.account) for _ in range(5)]
    votes.bulk_create(
        votes.model(
            account=acme.account, post_id=post.id, user_id=user.id, created_at=timezone.now() - HALF_LIFE * days
        )
        for post in (first, second)
        for days, user in enumerate(users)
    )
    check(first, second)
    votes.filter(user_id__in=[user.id for user in users[:4]]).delete()
    check(first, second)
    # A much older vote replaces the last one: the deleted votes must leave no rest in the weight.
    votes.filter(post_id=first.id).update(created_at=datetime(2009, 1, 26, tzinfo=UTC))
    check(first)


def test_an_old_vote_and_a_far_future_one_do_not_overflow(acme):
    post = make_post(acme.alice)
    post.vote(by=acme.bob)
    for year in (1, 9999):
        acme.account.votes.update(created_at=datetime(year, 1, 1, tzinfo=UTC))
        Post.objects.filter(pk=post.pk).update(created_at=datetime(10_000 - year, 1, 1, tzinfo=UTC))
        assert trend(post)[0] == 1
        assert trend(post)[2] == pytest.approx((datetime(9999, 1, 1, tzinfo=UTC) - EPOCH) / HALF_LIFE)


def test_a_vote_is_one_change_of_the_post(acme):
    """One update stores the count and the weight, so each vote is one entry of the change feed."""
    post = make_post(acme.alice)
    # Deferred triggers record the changes at the end of the transaction.
    changes = acme.account.changes.filter(resource="post", id=post.id)

    def record() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        return changes.count()

    before = record()
    post.vote(by=acme.bob)
    assert record() == before + 1
    post.withdraw_vote(by=acme.bob)
    assert record() == before + 2
