"""E-mails: their contents, and the jobs that send them."""

import email
import email.policy
import logging
import smtplib
import socket
from datetime import timedelta

from bs4 import BeautifulSoup
from django.core import mail as django_mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection, transaction

from accounts.mail import sending as mail
from accounts.mail.sending import Email, send_email
from core.jobs.queue import Job
from core.rooms import find_parts
from tests.support.jobs import run_jobs
from tests.support.tables import table

HOURS_7 = timedelta(hours=7)


def send(account_id: int | None = None, template: str = "accounts/mail/invitation.txt", **values) -> None:
    values = {"language": "en", "sender": "Ideas & Co", "by": "Alice <3", "url": "https://a/?b&c", **values}
    mail.send("new@example.com", template, account_id=account_id, **values)


def jobs() -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT state, attempts FROM core_job ORDER BY id")
        return cursor.fetchall()


def test_it_works(acme, settings, django_assert_num_queries):
    settings.DEFAULT_FROM_EMAIL = "Rostrum <noreply@example.test>"
    with django_assert_num_queries(1):
        send(acme.account.id)
    [sent] = django_mail.outbox
    assert sent.to == ["new@example.com"]
    assert sent.from_email == "Ideas & Co <noreply@example.test>"
    assert sent.subject == "Alice <3 invites you to Ideas & Co"
    assert sent.body == (
        "Alice <3 invites you to Ideas & Co\n\n"
        "To join, open the invitation and choose a password.\n\n"
        "Accept the invitation:\nhttps://a/?b&c\n\n"
        "The link works for 7 days. If you didn't expect this, you can ignore this e-mail.\n\n"
        "-- \nIdeas & Co sent this e-mail to new@example.com.\n"
    )
    [page] = sent.alternatives
    html = BeautifulSoup(page.content, "html.parser")
    assert [heading.text.strip() for heading in html.find_all("h1")] == [sent.subject]
    [link] = html.find_all("a")
    assert (link.text, link["href"]) == ("Accept the invitation", "https://a/?b&c")
    # Lists of e-mails show this text after the subject.
    assert html.body.div.text.startswith("To join, open the invitation and choose a password. The link works")
    headers = sent.message()
    assert headers["Auto-Submitted"] == "auto-generated"
    assert headers["Content-Language"] == "en"
    assert headers["Message-ID"].endswith("@example.test>")
    # The job is deleted when the mail server has accepted the e-mail.
    assert jobs() == []


def test_names_cannot_add_headers_and_buttons(db):
    send(sender="Two\r\nBcc: lines", by="https://evil.example > x")
    send(sender="Two\r\nBcc: lines", by="A\nB")
    hostile, sent = django_mail.outbox
    [link] = BeautifulSoup(hostile.alternatives[0].content, "html.parser").find_all("a")
    assert link["href"] == "https://a/?b&c"
    assert sent.message()["Bcc"] is None
    assert sent.subject == "A B invites you to Two Bcc: lines"
    assert sent.from_email.startswith('"Two Bcc: lines" <')


def test_emails_are_in_the_language_of_the_recipient():
    for language, shown in (("en", "en"), ("pl", "pl"), ("xx", "en")):
        values = {"by": "Alice", "url": "https://a/"}
        *_, page = Email("new@example.com", "accounts/mail/invitation.txt", language, "Ideas & Co", values).render()
        assert f'<html lang="{shown}">' in page


def test_an_email_of_a_transaction_that_rolls_back_is_not_sent(db):
    with transaction.atomic():
        send()
        transaction.set_rollback(True)
    assert django_mail.outbox == []


def test_the_database_shows_neither_addresses_nor_links(db):
    send()
    with connection.cursor() as cursor:
        cursor.execute("SELECT jobs::text FROM core_job AS jobs")
        [(row,)] = cursor.fetchall()
    assert "example.com" not in row
    assert "https" not in row


def test_an_email_of_a_deleted_account_is_dropped(acme):
    send(acme.account.id + 1000)
    assert django_mail.outbox == []
    assert jobs() == []


def test_an_email_that_is_not_delivered_takes_the_same_work(acme, monkeypatch, django_assert_num_queries):
    rendered, render = [], Email.render
    monkeypatch.setattr(Email, "render", lambda self, look: rendered.append(self.deliver) or render(self, look))
    for deliver in (True, False):
        with django_assert_num_queries(1):
            send(acme.account.id, deliver=deliver)
        run_jobs()
    assert rendered == [True, False]
    assert len(django_mail.outbox) == 1


def make_attempts_fail(monkeypatch, *errors: Exception) -> list[str]:
    """Make the first attempts to send raise these errors. Return a list that receives the Message-ID of each attempt."""
    attempts, remaining, deliver = [], list(errors), EmailBackend.send_messages

    def attempt(self, messages):
        attempts.extend(message.extra_headers["Message-ID"] for message in messages)
        if remaining:
            raise remaining.pop(0)
        return deliver(self, messages)

    monkeypatch.setattr(EmailBackend, "send_messages", attempt)
    return attempts


TEMPORARY_ERRORS = [
    ConnectionRefusedError("new@example.com"),
    TimeoutError(),
    socket.gaierror(),
    smtplib.SMTPServerDisconnected(),
    smtplib.SMTPConnectError(421, b"new@example.com"),
    smtplib.SMTPDataError(451, b""),
    smtplib.SMTPRecipientsRefused({"new@example.com": (450, b"")}),
]
PERMANENT_ERRORS = [
    smtplib.SMTPRecipientsRefused({"new@example.com": (550, b"")}),
    smtplib.SMTPSenderRefused(553, b"", "new@example.com"),
    smtplib.SMTPAuthenticationError(535, b""),
    smtplib.SMTPNotSupportedError("new@example.com"),
    ValueError("new@example.com"),
]


def name_of(error: Exception) -> str:
    return type(error).__name__


@table("error", TEMPORARY_ERRORS)
def test_temporary_errors_are_retried(db, monkeypatch, caplog, outbox, error):
    attempts = make_attempts_fail(monkeypatch, error)
    send()
    with caplog.at_level(logging.INFO, "rostrum.jobs"):
        run_jobs(raise_errors=False)
        assert (len(attempts), jobs()) == (1, [("waiting", 1)])
        run_jobs(later=timedelta(seconds=5), raise_errors=False)
    assert (len(attempts), len(outbox), jobs()) == (2, 1, [])
    # Mail programs recognise a duplicate by its id.
    assert len(set(attempts)) == 1
    [record] = caplog.records
    assert record.getMessage().endswith(f"is retried in 5 s: {name_of(error)}")


@table("error", PERMANENT_ERRORS)
def test_permanent_errors_are_logged_without_the_address(db, monkeypatch, caplog, error):
    attempts = make_attempts_fail(monkeypatch, error)
    send()
    with caplog.at_level(logging.DEBUG, "rostrum.jobs"):
        run_jobs(raise_errors=False)
    assert (len(attempts), jobs()) == (1, [("failed", 1)])
    assert Job.objects.get().error == name_of(error)
    assert f"failed after 1 attempts: {name_of(error)}" in caplog.text
    assert "new@example.com" not in caplog.text


def test_it_stops_after_six_attempts(db, monkeypatch):
    attempts = make_attempts_fail(monkeypatch, *(TimeoutError() for _ in range(9)))
    send()
    for _ in range(8):
        run_jobs(later=HOURS_7, raise_errors=False)
    assert (len(attempts), jobs()) == (6, [("failed", 6)])


def test_it_rejects_an_email_that_another_key_has_sealed(db, settings, outbox):
    send()
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLM"
    run_jobs(raise_errors=False)
    assert (jobs(), Job.objects.get().error) == ([("failed", 1)], "SealError")
    # A former key decrypts the e-mail.
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "x" * 60, [old]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE core_job SET state = 'waiting'")
    run_jobs()
    assert len(outbox) == 1


def test_it_rejects_arguments_of_another_version_of_the_code(db):
    send_email.defer(account_id=None, sealed=mail.seal({"to": "a@b.c", "colour": "red"}))
    run_jobs(raise_errors=False)
    assert (jobs(), Job.objects.get().error) == ([("failed", 1)], "TypeError")


SIGN_IN = {"time": "12:00", "address": "192.0.2.1", "login": "carol", "url": "https://a/"}
TEMPLATES = {
    "accounts/mail/confirm_email.txt": {"url": "https://a/"},
    "accounts/mail/confirmation_code.txt": {"code": "012345"},
    "accounts/mail/account_invitation.txt": {"url": "https://a/"},
    "accounts/mail/account_deletion.txt": {"date": "1 March 2027", "url": "https://a/"},
    "accounts/mail/account_open.txt": {"url": "https://a/"},
    "accounts/mail/account_suspended.txt": {"reason": "Unpaid since May", "url": "https://a/"},
    "accounts/mail/email_changed.txt": {"email": "new@b.c"},
    "accounts/mail/email_taken.txt": {"sign_in": "https://a/in"},
    "accounts/mail/erasure_code.txt": {"code": "012345"},
    "accounts/mail/factor_changed.txt": {"change": "A passkey was added.", **SIGN_IN},
    "accounts/mail/inactive_member.txt": {"login": "carol", "date": "1 March 2027", "url": "https://a/"},
    "accounts/mail/invitation.txt": {"by": "Alice", "url": "https://a/"},
    "accounts/mail/new_browser.txt": {"browser": "Firefox", **SIGN_IN},
    "accounts/mail/new_token.txt": {"label": "shop", **SIGN_IN},
    "accounts/mail/new_account_code.txt": {"code": "012345"},
    "accounts/mail/password_changed.txt": {"url": "https://a/"},
    "accounts/mail/password_reset.txt": {"login": "carol", "url": "https://a/"},
    "accounts/mail/sign_in_code.txt": {"code": "012345"},
    "accounts/mail/sso_changed.txt": {"change": "It is on now.", "url": "https://a/"},
    "accounts/mail/sso_domain.txt": {"domain": "a.example", "date": "1 March 2027", "url": "https://a/"},
    "forum/inbox/rejected.txt": {"title": "A dark theme", "reason": "It is *about* something else."},
    "webhooks/failing.txt": {"host": "hooks.example", "url": "https://a/"},
    "webhooks/gone.txt": {"host": "hooks.example", "url": "https://a/"},
}


@table("language", ["en", "pl"])
@table("template", TEMPLATES)
def test_every_email_is_complete(template, language):
    values = TEMPLATES[template]
    subject, text, page = Email("a@b.c", template, language, "Ideas", values).render()
    html = BeautifulSoup(page, "html.parser")
    shown = html.get_text()
    assert subject
    if "code" in values:
        assert subject.startswith(values["code"])
        assert text.startswith(f"{values['code']}\n\n")
        assert html.find("h1").text == values["code"]
    assert "\n\n\n" not in text
    assert "  " not in text
    assert len(html.find_all("h1")) == 1
    for value in ("Ideas", "a@b.c", *values.values()):
        assert value in text
        assert value in shown or html.find("a", href=value)
    for link in html.find_all("a"):
        assert f"\n\n{link.text}:\n{link['href']}\n" in text


def test_the_tests_know_all_templates():
    templates = {f"{package}/{file.name}" for package, path in find_parts("templates") for file in path.glob("*.txt")}
    assert templates == set(TEMPLATES)


# Names, titles and subjects that mail programs would not show as they are, with what they should show.
HOSTILE_TEXTS = [
    ("A =?utf-8?q?fake?= title", "A =?utf-8?q?fake?= title"),
    ("=?utf-8?b?ZmFrZQ==?=", "=?utf-8?b?ZmFrZQ==?="),
    ("Zażółć =?utf-8?q?fake?=", "Zażółć =?utf-8?q?fake?="),
    ("long " * 30 + "=?utf-8?q?fake?=", ("long " * 30 + "=?utf-8?q?fake?=")),
    ("ends with =?", "ends with =?"),
    ("a\nb\r\nc\u2028d\x0be", "a b c d e"),
    ("Invoice \u202etxt.exe", "Invoice txt.exe"),
    ("\u2066a\u2067b\u2068c\u2069 \u202ad\u202be\u202cf\u202dg", "abc defg"),
]


@table(("text", "shown"), HOSTILE_TEXTS)
def test_mail_programs_show_subjects_and_names_as_they_are(acme, text, shown):
    # Python's parser adds blanks between the parts of a long name.
    is_short = len(text) < 40
    send(acme.account.id, by=text, sender=text if is_short else "Acme")
    [sent] = django_mail.outbox
    message = email.message_from_bytes(sent.message().as_bytes(), policy=email.policy.default)
    sender = shown if is_short else "Acme"
    # Python's parser keeps the blank of a folded first line.
    assert message["Subject"].strip() == f"{shown} invites you to {sender}"
    assert message["From"].addresses[0].display_name == sender
    assert all(len(line) <= 998 for line in sent.message().as_bytes().splitlines())
    body = message.get_body(("plain",)).get_content()
    assert body.startswith(f"{shown} invites you to {sender}\n")
