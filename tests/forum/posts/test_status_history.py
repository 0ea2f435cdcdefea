"""The history of a post: its statuses and responses, with time and user."""

import pytest
from django.db import IntegrityError, transaction

from accounts.statuses.models import Status
from tests.support.factories import make_post, make_task


def statuses(acme) -> dict[str, Status]:
    return {status.code: status for status in acme.account.statuses.filter(kind=Status.Kind.POST)}


def history(acme, post) -> list[tuple]:
    return list(acme.account.status_changes.of_post(post.id).values_list("from_name", "name", "response", "nick"))


@pytest.mark.parametrize("make", [make_post, make_task])
def test_it_works(acme, make):
    post, by_code = make(acme.bob, status=statuses(acme)["accepted"], response="at first"), statuses(acme)
    assert history(acme, post) == []
    post.write({"status": by_code["planned"], "response": "In **spring**."}, by=acme.bob)
    post.write({"status": by_code["planned"], "title": "Again"}, by=acme.bob)
    post.write({"response": "In summer."}, by=acme.alice)
    post.write({"status": by_code["rejected"], "response": None}, by=acme.alice)
    assert history(acme, post) == [
        ("Accepted", "Planned", "In **spring**.", "Bob Nowak"),
        # The second response was withdrawn.
        (None, "Planned", None, "alice"),
        ("Planned", "Rejected", None, "alice"),
    ]
    first = acme.account.status_changes.of_post(post.id).first()
    assert first.response_html == "<p>In <strong>spring</strong>.</p>\n"
    assert (first.color, str(first)) == (by_code["planned"].color, "Accepted → Planned")


def test_both_apis_write_the_history(acme):
    post, by_code = make_post(acme.carol), statuses(acme)
    assert acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"status": "planned"}}).status_code == 200
    assert acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"status_id": by_code["started"].id}}).is_success
    body = "<post><status>completed</status></post>"
    assert acme.xml().send_xml("PUT", f"/app/posts/{post.id}.xml", body).status_code == 200
    assert [change[:2] for change in history(acme, post)] == [
        ("New", "Planned"),
        ("Planned", "Started"),
        ("Started", "Done"),
    ]


def test_a_status_may_be_erased_if_only_the_history_contains_it(acme):
    post, by_code = make_post(acme.carol), statuses(acme)
    post.write({"status": by_code["planned"]}, by=acme.bob)
    post.write({"status": by_code["started"]}, by=acme.bob)
    by_code["planned"].erase()
    assert [change[:2] for change in history(acme, post)] == [("New", "Planned"), ("Planned", "Started")]


def test_it_rejects_missing_posts_and_users(acme, other):
    post = make_post(acme.carol)
    for values in ({"post_id": 10**12, "user_id": acme.bob.id}, {"post_id": post.id, "user_id": 10**12}):
        with pytest.raises(IntegrityError, match="_fk"), transaction.atomic():
            acme.account.status_changes.create(name="x", **values)


def test_the_history_is_deleted_with_the_post(acme):
    post = make_post(acme.carol)
    post.write({"status": statuses(acme)["planned"]}, by=acme.bob)
    acme.account.posts.filter(id=post.id).delete()
    assert not acme.account.status_changes.exists()
