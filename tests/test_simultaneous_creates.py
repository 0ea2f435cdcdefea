"""Many identical creates at once: exactly one row, and never a server error."""

import random
from collections import Counter

import pytest

from accounts.models import Status
from core.models import IdempotentAnswer
from crm.models import Client, ClientExternalId, ContactListCount, Deal
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_contact_list, make_post
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 16


def send(acme, method, path, body, *, token=None, headers=lambda n: {}):
    clients = [acme.json(token) for _ in range(REQUESTS)]
    return at_once(
        *(
            lambda client=client, n=n: client.request(method, path, json=body(n), headers=headers(n))
            for n, client in enumerate(clients)
        )
    )


def statuses(responses) -> Counter:
    return Counter(response.status_code for response in responses)


@pytest.mark.parametrize(("kind", "model"), [("client", Client), ("deal", Deal)])
def test_it_works(acme, kind, model):
    """Send PUT requests with the same external id."""
    path = f"/app/{kind}s.json?external_ids[key]=17"
    responses = send(acme, "PUT", path, lambda n: {kind: {"name": "a", "external_ids": {f"key{n}": "1"}}})
    assert statuses(responses) == {201: 1, 200: REQUESTS - 1}
    row = model.objects.get()
    assert {read(response)["id"] for response in responses} == {row.id}
    assert row.external_ids == {"key": "17", **{f"key{n}": "1" for n in range(REQUESTS)}}


def test_simultaneous_creates_with_the_same_external_id(acme):
    responses = send(acme, "POST", "/app/clients.json", lambda n: {"client": {"name": "a", "external_ids": {"a": "1"}}})
    assert statuses(responses) == {201: 1, 422: REQUESTS - 1}
    assert Client.objects.count() == ClientExternalId.objects.count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        lambda n: {"email": ("ann@example.net", "ANN@example.net")[n % 2]},
        lambda n: {"external_ids": {"shop": "17"}},
        lambda n: {"email": "ann@example.net", "external_ids": {"shop": "17"}},
        lambda n: {"email": "ann@example.net", "external_ids": {f"shop{n}": "17"}},
    ],
    ids=["email", "external id", "both", "email and another external id for each"],
)
def test_try_update(acme, fields):
    body = lambda n: {"try_update": True, "client": {"name": f"{n}", **fields(n)}}  # noqa: E731
    responses = send(acme, "POST", "/app/clients.json", body)
    assert statuses(responses) == {201: 1, 200: REQUESTS - 1}
    client = Client.objects.get()
    assert {read(response)["id"] for response in responses} == {client.id}


def test_try_update_by_the_email_or_the_external_id(acme):
    """Half of the requests use the e-mail and half the external id of the same existing client."""
    client = make_client(acme.alice, email="ann@example.net", external_ids={"shop": "17"})
    fields = ({"email": "ann@example.net"}, {"external_ids": {"shop": "17"}})
    responses = send(
        acme, "POST", "/app/clients.json", lambda n: {"client": {"try_update": True, "note": f"{n}", **fields[n % 2]}}
    )
    assert statuses(responses) == {200: REQUESTS}
    assert {read(response)["id"] for response in responses} == {client.id}


def test_bulk_creates_of_the_same_clients(acme):
    """Each bulk request has the clients in another order. Requests for single clients run at the same time."""
    all_items = [{"name": "a", "email": f"{n}@example.net", "external_ids": {"shop": str(n)}} for n in range(20)]
    shuffled = [random.Random(n).sample(all_items, len(all_items)) for n in range(REQUESTS)]
    clients = [acme.json() for _ in range(REQUESTS + len(all_items))]
    calls = [
        *(("/app/clients/bulk.json", {"try_update": True, "clients": items}) for items in shuffled),
        *(("/app/clients.json", {"try_update": True, "client": item}) for item in all_items),
    ]
    responses = at_once(
        *(
            lambda client=client, path=path, body=body: client.post(path, json=body)
            for client, (path, body) in zip(clients, calls, strict=True)
        )
    )
    results = [result for response in responses[:REQUESTS] for result in read(response)]
    status_counts = Counter(result["status"] for result in results) + statuses(responses[REQUESTS:])
    assert status_counts == {201: len(all_items), 200: REQUESTS * len(all_items)}
    assert Client.objects.count() == ClientExternalId.objects.count() == len(all_items)


def test_bulk_creates_of_deals_with_the_same_nested_clients(acme):
    items = [{"name": "a", "client": {"name": "a", "external_ids": {"shop": str(n)}}} for n in range(20)]
    responses = send(
        acme, "POST", "/app/deals/bulk.json", lambda n: {"deals": random.Random(n).sample(items, len(items))}
    )
    assert {result["status"] for response in responses for result in read(response)} == {201}
    assert Client.objects.count() == ClientExternalId.objects.count() == len(items)
    assert Deal.objects.count() == REQUESTS * len(items)


def test_requests_with_the_same_idempotency_key(acme):
    responses = send(
        acme,
        "POST",
        "/app/clients.json",
        lambda n: {"client": {"name": "a"}},
        headers=lambda n: {"Idempotency-Key": "key"},
    )
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


def test_requests_with_different_idempotency_keys_and_the_same_external_id(acme):
    responses = send(
        acme,
        "POST",
        "/app/clients.json",
        lambda n: {"client": {"name": "a", "external_ids": {"a": "1"}}},
        headers=lambda n: {"Idempotency-Key": f"{n}"},
    )
    assert statuses(responses) == {201: 1, 422: REQUESTS - 1}
    assert Client.objects.count() == IdempotentAnswer.objects.count() == 1


def test_statuses_with_the_same_code(acme):
    responses = send(
        acme,
        "POST",
        "/app/statuses.json",
        lambda n: {"status": {"code": "waiting", "name": "Waiting", "position": n}},
        token=acme.alice_token,
    )
    assert statuses(responses) == {201: 1, 200: REQUESTS - 1}
    assert {read(response)["id"] for response in responses} == {Status.objects.get(code="waiting").id}


def test_deletions_of_the_last_two_statuses_for_posts(acme):
    first_api, second_api = acme.json(acme.alice_token), acme.json(acme.alice_token)
    for status in Status.objects.filter(kind="post")[2:]:
        status.delete()
    for number in range(5):
        first, second = Status.objects.filter(kind="post")
        responses = at_once(
            lambda first=first: first_api.delete(f"/app/statuses/{first.id}.json"),
            lambda second=second: second_api.delete(f"/app/statuses/{second.id}.json"),
        )
        assert statuses(responses) == {200: 1, 422: 1}
        acme.account.statuses.create(kind="post", code=f"{number}", name=f"{number}")


def test_restores_of_two_contact_lists_with_the_same_name(acme):
    trashed = []
    for _ in range(2):
        trashed.append(make_contact_list(acme.alice, "News"))
        trashed[-1].trash(by=acme.alice)
    clients = [acme.json(acme.alice_token) for _ in trashed]
    responses = at_once(
        *(
            lambda client=client, row=row: client.post(f"/app/trash/{row.id}/restore.json")
            for client, row in zip(clients, trashed, strict=True)
        )
    )
    assert statuses(responses) == {200: 1, 422: 1}


def test_a_row_is_restored_once(acme):
    client = make_client(acme.alice, tags=["vip"])
    client.trash(by=acme.alice)
    responses = send(acme, "POST", f"/app/trash/{client.id}/restore.json", lambda n: {}, token=acme.alice_token)
    assert statuses(responses) == {200: 1, 404: REQUESTS - 1}
    assert read(acme.json().get("/app/clients/tags.json"))[0]["count"] == 1


def test_votes_of_one_user(acme):
    post = make_post(acme.alice)
    responses = send(acme, "POST", f"/app/posts/{post.id}/vote.json", lambda n: {})
    assert statuses(responses) == {201: 1, 200: REQUESTS - 1}
    assert {read(response)["votes_cache"] for response in responses} == {1}


def test_contacts_of_one_list_are_all_counted(acme):
    news = make_contact_list(acme.alice)
    responses = send(
        acme, "POST", "/app/contacts.json", lambda n: {"contact": {"name": "a", "contact_list_ids": [news.id]}}
    )
    assert statuses(responses) == {201: REQUESTS}
    assert read(acme.json().get(f"/app/contact_lists/{news.id}.json"))["contacts_count"] == REQUESTS
    assert sum(ContactListCount.objects.values_list("uses", flat=True)) == REQUESTS
