from datetime import UTC, datetime

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import post_body
from tests.support.factories import make_client, make_contact, make_deal
from tests.support.tables import table

KINDS = ["task", "email", "help", "chat", "phone", "lead", "error", "idea"]


def test_it_works(acme):
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


@table(
    ("body", "errors"),
    [
        ({}, {"post": ["can't be blank"]}),
        ({"post": None}, {"post": ["can't be blank"]}),
        ({"task": {"title": "a"}}, {"post": ["can't be blank"]}),
        *(({"post": post}, {"post": ["must be an object"]}) for post in (["a"], "text", 1, True)),
        *(
            ({"post": {"task_kind": "task", "title": title}}, {"title": ["can't be blank"]})
            for title in (None, "", "\n ")
        ),
        ({"post": {"title": "a" * 256}}, {"title": ["is too long (maximum is 255 characters)"]}),
    ],
)
def test_it_rejects_invalid_bodies(acme, body, errors):
    assert_refused(acme.json().post("/app/posts.json", json=body), 422, "validation_failed", errors)


def test_it_rejects_a_category_or_forum(acme):
    values = {"category_id": acme.category.id, "forum_id": acme.forum.id}
    response = acme.json().post("/app/posts.json", json={"post": {"task_kind": "task", "title": "a", **values}})
    assert_refused(response, 422, "validation_failed", {name: ["can't be given for a task"] for name in values})


def test_kinds_of_tasks(acme):
    for task_kind in KINDS:
        response = acme.json().post("/app/posts.json", json={"post": {"task_kind": task_kind, "title": "a"}})
        task = acme.account.posts.latest("id")
        body = post_body(task, acme.bob, title="a", task_kind=task_kind)
        assert_answered(response, 201, body, location=f"http://acme.example.test/app/posts/{task.id}.json")
        assert (task.forum_id, task.category_id) == (None, None)


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


def test_times_without_an_offset_are_in_the_time_zone_of_the_account(acme):
    acme.account.time_zone = "Europe/Warsaw"
    acme.account.save()
    for value, expected in (("2009-01-26 18:06:53", datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC)), (" ", None)):
        values = {"task_kind": "task", "title": "a", "scheduled_at": value}
        response = acme.json().post("/app/posts.json", json={"post": values})
        assert acme.account.posts.latest("id").scheduled_at == expected
        assert read(response)["scheduled_at"] == (expected and "2009-01-26T18:06:53+01:00")


def test_the_agent_is_the_user_agent_header(acme):
    for agent, expected in (("a" * 300, "a" * 255), ("x\x7fy", "x\x7fy"), ("", "")):
        response = acme.json().post(
            "/app/posts.json",
            json={"post": {"task_kind": "task", "title": "a"}},
            headers={"User-Agent": agent},
        )
        assert read(response)["agent"] == expected
