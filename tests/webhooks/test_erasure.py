"""The log of webhooks after the erasure of a person."""

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from accounts.erasure.erasing import erase_row, erase_user
from core.changes import events
from core.changes.models import Change
from core.db.transactions import in_transaction
from tests.support.factories import make_client, make_comment, make_delivery, make_note, make_post
from tests.support.jobs import run_jobs
from tests.support.receiver import add_endpoint, deliver
from tests.support.tables import table


def test_it_works(acme, receiver):
    account, alice = acme.account, acme.alice
    add_endpoint(account, receiver.url)
    client, other = make_client(alice, name="Oak Ltd"), make_client(alice, name="Elm Ltd")
    make_note(alice, "They called", client_id=client.id)
    deliver()
    statuses = list(account.webhook_deliveries.order_by("id").values_list("event", "status"))
    assert len(statuses) >= 3
    receipt = in_transaction(lambda: erase_row(client, by=alice))
    texts = [entry.request + entry.response for entry in account.webhook_deliveries.order_by("id")]
    kept = [text for text in texts if text]
    assert receipt.erased["webhook_deliveries"] == len(texts) - len(kept) >= 2
    assert not any("Oak" in text or "They called" in text for text in kept)
    assert any(other.name in text for text in kept)
    # The entries stay, with their status.
    assert list(account.webhook_deliveries.order_by("id").values_list("event", "status")) == statuses


@table("body", ["Hey @Carol", "Hey @\u200bcarol", "for @Carol Smith"])
def test_mentions_of_a_user_are_erased(acme, other, body):
    acme.carol.change(name="Carol Smith")
    endpoint, _secret = add_endpoint(acme.account, "https://hooks.example/")
    foreign, _secret = add_endpoint(other.account, "https://hooks.example/")
    values = {"event": "post.updated", "number": 10**6}
    entry = make_delivery(endpoint, request=body, **values)
    unrelated = make_delivery(endpoint, request="Hey @bob, carol", **values)
    not_ours = make_delivery(foreign, request=body, **values)
    receipt = in_transaction(lambda: erase_user(acme.carol, by=acme.alice))
    assert receipt.erased["webhook_deliveries"] == 1
    for row, request in ((entry, ""), (unrelated, "Hey @bob, carol"), (not_ours, body)):
        row.refresh_from_db()
        assert row.request == request


def test_requests_about_suggestions_of_a_user_are_erased(acme):
    account = acme.account
    posts = make_post(acme.carol, "Dark mode"), make_post(acme.bob, "Wood")
    connection.check_constraints()
    account.changes.assign_all_numbers(account.id)
    endpoint, _secret = add_endpoint(account, "https://hooks.example/")
    numbers = [account.changes.filter(resource="post", id=post.id).get().number for post in posts]
    of_carol, of_bob = (make_delivery(endpoint, request="{}", number=number) for number in numbers)
    in_transaction(lambda: erase_user(acme.carol, by=acme.alice))
    for row, request in ((of_carol, ""), (of_bob, "{}")):
        row.refresh_from_db()
        assert row.request == request


def test_requests_about_acts_and_comments_of_a_user_are_erased(acme, receiver):
    post = make_post(acme.bob, "Wood")
    add_endpoint(acme.account, receiver.url)
    comment = make_comment(post, acme.carol, "Oak, please")
    make_comment(post, acme.bob, "Elm")
    post.vote(by=acme.carol)
    post.edit_comment(comment, "Oak or ash", by=acme.alice)
    deliver()
    in_transaction(lambda: erase_user(acme.carol, by=acme.alice))
    entries = acme.account.webhook_deliveries.exclude(event="post.updated").order_by("id")
    assert [(entry.event, entry.request != "") for entry in entries] == [
        ("comment.created", False),
        ("comment.created", True),
        ("vote.created", False),
        ("comment.updated", False),
    ]


def test_requests_that_are_being_sent_during_an_erasure_are_erased_later(acme, other):
    endpoint, _secret = add_endpoint(acme.account, "https://hooks.example/")
    foreign, _secret = add_endpoint(other.account, "https://hooks.example/")
    client, now = make_client(acme.alice, name="Oak Ltd"), timezone.now()
    in_transaction(lambda: erase_row(client, by=acme.alice))
    # The attempts began before the erasure, and are logged after it.
    late, earlier = (make_delivery(endpoint, request="Oak Ltd", at=now - timedelta(minutes=age)) for age in (0, 30))
    not_ours = make_delivery(foreign, request="Oak Ltd", at=now)
    run_jobs()
    late.refresh_from_db()
    assert late.request == "Oak Ltd"
    run_jobs(later=timedelta(minutes=3))
    for row, request in ((late, ""), (earlier, "Oak Ltd"), (not_ours, "Oak Ltd")):
        row.refresh_from_db()
        assert row.request == request


def test_the_change_feed_has_no_values():
    columns = {field.attname for field in Change._meta.concrete_fields}
    assert columns == {
        "account_id",
        "position",
        "number",
        "resource",
        "id",
        "change",
        "at",
        "import_id",
        "actor_id",
        "data",
    }
    # Of events, it has ids, and the names of statuses.
    names = {
        name for kind in events.kinds.values() for part in (kind.before, kind.after, kind.ids) for name in part or ()
    }
    assert {name for name in names if not name.endswith("_id")} == {"status"}
