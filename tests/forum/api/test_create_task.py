from datetime import UTC, datetime

import pytest

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import post_body
from tests.support.factories import make_client, make_contact, make_deal, make_user
from tests.support.tables import table

KINDS = ["task", "email", "help", "chat", "phone", "lead", "error", "idea"]


def test_it_works(acme):
    client = make_client(acme.alice)
    response = acme.json().post(
        "/app/posts.json",
        json={
            "post": {
                "title": "Call Ann",
                "content": "About the offer.",
                "task_kind": "task",
                "client_id": client.id,
                "responsible_id": acme.alice.id,
            }
        },
    )
    task = acme.account.posts.get()
    body = post_body(
        task,
        acme.bob,
        title="Call Ann",
        content="About the offer.",
        client_id=client.id,
        responsible_id=acme.alice.id,
    )
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/posts/{task.id}.json")
    assert_answered(acme.json().get(f"/app/posts/{task.id}.json"), 200, body)


def test_it_rejects_every_error_at_once(acme):
    deal_status = acme.account.statuses.get(kind="deal", code="won")
    task = {
        "title": " ",
        "content": "a" * 65_537,
        "task_kind": "feast",
        "client_id": 10**15,
        "responsible_id": acme.carol.id,
        "kind": "wish",
        "status": "won",
        "status_id": deal_status.id,
        "category_id": 10**15,
        "forum_id": 10**15,
        "private": "perhaps",
        "closed": 2,
        "priority": 2**31,
        "scheduled_at": "soon",
        "tags": 7,
        "response": ["a"],
        "contact_id": 10**15,
        "deal_id": 10**15,
        "remind_at": "later",
    }
    assert_refused(
        acme.json().post("/app/posts.json", json={"post": task}),
        422,
        "validation_failed",
        {
            "title": ["can't be blank"],
            "content": ["is too long (maximum is 65536 characters)"],
            "task_kind": ["is not one of feedback, task, email, help, chat, phone, lead, error, idea"],
            "client_id": ["can't be found"],
            "responsible_id": ["can't be found"],
            "kind": ["is not one of suggestion, error, question, praise, private"],
            "status": ["is not one of new, accepted, planned, started, completed, rejected, duplicate"],
            "status_id": ["can't be found"],
            "category_id": ["can't be found"],
            "forum_id": ["can't be found"],
            "private": ["is not true or false"],
            "closed": ["is not true or false"],
            "priority": ["must be between -2147483648 and 2147483647"],
            "scheduled_at": ["is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"],
            "tags": ["must be a list of names, or one text with commas"],
            "response": ["must be a single value"],
            "contact_id": ["can't be found"],
            "deal_id": ["can't be found"],
            "remind_at": ["is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"],
        },
    )
    assert not acme.account.posts.exists()


@table("body", [{}, {"post": None}, {"task": {"title": "a"}}])
def test_it_rejects_a_body_without_a_post(acme, body):
    response = acme.json().post("/app/posts.json", json=body)
    assert_refused(response, 422, "validation_failed", {"post": ["can't be blank"]})


@table("post", [["a"], "text", 1, True])
def test_it_rejects_a_post_that_is_not_an_object(acme, post):
    response = acme.json().post("/app/posts.json", json={"post": post})
    assert_refused(response, 422, "validation_failed", {"post": ["must be an object"]})


@table("title", [None, "", "\n ", "a" * 256])
def test_it_rejects_invalid_titles(acme, title):
    response = acme.json().post("/app/posts.json", json={"post": {"task_kind": "task", "title": title}})
    rule = "is too long (maximum is 255 characters)" if title and title.strip() else "can't be blank"
    assert_refused(response, 422, "validation_failed", {"title": [rule]})


@pytest.mark.parametrize("field", ["category_id", "forum_id"])
def test_it_rejects_a_category_or_forum(acme, field):
    id = {"category_id": acme.category.id, "forum_id": acme.forum.id}[field]
    response = acme.json().post("/app/posts.json", json={"post": {"task_kind": "task", "title": "a", field: id}})
    assert_refused(response, 422, "validation_failed", {field: ["can't be given for a task"]})


def test_it_rejects_other_methods(acme):
    response = acme.json().put("/app/posts.json", json={})
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, POST")


@table("task_kind", KINDS)
def test_kinds_of_tasks(acme, task_kind):
    response = acme.json().post("/app/posts.json", json={"post": {"task_kind": task_kind, "title": "a"}})
    task = acme.account.posts.get()
    assert_answered(
        response,
        201,
        post_body(task, acme.bob, title="a", task_kind=task_kind),
        location=f"http://acme.example.test/app/posts/{task.id}.json",
    )
    assert (task.forum_id, task.category_id) == (None, None)


def test_the_forum_api_does_not_show_tasks(acme):
    acme.json().post("/app/posts.json", json={"post": {"task_kind": "task", "title": "Hidden"}})
    task = acme.account.posts.get()
    assert "Hidden" not in acme.xml().get("/").text
    assert acme.xml().get(f"/app/posts/{task.id}.xml").status_code == 404


def test_all_fields(acme):
    client = make_client(acme.alice)
    contact, deal = make_contact(acme.alice), make_deal(acme.alice)
    status = acme.account.statuses.get(kind="post", code="started")
    fields = {
        "title": "Title 😀",
        "content": "first\r\nsecond\t",
        "task_kind": "phone",
        "client_id": client.id,
        "responsible_id": acme.bob.id,
        "kind": "question",
        "status": "started",
        "status_id": status.id,
        "private": True,
        "closed": True,
        "priority": -3,
        "scheduled_at": "2009-01-26T17:06:53+00:00",
        "tags": ["a", "b"],
        "response": "Done.",
        "contact_id": contact.id,
        "deal_id": deal.id,
        "remind_at": "2009-01-26T16:00:00+00:00",
    }
    response = acme.json().post("/app/posts.json", json={"post": fields})
    task = acme.account.posts.get()
    body = post_body(task, acme.bob, **fields, response_user_id=acme.bob.id)
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/posts/{task.id}.json")
    assert_answered(acme.json().get(f"/app/posts/{task.id}.json"), 200, body)


@table(
    ("fields", "expected"),
    [
        ({"status": "planned"}, ("planned", False)),
        ({"status": "completed"}, ("completed", True)),
        ({"status": "completed", "closed": False}, ("completed", False)),
        ({"status": "new", "closed": True}, ("new", True)),
        ({"status": None}, ("new", False)),
        ({"status": ""}, ("new", False)),
        ({"closed": None}, ("new", False)),
    ],
)
def test_the_status_opens_and_closes_the_task(acme, fields, expected):
    response = acme.json().post("/app/posts.json", json={"post": {"task_kind": "task", "title": "a", **fields}})
    assert response.status_code == 201
    body = read(response)
    assert (body["status"], body["closed"]) == expected
    assert body["status_id"] == acme.account.statuses.get(kind="post", code=expected[0]).id


def test_the_status_may_be_given_by_id(acme):
    status = acme.account.statuses.get(kind="post", code="rejected")
    response = acme.json().post(
        "/app/posts.json", json={"post": {"task_kind": "task", "title": "a", "status_id": str(status.id)}}
    )
    body = read(response)
    assert (body["status"], body["status_id"], body["closed"]) == ("rejected", status.id, True)


@table(
    ("value", "expected"),
    [
        ("2009-01-26T18:06:53+01:00", datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC)),
        ("2009-01-26 18:06:53", datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC)),
        ("2009-01-26T18:06Z", datetime(2009, 1, 26, 18, 6, tzinfo=UTC)),
        ("2009-01-26", datetime(2009, 1, 25, 23, 0, tzinfo=UTC)),
        (" ", None),
        (None, None),
    ],
)
def test_times_without_an_offset_are_in_the_time_zone_of_the_account(acme, value, expected):
    acme.account.time_zone = "Europe/Warsaw"
    acme.account.save()
    response = acme.json().post(
        "/app/posts.json", json={"post": {"task_kind": "task", "title": "a", "scheduled_at": value}}
    )
    assert response.status_code == 201
    assert acme.account.posts.get().scheduled_at == expected
    shown_value = read(response)["scheduled_at"]
    assert shown_value is None if expected is None else shown_value.endswith("+01:00")


def test_the_agent_is_the_user_agent_header(acme):
    for agent, expected in (("a" * 300, "a" * 255), ("x\x7fy", "x\x7fy"), ("", "")):
        response = acme.json().post(
            "/app/posts.json",
            json={"post": {"task_kind": "task", "title": "a"}},
            headers={"User-Agent": agent},
        )
        assert read(response)["agent"] == expected


def test_it_rejects_a_deactivated_responsible_user(acme):
    inactive_user = make_user(acme.account, role="agent", is_active=False)
    response = acme.json().post(
        "/app/posts.json", json={"post": {"task_kind": "task", "title": "a", "responsible_id": inactive_user.id}}
    )
    assert_refused(response, 422, "validation_failed", {"responsible_id": ["can't be found"]})


def test_posts_and_tasks_have_the_same_sequence_of_ids(acme):
    client = acme.json()
    first = read(client.post("/app/posts.json", json={"post": {"task_kind": "task", "title": "a"}}))["id"]
    second = read(client.post("/app/posts.json", json={"post": {"title": "b"}}))["id"]
    assert second == first + 1
