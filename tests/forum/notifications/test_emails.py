"""E-mails of notifications: contents, headers, combining, digests, and what is not sent."""

import email
import email.policy
import smtplib
from datetime import timedelta

import pytest
from django.core import mail as django_mail
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone

from accounts.mail.sending import MAIL_QUEUE, URGENT_MAIL_QUEUE
from accounts.users.delivery import NotificationDelivery
from core.jobs import queue
from forum.follows.models import Follow
from forum.notifications.emails import send_due_notifications, send_notifications
from forum.notifications.models import Notification
from tests.support import letters
from tests.support.codes import request_code
from tests.support.factories import make_comment, make_post, make_user
from tests.support.followers import run_followers
from tests.support.jobs import run_jobs
from tests.support.tables import table


@pytest.fixture
def quiet(acme, settings):
    settings.DEFAULT_FROM_EMAIL = "Rostrum <noreply@example.test>"
    acme.account.users.update(notification="own", notify_new_posts=False)
    acme.post = make_post(acme.carol, "Dark mode")
    return acme


def send_all(**later: int) -> list:
    return letters.send_notifications(later=timedelta(**later))


def test_it_works(quiet):
    comment = make_comment(quiet.post, quiet.bob, "In *spring*:\n\n- iOS\n- Android")
    assert send_all() == []
    [email] = send_all(minutes=5)
    assert email.to == ["carol@acme.example"]
    assert email.from_email == "Acme <noreply@example.test>"
    assert email.subject == "Dark mode"
    [link] = [word for word in email.body.split() if "/app/unsubscribe?" in word]
    assert email.body == (
        "Dark mode\n\nBob Nowak commented.\n\n> In spring:\n>\n> • iOS\n> • Android\n\n"
        f"See the comment:\nhttp://acme.example.test/app/posts/{quiet.post.id}/comments/{comment.id}\n\n"
        "-- \nYou receive this e-mail because you wrote this suggestion.\n"
        f"Unsubscribe, or choose fewer e-mails: {link}\n"
    )
    headers = email.message()
    assert headers["Auto-Submitted"] == "auto-generated"
    assert headers["Content-Language"] == "en"
    assert headers["List-Id"] == "<notifications.acme.example.test>"
    assert headers["List-Unsubscribe"].replace("\n ", "") == f"<{link}>"
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    first = f"<suggestion.{quiet.account.id}.{quiet.post.id}@example.test>"
    assert (headers["References"], headers["In-Reply-To"]) == (first, first)
    [row] = Notification.objects.all()
    assert headers["Message-ID"] == f"<notification.{quiet.account.id}.{row.id}.1@example.test>"
    assert row.mailed_at is not None
    [page] = email.alternatives
    assert ">Bob Nowak commented. In spring: • iOS • Android</div>" in page.content
    assert "In spring:<br><br>• iOS<br>• Android</p>" in page.content
    assert f'href="http://acme.example.test/app/posts/{quiet.post.id}/comments/{comment.id}"' in page.content
    assert send_all(hours=1) == []


def test_links_keep_their_addresses(quiet):
    make_comment(
        quiet.post, quiet.bob, "See [the plan](https://e.example/x?a=1&b=2) or www.e.example, **ann@e.example**"
    )
    [email] = send_all(minutes=5)
    assert "> See the plan (https://e.example/x?a=1&b=2) or www.e.example, ann@e.example\n" in email.body
    [page] = email.alternatives
    for address in ("https://e.example/x?a=1&amp;b=2", "http://www.e.example", "mailto:ann@e.example"):
        assert f'href="{address}"' in page.content


def test_it_is_in_the_language_of_the_recipient(quiet):
    quiet.account.users.filter(login="carol").update(language="pl")
    planned = quiet.account.statuses.get(kind="post", code="planned")
    quiet.post.write({"response": "Wiosną.", "status": planned}, by=quiet.bob)
    [email] = send_all(minutes=5)
    assert email.body.startswith(
        "Dark mode\n\nBob Nowak oficjalnie odpowiada; nowy status: „Zaplanowana”.\n\n> Wiosną."
    )
    assert "\n-- \nOtrzymujesz ten e-mail, ponieważ to Twoja propozycja.\n" in email.body


def test_events_within_five_minutes_are_combined(quiet):
    first = make_comment(quiet.post, quiet.bob, "One")
    run_followers()
    make_comment(quiet.post, quiet.alice, "Two")
    other = make_post(quiet.carol, "Another")
    make_comment(other, quiet.bob, "Three")
    sent = [email for email in send_all(minutes=5) if email.to == [quiet.carol.email]]
    assert sorted(email.subject for email in sent) == ["Another", "Dark mode"]
    [email] = [email for email in sent if email.subject == "Dark mode"]
    assert email.body.index("> One") < email.body.index("> Two")
    # The link leads to the first comment, from which the user reads on.
    assert (
        f"See the suggestion:\nhttp://acme.example.test/app/posts/{quiet.post.id}/comments/{first.id}\n" in email.body
    )


def test_a_digest_has_all_events(quiet):
    quiet.account.users.filter(login="carol").update(delivery=NotificationDelivery.DAILY)
    make_comment(quiet.post, quiet.bob, "One")
    other = make_post(quiet.carol, "Another")
    make_comment(other, quiet.bob, "Two")
    assert send_all(minutes=5) == []
    [email] = send_all(days=1)
    assert email.subject == "2 notifications from Acme"
    assert "References" not in email.message()
    for text in (
        "Dark mode\n---------\nhttp://acme.example.test/app/posts/",
        "> One",
        "Another\n-------\nhttp://",
        "> Two",
    ):
        assert text in email.body
    assert "http://acme.example.test/app/notifications\n" in email.body
    # The reason is general, because each suggestion may have a different one.
    assert "-- \nYou receive this e-mail because you chose one e-mail a day with all notifications.\n" in email.body


@table(
    "change",
    [
        lambda acme: (
            acme.post.write({"private": True}, by=acme.bob) or acme.post.write({"user_id": acme.bob.id}, by=acme.bob)
        ),
        lambda acme: acme.post.trash(by=acme.bob),
        lambda acme: acme.carol.deactivate(by=acme.alice),
        lambda acme: acme.account.comments.all().delete(),
        lambda acme: acme.carol.change(notification="none"),
        lambda acme: acme.carol.change(delivery=NotificationDelivery.NEVER),
        lambda acme: acme.account.notifications.of_user(acme.carol).mark_read(),
    ],
)
def test_nothing_is_sent_that_the_user_may_not_see_any_more(quiet, change):
    make_comment(quiet.post, quiet.bob, "Secret")
    run_followers()
    change(quiet)
    assert send_all(minutes=5) == []


def test_an_internal_comment_is_not_sent_to_a_former_agent(quiet):
    dora = make_user(quiet.account, "dora", role="agent", notify_new_posts=False)
    Follow.objects.choose(quiet.post, by=dora, follows=True)
    quiet.post.comment(by=quiet.bob, text="Secret", internal=True)
    run_followers()
    assert [row.user_id for row in Notification.objects.all()] == [dora.id]
    dora.change_role("member", by=quiet.alice)
    assert send_all(minutes=5) == []


def test_an_address_that_is_rejected_three_times_is_marked(quiet, monkeypatch):
    def refuse(self, messages):
        raise smtplib.SMTPRecipientsRefused({"carol@acme.example": (550, b"no such user")})

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    for number in (1, 2, 3):
        make_comment(quiet.post, quiet.bob)
        run_followers()
        Notification.objects.exclude(mail_at=None).update(mail_at=timezone.now())
        send_due_notifications()
        run_jobs(raise_errors=False)
        carol = quiet.account.users.get(login="carol")
        assert (carol.bounces, carol.bounced_at is not None) == (number, number == 3)
    monkeypatch.undo()
    make_comment(quiet.post, quiet.bob)
    assert send_all(minutes=5) == []
    carol.reset_bounces()
    make_comment(quiet.post, quiet.bob)
    assert len(send_all(minutes=5)) == 1


def test_a_rejected_sender_does_not_mark_the_address(quiet, monkeypatch):
    def refuse(self, messages):
        raise smtplib.SMTPSenderRefused(553, b"", "noreply@example.test")

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    make_comment(quiet.post, quiet.bob)
    run_followers()
    Notification.objects.update(mail_at=timezone.now())
    send_due_notifications()
    run_jobs(raise_errors=False)
    assert quiet.account.users.get(login="carol").bounces == 0


def test_emails_over_the_limit_are_delayed(quiet, settings):
    settings.EMAIL_LIMIT_PER_ADDRESS = 1
    for title in ("One", "Two"):
        make_comment(make_post(quiet.carol, title), quiet.bob)
    assert len(send_all(minutes=5)) == 1
    settings.EMAIL_LIMIT_PER_ADDRESS = 0
    run_jobs(later=timedelta(hours=2))
    assert len(django_mail.outbox) == 1


def test_the_team_learns_of_sign_ups(quiet):
    quiet.account.users.filter(login="bob").update(notify_sign_ups=True)
    quiet.account.users.sign_up(quiet.account, login="dora", email="d@acme.example", password="x", name="Dora")
    [email] = send_all(minutes=5)
    assert (email.to, email.subject) == (["bob@acme.example"], "New user at Acme: Dora")
    assert "Dora signed up." in email.body
    for login in ("eve", "frank"):
        quiet.account.users.sign_up(quiet.account, login=login, email=f"{login}@acme.example", password="x", name=login)
    [email] = send_all(minutes=5)
    assert email.subject == "2 new users at Acme"
    assert "New users" not in email.body


def test_a_job_of_a_deleted_user_does_nothing(quiet):
    send_notifications.defer(account_id=quiet.account.id, user_id=10**9, ids=[1])
    send_notifications.defer(account_id=1, user_id=quiet.carol.id, ids=[1])
    assert run_jobs() == 2
    assert django_mail.outbox == []


def test_a_code_to_sign_in_does_not_wait_for_notifications(quiet):
    send_notifications.defer(account_id=quiet.account.id, user_id=quiet.carol.id, ids=[1])
    request_code(quiet.page(), "carol@acme.example")
    claimed = [queue.claim(name) for name in (URGENT_MAIL_QUEUE, MAIL_QUEUE)]
    assert [job.name.rpartition(".")[2] for job in claimed] == ["send_email", "send_notifications"]


def test_names_and_titles_are_single_lines(quiet):
    carol = quiet.carol
    quiet.account.users.filter(id=quiet.alice.id).update(notification="all")
    carol.change(name="Carol\n\nYour password has expired: https://evil.example\u202e")
    post = make_post(quiet.bob, title="Title \u202eelif =?utf-8?q?fake?=")
    make_comment(post, carol, "A comment")
    sent = {}
    for each in send_all(hours=1):
        message = email.message_from_bytes(each.message().as_bytes(), policy=email.policy.default)
        sent[each.to[0], message["Subject"]] = each.body
    body = sent[quiet.alice.email, "Title elif =?utf-8?q?fake?="]
    assert "\u202e" not in body
    assert "\nCarol Your password has expired: https://evil.example commented.\n" in body
