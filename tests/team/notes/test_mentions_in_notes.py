"""Notifications of users of the team whom a note mentions: who gets them, and what they show."""

from datetime import timedelta

import pytest

from accounts.users.delivery import NotificationDelivery
from accounts.users.models import User
from forum.notifications.models import NotificationReason
from tests.support import letters
from tests.support.assertions import on_the_wire, read
from tests.support.factories import make_client, make_contact, make_deal, make_note, make_user
from tests.support.followers import run_followers
from tests.support.queries import capture_queries
from tests.support.tables import table

LIST = "/app/notifications.json"


@pytest.fixture
def client(acme):
    return make_client(acme.alice, "Nowak and Sons")


def notified(account) -> list[str]:
    """Return the logins of the notified users, in order."""
    run_followers()
    logins = dict(account.users.values_list("id", "login"))
    return [logins[id] for id in account.notifications.order_by("id").values_list("user_id", flat=True)]


def send_all(**later: int) -> list:
    return letters.send_notifications(later=timedelta(**later))


def test_it_works(acme, client):
    note = make_note(acme.alice, "Wants **chairs**. @bob, please call", client_id=client.id, kind="call")
    assert notified(acme.account) == ["bob"]
    [row] = acme.account.notifications.all()
    [shown] = read(acme.json().get(LIST))
    assert shown == {
        "id": row.id,
        "kind": "note",
        "reason": "mentioned",
        "post_id": None,
        "comment_id": None,
        "note_id": note.id,
        "user_id": acme.alice.id,
        "title": "Nowak and Sons",
        "text": "alice mentioned you in a note",
        "excerpt": "Wants chairs. @bob, please call",
        "read_at": None,
        "created_at": on_the_wire(row.created_at),
    }
    assert row.reason == NotificationReason.MENTIONED
    page = acme.page(acme.bob).get("/app/notifications")
    opened = next(form for form in page.forms.values() if "open" in form.fields).submit("open", status=303)
    assert opened.headers["Location"] == f"/app/clients/{client.id}#note-{note.id}"
    row.refresh_from_db()
    assert row.read_at is not None


@pytest.mark.parametrize(("make", "collection"), [(make_contact, "contacts"), (make_deal, "deals")])
def test_the_link_leads_to_the_record(acme, make, collection):
    record = make(acme.alice, "Chairs")
    note = make_note(acme.alice, "@bob", **{f"{collection.removesuffix('s')}_id": record.id})
    [email] = send_all(minutes=5)
    assert email.to == [acme.bob.email]
    assert email.subject == "Note: Chairs"
    assert letters.link_in(email, acme.host) == f"/app/{collection}/{record.id}#note-{note.id}"


def test_the_e_mail_quotes_the_note(acme, client):
    acme.account.users.filter(login="bob").update(language="pl")
    note = make_note(acme.alice, "Wants *chairs*.\n\n@bob", client_id=client.id)
    [email] = send_all(minutes=5)
    assert email.subject == "Notatka: Nowak and Sons"
    assert email.body.startswith(
        "Nowak and Sons\n\nalice wspomina o Tobie w notatce.\n\n> Wants chairs.\n>\n> @bob\n\n"
    )
    assert f"http://acme.example.test/app/clients/{client.id}#note-{note.id}\n" in email.body
    assert send_all(hours=1) == []


@table(("delivery", "number"), [(None, 2), (NotificationDelivery.DAILY, 1)])
def test_each_note_has_an_e_mail_of_its_own_but_not_in_a_digest(acme, client, delivery, number):
    if delivery:
        acme.account.users.filter(login="bob").update(delivery=delivery)
    for text in ("One @bob", "Two @bob"):
        make_note(acme.alice, text, client_id=client.id)
    emails = send_all(days=1)
    assert len(emails) == number
    link = f"http://acme.example.test/app/clients/{client.id}#note-"
    assert sum(email.body.count(link) for email in emails) == 2
    if delivery:
        assert emails[0].subject == "2 notifications from Acme"
        assert emails[0].body.count(f"Nowak and Sons\n--------------\n{link}") == 2
    else:
        assert sorted("One" in email.body for email in emails) == [False, True]


def test_an_edit_notifies_only_of_new_mentions(acme, client):
    make_user(acme.account, "dora", role="agent")
    note = make_note(acme.alice, "@bob", client_id=client.id)
    assert notified(acme.account) == ["bob"]
    note.write({"content": "@bob and @dora"}, by=acme.alice)
    assert notified(acme.account) == ["bob", "dora"]
    note.write({"content": "@bob, @dora, please"}, by=acme.alice)
    assert notified(acme.account) == ["bob", "dora"]


def test_members_the_author_and_users_without_access_are_not_notified(acme, client):
    """Nor is a user who wants no notifications."""
    acme.account.change(agents_see="own")
    for login in ("dora", "eve"):
        make_user(acme.account, login, role="agent")
    acme.account.users.filter(login="eve").update(notification="none", role="admin")
    client.write({"responsible_id": acme.bob.id}, by=acme.alice)
    make_note(acme.alice, "@alice, @bob, @carol, @dora, @eve", client_id=client.id)
    assert notified(acme.account) == ["bob"]


@table(
    "change",
    [
        lambda acme, note: acme.account.change(agents_see="own"),
        lambda acme, note: note.trash(by=acme.alice),
        lambda acme, note: acme.account.notes.all().delete(),
        lambda acme, note: User.objects.get(pk=acme.bob.pk).change_role("member", by=acme.alice),
    ],
)
def test_nothing_is_shown_that_the_user_may_not_see_any_more(acme, client, change):
    note = make_note(acme.alice, "Secret @bob", client_id=client.id)
    assert notified(acme.account) == ["bob"]
    change(acme, note)
    assert read(acme.json().get(LIST)) == []
    assert "Secret" not in acme.page(User.objects.get(pk=acme.bob.pk)).get("/app/notifications")
    assert send_all(minutes=5) == []


def test_the_number_of_statements_is_independent_of_the_number_of_notes(acme, client):
    json, numbers = acme.json(), []
    for number in (1, 3):
        for _ in range(number):
            make_note(acme.alice, "@bob", client_id=client.id)
        run_followers()
        json.get(LIST)
        numbers.append(len(capture_queries(lambda: json.get(LIST))[1]))
    assert numbers == [2, 2]
    # A note of a client in the trash keeps its title.
    client.trash(by=acme.alice)
    assert {shown["title"] for shown in read(json.get(LIST))} == {"Nowak and Sons"}
