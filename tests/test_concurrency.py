"""Simultaneous requests on real threads and connections: one succeeds, the others get an error, no change is partial."""

from collections import Counter
from functools import partial

import pytest

from accounts.models import Account, Tag
from core.db.transactions import in_transaction
from core.errors import ConcurrentUpdate, FieldError
from crm.models import Client, ClientExternalId, Contact, ContactList, Deal, DealExternalId
from forum.models import Post
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

ROUNDS = range(10)
few_and_many = pytest.mark.parametrize("number", [2, 16])


def send_simultaneously(acme, number, method, path, body):
    """Send a request `number` times at once. `body` is called with the number of the request."""
    clients = [acme.json() for _ in range(number)]
    return at_once(
        *(lambda client=client, n=n: client.request(method, path, json=body(n)) for n, client in enumerate(clients))
    )


def split(responses, status):
    succeeded = [response for response in responses if response.status_code == status]
    return succeeded, [response for response in responses if response.status_code != status]


@few_and_many
@pytest.mark.parametrize(
    ("kind", "model", "holders"), [("client", Client, ClientExternalId), ("deal", Deal, DealExternalId)]
)
def test_it_works(acme, number, kind, model, holders):
    """Of several creates with the same external id one succeeds; the errors of the others name its id."""
    responses = send_simultaneously(
        acme, number, "POST", f"/app/{kind}s.json", lambda n: {kind: {"name": f"{n}", "external_ids": {"key": "17"}}}
    )
    (succeeded,), rejected = split(responses, 201)
    holder = read(succeeded)["id"]
    for response in rejected:
        assert_refused(response, 422, "validation_failed", {"external_ids": [f"key 17 belongs to {kind} {holder}"]})
    assert [row.id for row in model.objects.all()] == [holder]
    assert [(row.key, row.value, row.holder_id) for row in holders.objects.all()] == [("key", "17", holder)]


@few_and_many
def test_updates_to_the_same_external_id(acme, number):
    rows = [make_client(acme.alice) for _ in range(number)]
    clients = [acme.json() for _ in rows]
    responses = at_once(
        *(
            lambda client=client, row=row: client.put(
                f"/app/clients/{row.id}.json", json={"client": {"external_ids": {"key": "17"}}}
            )
            for client, row in zip(clients, rows, strict=True)
        )
    )
    (succeeded,), rejected = split(responses, 200)
    for response in rejected:
        assert_refused(
            response,
            422,
            "validation_failed",
            {"external_ids": [f"key 17 belongs to client {read(succeeded)['id']}"]},
        )
    assert [row.id for row in Client.objects.exclude(external_ids={})] == [read(succeeded)["id"]]


def test_creates_with_the_same_external_ids_in_opposite_orders(acme):
    """Two creates with the same two external ids in opposite orders: the second is rejected, and there is no deadlock."""
    for n in ROUNDS:
        first, second = {"a": f"{n}", "b": f"{n}"}, {"b": f"{n}", "a": f"{n}"}
        responses = send_simultaneously(
            acme,
            4,
            "POST",
            "/app/clients.json",
            lambda i, f=first, s=second: {"client": {"name": "a", "external_ids": (f, s)[i % 2]}},
        )
        assert Counter(response.status_code for response in responses) == {201: 1, 422: 3}


def test_two_clients_swap_their_external_ids(acme):
    """Either update may be rejected while the other client still holds the id. They never hold the same id."""
    first, second = make_client(acme.alice, external_ids={"a": "1"}), make_client(acme.alice, external_ids={"a": "2"})
    first_api, second_api = acme.json(), acme.json()
    for _ in ROUNDS:
        responses = at_once(
            lambda: first_api.put(f"/app/clients/{first.id}.json", json={"client": {"external_ids": {"a": "2"}}}),
            lambda: second_api.put(f"/app/clients/{second.id}.json", json={"client": {"external_ids": {"a": "1"}}}),
        )
        assert {response.status_code for response in responses} <= {200, 422}
        values = [client.external_ids["a"] for client in Client.objects.all()]
        assert len(set(values)) == 2
        assert {(row.value, row.holder_id) for row in ClientExternalId.objects.all()} == {
            (client.external_ids["a"], client.id) for client in Client.objects.all()
        }


@few_and_many
def test_a_nested_client_is_created_once(acme, number):
    responses = send_simultaneously(
        acme,
        number,
        "POST",
        "/app/deals.json",
        lambda n: {
            "deal": {"name": f"{n}", "client": {"name": "Ann", "external_ids": {"shop_id": "17", f"other{n}": "1"}}}
        },
    )
    assert [response.status_code for response in responses] == [201] * number
    client = Client.objects.get()
    assert {read(response)["client_id"] for response in responses} == {client.id}
    assert client.external_ids == {"shop_id": "17", **{f"other{n}": "1" for n in range(number)}}
    assert Deal.objects.count() == number


def test_a_nested_client_is_trashed_meanwhile(acme):
    first_api, second_api = acme.json(), acme.json()
    for n in ROUNDS:
        client = make_client(acme.alice, external_ids={"shop_id": f"{n}"})
        body = {"deal": {"name": "a", "client": {"name": "New", "external_ids": {"shop_id": f"{n}"}}}}
        created, trashed = at_once(
            lambda body=body: first_api.post("/app/deals.json", json=body),
            lambda client=client: second_api.delete(f"/app/clients/{client.id}.json"),
        )
        assert (created.status_code, trashed.status_code) == (201, 200)
        # The deal was linked before the client went to the trash and then detached, or it has a new client.
        deal = Deal.objects.get(id=read(created)["id"])
        assert deal.client_id is None or Client.objects.get(id=deal.client_id).name == "New"
        assert (deal.client_id is None) == (deal.trashed_client_id == client.id)


@few_and_many
def test_new_tags_with_the_same_name(acme, number):
    spellings = ["vip", "VIP", "Vip", "vIP"]
    responses = send_simultaneously(
        acme,
        number,
        "POST",
        "/app/clients.json",
        lambda n: {"client": {"name": "a", "tags": [spellings[n % 4], "new"][:: 1 if n % 2 else -1]}},
    )
    assert [response.status_code for response in responses] == [201] * number
    assert Tag.objects.count() == 2
    name = Tag.objects.get(name_key="vip").name
    assert {frozenset(read(response)["tags"]) for response in responses} == {frozenset([name, "new"])}
    tags = read(acme.json().get("/app/clients/tags.json"))
    assert {tag["name"]: tag["count"] for tag in tags} == {name: number, "new": number}


def test_simultaneous_changes_of_the_tags_of_one_client(acme):
    client = make_client(acme.alice, tags=["a"])
    for n in ROUNDS:
        responses = send_simultaneously(
            acme, 4, "PUT", f"/app/clients/{client.id}.json", lambda i, n=n: {"client": {"tags": [f"{n}-{i}", "all"]}}
        )
        assert [response.status_code for response in responses] == [200] * 4
    client.refresh_from_db()
    tags = read(acme.json().get("/app/clients/tags.json"))
    assert {tag["name"]: tag["count"] for tag in tags} == dict.fromkeys(client.tags, 1)


@few_and_many
def test_contact_lists_with_the_same_name(acme, number):
    responses = send_simultaneously(
        acme, number, "POST", "/app/contact_lists.json", lambda n: {"contact_list": {"name": "News"}}
    )
    succeeded, rejected = split(responses, 201)
    assert len(succeeded) == 1
    for response in rejected:
        assert_refused(response, 422, "validation_failed", {"name": ["is already taken"]})
    assert ContactList.objects.count() == 1


@few_and_many
def test_users_with_the_same_login(acme, number):
    clients = [acme.xml() for _ in range(number)]
    body = "<user><login>{}</login><email>new@example.com</email><password>a long pass phrase</password></user>"
    responses = at_once(
        *(
            lambda client=client, n=n: client.send_xml("POST", "/app/users.xml", body.format(("new", "NEW")[n % 2]))
            for n, client in enumerate(clients)
        )
    )
    succeeded, rejected = split(responses, 201)
    assert len(succeeded) == 1
    for response in rejected:
        assert response.status_code == 422
        assert response.text.count("is already taken</error>") == 2
    assert acme.account.users.filter(login_key="new").count() == 1


def test_a_login_equal_to_a_simultaneous_email(acme):
    names = (("new@example.com", "other@example.com"), ("other", "NEW@example.com"))
    body = "<user><login>{}</login><email>{}</email><password>a long pass phrase</password></user>"
    clients = [acme.xml() for _ in names]
    responses = at_once(
        *(
            lambda client=client, pair=pair: client.send_xml("POST", "/app/users.xml", body.format(*pair))
            for client, pair in zip(clients, names, strict=True)
        )
    )
    assert sorted(response.status_code for response in responses) == [201, 422]


@few_and_many
def test_accounts_with_the_same_prefix(acme, number):
    acme.account.partner_key = "key"
    acme.account.save()
    clients = [acme.json(acme.alice_token) for _ in range(number)]
    body = {
        "account": {"prefix": "new-one"},
        "user": {"login": "ann", "email": "ann@example.com", "password": "a long pass phrase"},
    }
    responses = at_once(*(lambda client=client: client.post("/app/account.json", json=body) for client in clients))
    succeeded, rejected = split(responses, 201)
    assert len(succeeded) == 1
    for response in rejected:
        assert_refused(response, 422, "validation_failed", {"account.prefix": ["is already taken"]})
    assert Account.objects.count() == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/app/contacts.json", lambda client_id: {"contact": {"name": "a", "client_id": client_id}}),
        ("/app/deals.json", lambda client_id: {"deal": {"name": "a", "client_id": client_id}}),
        ("/app/posts.json", lambda client_id: {"post": {"title": "a", "task_kind": "task", "client_id": client_id}}),
    ],
)
def test_a_client_is_trashed_while_a_row_is_created_for_it(acme, path, body):
    first_api, second_api = acme.json(), acme.json()
    for _ in ROUNDS:
        client = make_client(acme.alice)
        created, trashed = at_once(
            lambda client=client: first_api.post(path, json=body(client.id)),
            lambda client=client: second_api.delete(f"/app/clients/{client.id}.json"),
        )
        assert trashed.status_code == 200
        assert created.status_code in (201, 422)
        if created.status_code == 422:
            assert_refused(created, 422, "validation_failed", {"client_id": ["can't be found"]})
    trashed = Client.objects.trashed().values("id")
    for model in (Contact, Deal, Post):
        assert not model.objects.filter(client_id__in=trashed).exists()


def test_a_client_is_trashed_while_a_contact_is_moved_to_it(acme):
    first_api, second_api = acme.json(), acme.json()
    contact = make_contact(acme.alice)
    for _ in ROUNDS:
        client = make_client(acme.alice, contact_id=contact.id)
        moved, trashed = at_once(
            lambda client=client: first_api.put(
                f"/app/contacts/{contact.id}.json", json={"contact": {"client_id": client.id}}
            ),
            lambda client=client: second_api.delete(f"/app/clients/{client.id}.json"),
        )
        assert trashed.status_code == 200
        assert moved.status_code in (200, 422)
        contact.refresh_from_db()
        assert contact.client_id is None


def test_a_contact_list_is_trashed_while_a_contact_is_added_to_it(acme):
    first_api, second_api = acme.json(), acme.json()
    for _ in ROUNDS:
        contact_list = make_contact_list(acme.alice)
        body = {"contact": {"name": "a", "contact_list_ids": [contact_list.id]}}
        created, trashed = at_once(
            lambda body=body: first_api.post("/app/contacts.json", json=body),
            lambda row=contact_list: second_api.delete(f"/app/contact_lists/{row.id}.json"),
        )
        assert trashed.status_code == 200
        assert created.status_code in (201, 422)
        if created.status_code == 201:
            assert read(first_api.get(f"/app/contacts/{read(created)['id']}.json"))["contact_list_ids"] == []


@pytest.mark.parametrize(
    ("kind", "make"),
    [("client", make_client), ("contact", make_contact), ("deal", make_deal), ("post", make_task)],
)
def test_a_row_is_deleted_once(acme, kind, make):
    for _ in ROUNDS:
        row = make(acme.alice, tags=["vip"])
        responses = send_simultaneously(acme, 2, "DELETE", f"/app/{kind}s/{row.id}.json", lambda n: None)
        assert sorted(response.status_code for response in responses) == [200, 404]
    assert read(acme.json().get(f"/app/{kind}s/tags.json")) == []


def test_simultaneous_update_and_deletion(acme):
    first_api, second_api = acme.json(), acme.json()
    for n in ROUNDS:
        client = make_client(acme.alice)
        body = {"client": {"external_ids": {"key": f"{n}"}, "tags": ["vip"]}}
        updated, deleted = at_once(
            lambda client=client, body=body: first_api.put(f"/app/clients/{client.id}.json", json=body),
            lambda client=client: second_api.delete(f"/app/clients/{client.id}.json"),
        )
        assert deleted.status_code == 200
        assert updated.status_code in (200, 404)
    # Rows in the trash hold no external ids.
    assert not ClientExternalId.objects.exists()
    assert read(first_api.get("/app/clients/tags.json")) == []


def test_simultaneous_updates_of_different_fields_are_both_kept(acme):
    first_api, second_api = acme.json(), acme.json()
    for n in ROUNDS:
        client = make_client(acme.alice, "a")
        responses = at_once(
            lambda client=client: first_api.put(
                f"/app/clients/{client.id}.json", json={"client": {"note": "n", "external_ids": {"a": f"{client.id}"}}}
            ),
            lambda client=client: second_api.put(
                f"/app/clients/{client.id}.json", json={"client": {"phone": "p", "external_ids": {"b": f"{client.id}"}}}
            ),
        )
        assert [response.status_code for response in responses] == [200, 200]
        client.refresh_from_db()
        number = f"{client.id}"
        assert read(first_api.get(f"/app/clients/{client.id}.json")) == client_body(
            client,
            acme.alice,
            name="a",
            note="n",
            phone="p",
            external_ids={"a": number, "b": number},
            updater_id=acme.bob.id,
        ), n


@few_and_many
@pytest.mark.parametrize("make", [make_post, make_task])
def test_simultaneous_comments_on_one_post(acme, number, make):
    post = make(acme.alice)
    responses = send_simultaneously(
        acme,
        number,
        "POST",
        "/app/posts.json",
        lambda n: {"post": {"task_kind": "comment", "post_id": post.id, "content": f"{n}"}},
    )
    assert [response.status_code for response in responses] == [201] * number
    post.refresh_from_db()
    assert post.comments_cache == acme.account.comments.count() == number


def test_simultaneous_votes(acme):
    post = make_post(acme.carol)
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


def test_every_id_is_assigned_once(acme):
    responses = send_simultaneously(acme, 16, "POST", "/app/clients.json", lambda n: {"client": {"name": f"{n}"}})
    assert len({read(response)["id"] for response in responses}) == 16


@few_and_many
def test_a_saved_view_that_is_sent_several_times_is_saved_once(acme, number):
    view = {"resource": "client", "name": "Leads", "query": "city=a"}
    responses = send_simultaneously(acme, number, "POST", "/app/views.json", lambda n: {"view": view})
    succeeded, rejected = split(responses, 201)
    assert (len(succeeded), acme.account.saved_views.count()) == (1, 1)
    for response in rejected:
        assert_refused(response, 422, "validation_failed", {"name": ["is the name of another view"]})
