"""E-mails: their contents, and sending in the background."""

import logging
import smtplib
import socket
import threading

import pytest
from django.core import mail as django_mail

from accounts import mail
from accounts.mail import MailQueue, QueuedEmail


def make_email(**context) -> QueuedEmail:
    context = {"by": "Alice", "url": "https://acme.example.test/app/invitation?secret=x&y=1", **context}
    return QueuedEmail("new@example.com", "invitation", "en", "Ideas & Co", context)


def test_it_works(settings):
    settings.DEFAULT_FROM_EMAIL = "Rostrum <noreply@example.test>"
    mail.send("new@example.com", "invitation", language="en", sender="Ideas & Co", by="Alice <3", url="https://a/?b&c")
    [sent] = django_mail.outbox
    assert sent.to == ["new@example.com"]
    assert sent.from_email == "Ideas & Co <noreply@example.test>"
    assert sent.subject == "You are invited to Ideas & Co"
    assert sent.body == (
        "Alice <3 invites you to Ideas & Co. To accept, open this page and choose a password:\n\n"
        "https://a/?b&c\n\n"
        "The link works for 7 days. If you didn't expect this, you can ignore this e-mail.\n"
    )
    [page] = sent.alternatives
    assert '<a href="https://a/?b&amp;c"' in page.content
    assert "Alice &lt;3 invites you to Ideas &amp; Co." in page.content
    headers = sent.message()
    assert headers["Auto-Submitted"] == "auto-generated"
    assert headers["Message-ID"].endswith("@example.test>")


def test_line_breaks_in_names_cannot_add_headers():
    mail.send("new@example.com", "invitation", language="en", sender="Two\r\nBcc: lines", by="A\nB", url="https://a")
    [sent] = django_mail.outbox
    assert sent.message()["Bcc"] is None
    assert sent.subject == "You are invited to Two Bcc: lines"
    assert sent.from_email.startswith('"Two Bcc: lines" <')


def test_emails_are_in_the_language_of_the_recipient():
    *_, page = make_email().render()
    assert '<html lang="en">' in page
    polish = make_email()
    polish.language = "pl"
    assert '<html lang="pl">' in polish.render()[2]
    unknown = make_email()
    unknown.language = "xx"
    assert '<html lang="en">' in unknown.render()[2]


@pytest.fixture
def mail_queue(monkeypatch) -> MailQueue:
    """Return a queue that retries without delay."""
    monkeypatch.setattr(mail, "RETRY_DELAYS", (0,) * len(mail.RETRY_DELAYS))
    return MailQueue()


def deliver(mail_queue: MailQueue, *emails: QueuedEmail) -> None:
    """Send the e-mails in this thread, so that an error fails the test."""
    for email in emails:
        mail_queue.push(email)
    mail_queue.run()


def make_attempts_fail(monkeypatch, *errors: Exception) -> list[QueuedEmail]:
    """Make the first attempts to send raise these errors. Return a list that receives the e-mail of each attempt."""
    attempts, remaining, send = [], list(errors), QueuedEmail.send

    def attempt(self):
        attempts.append(self)
        if remaining:
            raise remaining.pop(0)
        send(self)

    monkeypatch.setattr(QueuedEmail, "send", attempt)
    return attempts


def test_emails_are_sent_by_another_thread(monkeypatch, mail_queue):
    threads = []
    monkeypatch.setattr(QueuedEmail, "send", lambda self: threads.append(threading.current_thread()))
    # The threads of the server are daemons. The mail thread must not inherit this, as the process has to wait for it.
    server = threading.Thread(target=mail_queue.enqueue, args=[make_email()], daemon=True)
    server.start()
    server.join()
    if (mail_thread := mail_queue.thread) is not None:
        mail_thread.join()
    assert [(thread.name, thread.daemon) for thread in threads] == [("mail", False)]
    assert mail_queue.thread is None


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


@pytest.mark.parametrize("error", TEMPORARY_ERRORS, ids=name_of)
def test_temporary_errors_are_retried(monkeypatch, caplog, mail_queue, error):
    attempts = make_attempts_fail(monkeypatch, error)
    with caplog.at_level(logging.INFO, "rostrum.mail"):
        deliver(mail_queue, make_email())
    assert (len(attempts), len(django_mail.outbox)) == (2, 1)
    assert [record.getMessage() for record in caplog.records] == [
        f"an e-mail will be sent again later: {name_of(error)}"
    ]


@pytest.mark.parametrize("error", PERMANENT_ERRORS, ids=name_of)
def test_permanent_errors_are_logged_without_the_address(monkeypatch, caplog, mail_queue, error):
    attempts = make_attempts_fail(monkeypatch, error)
    with caplog.at_level(logging.INFO, "rostrum.mail"):
        deliver(mail_queue, make_email())
    assert (len(attempts), django_mail.outbox) == (1, [])
    assert [record.getMessage() for record in caplog.records] == [f"an e-mail was not sent: {name_of(error)}"]


def test_it_stops_after_five_attempts(monkeypatch, caplog, mail_queue):
    attempts = make_attempts_fail(monkeypatch, *(TimeoutError() for _ in range(9)))
    deliver(mail_queue, make_email())
    assert len(attempts) == 5
    assert caplog.records[-1].getMessage() == "an e-mail was not sent: TimeoutError"
    assert mail_queue.pending == []


def test_a_retry_does_not_delay_others(monkeypatch, mail_queue):
    monkeypatch.setattr(mail, "RETRY_DELAYS", (0, 0.05))
    first, second = make_email(), make_email()
    attempts = make_attempts_fail(monkeypatch, TimeoutError())
    deliver(mail_queue, first, second)
    assert attempts == [first, second, first]


def test_an_ending_process_tries_each_pending_email_once(monkeypatch, caplog, mail_queue):
    monkeypatch.setattr(mail, "RETRY_DELAYS", (600, 600))
    monkeypatch.setattr(threading, "main_thread", lambda: threading.Thread())
    first, second = make_email(), make_email()
    attempts = make_attempts_fail(monkeypatch, TimeoutError())
    deliver(mail_queue, first, second)
    assert attempts == [first, second]
    assert len(django_mail.outbox) == 1
    assert [record.getMessage() for record in caplog.records] == ["an e-mail was not sent: TimeoutError"]


def test_an_ending_process_drops_emails_after_a_time_limit(monkeypatch, caplog, mail_queue):
    monkeypatch.setattr(mail, "SHUTDOWN_SECONDS", -1)
    monkeypatch.setattr(threading, "main_thread", lambda: threading.Thread())
    deliver(mail_queue, make_email(), make_email())
    assert django_mail.outbox == []
    assert [record.getMessage() for record in caplog.records] == ["2 e-mails were not sent: the process ended"]


def test_a_full_queue_rejects_emails(monkeypatch, caplog, mail_queue):
    monkeypatch.setattr(mail, "MAX_QUEUED", 1)
    mail_queue.push(make_email())
    mail_queue.enqueue(make_email())
    assert mail_queue.thread is None
    assert len(mail_queue.pending) == 1
    assert [record.getMessage() for record in caplog.records] == ["an e-mail was not sent: the queue is full"]


@pytest.mark.parametrize(
    "template",
    [
        "already_registered",
        "confirm_email",
        "email_changed",
        "email_taken",
        "invitation",
        "password_changed",
        "password_reset",
        "sign_up",
    ],
)
def test_every_email_has_a_subject_and_a_text(template):
    subject, text, _page = QueuedEmail("a@b.c", template, "en", "Ideas", {}).render()
    assert "Ideas" in subject
    assert text.count("\n\n") >= 1
