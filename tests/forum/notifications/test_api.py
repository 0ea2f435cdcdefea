"""The notifications of the user of a token as JSON."""

import pytest

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_comment, make_post, make_token
from tests.support.followers import run_followers
from tests.support.queries import capture_queries

LIST = "/app/notifications.json"
FIRST_PAGE = f'<http://acme.example.test{LIST}?page=1>; rel="first"'


@pytest.fixture
def notified(acme):
    """Notify bob of a comment on his suggestion."""
    acme.post = make_post(acme.bob, "Dark mode")
    acme.comment = make_comment(acme.post, acme.carol, "Yes, **please**")
    run_followers()
    acme.notification = acme.account.notifications.of_user(acme.bob).get()
    return acme


def body(acme, **fields) -> dict:
    return {
        "id": acme.notification.id,
        "kind": "comment",
        "reason": "author",
        "post_id": acme.post.id,
        "comment_id": acme.comment.id,
        "note_id": None,
        "user_id": acme.carol.id,
        "title": "Dark mode",
        "text": "Carol Member commented",
        "excerpt": "Yes, please",
        "read_at": None,
        "created_at": on_the_wire(acme.notification.created_at),
        **fields,
    }


def test_it_works(notified):
    json = notified.json()
    assert_answered(json.get(LIST), 200, [body(notified)], link=FIRST_PAGE)
    response = json.post(f"/app/notifications/{notified.notification.id}/read.json")
    notified.notification.refresh_from_db()
    as_read = body(notified, read_at=on_the_wire(notified.notification.read_at))
    assert_answered(response, 200, as_read)
    assert_answered(json.get(LIST), 200, [as_read], link=FIRST_PAGE)
    assert read(json.get(LIST, params={"unread": "true"})) == []
    assert read(json.get(LIST, params={"unread": "false"})) == [as_read]
    # The second time changes nothing.
    assert_answered(json.post(f"/app/notifications/{notified.notification.id}/read.json"), 200, as_read)


def test_all_are_marked_at_once(notified):
    make_comment(notified.post, notified.alice)
    run_followers()
    assert len(read(notified.json().get(LIST, params={"unread": "1"}))) == 2
    assert_answered(notified.json().post("/app/notifications/read.json"), 200, "ok")
    assert read(notified.json().get(LIST, params={"unread": "1"})) == []
    assert notified.account.users.get(login="bob").unread_notifications == 0


def test_members_read_their_own_as_long_as_they_may_see_the_suggestion(notified):
    make_comment(notified.post, notified.bob)
    run_followers()
    carol = notified.json(make_token(notified.carol))
    [row] = read(carol.get(LIST))
    assert (row["reason"], row["user_id"]) == ("commenter", notified.bob.id)
    notified.post.write({"private": True}, by=notified.bob)
    assert read(carol.get(LIST)) == []
    assert_refused(carol.post(f"/app/notifications/{row['id']}/read.json"), 404, "not_found")


def test_it_rejects_wrong_parameters(notified):
    response = notified.json().get(LIST, params={"unread": "perhaps", "page": "0"})
    errors = {"unread": ["is not true or false"], "page": ["must be a whole number, 1 or more"]}
    assert read(response)["errors"] == errors


def test_the_number_of_statements_is_constant(notified):
    for _ in range(3):
        make_comment(notified.post, notified.carol)
    run_followers()
    notified.json().get(LIST)
    _response, queries = capture_queries(lambda: notified.json().get(LIST))
    assert len(queries) == 2, [query[:60] + "…" + query[-300:] for query in queries]
