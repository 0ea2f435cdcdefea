"""Posts and votes of the team on behalf of a client or a contact."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import FieldError
from crm.clients.models import Client
from forum.posts.models import Post
from tests.support.assertions import errors_of
from tests.support.factories import make_client, make_contact, make_post, make_task
from tests.support.threads import at_once


def votes_of(post: Post) -> int:
    return Post.objects.values_list("votes_cache", flat=True).get(pk=post.pk)


def test_it_works(acme):
    post, client, contact = make_post(acme.carol), make_client(acme.bob, "Ann"), make_contact(acme.bob, "Jan")
    post.vote(by=acme.carol)
    assert post.cast_proxy_vote(client_id=client.id, by=acme.bob)
    assert not post.cast_proxy_vote(client_id=client.id, by=acme.alice)
    assert post.cast_proxy_vote(contact_id=contact.id, by=acme.bob)
    assert votes_of(post) == post.votes_cache == 3
    names = acme.account.proxy_votes.of_post(post.id).with_names()
    assert list(names.values_list("client_name", "contact_name", "nick")) == [
        ("Ann", None, "Bob Nowak"),
        (None, "Jan", "Bob Nowak"),
    ]
    assert post.withdraw_proxy_vote(client_id=client.id)
    assert not post.withdraw_proxy_vote(client_id=client.id)
    assert votes_of(post) == post.votes_cache == 2


def test_it_rejects_unknown_and_trashed_customers(acme):
    post, trashed = make_post(acme.carol), make_client(acme.bob)
    trashed.trash(by=acme.bob)
    for customer, errors in (
        ({"client_id": trashed.id}, {"client_id": ["can't be found"]}),
        ({"client_id": 10**6}, {"client_id": ["can't be found"]}),
        ({"contact_id": trashed.id}, {"contact_id": ["can't be found"]}),
        ({}, {"client_id": ["must be given, or else a contact_id"]}),
        ({"client_id": 1, "contact_id": 2}, {"client_id": ["must be given, or else a contact_id"]}),
    ):
        with pytest.raises(FieldError) as caught, transaction.atomic():
            post.cast_proxy_vote(**customer, by=acme.bob)
        assert errors_of(caught.value) == errors
    assert votes_of(post) == 0


def test_the_database_rejects_invalid_voters(acme):
    post, votes = make_post(acme.carol), acme.account.proxy_votes
    client, contact = make_client(acme.bob), make_contact(acme.bob)
    votes.create(post_id=post.id, user_id=acme.bob.id, client_id=client.id)
    for values, name in (
        ({}, "proxyvote_of_client_or_contact"),
        ({"client_id": client.id, "contact_id": contact.id}, "proxyvote_of_client_or_contact"),
        ({"client_id": 10**12}, "forum_proxyvote_client_id_fk"),
        ({"contact_id": client.id}, "forum_proxyvote_contact_id_fk"),
        ({"client_id": client.id}, "proxyvote_client_unique"),
    ):
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            votes.create(post_id=post.id, user_id=acme.bob.id, **values)
    assert votes_of(post) == 1


def test_the_votes_of_a_client_are_counted_until_it_is_erased(acme):
    posts, client = [make_post(acme.carol) for _ in range(3)], make_client(acme.bob)
    other_client = make_client(acme.bob)
    for post in posts:
        post.cast_proxy_vote(client_id=client.id, by=acme.bob)
        post.cast_proxy_vote(client_id=other_client.id, by=acme.bob)
    client.trash(by=acme.bob)
    assert [votes_of(post) for post in posts] == [2, 2, 2]
    Client.objects.filter(pk=client.pk).update(trashed_at=timezone.now() - timedelta(days=31))
    assert Client.objects.erase(before=timezone.now() - timedelta(days=30), limit=10) == 1
    assert [votes_of(post) for post in posts] == [1, 1, 1]
    acme.account.posts.filter(id=posts[0].id).delete()
    assert acme.account.proxy_votes.count() == 2
    acme.account.proxy_votes.all().delete()
    assert [votes_of(post) for post in posts[1:]] == [0, 0]


def test_posts_of_a_restored_contact_are_linked_again(acme):
    contact, other = make_contact(acme.bob), make_contact(acme.bob)
    rows = [make(acme.bob, contact_id=contact.id) for make in (make_post, make_task)]
    relinked = [make(acme.bob, contact_id=contact.id) for make in (make_post, make_task)]

    def links(posts) -> set[tuple]:
        rows = Post.objects.filter(id__in=[post.id for post in posts])
        return set(rows.values_list("contact_id", "trashed_contact_id"))

    contact.trash(by=acme.bob)
    assert links(rows) == {(None, contact.id)}
    for post in relinked:
        post.refresh_from_db()
        post.write({"contact_id": other.id}, by=acme.bob)
    contact.restore()
    assert links(rows) == {(contact.id, None)}
    assert links(relinked) == {(other.id, None)}


@pytest.mark.django_db(transaction=True)
def test_simultaneous_votes(acme):
    posts, clients = [make_post(acme.carol) for _ in range(2)], [make_client(acme.bob) for _ in range(3)]

    def vote(post, client):
        return lambda: Post.objects.get(pk=post.pk).cast_proxy_vote(client_id=client.id, by=acme.bob)

    results = at_once(*(vote(post, client) for client in clients for post in posts for _ in range(2)))
    assert sum(results) == 6
    assert [votes_of(post) for post in posts] == [3, 3]
    assert at_once(
        *(lambda client=client: Client.objects.filter(pk=client.pk).delete()[0] for client in clients),
        lambda: Post.objects.get(pk=posts[0].pk).vote(by=acme.alice),
    ) == [1, 1, 1, True]
    assert [votes_of(post) for post in posts] == [1, 0]
