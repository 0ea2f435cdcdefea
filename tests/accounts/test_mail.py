"""E-mails: their contents, and sending in the background."""

import logging
import smtplib
import socket
import threading

import pytest
from django.core import mail as django_mail

from accounts import mail
from accounts.mail import Letter, Postman


def letter(**context) -> Letter:
    context = {"by": "Alice", "url": "https://acme.example.test/app/invitation?secret=x&y=1", **context}
    return Letter("new@example.com", "invitation", "en", "Ideas & Co", context)


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


def test_it_rejects_no_name_that_would_break_a_header():
    mail.send("new@example.com", "invitation", language="en", sender="Two\r\nBcc: lines", by="A\nB", url="https://a")
    [sent] = django_mail.outbox
    assert sent.message()["Bcc"] is None
    assert sent.subject == "You are invited to Two Bcc: lines"
    assert sent.from_email.startswith('"Two Bcc: lines" <')


def test_it_is_in_the_language_of_its_reader():
    *_, page = letter().write()
    assert '<html lang="en">' in page
    polish = letter()
    polish.language = "pl"
    assert '<html lang="pl">' in polish.write()[2]
    unknown = letter()
    unknown.language = "xx"
    assert '<html lang="en">' in unknown.write()[2]


@pytest.fixture
def postman(monkeypatch) -> Postman:
    """Return a postman without delays."""
    monkeypatch.setattr(mail, "WAITS", (0,) * len(mail.WAITS))
    return Postman()


def deliver(postman: Postman, *letters: Letter) -> None:
    """Deliver the letters in this thread, so that an error fails the test."""
    for one in letters:
        postman.put(one)
    postman.work()


def failing(monkeypatch, *errors: Exception) -> list[Letter]:
    """Return the list of attempted letters. The first attempts raise these errors."""
    tried, left, send = [], list(errors), Letter.send

    def attempt(self):
        tried.append(self)
        if left:
            raise left.pop(0)
        send(self)

    monkeypatch.setattr(Letter, "send", attempt)
    return tried


def test_it_is_sent_by_another_thread(monkeypatch, postman):
    threads = []
    monkeypatch.setattr(Letter, "send", lambda self: threads.append(threading.current_thread()))
    # The server's threads are daemons too. The sending thread is joined when the process ends.
    server = threading.Thread(target=postman.take, args=[letter()], daemon=True)
    server.start()
    server.join()
    if (thread := postman.thread) is not None:
        thread.join()
    assert [(one.name, one.daemon) for one in threads] == [("postman", False)]
    assert postman.thread is None


LATER = [
    ConnectionRefusedError("new@example.com"),
    TimeoutError(),
    socket.gaierror(),
    smtplib.SMTPServerDisconnected(),
    smtplib.SMTPConnectError(421, b"new@example.com"),
    smtplib.SMTPDataError(451, b""),
    smtplib.SMTPRecipientsRefused({"new@example.com": (450, b"")}),
]
NEVER = [
    smtplib.SMTPRecipientsRefused({"new@example.com": (550, b"")}),
    smtplib.SMTPSenderRefused(553, b"", "new@example.com"),
    smtplib.SMTPAuthenticationError(535, b""),
    smtplib.SMTPNotSupportedError("new@example.com"),
    ValueError("new@example.com"),
]


def name_of(error: Exception) -> str:
    return type(error).__name__


@pytest.mark.parametrize("error", LATER, ids=name_of)
def test_what_passes_is_tried_again(monkeypatch, caplog, postman, error):
    tried = failing(monkeypatch, error)
    with caplog.at_level(logging.INFO, "rostrum.mail"):
        deliver(postman, letter())
    assert (len(tried), len(django_mail.outbox)) == (2, 1)
    assert [record.getMessage() for record in caplog.records] == [f"an e-mail is tried again later: {name_of(error)}"]


@pytest.mark.parametrize("error", NEVER, ids=name_of)
def test_what_does_not_pass_is_noted_without_the_address(monkeypatch, caplog, postman, error):
    tried = failing(monkeypatch, error)
    with caplog.at_level(logging.INFO, "rostrum.mail"):
        deliver(postman, letter())
    assert (len(tried), django_mail.outbox) == (1, [])
    assert [record.getMessage() for record in caplog.records] == [f"an e-mail was not sent: {name_of(error)}"]


def test_it_is_given_up_after_a_few_times(monkeypatch, caplog, postman):
    tried = failing(monkeypatch, *(TimeoutError() for _ in range(9)))
    deliver(postman, letter())
    assert len(tried) == 5
    assert caplog.records[-1].getMessage() == "an e-mail was not sent: TimeoutError"
    assert postman.waiting == []


def test_others_are_not_behind_it(monkeypatch, postman):
    monkeypatch.setattr(mail, "WAITS", (0, 0.05))
    first, second = letter(), letter()
    tried = failing(monkeypatch, TimeoutError())
    deliver(postman, first, second)
    assert tried == [first, second, first]


def test_a_process_that_ends_tries_what_is_left_a_last_time(monkeypatch, caplog, postman):
    monkeypatch.setattr(mail, "WAITS", (600, 600))
    monkeypatch.setattr(threading, "main_thread", lambda: threading.Thread())
    first, second = letter(), letter()
    tried = failing(monkeypatch, TimeoutError())
    deliver(postman, first, second)
    assert tried == [first, second]
    assert len(django_mail.outbox) == 1
    assert [record.getMessage() for record in caplog.records] == ["an e-mail was not sent: TimeoutError"]


def test_a_process_that_ends_does_not_take_long(monkeypatch, caplog, postman):
    monkeypatch.setattr(mail, "ENDING", -1)
    monkeypatch.setattr(threading, "main_thread", lambda: threading.Thread())
    deliver(postman, letter(), letter())
    assert django_mail.outbox == []
    assert [record.getMessage() for record in caplog.records] == ["e-mails were not sent, as the process ends: 2"]


def test_no_more_wait_than_there_is_room_for(monkeypatch, caplog, postman):
    monkeypatch.setattr(mail, "MOST_WAITING", 1)
    postman.put(letter())
    postman.take(letter())
    assert postman.thread is None
    assert len(postman.waiting) == 1
    assert [record.getMessage() for record in caplog.records] == ["an e-mail was not sent: too many wait"]


@pytest.mark.parametrize(
    "template",
    [
        "email",
        "email_changed",
        "email_taken",
        "invitation",
        "already_registered",
        "password",
        "password_changed",
        "sign_up",
    ],
)
def test_each_has_a_subject_and_a_text(template):
    subject, text, _page = Letter("a@b.c", template, "en", "Ideas", {}).write()
    assert "Ideas" in subject
    assert text.count("\n\n") >= 1
