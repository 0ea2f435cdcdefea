"""Messages to the customers behind a suggestion in the Account API."""

from datetime import timedelta

import pytest
from django.core import mail
from django.db import connection
from django.test import override_settings

from accounts.users.models import User
from core.changes.models import Change
from team.mailings import audience
from team.mailings import models as messages
from team.mailings import sending as message_sending
from team.mailings.models import Message
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import message_body
from tests.support.factories import (
    make_backer,
    make_client,
    make_contact,
    make_draft,
    make_message,
    make_post,
    make_task,
)
from tests.support.jobs import run_jobs
from tests.support.lists import link_to_first_page
from tests.support.queries import capture_queries

PATH = "/app/messages.json"


@pytest.fixture
def post(acme):
    return make_post(acme.carol, "Dark mode")


@pytest.fixture
def anna(acme, post):
    return make_backer(post, acme.alice, make_contact, "Anna Nowak", first_name="Anna")


def create(acme, post, **fields):
    values = {"post_id": post.id, "subject": "News", "text": "Hello {name}"}
    return acme.json().post(PATH, json={"message": values | fields})


def path_of(message, action: str = "") -> str:
    return f"/app/messages/{message.id}{action and f'/{action}'}.json"


def send(acme, message, total: int | None = None, **headers):
    body = {"message": {"total": message.total if total is None else total}}
    return acme.json().post(path_of(message, "send"), json=body, headers=headers)


def assert_conflict(response, message: str) -> None:
    assert_refused(response, 409, "conflict", message=message, retry_after="1")


def changes(acme) -> list[str]:
    """Return the changes of messages in the feed. Its triggers are deferred until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
    rows = Change.objects.filter(account=acme.account, resource="message").order_by("position")
    return [row.change for row in rows]


def test_it_works(acme, post, anna):
    make_backer(post, acme.alice, make_client, "No consent", consent=None)
    make_backer(post, acme.alice, make_client, "No e-mail", email=None)
    response = create(acme, post, subject=" News\n about it ")
    draft = acme.account.customer_messages.get()
    counts = dict.fromkeys(audience.LeftOut.values, 0) | {"not_asked": 1, "no_email": 1}
    expected = message_body(
        draft, subject="News about it", state="draft", author_id=acme.bob.id, total=1, left_out=counts
    )
    location = f"http://acme.example.test/app/messages/{draft.id}.json"
    assert_answered(response, 201, expected, location=location)
    response = acme.json().get(path_of(draft))
    assert_answered(response, 200, expected)

    # A write counts the recipients again.
    response = acme.json().put(path_of(draft), json={"message": {"include_not_asked": True}})
    draft.refresh_from_db()
    counts["not_asked"] = 0
    expected |= {"include_not_asked": True, "total": 2, "left_out": counts}
    assert_answered(response, 200, expected | {"updated_at": read(response)["updated_at"]})

    response = send(acme, draft)
    draft.refresh_from_db()
    expected = message_body(draft, include_not_asked=True, left_out=counts, state="sending")
    assert_answered(response, 200, expected)
    run_jobs()
    assert sorted(email.to[0] for email in mail.outbox) == [
        "anna.nowak@customer.example",
        "no.consent@customer.example",
    ]
    draft.refresh_from_db()
    expected = message_body(draft, include_not_asked=True, left_out=counts, state="sent", sent=2)
    assert_answered(acme.json().get(path_of(draft)), 200, expected)
    response = acme.json().get(PATH)
    assert_answered(response, 200, [expected], link=link_to_first_page(PATH))


def test_recipients(acme, post, anna):
    second = make_backer(post, acme.alice, make_client, "Second")
    draft = make_draft(acme.bob, post)
    path = path_of(draft, "recipients")
    assert_answered(acme.json().get(path), 200, [], link=link_to_first_page(path))
    send(acme, draft)
    second.write({"do_not_contact": True}, by=acme.alice)
    run_jobs()
    response, queries = capture_queries(lambda: acme.json().get(path))
    assert len(queries) == 5, queries
    [sent, skipped] = read(response)
    assert sent.pop("sent_at")
    assert sent == {
        "client_id": None,
        "contact_id": anna.id,
        "name": "Anna Nowak",
        "email": "anna.nowak@customer.example",
        "state": "sent",
        "reason": None,
    }
    assert skipped == {
        "client_id": second.id,
        "contact_id": None,
        "name": "Second",
        "email": "second@customer.example",
        "state": "skipped",
        "reason": "do_not_contact",
        "sent_at": None,
    }
    assert read(acme.json().get(f"{path}?state=skipped")) == [skipped]
    assert read(acme.json().get(f"{path}?per_page=1&page=2")) == [skipped]
    response = acme.json().get(f"{path}?state=gone")
    errors = {"state": ["is not one of pending, sending, sent, skipped, failed"]}
    assert_refused(response, 422, "validation_failed", errors)


def test_filters(acme, post, anna):
    started, draft = make_message(acme.alice), make_draft(acme.bob, post)
    for query, expected in (
        ("", [draft, started]),
        ("state=draft", [draft]),
        (f"post_id={post.id}", [draft]),
        (f"author_id={acme.alice.id}", [started]),
        ("updated_since=2100-01-01", []),
        ("per_page=1&page=2", [started]),
    ):
        assert [row["id"] for row in read(acme.json().get(f"{PATH}?{query}"))] == [each.id for each in expected], query


def test_it_rejects_invalid_input(acme, other, post):
    trashed = make_post(acme.alice)
    trashed.trash(by=acme.alice)
    task, foreign = make_task(acme.alice), make_post(other.mallory)
    # The accounts may give the same ids.
    type(foreign).objects.filter(account=other.account, id=foreign.id).update(id=10**9)
    for fields, errors in (
        (
            {"post_id": 10**15, "subject": " ", "text": "a" * 10_001, "among": "nobody", "include_not_asked": "x"},
            {
                "post_id": "can't be found",
                "subject": "can't be blank",
                "text": "is too long (maximum is 10000 characters)",
                "among": "is not one of all, open, won",
                "include_not_asked": "is not true or false",
            },
        ),
        ({"subject": "a" * 151}, {"subject": "is too long (maximum is 150 characters)"}),
        ({"post_id": None}, {"post_id": "can't be blank"}),
        *(({"post_id": id}, {"post_id": "can't be found"}) for id in (task.id, trashed.id, 10**9)),
    ):
        expected = {name: [rule] for name, rule in errors.items()}
        assert_refused(create(acme, post, **fields), 422, "validation_failed", expected)


def test_it_sends_only_to_the_number_of_recipients_that_the_caller_knows(acme, post, anna):
    draft = make_draft(acme.bob, post)
    make_backer(post, acme.alice, make_client, "New")
    assert_conflict(send(acme, draft), "The number of recipients is now 2. Nothing was sent.")
    response = acme.json().post(path_of(draft, "send"))
    assert_refused(response, 422, "validation_failed", {"message": ["can't be blank"]})
    response = acme.json().post(path_of(draft, "send"), json={"message": {}})
    assert_refused(response, 422, "validation_failed", {"total": ["can't be blank"]})
    draft.refresh_from_db()
    assert (draft.state, draft.total, run_jobs()) == ("draft", 1, 0)
    assert send(acme, draft, 2).status_code == 200


def test_a_draft_is_sent_once(acme, post, anna):
    draft = make_draft(acme.bob, post)
    key = {"Idempotency-Key": "one"}
    first, second = (send(acme, draft, **key) for _ in range(2))
    assert (first.status_code, second.status_code, second.headers["Idempotent-Replayed"]) == (200, 200, "true")
    assert_conflict(send(acme, draft), "It is no longer a draft.")
    run_jobs()
    assert len(mail.outbox) == 1


def test_only_a_draft_can_be_changed_or_deleted(acme, post, anna):
    message, draft = make_message(acme.bob), make_draft(acme.bob, post)
    for response in (
        acme.json().put(path_of(message), json={"message": {"subject": "Other"}}),
        acme.json().delete(path_of(message)),
        acme.json().post(path_of(message, "test")),
    ):
        assert_conflict(response, "It is no longer a draft.")
    response = acme.json().post(path_of(draft, "cancel"))
    assert_conflict(response, "It is a draft, which can be deleted.")
    response = acme.json().delete(path_of(draft))
    assert_answered(response, 200, "ok")
    assert_refused(acme.json().get(path_of(draft)), 404, "not_found")
    # A message that is being sent can be cancelled once.
    response = acme.json().post(path_of(message, "cancel"))
    message.refresh_from_db()
    assert_answered(response, 200, message_body(message, state="cancelled"))
    assert run_jobs() == 1
    assert mail.outbox == []
    response = acme.json().post(path_of(message, "cancel"))
    assert_conflict(response, "The message is finished already.")


def test_a_test_goes_to_the_user_only(acme, post, anna):
    draft = make_draft(acme.alice, post)
    response = acme.json().post(path_of(draft, "test"))
    assert_answered(response, 200, message_body(draft))
    run_jobs()
    [email] = mail.outbox
    assert (email.to, email.subject) == (["bob@acme.example"], "Test: News")
    draft.refresh_from_db()
    assert draft.state == "draft"
    with override_settings(EMAIL_LIMIT_PER_ADDRESS=1):
        assert acme.json().post(path_of(draft, "test")).status_code == 429


def test_a_draft_of_a_deleted_suggestion_is_not_sent(acme, post, anna):
    draft = make_draft(acme.bob, post)
    post.trash(by=acme.alice)
    for response in (send(acme, draft), acme.json().post(path_of(draft, "test"))):
        assert_refused(response, 422, "validation_failed", {"post_id": ["was deleted"]})


def test_limits(acme, post, anna, monkeypatch):
    draft, empty = make_draft(acme.bob, post), make_draft(acme.bob, post, among="won")
    response = send(acme, empty, 1)
    assert_refused(response, 422, "validation_failed", {"among": ["leaves nobody who may get the message"]})
    make_backer(post, acme.alice, make_contact, "Second")
    with monkeypatch.context() as patch:
        patch.setattr(audience, "MAX_CANDIDATES", 1)
        # There are too many customers to count the recipients.
        response = acme.json().put(path_of(draft), json={"message": {"subject": "Other"}})
        assert (read(response)["total"], read(response)["left_out"]) == (None, None)
        errors = {"among": ["has too many customers (maximum is 1)"]}
        assert_refused(send(acme, draft, 2), 422, "validation_failed", errors)
    with monkeypatch.context() as patch:
        patch.setattr(messages, "MAX_DRAFTS", 2)
        errors = {"message": ["is one too many: the account may have 2 drafts"]}
        assert_refused(create(acme, post), 422, "validation_failed", errors)
    monkeypatch.setattr(message_sending, "MAX_MESSAGES_PER_DAY", 1)
    assert send(acme, draft, 2).status_code == 200
    errors = {"message": ["is one too many: the account may send 1 a day"]}
    assert_refused(send(acme, make_draft(acme.bob, post), 2), 422, "validation_failed", errors)
    # A draft does not count before it is sent.
    Message.objects.filter(id=draft.id).update(started_at=draft.created_at - timedelta(days=1, minutes=1))
    assert send(acme, make_draft(acme.bob, post), 2).status_code == 200


def test_agents_with_limited_access(acme, post, anna):
    """An agent finds their own messages, and sends them to their own customers. The user who sends a draft becomes its author."""
    make_backer(post, acme.alice, make_client, "Own", responsible_id=acme.bob.id)
    draft_of_alice, draft = make_draft(acme.alice, post), make_draft(acme.bob, post)
    acme.account.change(agents_see="own")
    for path in (path_of(draft_of_alice), path_of(draft_of_alice, "recipients")):
        assert_refused(acme.json().get(path), 404, "not_found")
    assert_refused(send(acme, draft_of_alice), 404, "not_found")
    assert [row["id"] for row in read(acme.json().get(PATH))] == [draft.id]
    assert send(acme, draft, 1).status_code == 200
    [row] = read(acme.json().get(path_of(draft, "recipients")))
    assert row["name"] == "Own"
    acme.account.clients.filter(name="Own").update(responsible_id=acme.alice.id)
    [row] = read(acme.json().get(path_of(draft, "recipients")))
    assert (row["name"], row["email"]) == (None, None)
    second = make_draft(User.objects.get(account=acme.account, id=acme.bob.id), post)
    sent = acme.json(acme.alice_token).post(path_of(second, "send"), json={"message": {"total": 2}})
    assert read(sent)["author_id"] == acme.alice.id


def test_the_change_feed(acme, post, anna):
    """The feed has the changes of the text and of the state, and not the progress."""
    for number in range(3):
        make_backer(post, acme.alice, make_client, f"Client {number}")
    draft = make_draft(acme.bob, post)
    assert changes(acme) == ["created"]
    acme.json().put(path_of(draft), json={"message": {"text": "Hello"}})
    send(acme, draft, 4)
    run_jobs()
    # The text was changed, the message was started, and it was finished.
    assert changes(acme) == ["created", "updated", "updated", "updated"]
    acme.json().delete(path_of(make_draft(acme.bob, post)))
    assert changes(acme)[-2:] == ["created", "deleted"]
