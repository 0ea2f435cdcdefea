"""Counters under concurrency. Each thread has its own connection and commits its transactions."""

import pytest

from forum.models import Post
from tests.support.factories import PASSWORD, make_post, make_user
from tests.support.threads import at_once
from tests.support.xml import call

THREADS = 16


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


def test_votes_of_many_users(acme):
    post = make_post(acme.alice)
    users = [make_user(acme.account) for _ in range(THREADS)]
    results = at_once(*(lambda user=user: reload(post).vote(by=user) for user in users))
    assert results == [True] * THREADS
    assert counts_of(post) == (THREADS, 0)
    withdrawn = at_once(*(lambda user=user: reload(post).withdraw_vote(by=user) for user in users))
    assert withdrawn == [True] * THREADS
    assert counts_of(post) == (0, 0)


def test_repeated_simultaneous_votes_count_once(acme):
    post = make_post(acme.alice)
    results = at_once(*[lambda: reload(post).vote(by=acme.bob)] * THREADS)
    assert sorted(results) == [False] * (THREADS - 1) + [True]
    assert counts_of(post) == (1, 0)
    withdrawn = at_once(*[lambda: reload(post).withdraw_vote(by=acme.bob)] * THREADS)
    assert sorted(withdrawn) == [False] * (THREADS - 1) + [True]
    assert counts_of(post) == (0, 0)


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


def test_simultaneous_comments(acme):
    post = make_post(acme.alice)
    texts = [f"comment {number}" for number in range(THREADS)]
    at_once(*(lambda text=text: reload(post).comment(by=acme.bob, text=text) for text in texts))
    assert counts_of(post) == (0, THREADS)
    assert sorted(acme.account.comments.values_list("comment", flat=True)) == sorted(texts)


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


def test_simultaneously_created_posts_have_different_ids(acme):
    def create(number: int):
        body = f"<post><title>post {number}</title></post>".encode()
        response = call(acme.host, b"/app/posts.xml", method="POST", user=("alice", PASSWORD), body=body)
        assert response.status_code == 201
        return response.headers["Location"]

    locations = at_once(*(lambda number=number: create(number) for number in range(THREADS)))
    assert len(set(locations)) == THREADS
    assert acme.account.posts.count() == THREADS


def test_a_login_can_be_created_once(acme):
    def create(number: int):
        body = f"<user><login>dora</login><email>d{number}@x.example</email><password>{PASSWORD}</password></user>"
        return call(
            acme.host, b"/app/users.xml", method="POST", user=("alice", PASSWORD), body=body.encode()
        ).status_code

    assert sorted(at_once(*(lambda number=number: create(number) for number in range(8)))) == [201] + [422] * 7
    assert acme.account.users.filter(login="dora").count() == 1


def test_a_post_can_be_deleted_once(acme):
    post = make_post(acme.alice)
    path = f"/app/posts/{post.id}.xml".encode()
    delete = lambda: call(acme.host, path, method="DELETE", user=("alice", PASSWORD)).status_code  # noqa: E731
    assert sorted(at_once(*[delete] * THREADS)) == [200] + [404] * (THREADS - 1)
