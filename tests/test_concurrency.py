"""Simultaneous requests on real threads and connections: what may happen once happens once, no change is partial, and none fails."""

import random
from collections import Counter
from functools import partial

import pytest

from accounts.account.models import Account
from accounts.tags.models import Tag
from core.db.transactions import in_transaction
from core.errors import ConcurrentUpdate, FieldError
from core.http.idempotency import IdempotentAnswer
from crm.clients.models import Client, ClientExternalId
from crm.contacts.models import Contact, ContactList, ContactListCount
from crm.deals.models import Deal, DealExternalId
from forum.posts.models import Post
from tests.support.assertions import assert_refused, read
from tests.support.bodies import client_body
from tests.support.factories import (
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_post,
    make_task,
    make_user,
)
from tests.support.sort_keys import assert_sort_keys_are_correct
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 8
ROUNDS = range(6)


def send(acme, method, path, body, *, number=REQUESTS, token=None, headers=lambda n: {}):
    """Send a request `number` times at once. `body` is called with the number of the request."""
    clients = [acme.json(token) for _ in range(number)]
    return at_once(
        *(
            lambda client=client, n=n: client.request(method, path, json=body(n), headers=headers(n))
            for n, client in enumerate(clients)
        )
    )


def in_parallel(acme, *requests, token=None):
    """Send different requests at once: their methods, paths and bodies."""
    clients = [acme.json(token) for _ in requests]
    return at_once(
        *(
            lambda client=client, request=request: client.request(request[0], request[1], json=request[2])
            for client, request in zip(clients, requests, strict=True)
        )
    )


def statuses(responses) -> Counter:
    return Counter(response.status_code for response in responses)


def client(**fields):
    return {"client": {"name": "a", **fields}}


NEW_ACCOUNT = {
    "account": {"prefix": "new-one"},
    "user": {"login": "ann", "email": "ann@example.com", "password": "a long pass phrase"},
}
VIEW = {"resource": "client", "name": "Leads", "query": "city=a"}
# A create that is sent several times at once, and the errors of those that are not the first. Without errors, they find the first row.
CREATES = {
    "a client": (
        "clients",
        lambda n: client(external_ids={"key": "1"}),
        {"external_ids": "key 1 belongs to client {}"},
    ),
    "a deal": (
        "deals",
        lambda n: {"deal": {"name": "a", "external_ids": {"key": "1"}}},
        {"external_ids": "key 1 belongs to deal {}"},
    ),
    "a contact list": ("contact_lists", lambda n: {"contact_list": {"name": "News"}}, {"name": "is already taken"}),
    "a view": ("views", lambda n: {"view": VIEW}, {"name": "is the name of another view"}),
    "an account": ("account", lambda n: NEW_ACCOUNT, {"account.prefix": "is already taken"}),
    "a status": ("statuses", lambda n: {"status": {"code": "waiting", "name": "Waiting", "position": n}}, {}),
    "a client by its e-mail": (
        "clients",
        lambda n: {"try_update": True, **client(email=("ann@example.net", "ANN@example.net")[n % 2])},
        {},
    ),
    "a client by its external id": ("clients", lambda n: {"try_update": True, **client(external_ids={"key": "2"})}, {}),
    "a client by both": (
        "clients",
        lambda n: {"try_update": True, **client(email="bea@example.net", external_ids={"key": "3"})},
        {},
    ),
    "a client by its e-mail, with another external id for each": (
        "clients",
        lambda n: {"try_update": True, **client(email="cyd@example.net", external_ids={f"shop{n}": "1"})},
        {},
    ),
}


def test_it_works(acme, subtests):
    """One of the creates succeeds. The others are rejected, or find the row of the first."""
    acme.account.partner_key = "key"
    acme.account.save()
    for name, (plural, body, errors) in CREATES.items():
        with subtests.test(name):
            responses = send(acme, "POST", f"/app/{plural}.json", body, token=acme.alice_token)
            assert statuses(responses) == {201: 1, (422 if errors else 200): REQUESTS - 1}
            [created] = [read(response) for response in responses if response.status_code == 201]
            expected = {field: [text.format(created.get("id"))] for field, text in errors.items()}
            for response in responses:
                if response.status_code == 422:
                    assert_refused(response, 422, "validation_failed", expected)
                elif response.status_code == 200:
                    assert read(response)["id"] == created["id"]
    ids = {"key": [*"123"], **{f"shop{n}": ["1"] for n in range(REQUESTS)}}
    rows = ClientExternalId.objects.order_by("key", "value")
    assert {key: [row.value for row in rows if row.key == key] for key in ids} == ids
    counts = (Client, Deal, DealExternalId, ContactList, Account)
    assert [model.objects.count() for model in counts] == [5, 1, 1, 1, 2]
    assert (acme.account.saved_views.count(), acme.account.statuses.filter(code="waiting").count()) == (1, 1)


@pytest.mark.parametrize(("kind", "model"), [("client", Client), ("deal", Deal)])
def test_upserts_with_the_same_external_id(acme, kind, model):
    path = f"/app/{kind}s.json?external_ids[key]=17"
    responses = send(acme, "PUT", path, lambda n: {kind: {"name": "a", "external_ids": {f"key{n}": "1"}}})
    assert statuses(responses) == {201: 1, 200: REQUESTS - 1}
    row = model.objects.get()
    assert {read(response)["id"] for response in responses} == {row.id}
    assert row.external_ids == {"key": "17", **{f"key{n}": "1" for n in range(REQUESTS)}}


def test_updates_of_external_ids(acme):
    """Several clients get the same external id, which one of them keeps. Then two swap theirs, and never hold the same one."""
    rows = [make_client(acme.alice) for _ in range(REQUESTS)]
    body = client(external_ids={"key": "17"})
    responses = in_parallel(acme, *(("PUT", f"/app/clients/{row.id}.json", body) for row in rows))
    assert statuses(responses) == {200: 1, 422: REQUESTS - 1}
    [holder] = [read(response)["id"] for response in responses if response.status_code == 200]
    for response in responses:
        if response.status_code == 422:
            expected = {"external_ids": [f"key 17 belongs to client {holder}"]}
            assert_refused(response, 422, "validation_failed", expected)
    assert [row.id for row in Client.objects.exclude(external_ids={})] == [holder]

    first, second = (make_client(acme.alice, external_ids={"a": value}).id for value in "12")
    for _ in ROUNDS:
        responses = in_parallel(
            acme,
            ("PUT", f"/app/clients/{first}.json", client(external_ids={"a": "2"})),
            ("PUT", f"/app/clients/{second}.json", client(external_ids={"a": "1"})),
        )
        # Either update may be rejected while the other client still holds the id.
        assert {response.status_code for response in responses} <= {200, 422}
        values = {row.id: row.external_ids["a"] for row in Client.objects.filter(id__in=(first, second))}
        assert len(set(values.values())) == 2
        assert {row.holder_id: row.value for row in ClientExternalId.objects.filter(key="a")} == values


def test_creates_with_the_same_external_ids_in_opposite_orders(acme):
    """Two creates with the same two external ids in opposite orders: the second is rejected, and there is no deadlock."""
    for n in ROUNDS:
        ids = {"a": f"{n}", "b": f"{n}"}, {"b": f"{n}", "a": f"{n}"}
        responses = send(
            acme, "POST", "/app/clients.json", lambda i, ids=ids: client(external_ids=ids[i % 2]), number=4
        )
        assert statuses(responses) == {201: 1, 422: 3}


def test_a_nested_client_is_created_once(acme):
    responses = send(
        acme,
        "POST",
        "/app/deals.json",
        lambda n: {
            "deal": {"name": f"{n}", "client": {"name": "Ann", "external_ids": {"shop_id": "17", f"other{n}": "1"}}}
        },
    )
    assert statuses(responses) == {201: REQUESTS}
    row = Client.objects.get()
    assert {read(response)["client_id"] for response in responses} == {row.id}
    assert row.external_ids == {"shop_id": "17", **{f"other{n}": "1" for n in range(REQUESTS)}}
    assert Deal.objects.count() == REQUESTS


def test_try_update_by_the_email_or_the_external_id(acme):
    """Half of the requests use the e-mail and half the external id of the same existing client."""
    row = make_client(acme.alice, email="ann@example.net", external_ids={"shop": "17"})
    fields = ({"email": "ann@example.net"}, {"external_ids": {"shop": "17"}})
    body = lambda n: {"client": {"try_update": True, "note": f"{n}", **fields[n % 2]}}  # noqa: E731
    responses = send(acme, "POST", "/app/clients.json", body)
    assert statuses(responses) == {200: REQUESTS}
    assert {read(response)["id"] for response in responses} == {row.id}


def test_bulk_creates_of_the_same_clients(acme):
    """Each bulk request has the clients in another order. Requests for single clients, and for deals of clients, run at the same time."""
    items = [{"name": "a", "email": f"{n}@example.net", "external_ids": {"shop": str(n)}} for n in range(20)]
    nested = [{"name": "a", "client": {"name": "a", "external_ids": {"erp": str(n)}}} for n in range(20)]
    responses = in_parallel(
        acme,
        *(
            ("POST", "/app/clients/bulk.json", {"try_update": True, "clients": random.Random(n).sample(items, 20)})
            for n in range(REQUESTS)
        ),
        *(("POST", "/app/clients.json", {"try_update": True, "client": item}) for item in items),
    )
    results = [result for response in responses[:REQUESTS] for result in read(response)]
    status_counts = Counter(result["status"] for result in results) + statuses(responses[REQUESTS:])
    assert status_counts == {201: 20, 200: REQUESTS * 20}
    assert Client.objects.count() == ClientExternalId.objects.count() == 20
    responses = send(acme, "POST", "/app/deals/bulk.json", lambda n: {"deals": random.Random(n).sample(nested, 20)})
    assert {result["status"] for response in responses for result in read(response)} == {201}
    assert Client.objects.count() == ClientExternalId.objects.count() == 40
    assert Deal.objects.count() == REQUESTS * 20


def test_idempotency_keys(acme):
    """A repeated request gets the first response, or has to wait for it. Different keys do not protect from the same external id."""
    body = lambda n: client(external_ids={"a": "1"})  # noqa: E731
    path = "/app/clients.json"
    responses = send(acme, "POST", path, body, headers=lambda n: {"Idempotency-Key": "key"})
    assert statuses(responses).keys() <= {201, 409}
    first, *replayed = sorted(
        (response for response in responses if response.status_code == 201),
        key=lambda response: "Idempotent-Replayed" in response.headers,
    )
    assert "Idempotent-Replayed" not in first.headers
    for response in replayed:
        assert (response.content, response.headers["Idempotent-Replayed"]) == (first.content, "true")
    for response in responses:
        if response.status_code == 409:
            message = "The first request with this Idempotency-Key is still being carried out; try again"
            assert_refused(response, 409, "conflict", message=message, retry_after="1")
    assert Client.objects.count() == IdempotentAnswer.objects.count() == 1
    body = lambda n: client(external_ids={"a": "2"})  # noqa: E731
    responses = send(acme, "POST", path, body, headers=lambda n: {"Idempotency-Key": f"{n}"})
    assert statuses(responses) == {201: 1, 422: REQUESTS - 1}
    assert Client.objects.count() == IdempotentAnswer.objects.count() == 2


def test_new_tags_with_the_same_name(acme):
    spellings = ["vip", "VIP", "Vip", "vIP"]
    body = lambda n: client(tags=[spellings[n % 4], "new"][:: 1 if n % 2 else -1])  # noqa: E731
    responses = send(acme, "POST", "/app/clients.json", body)
    assert statuses(responses) == {201: REQUESTS}
    assert Tag.objects.count() == 2
    name = Tag.objects.get(name_key="vip").name
    assert {frozenset(read(response)["tags"]) for response in responses} == {frozenset([name, "new"])}
    assert counts_of_tags(acme) == {name: REQUESTS, "new": REQUESTS}


def counts_of_tags(acme, plural="clients") -> dict[str, int]:
    return {tag["name"]: tag["count"] for tag in read(acme.json().get(f"/app/{plural}/tags.json"))}


def test_simultaneous_changes_of_one_client(acme):
    """Changes of different fields are both kept, and the tags of the last change are counted."""
    row = make_client(acme.alice, "a", tags=["a"])
    path = f"/app/clients/{row.id}.json"
    for n in ROUNDS:
        responses = send(
            acme, "PUT", path, lambda i, n=n: {"client": {"tags": [f"{n}-{i}", "all"]}}, number=4, token=acme.bob_token
        )
        assert statuses(responses) == {200: 4}
    row.refresh_from_db()
    assert counts_of_tags(acme) == dict.fromkeys(row.tags, 1)
    tags = row.tags
    for n in ROUNDS:
        ids = {"a": f"{n}"}, {"b": f"{n}"}
        responses = in_parallel(
            acme,
            ("PUT", path, {"client": {"note": f"n{n}", "external_ids": ids[0]}}),
            ("PUT", path, {"client": {"phone": f"p{n}", "external_ids": ids[1]}}),
        )
        assert statuses(responses) == {200: 2}
        row.refresh_from_db()
        assert read(acme.json().get(path)) == client_body(
            row,
            acme.alice,
            name="a",
            tags=tags,
            note=f"n{n}",
            phone=f"p{n}",
            external_ids=ids[0] | ids[1],
            updater_id=acme.bob.id,
        ), n


def test_users_with_the_same_login(acme):
    clients = [acme.xml() for _ in range(REQUESTS)]
    body = "<user><login>{}</login><email>{}</email><password>a long pass phrase</password></user>"

    def create(*names):
        return at_once(
            *(
                lambda each=each, pair=pair: each.send_xml("POST", "/app/users.xml", body.format(*pair))
                for each, pair in zip(clients, names, strict=False)
            )
        )

    responses = create(*[("new", "new@example.com"), ("NEW", "new@example.com")] * (REQUESTS // 2))
    assert statuses(responses) == {201: 1, 422: REQUESTS - 1}
    rejected = [response.text for response in responses if response.status_code == 422]
    assert {text.count("is already taken</error>") for text in rejected} == {2}
    assert acme.account.users.filter(login_key="new").count() == 1
    # A login that equals a simultaneous e-mail.
    responses = create(("own@example.com", "other@example.com"), ("other", "OWN@example.com"))
    assert statuses(responses) == {201: 1, 422: 1}


# Rows that are linked to a client, and the path and the body that create or change them.
LINKS = {
    "a new contact": (
        Contact,
        "POST",
        "contacts",
        lambda client_id: {"contact": {"name": "a", "client_id": client_id}},
    ),
    "a new deal": (Deal, "POST", "deals", lambda client_id: {"deal": {"name": "a", "client_id": client_id}}),
    "a new task": (
        Post,
        "POST",
        "posts",
        lambda client_id: {"post": {"title": "a", "task_kind": "task", "client_id": client_id}},
    ),
    "a moved contact": (Contact, "PUT", "contacts/{contact}", lambda client_id: {"contact": {"client_id": client_id}}),
}


def test_a_client_is_trashed_while_a_row_is_linked_to_it(acme, subtests):
    contact = make_contact(acme.alice)
    for name, (model, method, path, body) in LINKS.items():
        with subtests.test(name):
            for _ in ROUNDS:
                row = make_client(acme.alice, contact_id=contact.id)
                linked, trashed = in_parallel(
                    acme,
                    (method, f"/app/{path.format(contact=contact.id)}.json", body(row.id)),
                    ("DELETE", f"/app/clients/{row.id}.json", None),
                )
                assert trashed.status_code == 200
                assert linked.status_code in (200, 201, 422)
                if linked.status_code == 422:
                    assert_refused(linked, 422, "validation_failed", {"client_id": ["can't be found"]})
                assert not model.objects.filter(client_id=row.id).exists()


def test_a_nested_client_is_trashed_meanwhile(acme):
    for n in ROUNDS:
        row = make_client(acme.alice, external_ids={"shop_id": f"{n}"})
        body = {"deal": {"name": "a", "client": {"name": "New", "external_ids": {"shop_id": f"{n}"}}}}
        created, trashed = in_parallel(
            acme, ("POST", "/app/deals.json", body), ("DELETE", f"/app/clients/{row.id}.json", None)
        )
        assert (created.status_code, trashed.status_code) == (201, 200)
        # The deal was linked before the client went to the trash and then detached, or it has a new client.
        deal = Deal.objects.get(id=read(created)["id"])
        assert deal.client_id is None or Client.objects.get(id=deal.client_id).name == "New"
        assert (deal.client_id is None) == (deal.trashed_client_id == row.id)


def test_a_contact_list_is_trashed_while_a_contact_is_added_to_it(acme):
    for _ in ROUNDS:
        row = make_contact_list(acme.alice)
        body = {"contact": {"name": "a", "contact_list_ids": [row.id]}}
        created, trashed = in_parallel(
            acme, ("POST", "/app/contacts.json", body), ("DELETE", f"/app/contact_lists/{row.id}.json", None)
        )
        assert trashed.status_code == 200
        assert created.status_code in (201, 422)
        if created.status_code == 201:
            assert read(acme.json().get(f"/app/contacts/{read(created)['id']}.json"))["contact_list_ids"] == []


@pytest.mark.parametrize(
    ("kind", "make"),
    [("client", make_client), ("contact", make_contact), ("deal", make_deal), ("post", make_task)],
)
def test_a_row_is_deleted_and_restored_once(acme, kind, make):
    for _ in ROUNDS:
        row = make(acme.alice, tags=["vip"])
        responses = send(acme, "DELETE", f"/app/{kind}s/{row.id}.json", lambda n: None, number=2)
        assert statuses(responses) == {200: 1, 404: 1}
    assert counts_of_tags(acme, f"{kind}s") == {}
    responses = send(acme, "POST", f"/app/trash/{row.id}/restore.json", lambda n: {}, token=acme.alice_token)
    assert statuses(responses) == {200: 1, 404: REQUESTS - 1}
    assert counts_of_tags(acme, f"{kind}s") == {"vip": 1}


def test_restores_of_two_contact_lists_with_the_same_name(acme):
    trashed = []
    for _ in range(2):
        trashed.append(make_contact_list(acme.alice, "News"))
        trashed[-1].trash(by=acme.alice)
    requests = [("POST", f"/app/trash/{row.id}/restore.json", None) for row in trashed]
    assert statuses(in_parallel(acme, *requests, token=acme.alice_token)) == {200: 1, 422: 1}


def test_simultaneous_update_and_deletion(acme):
    for n in ROUNDS:
        path = f"/app/clients/{make_client(acme.alice).id}.json"
        body = {"client": {"external_ids": {"key": f"{n}"}, "tags": ["vip"]}}
        updated, deleted = in_parallel(acme, ("PUT", path, body), ("DELETE", path, None))
        assert deleted.status_code == 200
        assert updated.status_code in (200, 404)
    # Rows in the trash hold no external ids.
    assert not ClientExternalId.objects.exists()
    assert counts_of_tags(acme) == {}


def test_deletions_of_the_last_two_statuses_for_posts(acme):
    kept = acme.account.statuses.filter(kind="post")
    for status in kept[2:]:
        status.delete()
    for number in range(5):
        requests = [("DELETE", f"/app/statuses/{status.id}.json", None) for status in kept.all()]
        assert statuses(in_parallel(acme, *requests, token=acme.alice_token)) == {200: 1, 422: 1}
        acme.account.statuses.create(kind="post", code=f"{number}", name=f"{number}")


def test_contacts_of_one_list_are_all_counted(acme):
    news = make_contact_list(acme.alice)
    body = {"contact": {"name": "a", "contact_list_ids": [news.id]}}
    assert statuses(send(acme, "POST", "/app/contacts.json", lambda n: body)) == {201: REQUESTS}
    assert read(acme.json().get(f"/app/contact_lists/{news.id}.json"))["contacts_count"] == REQUESTS
    assert sum(ContactListCount.objects.values_list("uses", flat=True)) == REQUESTS


@pytest.mark.parametrize("make", [make_post, make_task])
def test_simultaneous_comments_on_one_post(acme, make):
    post = make(acme.alice)
    body = lambda n: {"post": {"task_kind": "comment", "post_id": post.id, "content": f"{n}"}}  # noqa: E731
    assert statuses(send(acme, "POST", "/app/posts.json", body)) == {201: REQUESTS}
    post.refresh_from_db()
    assert post.comments_cache == acme.account.comments.count() == REQUESTS


def test_simultaneous_votes(acme):
    post = make_post(acme.carol)
    responses = send(acme, "POST", f"/app/posts/{post.id}/vote.json", lambda n: {})
    assert statuses(responses) == {201: 1, 200: REQUESTS - 1}
    assert {read(response)["votes_cache"] for response in responses} == {1}
    post.withdraw_vote(by=acme.bob)
    voters = [acme.alice, acme.bob]
    for _ in ROUNDS:
        results = at_once(*(lambda user=user: post.vote(by=user) for user in voters * 4))
        assert Counter(results) == {True: 2, False: 6}
        post.refresh_from_db()
        assert post.votes_cache == acme.account.votes.count() == 2
        withdrawn = at_once(*(lambda user=user: post.withdraw_vote(by=user) for user in voters * 4))
        assert Counter(withdrawn) == {True: 2, False: 6}
        post.refresh_from_db()
        assert post.votes_cache == acme.account.votes.count() == 0
    assert_sort_keys_are_correct()


def test_counts_equal_a_recount_after_simultaneous_votes_and_comments(acme):
    """Voters, commenters and the team write to one post while others withdraw their votes."""
    post = make_post(acme.carol)
    voters = [make_user(acme.account) for _ in range(8)]
    for user in voters[:4]:
        post.vote(by=user)

    def act(method, *args, **values):
        # Each request reads the post itself.
        row = acme.account.posts.get(id=post.id)
        return in_transaction(lambda: getattr(row, method)(*args, **values))

    calls = [partial(act, "withdraw_vote", by=user) for user in voters[:4]]
    calls += [partial(act, "vote", by=user) for user in voters[4:]]
    calls += [partial(act, "comment", by=user, text="public") for user in voters]
    calls += [partial(act, "comment", by=acme.alice, text="internal", internal=True) for _ in range(4)]
    at_once(*calls)
    post.refresh_from_db()
    comments = acme.account.comments.filter(post_id=post.id)
    assert post.votes_cache == acme.account.votes.filter(post_id=post.id).count() == 4
    assert post.comments_cache == comments.public().count() == 8
    assert post.internal_comments_cache == comments.filter(internal=True).count() == 4
    assert_sort_keys_are_correct()
    assert acme.account.activities.filter(post_id=post.id, kind="comment").count() == 12
    newest = comments.public().order_by("created_at").values_list("created_at", flat=True).last()
    assert post.updated_at == newest
    assert post.handled_at in comments.filter(internal=True).values_list("created_at", flat=True)
    assert post.answered_at is None


def test_a_post_is_merged_or_hidden_before_a_vote(acme):
    """A vote for a post that was changed after it was read is refused, or retried."""
    post, original = make_post(acme.carol), make_post(acme.carol)
    stale = acme.account.posts.get(id=post.id)
    Post.objects.filter(pk=post.pk).update(private=True)
    with pytest.raises(ConcurrentUpdate):
        stale.vote(by=acme.bob)
    Post.objects.filter(pk=post.pk).update(private=False)
    stale = acme.account.posts.get(id=post.id)
    post.merge_into(original, by=acme.alice)
    with pytest.raises(FieldError):
        stale.vote(by=acme.bob)
    with pytest.raises(FieldError):
        stale.comment(by=acme.bob, text="x")
    assert not acme.account.votes.exists()
    assert not acme.account.comments.exists()
