"""`Idempotency-Key`: a request is executed once, and its response is replayed for 24 hours."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.account.models import Account
from core.db import locks
from core.http.idempotency import IdempotentAnswer
from tests.support.assertions import assert_answered, assert_refused, headers_of, read
from tests.support.factories import make_client, make_post, make_task, make_token
from tests.support.jobs import run_housekeeping
from tests.support.tables import table
from tests.support.threads import at_once

KEY_WAS_USED = {"idempotency_key": ["was used for another request in the last 24 hours"]}
ANN = {"client": {"name": "Ann", "shoe_size": 42}}


def post(client, body=ANN, key="key 1", path="/app/clients.json"):
    return client.post(path, json=body, headers={"Idempotency-Key": key})


def assert_replayed(response, first) -> None:
    assert response.status_code == first.status_code
    assert response.content == first.content
    assert headers_of(response) == {**headers_of(first), "idempotent-replayed": "true"}


def test_it_works(acme):
    first = post(acme.json())
    assert first.status_code == 201
    assert "Idempotent-Replayed" not in first.headers
    assert first.headers["X-Ignored-Fields"] == "shoe_size"
    for _ in range(2):
        assert_replayed(post(acme.json()), first)
    assert acme.account.clients.count() == 1
    # Without a key, or with another key, it is a new request.
    assert acme.json().post("/app/clients.json", json=ANN).status_code == 201
    assert post(acme.json(), key="key 2").status_code == 201
    assert acme.account.clients.count() == 3


@table(
    ("path", "body"),
    [
        ("/app/clients.json", {"client": {"name": "Eve", "shoe_size": 42}}),
        ("/app/clients.json", {"client": {"name": "Ann", "shoe_size": "42"}}),
        ("/app/clients.json", {}),
        ("/app/clients.json?more=1", ANN),
        ("/app/contacts.json", ANN),
    ],
)
def test_it_rejects_another_request_with_the_same_key(acme, path, body):
    post(acme.json())
    assert_refused(post(acme.json(), body, path=path), 422, "validation_failed", KEY_WAS_USED)
    assert acme.account.clients.count() == 1


def test_it_rejects_the_same_request_with_other_headers(acme):
    """Headers that change the effect of a request are part of it."""

    def send(path, body, **headers):
        return acme.json().post(path, json=body, headers={"Idempotency-Key": f"key of {path}", **headers})

    bulk = "/app/clients/bulk.json", {"clients": [{"name": "Ann"}, {"name": ""}]}
    first = send(*bulk)
    assert first.status_code == 200
    assert_replayed(send(*bulk, **{"X-Atomic": "FALSE"}), first)
    assert_refused(send(*bulk, **{"X-Atomic": "1"}), 422, "validation_failed", KEY_WAS_USED)
    single = "/app/clients.json", ANN
    first = send(*single)
    assert_replayed(send(*single, Prefer="handling=lenient", **{"X-Atomic": "true"}), first)
    assert_refused(send(*single, Prefer="handling=strict"), 422, "validation_failed", KEY_WAS_USED)
    assert acme.account.clients.count() == 2


def test_it_rejects_invalid_keys(acme):
    """The server passes an empty value for a header that is not ASCII."""
    characters = "must be 1-255 printable characters of ASCII"
    rules = {**dict.fromkeys(["", " ", "\x7f"], characters), "a" * 256: "is too long (maximum is 255 characters)"}
    for key, rule in rules.items():
        assert_refused(post(acme.json(), key=key), 422, "validation_failed", {"idempotency_key": [rule]})
    assert not acme.account.clients.exists()
    assert post(acme.json(), key="a" * 255).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_it_rejects_a_request_while_the_first_one_is_running(acme):
    """An open transaction holds the lock of the key."""
    token = acme.bob.tokens.get()
    with transaction.atomic():
        assert locks.try_acquire(("idempotency key", acme.account.id, f"token {token.id}", "key 1"))
        (response,) = at_once(lambda: post(acme.json()))
        message = "The first request with this Idempotency-Key is still being carried out; try again"
        assert_refused(response, 409, "conflict", message=message, retry_after="1")
    assert post(acme.json()).status_code == 201


def test_each_token_has_its_own_keys(acme, other):
    """Errors are not replayed."""
    response = post(acme.json(), {"client": {}})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})
    assert not IdempotentAnswer.objects.exists()
    for token in (acme.bob_token, acme.alice_token, make_token(acme.bob)):
        assert "Idempotent-Replayed" not in post(acme.json(token)).headers
    assert "Idempotent-Replayed" not in post(other.json()).headers
    assert acme.account.clients.count() == 3


def test_the_token_may_be_in_another_place_in_the_second_request(acme):
    first = post(acme.json())
    client = acme.json()
    del client.headers["Authorization"]
    assert_replayed(post(client, {**ANN, "api_token": acme.bob_token}), first)
    # The token may also be in the query.
    token = acme.bob_token.replace("/", "%2F")
    assert_replayed(post(client, path=f"/app/clients.json?api_token={token}"), first)
    # The order of JSON keys and spaces are ignored.
    content, headers = '{ "client": {"shoe_size": 42, "name" : "Ann"}}', {"Idempotency-Key": "key 1"}
    assert_replayed(acme.json().post("/app/clients.json", content=content, headers=headers), first)


@table(
    ("path", "body"),
    [
        ("/app/deals.json", {"deal": {"name": "a", "client": {"name": "a"}}}),
        ("/app/posts.json", {"post": {"task_kind": "comment", "post_id": "POST", "content": "a"}}),
        ("/app/posts/POST/comments.json", {"comment": {"comment": "a"}}),
        ("/app/posts/POST/vote.json", {}),
        ("/app/trash/TRASHED/restore.json", {}),
    ],
)
def test_every_post_request_is_idempotent(acme, path, body):
    trashed, task = make_client(acme.alice), make_task(acme.alice)
    trashed.trash(by=acme.alice)
    client = acme.json(acme.alice_token)
    for name, id in (("POST", task.id), ("TRASHED", trashed.id)):
        path = path.replace(name, f"{id}")
        body = {
            resource: {field: id if value == name else value for field, value in fields.items()}
            for resource, fields in body.items()
        }
    first = post(client, body, path=path)
    assert first.status_code in (200, 201), first.text
    assert_replayed(post(client, body, path=path), first)
    task.refresh_from_db()
    assert task.comments_cache <= 1


def test_xml_requests_are_idempotent(acme):
    def send(user, method="POST", path="/app/posts.xml", title="A dark theme"):
        client = acme.xml(user)
        client.headers["Idempotency-Key"] = "key 1"
        return client.send_xml(method, path, f"<post><title>{title}</title></post>")

    first = send(acme.carol)
    assert first.status_code == 201
    assert_replayed(send(acme.carol), first)
    rejected = send(acme.carol, title="Another")
    assert rejected.status_code == 422
    assert "<error>Idempotency key was used for another request in the last 24 hours</error>" in rejected.text
    assert send(acme.bob).status_code == 201
    assert acme.account.posts.count() == 2


def test_the_key_of_a_list_requested_by_post_is_ignored(acme):
    client = acme.xml()
    client.headers["Idempotency-Key"] = "key 1"
    for _ in range(2):
        response = client.send_xml("POST", "/", "<order>new</order>")
        assert (response.status_code, "Idempotent-Replayed" in response.headers) == (200, False)
        make_post(acme.alice)
    assert response.text.count("<post>") == 1
    assert not IdempotentAnswer.objects.exists()


def test_the_key_of_other_methods_is_ignored(acme):
    row = make_client(acme.alice, "Ann")
    for note in ("a", "b"):
        response = acme.json().put(
            f"/app/clients/{row.id}.json", json={"client": {"note": note}}, headers={"Idempotency-Key": "key 1"}
        )
        assert read(response)["note"] == note
    response = acme.json().post(f"/app/clients/{row.id}.json", json={}, headers={"Idempotency-Key": "key 1"})
    assert response.status_code == 405


def test_the_token_of_a_new_account_is_not_stored(acme):
    acme.account.partner_key = "key"
    acme.account.save()
    body = {
        "account": {"prefix": "new-one"},
        "user": {"login": "ann", "email": "ann@example.com", "password": "a long pass phrase"},
    }
    client = acme.json(acme.alice_token)
    first = post(client, body, path="/app/account.json")
    assert first.status_code == 201
    secret = read(first)["api_token"]
    stored = IdempotentAnswer.objects.get()
    assert secret.partition("/")[0] not in f"{bytes(stored.body)} {stored.headers}"
    assert "a long pass phrase" not in f"{bytes(stored.body)} {stored.headers}"
    headers = {name.replace("-", "_"): value for name, value in headers_of(first).items() if name != "content-type"}
    assert_answered(
        post(client, body, path="/app/account.json"),
        201,
        {**read(first), "api_token": None},
        **headers,
        idempotent_replayed="true",
    )
    assert Account.objects.count() == 2


def test_a_key_may_be_reused_after_24_hours(acme):
    first = post(acme.json())
    IdempotentAnswer.objects.update(created_at=timezone.now() - timedelta(hours=23, minutes=59))
    assert_replayed(post(acme.json()), first)
    IdempotentAnswer.objects.update(created_at=timezone.now() - timedelta(hours=24, seconds=1))
    response = post(acme.json(), {"client": {"name": "Eve"}})
    assert (response.status_code, read(response)["name"]) == (201, "Eve")
    assert_replayed(post(acme.json(), {"client": {"name": "Eve"}}), response)


def test_housekeeping_erases_responses_after_24_hours(acme):
    post(acme.json(), key="old")
    IdempotentAnswer.objects.update(created_at=timezone.now() - timedelta(hours=24, seconds=1))
    post(acme.json(), key="new")
    run_housekeeping()
    assert [answer.key for answer in IdempotentAnswer.objects.all()] == ["new"]
