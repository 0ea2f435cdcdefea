"""Counters under concurrency. Each thread has its own connection and commits its transactions. See also tests/test_concurrency.py."""

import pytest

from forum.posts.models import Post
from tests.support.factories import PASSWORD, make_post, make_user
from tests.support.threads import at_once
from tests.support.xml import call

THREADS = 12


@pytest.fixture
def acme(transactional_db, request):
    return request.getfixturevalue("acme")


def counts_of(post: Post) -> tuple[int, int]:
    """Return the counters of votes and comments, after asserting that they equal the numbers of rows."""
    post.refresh_from_db()
    assert post.votes_cache == post.account.votes.filter(post_id=post.id).count()
    assert post.comments_cache == post.account.comments.filter(post_id=post.id).count()
    return post.votes_cache, post.comments_cache


def reload(post: Post) -> Post:
    """Return another instance of the post, as another process would read it."""
    return Post.objects.get(pk=post.pk)


def test_it_works(acme):
    post = make_post(acme.carol)
    assert post.vote(by=acme.bob)
    post.comment(by=acme.bob, text="yes")
    # The instance has the new counters too.
    assert (post.votes_cache, post.comments_cache) == (1, 1)
    assert counts_of(post) == (1, 1)
    assert not post.vote(by=acme.bob)
    assert post.withdraw_vote(by=acme.bob)
    assert not post.withdraw_vote(by=acme.bob)
    assert counts_of(post) == (0, 1)


def test_votes_cast_and_withdrawn_simultaneously(acme):
    post = make_post(acme.alice)
    users = [make_user(acme.account) for _ in range(4)]

    def vote_and_withdraw(number: int):
        user = users[number % 4]
        for round_number in range(5):
            if (number + round_number) % 2:
                reload(post).vote(by=user)
            else:
                reload(post).withdraw_vote(by=user)

    at_once(*(lambda number=number: vote_and_withdraw(number) for number in range(THREADS)))
    votes, _ = counts_of(post)
    assert 0 <= votes <= 4


def test_simultaneous_votes_comments_and_changes(acme):
    post = make_post(acme.alice)
    users = [make_user(acme.account) for _ in range(THREADS // 2)]
    path = f"/app/posts/{post.id}.xml".encode()

    def change(number: int):
        body = f"<post><title>title {number}</title><votes-cache>0</votes-cache></post>".encode()
        return call(acme.host, path, method="PUT", user=("alice", PASSWORD), body=body).status_code

    functions = [lambda user=user: reload(post).vote(by=user) for user in users]
    functions += [lambda user=user: reload(post).comment(by=user, text="yes") for user in users[:4]]
    functions += [lambda number=number: change(number) for number in range(4)]
    results = at_once(*functions)
    assert results[-4:] == [200] * 4
    assert counts_of(post) == (THREADS // 2, 4)
    assert post.title in {f"title {number}" for number in range(4)}
