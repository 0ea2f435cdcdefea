"""E-mails: what is in them, and that sending one holds nobody up."""

import logging

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


def test_it_is_sent_by_another_thread():
    postman = Postman()
    postman.take(letter())
    postman.thread.shutdown()
    assert len(django_mail.outbox) == 1


def test_a_failure_is_noted_without_the_address(monkeypatch, caplog):
    def refuse(self):
        raise OSError("550 new@example.com is unknown")

    monkeypatch.setattr(Letter, "send", refuse)
    postman = Postman()
    with caplog.at_level(logging.ERROR, "rostrum.mail"):
        postman.take(letter())
        postman.thread.shutdown()
    assert [record.getMessage() for record in caplog.records] == ["an e-mail was not sent: OSError"]


def test_no_more_wait_than_there_is_room_for(monkeypatch, caplog):
    monkeypatch.setattr(mail, "MOST_WAITING", 1)
    postman = Postman()
    postman.waiting.acquire()
    postman.take(letter())
    postman.thread.shutdown()
    assert django_mail.outbox == []
    assert [record.getMessage() for record in caplog.records] == ["an e-mail was not sent: too many wait"]


@pytest.mark.parametrize(
    "template",
    ["email", "email_changed", "email_taken", "invitation", "known", "password", "password_changed", "sign_up"],
)
def test_each_has_a_subject_and_a_text(template):
    subject, text, _page = Letter("a@b.c", template, "en", "Ideas", {}).write()
    assert "Ideas" in subject
    assert text.count("\n\n") >= 1
