"""The votes of a post as JSON, and those that the team casts for others."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_client, make_contact, make_post, make_task, make_user

ONE_VOTER = "must have one of user_id, client_id and contact_id"


def path(post) -> str:
    return f"/app/posts/{post.id}/votes.json"


def vote(acme, post, **voter):
    return acme.json().post(path(post), json={"vote": voter})


def test_it_works(acme):
    post, client = make_post(acme.carol), make_client(acme.bob)
    nobody = dict.fromkeys(("user_id", "client_id", "contact_id"))
    for voter in ({"user_id": acme.carol.id}, {"client_id": client.id}):
        assert_answered(vote(acme, post, **voter), 201, nobody | voter)
        assert_answered(vote(acme, post, **voter), 200, nobody | voter)
    assert list(acme.account.posts.filter(id=post.id).values_list("votes_cache", flat=True)) == [2]
    own, proxy = acme.account.votes.get(), acme.account.proxy_votes.get()
    times = {"from_post_id": None}
    assert read(acme.json().get(path(post))) == [
        {**nobody, **times, "user_id": acme.carol.id, "by_id": None, "created_at": on_the_wire(own.created_at)},
        {**nobody, **times, "client_id": client.id, "by_id": acme.bob.id, "created_at": on_the_wire(proxy.created_at)},
    ]
    for voter in ({"user_id": acme.carol.id}, {"client_id": client.id}) * 2:
        assert_answered(acme.json().delete(path(post), params=voter), 200, "ok")
    assert read(acme.json().get(path(post))) == []


def test_it_rejects_voters(acme):
    post, task = make_post(acme.carol), make_task(acme.bob)
    trashed = make_contact(acme.bob)
    trashed.trash(by=acme.bob)
    for values, errors in (
        ({}, {"vote": ONE_VOTER}),
        ({"user_id": acme.carol.id, "client_id": make_client(acme.bob).id}, {"vote": ONE_VOTER}),
        ({"user_id": 10**9}, {"user_id": "can't be found"}),
        ({"user_id": make_user(acme.account, is_active=False).id}, {"user_id": "can't be found"}),
        ({"contact_id": trashed.id}, {"contact_id": "can't be found"}),
    ):
        rules = {name: [rule] for name, rule in errors.items()}
        assert_refused(vote(acme, post, **values), 422, "validation_failed", rules)
    rule = {"user_id": ["may not take part in this forum"]}
    assert_refused(vote(acme, task, user_id=acme.carol.id), 422, "validation_failed", rule)
    acme.account.forums.filter(id=post.forum_id).update(access="private")
    assert_refused(vote(acme, post, user_id=acme.carol.id), 422, "validation_failed", rule)
    assert_refused(acme.json().delete(path(post)), 422, "validation_failed", {"request": [ONE_VOTER]})
    for act in (
        lambda: post.vote_for(acme.bob, by=acme.carol),
        lambda: post.withdraw_vote(by=acme.carol, voter=acme.bob),
    ):
        with pytest.raises(PermissionDenied), transaction.atomic():
            act()
    assert not acme.account.votes.exists()
