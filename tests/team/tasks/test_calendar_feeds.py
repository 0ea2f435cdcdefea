"""The private address of the calendar of tasks in the Account API."""

from django.utils import timezone

from team.tasks.models import CalendarFeed
from tests.support.assertions import assert_answered, on_the_wire, read
from tests.support.factories import make_task

PATH = "/app/calendar_feed.json"


def path_of(response) -> str:
    """Return the path of the address in a response, with its token."""
    return read(response)["url"].removeprefix("http://acme.example.test")


def test_it_works(acme):
    make_task(acme.alice, "Call Northwind", responsible_id=acme.bob.id, scheduled_at=timezone.now())
    assert_answered(acme.json().get(PATH), 200, {"created_at": None})
    response = acme.json().post(PATH)
    feed = CalendarFeed.objects.get(account=acme.account, user_id=acme.bob.id)
    created_at = on_the_wire(feed.created_at)
    path = path_of(response)
    body = {"url": f"http://acme.example.test{path}", "created_at": created_at}
    assert_answered(response, 201, body, location=f"http://acme.example.test{PATH}")
    visitor = acme.page()
    assert "SUMMARY:Call Northwind" in visitor.get(path)
    response = acme.json().get(PATH)
    assert_answered(response, 200, {"created_at": created_at})
    response = acme.json().delete(PATH)
    assert_answered(response, 200, "ok")
    assert visitor.get(path, expect_errors=True).status_code == 404
    assert_answered(acme.json().delete(PATH), 200, "ok")


def test_a_new_address_replaces_the_earlier_one(acme):
    first, second = (path_of(acme.json().post(PATH)) for _ in range(2))
    visitor = acme.page()
    assert visitor.get(first, expect_errors=True).status_code == 404
    assert visitor.get(second).status_code == 200


def test_a_repeated_request_does_not_show_the_token_again(acme):
    key = {"Idempotency-Key": "one"}
    first, second = (acme.json().post(PATH, headers=key) for _ in range(2))
    assert (second.status_code, read(second)) == (201, read(first) | {"url": None})


def test_each_user_has_an_address(acme):
    path_of(acme.json().post(PATH))
    assert_answered(acme.json(acme.alice_token).get(PATH), 200, {"created_at": None})
