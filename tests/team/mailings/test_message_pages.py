"""Messages to the customers behind a suggestion: who gets them, the pages, the e-mails, and unsubscribing."""

from datetime import timedelta
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.utils import timezone

from accounts.users.models import User
from team.mailings import audience
from team.mailings import sending as message_sending
from team.mailings.audience import audience_of
from team.mailings.models import Message, MessageRecipient
from team.mailings.sending import start_message
from tests.support.factories import make_backer, make_client, make_contact, make_deal, make_draft, make_post
from tests.support.jobs import run_jobs
from tests.support.pages import Visitor
from tests.support.reading import statements
from tests.support.tables import table


@pytest.fixture
def post(acme):
    return make_post(acme.carol, "Dark mode")


@pytest.fixture
def anna(acme, post):
    return make_backer(post, acme.alice, make_contact, "Anna Nowak", first_name="Anna")


def form_of(page):
    return next(form for form in page.forms.values() if "form_key" in form.fields)


def preview(acme, post, *, user=None, **values):
    form = form_of(acme.page(user or acme.bob).get(f"/app/posts/{post.id}/message"))
    for name, value in values.items():
        form[name] = value
    return form.submit("do", value="preview", expect_errors=True)


def start(acme, post, *, by=None, **values) -> Message:
    values = {"subject": "News", "text": "Hello {name}", "among": "all", "include_not_asked": False} | values
    message = Message(account=acme.account, post_id=post.id, **values)
    start_message(message, by=by or acme.bob)
    return message


def outcomes(message) -> dict[str, str]:
    rows = MessageRecipient.objects.filter(message_id=message.id).values_list("name", "state", "reason")
    return {name: f"{state} {reason}".strip() for name, state, reason in rows}


def unsubscribe_path(email) -> str:
    return email.extra_headers["List-Unsubscribe"].strip("<>").removeprefix("http://acme.example.test")


def kinds_of(row) -> list[str]:
    entries = row.account.timeline_entries.filter(**{f"{row._meta.model_name}_id": row.id}).order_by("number")
    return [entry.kind for entry in entries if entry.kind in ("message", "unsubscribed")]


def test_it_works(acme, post, anna):
    post.write({"response": "It is **here**."}, by=acme.bob)
    form = form_of(acme.page(acme.bob).get(f"/app/posts/{post.id}/message"))
    assert form["subject"].value == "News about “Dark mode”"
    for text in ("Hello {name},", "It is **here**."):
        assert text in form["text"].value
    shown = form.submit("do", value="preview")
    for text in ("Hello Anna,", "<strong>here</strong>", "1 recipient"):
        assert text in shown
    tested = form_of(shown).submit("do", value="test")
    assert "A test is on its way to bob@acme.example" in tested
    run_jobs()
    [email] = mail.outbox
    assert (email.to, email.subject) == (["bob@acme.example"], "Test: News about “Dark mode”")
    assert "List-Unsubscribe" not in email.extra_headers
    edited = form_of(tested).submit("do", value="edit")
    assert form_of(edited)["subject"].value == "News about “Dark mode”"
    assert not acme.account.customer_messages.exists()

    first, second = (form_of(shown).submit("do", value="send") for _ in range(2))
    assert first.headers["Location"] == second.headers["Location"]
    assert "0 of 1" in first.follow()
    run_jobs()
    [_test, email] = mail.outbox
    assert (email.to, email.subject) == (["anna.nowak@customer.example"], "News about “Dark mode”")
    assert email.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert email.extra_headers["Auto-Submitted"] == "auto-generated"
    [(html, _type)] = email.alternatives
    for text in ("Hello Anna,", f"/app/posts/{post.id}"):
        assert text in email.body
    for text in ("<strong>here</strong>", "Unsubscribe from such messages"):
        assert text in html
    message = acme.account.customer_messages.get()
    assert (message.state, message.sent, message.author_id) == ("sent", 1, acme.bob.id)
    assert kinds_of(anna) == ["message"]
    timeline = acme.page(acme.bob).get(f"/app/contacts/{anna.id}").html.find(id="timeline")
    assert timeline.find("a", href=f"/app/messages/{message.id}").get_text() == "News about “Dark mode”"
    assert run_jobs() == 0


def test_the_number_of_statements_does_not_depend_on_the_recipients(acme, post, anna):
    bob, path = acme.page(acme.bob), f"/app/posts/{post.id}/message"
    before = len(statements(bob, path))
    message = start(acme, post)
    for number in range(5):
        make_backer(post, acme.alice, make_client, f"Client {number}")
    # The list of earlier messages takes a statement in both cases.
    assert len(statements(bob, path)) == before == 9
    assert len(statements(bob, f"/app/messages/{message.id}")) == 4


@table(
    ("fields", "include_not_asked", "reason"),
    [
        ({}, False, None),
        ({"consent": None}, False, "not_asked"),
        ({"consent": None}, True, None),
        ({"consent": False}, True, "refused"),
        ({"do_not_contact": True}, True, "do_not_contact"),
        ({"consent": None, "do_not_contact": True}, True, "do_not_contact"),
        ({"email": None}, True, "no_email"),
        ({"email": "not an address"}, True, "no_email"),
        ({"email": "ANNA.NOWAK@customer.example"}, True, "same_address"),
    ],
)
@table("make", [make_client, make_contact])
def test_consent_decides_who_gets_it(acme, post, anna, make, fields, include_not_asked, reason):
    row = make_backer(post, acme.alice, make, "Second", **fields)
    found = audience_of(acme.account, acme.bob, post.id, among="all", include_not_asked=include_not_asked)
    people = [(person.resource, person.id) for person in found.people]
    assert ("contact", anna.id) in people
    assert ((row._meta.model_name, row.id) in people) == (reason is None)
    assert dict(found.left_out) == ({reason: 1} if reason else {})


def test_a_refusal_holds_for_the_address_and_for_the_contacts_of_a_client(acme, post, anna):
    """The refusal is that of rows that are not behind the suggestion."""
    make_client(acme.alice, "Same person", email="ANNA.nowak@customer.example", do_not_contact=True)
    client = make_client(acme.alice, "No messages", do_not_contact=True)
    make_backer(post, acme.alice, make_contact, "Employee", client_id=client.id)
    found = audience_of(acme.account, acme.bob, post.id, among="all", include_not_asked=True)
    assert found.people == []
    # The client of the employee is behind the suggestion, too.
    assert dict(found.left_out) == {"do_not_contact": 3}


def test_customers_with_open_or_won_deals(acme, post):
    statuses = {status.code: status.id for status in acme.account.statuses_of_kind("deal")}
    for outcome in ("new", "won", "lost"):
        client = make_backer(post, acme.alice, make_client, f"Client {outcome}")
        contact = make_backer(post, acme.alice, make_contact, f"Contact {outcome}")
        make_deal(acme.alice, client_id=client.id, status_id=statuses[outcome])
        make_deal(acme.alice, contact_id=contact.id, status_id=statuses[outcome])
        make_backer(post, acme.alice, make_contact, f"Employee {outcome}", client_id=client.id)

    def names(among: str) -> set[str]:
        found = audience_of(acme.account, acme.bob, post.id, among=among, include_not_asked=False)
        return {person.name for person in found.people}

    assert names("open") == {"Client new", "Contact new", "Employee new"}
    assert names("won") == {"Client won", "Contact won", "Employee won"}
    assert len(names("all")) == 9


def test_agents_with_limited_access_tell_their_own_customers(acme, post, anna):
    make_backer(post, acme.alice, make_client, "Own", responsible_id=acme.bob.id)
    acme.account.change(agents_see="own")
    shown = preview(acme, post, user=User.objects.get(account=acme.account, id=acme.bob.id))
    assert "Own" in shown
    assert "Anna Nowak" not in shown
    form_of(shown).submit("do", value="send")
    assert outcomes(acme.account.customer_messages.get()) == {"Own": "pending"}


def test_a_draft_is_edited_and_sent(acme, post, anna):
    draft = make_draft(acme.alice, post, text="Hello **{name}**")
    make_backer(post, acme.alice, make_client, "No consent", consent=None)
    page = acme.page(acme.bob).get(f"/app/messages/{draft.id}")
    assert "It has not been sent." in page
    assert "E-mails not sent" not in page
    form = form_of(page.click("Edit and send"))
    assert form["text"].value == "Hello **{name}**"
    form["include_not_asked"] = True
    form_of(form.submit("do", value="preview")).submit("do", value="send")
    draft.refresh_from_db()
    assert (draft.state, draft.author_id, draft.total) == ("sending", acme.bob.id, 2)
    # A second form for the draft loses nothing.
    form["form_key"] = "another"
    shown = form_of(form.submit("do", value="preview")).submit("do", value="send", expect_errors=True)
    assert (shown.status_code, acme.account.customer_messages.count()) == (422, 1)
    assert "It is no longer a draft." in shown
    assert (
        acme.page(acme.bob).get(f"/app/posts/{post.id}/message?draft={draft.id}").location
        == f"/app/messages/{draft.id}"
    )


def test_a_draft_is_deleted(acme, post, anna):
    draft, other = make_draft(acme.alice, post), make_draft(acme.alice, post)
    page = acme.page(acme.bob).get(f"/app/messages/{draft.id}")
    form = next(form for form in page.forms.values() if form.action == f"/app/messages/{draft.id}")
    shown = form_of(page.click("Edit and send")).submit("do", value="preview")
    assert "The draft is deleted." in form.submit("do", value="delete").follow()
    assert list(acme.account.customer_messages.values_list("id", flat=True)) == [other.id]
    # A form that was opened before sends a new message.
    form_of(shown).submit("do", value="send")
    assert acme.account.customer_messages.latest("id").state == "sending"
    page = acme.page(acme.bob).get(f"/app/messages/{other.id}")
    form = next(form for form in page.forms.values() if form.action == f"/app/messages/{other.id}")
    start_message(other, by=acme.bob)
    assert "It is no longer a draft." in form.submit("do", value="delete").follow()


def test_it_asks_again_if_the_recipients_have_changed(acme, post, anna):
    form = form_of(preview(acme, post))
    make_backer(post, acme.alice, make_client, "New")
    shown = form.submit("do", value="send", expect_errors=True)
    assert (shown.status_code, acme.account.customer_messages.count()) == (409, 0)
    assert "The recipients have changed" in shown
    form_of(shown).submit("do", value="send")
    assert acme.account.customer_messages.get().total == 2


def test_it_rejects_bad_input(acme, post, anna):
    form, valid = form_of(acme.page(acme.bob).get(f"/app/posts/{post.id}/message")), {"subject": "News", "text": "a"}
    for values, error in (
        ({"subject": " "}, "subject: can't be blank"),
        ({"text": ""}, "text: can't be blank"),
        ({"subject": "a" * 151}, "at most 150 characters"),
        ({"text": "a" * 10_001}, "at most 10000 characters"),
        ({"among": "won"}, "leaves nobody who may get the message"),
    ):
        for name, value in (valid | values).items():
            form[name] = value
        shown = form.submit("do", value="preview", status=422)
        alert = " ".join(shown.html.find(role="alert").get_text(" ", strip=True).split()).replace(" :", ":").lower()
        assert error in alert


def test_limits(acme, post, anna, monkeypatch):
    make_backer(post, acme.alice, make_client, "Second")
    monkeypatch.setattr(audience, "MAX_RECIPIENTS", 1)
    assert "too many recipients (maximum is 1)" in preview(acme, post)
    monkeypatch.setattr(audience, "MAX_CANDIDATES", 1)
    make_backer(post, acme.alice, make_client, "Third")
    page = acme.page(acme.bob).get(f"/app/posts/{post.id}/message")
    assert "too many customers (maximum is 1)" in page
    monkeypatch.undo()
    # A limit that is reached after the preview.
    monkeypatch.setattr(message_sending, "MAX_MESSAGES_PER_DAY", 1)
    form = form_of(preview(acme, post))
    start(acme, post)
    refused = form.submit("do", value="send", expect_errors=True)
    assert (refused.status_code, acme.account.customer_messages.count()) == (422, 1)
    assert "the account may send 1 a day" in refused


def test_a_name_is_no_markup(acme):
    """The suggestion is private, so the e-mail has no link to it."""
    private = make_post(acme.bob, "Secret", private=True)
    name = "*[x](https://evil.example)* <b>\nhttps://evil.example"
    make_backer(private, acme.alice, make_client, "Name", first_name=name)
    start(acme, private)
    run_jobs()
    [email] = mail.outbox
    [(html, _type)] = email.alternatives
    assert 'href="https://evil' not in html
    assert "*[x](https://evil.example)* &lt;b&gt; https://evil.example" in html
    assert f"/app/posts/{private.id}" not in email.body


# Jobs


def test_it_does_not_contact_those_who_changed_their_mind(acme, post, anna):
    changes = {"Refused": {"consent": False}, "Stop": {"do_not_contact": True}, "Moved": {"email": "b@b.example"}}
    rows = {name: make_backer(post, acme.alice, make_client, name) for name in (*changes, "Unknown", "Trashed")}
    message = start(acme, post)
    for name, values in (changes | {"Unknown": {"consent": None}}).items():
        rows[name].write(values, by=acme.alice)
    rows["Trashed"].trash(by=acme.alice)
    run_jobs()
    assert outcomes(message) == {
        "Anna Nowak": "sent",
        "Refused": "skipped do_not_contact",
        "Stop": "skipped do_not_contact",
        "Moved": "skipped gone",
        "Unknown": "skipped not_asked",
        "Trashed": "skipped gone",
    }
    message.refresh_from_db()
    assert (message.state, message.sent, message.skipped) == ("sent", 1, 5)
    shown = acme.page(acme.bob).get(f"/app/messages/{message.id}")
    assert "Was deleted, or has another e-mail address now" in shown


def test_a_killed_worker_sends_nothing_twice(acme, post, anna):
    make_backer(post, acme.alice, make_client, "Second")
    message = start(acme, post)
    # The worker is killed while the first e-mail is being sent.
    killed = MessageRecipient.objects.claim(acme.account.id, message.id)
    run_jobs()
    message.refresh_from_db()
    assert (len(mail.outbox), message.state) == (1, "sending")
    MessageRecipient.objects.filter(state="sending").update(claimed_at=timezone.now() - timedelta(hours=1))
    run_jobs(later=timedelta(hours=1))
    message.refresh_from_db()
    assert (len(mail.outbox), message.state, message.sent, message.failed) == (1, "sent", 1, 1)
    assert outcomes(message)[killed.name] == "failed unknown"


def test_stalled_messages_are_continued(acme, post, anna):
    message = start(acme, post)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM core_job")
    for minutes, outcome in ((14, "pending"), (16, "sent")):
        Message.objects.update(updated_at=timezone.now() - timedelta(minutes=minutes))
        message_sending.continue_messages()
        run_jobs()
        assert outcomes(message) == {"Anna Nowak": outcome}


@table(
    ("error", "outcome"),
    [
        (SMTPRecipientsRefused({"a": (550, b"no such user")}), "failed rejected"),
        (SMTPRecipientsRefused({"a": (450, b"try again")}), "pending"),
        (SMTPServerDisconnected("broken"), "failed unknown"),
        (TimeoutError(), "failed unknown"),
    ],
)
def test_errors_of_the_mail_server(acme, post, anna, monkeypatch, error, outcome):
    second = make_backer(post, acme.alice, make_client, "Second")
    original = EmailBackend.send_messages

    def fail_for_anna(self, emails):
        if emails[0].to == [anna.email]:
            raise error
        return original(self, emails)

    monkeypatch.setattr(EmailBackend, "send_messages", fail_for_anna)
    message = start(acme, post)
    run_jobs()
    assert outcomes(message) == {"Anna Nowak": outcome, "Second": "sent"}
    monkeypatch.setattr(EmailBackend, "send_messages", original)
    MessageRecipient.objects.filter(state="pending").update(due_at=timezone.now())
    run_jobs(later=timedelta(hours=1))
    message.refresh_from_db()
    assert message.state == "sent"
    assert [email.to[0] for email in mail.outbox] == [second.email] + [anna.email] * (outcome == "pending")


def test_it_waits_for_the_mail_server(acme, post, anna, monkeypatch):
    def fail(self):
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(EmailBackend, "open", fail)
        message = start(acme, post)
        run_jobs()
        assert outcomes(message) == {"Anna Nowak": "pending"}
    run_jobs(later=timedelta(minutes=2))
    assert outcomes(message) == {"Anna Nowak": "sent"}


def test_many_recipients_take_several_jobs_and_can_be_cancelled(acme, post, monkeypatch):
    monkeypatch.setattr(message_sending, "BATCH_SIZE", 2)
    for number in range(5):
        make_backer(post, acme.alice, make_client, f"Client {number}")
    message = start(acme, post)
    message_sending.send_message(account_id=acme.account.id, message_id=message.id)
    bob = acme.page(acme.bob)
    page = bob.get(f"/app/messages/{message.id}")
    assert "2 of 5" in page
    form = next(form for form in page.forms.values() if form.action == f"/app/messages/{message.id}")
    assert "Cancelled" in form.submit("do", value="cancel").follow()
    assert "The message is finished already." in form.submit("do", value="cancel").follow()
    run_jobs()
    message.refresh_from_db()
    assert (len(mail.outbox), message.state, message.sent, message.not_sent) == (2, "cancelled", 2, 3)
    whole = start(acme, post)
    run_jobs()
    whole.refresh_from_db()
    assert (len(mail.outbox), whole.state, whole.sent) == (7, "sent", 5)


@table("failure", ["user", "post"])
def test_it_stops_without_its_author_or_its_suggestion(acme, post, anna, failure):
    message = start(acme, post)
    if failure == "user":
        User.objects.filter(id=acme.bob.id, account=acme.account).update(is_active=False)
    else:
        post.trash(by=acme.alice)
    run_jobs()
    message.refresh_from_db()
    assert (message.state, message.failure, mail.outbox) == ("failed", failure, [])


# Unsubscribing


def test_unsubscribing(acme, other, post, anna):
    twin = make_client(acme.alice, "Twin", email="Anna.Nowak@Customer.example")
    bystander = make_client(acme.alice, "Bystander", email="b@customer.example")
    start(acme, post)
    run_jobs()
    path, visitor = unsubscribe_path(mail.outbox[0]), acme.page()
    page = visitor.get(path)
    for wrong_visitor, wrong in ((visitor, path[:-3]), (visitor, path.partition("?")[0]), (Visitor(other.host), path)):
        assert "A part of it is missing." in wrong_visitor.post(wrong, {}, status=404)
    anna.refresh_from_db()
    assert not anna.do_not_contact
    shown = next(form for form in page.forms.values() if form.method == "post").submit()
    for response in (shown, visitor.get(path)):
        assert "sends no more messages to anna.nowak@customer.example" in response
    # A mail program sends this request, perhaps again.
    assert visitor.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    for row, expected in ((anna, True), (twin, True), (bystander, False)):
        row.refresh_from_db()
        assert (row.do_not_contact, row.do_not_contact_at is not None) == (expected, expected)
        assert row.do_not_contact_by_id is None
    assert kinds_of(anna) == ["message", "unsubscribed"]
    assert kinds_of(twin) == ["unsubscribed"]
    changes = acme.account.timeline_entries.filter(contact_id=anna.id, kind="change")
    assert {entry.user_id for entry in changes} == {None}
    assert audience_of(acme.account, acme.bob, post.id, among="all", include_not_asked=True).people == []


def test_merged_customers(acme, post, anna):
    """After a merge, the e-mail still goes to the address of the recipient, and counts for the kept row."""
    kept = make_contact(acme.alice, "Anna N.", email="anna@elsewhere.example", consent=True)
    message = start(acme, post)
    acme.account.merges.merge(acme.account, "contact", kept.id, anna.id, {}, by=acme.alice)
    run_jobs()
    assert outcomes(message) == {"Anna Nowak": "sent"}
    assert mail.outbox[0].to == ["anna.nowak@customer.example"]
    assert kinds_of(kept) == ["message"]
    acme.page().post(unsubscribe_path(mail.outbox[0]), {})
    for row in (kept, anna):
        row.refresh_from_db()
        assert row.do_not_contact
