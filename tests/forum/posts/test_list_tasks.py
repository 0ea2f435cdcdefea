from datetime import UTC, datetime, timedelta

from forum.posts.models import Post
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import post_body
from tests.support.factories import make_client, make_contact, make_deal, make_post, make_task
from tests.support.tables import table

LINK_TO_FIRST_PAGE = '<http://acme.example.test/app/tasks.json?page=1>; rel="first"'


def test_it_works(acme):
    """Tasks of all users are listed, and neither forum posts nor tasks in the trash."""
    assert_answered(acme.json().get("/app/tasks.json"), 200, [], link=LINK_TO_FIRST_PAGE)
    client = make_client(acme.alice)
    make_post(acme.alice, "Suggestion")
    make_task(acme.alice, "Gone").trash(by=acme.alice)
    private = make_task(acme.carol, "Private", private=True, agent="tests/1.0")
    task = make_task(acme.bob, "Call", client_id=client.id, responsible_id=acme.alice.id, tags=["a"], agent="tests/1.0")
    assert_answered(
        acme.json().get("/app/tasks.json"),
        200,
        [
            post_body(task, acme.bob, title="Call", client_id=client.id, responsible_id=acme.alice.id, tags=["a"]),
            post_body(private, acme.carol, title="Private", private=True),
        ],
        link=LINK_TO_FIRST_PAGE,
    )


def test_open_tasks_come_first_and_newer_ones_before_older_ones(acme):
    start = datetime(2009, 1, 26, tzinfo=UTC)
    # By title: the hour of creation, and whether the task is closed.
    tasks = {"a": (0, True), "b": (1, False), "c": (2, True), "d": (3, False), "e": (3, False)}
    for title, (hours, closed) in tasks.items():
        task = make_task(acme.alice, title, closed=closed)
        Post.objects.filter(pk=task.pk).update(created_at=start + timedelta(hours=hours))
    for path in ("/app/tasks.json", "/app.json"):
        assert titles(acme.json().get(path)) == ["e", "d", "b", "c", "a"]


def test_the_token_may_be_in_the_query(acme):
    make_task(acme.alice, "Here")
    token = acme.bob_token.replace("/", "%2F")
    response = acme.json("").get(f"/app/tasks.json?api_token={token}")
    assert response.status_code == 200
    assert [task["title"] for task in read(response)] == ["Here"]
    # The links do not repeat the token.
    assert response.headers["Link"] == LINK_TO_FIRST_PAGE


def titles(response) -> list[str]:
    assert response.status_code == 200, response.text
    return [task["title"] for task in read(response)]


@table(
    ("query", "expected"),
    [
        ("order=scheduled_at", ["past", "done", "today", "never"]),
        ("order=-scheduled_at", ["never", "today", "done", "past"]),
        ("order=completed_at&closed=true", ["done"]),
        ("order=-completed_at", ["today", "past", "never", "done"]),
        # The time of the filter belongs to the range that begins with it.
        ("order=scheduled_at&scheduled_after=2026-11-20T12:00:00Z", ["done", "today"]),
        ("order=scheduled_at&scheduled_before=2026-11-20T12:00:00Z", ["past"]),
        ("scheduled_after=2026-11-20T12:00:00Z&scheduled_before=2026-11-20T12:00:01Z", ["done"]),
        ("closed=false&order=scheduled_at&responsible_id={bob}", ["past"]),
        ("deal_id={deal}", ["today"]),
        ("contact_id={contact}", ["never"]),
    ],
)
def test_orders_and_filters(acme, query, expected):
    deal, contact = make_deal(acme.alice), make_contact(acme.alice)
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    make_task(acme.alice, "never", contact_id=contact.id)
    make_task(acme.alice, "past", scheduled_at=noon - timedelta(days=1), responsible_id=acme.bob.id)
    make_task(acme.alice, "done", scheduled_at=noon, closed=True, responsible_id=acme.bob.id)
    make_task(acme.alice, "today", scheduled_at=noon + timedelta(hours=1), deal_id=deal.id)
    query = query.format(bob=acme.bob.id, deal=deal.id, contact=contact.id)
    assert titles(acme.json().get(f"/app/tasks.json?{query}")) == expected


def test_it_rejects_times_that_are_none(acme):
    message = "is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"
    response = acme.json().get("/app/tasks.json?scheduled_after=soon")
    assert_refused(response, 422, "validation_failed", {"scheduled_after": [message]})
