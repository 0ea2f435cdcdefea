"""Reminders of tasks: who is reminded of what, how often, and what is not sent."""

from datetime import timedelta

from django.core import mail as django_mail
from django.utils import timezone

from core.changes.models import Change
from core.jobs.registry import deadline
from forum.activities.models import Activity
from forum.notifications import recipients
from forum.notifications.emails import send_due_notifications
from forum.notifications.models import Notification
from forum.notifications.recipients import remind
from forum.posts.models import Post
from tests.support.factories import make_task, make_user
from tests.support.followers import run_followers
from tests.support.jobs import run_jobs


def ago(**duration):
    return timezone.now() - timedelta(**duration)


def make_due_task(acme, title="Call Nova", **fields) -> Post:
    return make_task(acme.bob, title, **{"responsible_id": acme.bob.id, "scheduled_at": ago(seconds=1)} | fields)


def reminded() -> list[tuple[str, int]]:
    """Run the job, and return (title, user) of the notifications that it created."""
    Notification.objects.all().delete()
    remind()
    rows = Notification.objects.order_by("id").values_list("activity__kind", "activity__post__title", "user_id")
    assert {kind for kind, _title, _user in rows} <= {"reminder"}
    return [(title, user_id) for _kind, title, user_id in rows]


def send_all() -> list:
    Notification.objects.exclude(mail_at=None).update(mail_at=timezone.now())
    send_due_notifications()
    run_jobs()
    return django_mail.outbox


def test_it_works(acme):
    task = make_due_task(acme)
    before = Post.objects.values().get(id=task.id)
    run_followers()
    changes = Change.objects.count()
    assert reminded() == [("Call Nova", acme.bob.id)]
    assert reminded() == []
    run_followers()
    assert Activity.objects.filter(kind="reminder").count() == 1
    assert Post.objects.values().get(id=task.id) == before
    assert Change.objects.count() == changes + 1
    event = Change.objects.exclude(data=None).get()
    assert (event.resource, event.id, event.change, event.actor_id) == ("task", task.id, "due", None)
    assert event.data == {"before": None, "after": {"responsible_id": acme.bob.id}}


def test_it_reminds_nobody_of_other_tasks(acme):
    """A worker that was down for less than a day catches up."""
    for fields in (
        {"closed": True},
        {"responsible_id": None},
        {"scheduled_at": None},
        {"scheduled_at": timezone.now() + timedelta(days=1)},
        {"scheduled_at": ago(hours=25)},
    ):
        make_due_task(acme, **fields)
    make_due_task(acme).trash(by=acme.bob)
    assert reminded() == []
    make_due_task(acme, scheduled_at=ago(hours=23))
    assert reminded() == [("Call Nova", acme.bob.id)]


def test_the_time_of_the_reminder_precedes_that_of_the_task(acme):
    tomorrow = timezone.now() + timedelta(days=1)
    make_due_task(acme, "Early", scheduled_at=tomorrow, remind_at=ago(seconds=1))
    make_due_task(acme, "Not scheduled", scheduled_at=None, remind_at=ago(seconds=1))
    make_due_task(acme, "Later", remind_at=tomorrow)
    assert reminded() == [("Early", acme.bob.id), ("Not scheduled", acme.bob.id)]
    assert len(send_all()) == 2


def test_a_rescheduled_task_is_reminded_of_again(acme):
    task = make_due_task(acme)
    first = task.scheduled_at
    assert len(reminded()) == 1
    task.write({"scheduled_at": timezone.now() + timedelta(days=1)}, by=acme.bob)
    assert reminded() == []
    task.write({"scheduled_at": ago(minutes=1)}, by=acme.bob)
    assert len(reminded()) == 1
    task.write({"scheduled_at": first, "responsible_id": acme.alice.id}, by=acme.bob)
    assert reminded() == []


def test_it_notifies_nobody_who_may_not_or_does_not_want_to_know(acme):
    for change in ({"is_active": False}, {"notification": "none"}, {"role": "member"}):
        user = make_user(acme.account, role="agent")
        make_due_task(acme, responsible_id=user.id)
        acme.account.users.filter(id=user.id).update(**change)
    assert reminded() == []


def test_it_reminds_in_all_accounts_in_batches(acme, other, monkeypatch):
    monkeypatch.setattr(recipients, "REMINDER_BATCH_SIZE", 2)
    for number in range(3):
        make_due_task(acme, f"Task {number}", scheduled_at=ago(minutes=10 - number))
    make_task(other.mallory, "Other", responsible_id=other.mallory.id, scheduled_at=ago(minutes=1))
    expected = [(f"Task {number}", acme.bob.id) for number in range(3)] + [("Other", other.mallory.id)]
    assert sorted(reminded()) == sorted(expected)
    assert acme.account.users.get(login="bob").unread_notifications == 3


def test_it_stops_before_its_time_limit(acme):
    make_due_task(acme)
    reset = deadline.set(0)
    try:
        assert reminded() == []
    finally:
        deadline.reset(reset)
    assert len(reminded()) == 1


def test_the_email_links_to_the_task(acme, settings):
    task = make_due_task(acme, content="About the *renewal*.")
    reminded()
    [email] = send_all()
    assert (email.to, email.subject) == (["bob@acme.example"], "Reminder: Call Nova")
    [link] = [word for word in email.body.split() if "/app/unsubscribe?" in word]
    assert email.body == (
        "Call Nova\n\nA reminder of your task.\n\n> About the renewal.\n\n"
        f"See the task:\nhttp://acme.example.test/app/tasks/{task.id}\n\n"
        "-- \nYou receive this e-mail because you are responsible for this task.\n"
        f"Unsubscribe, or choose fewer e-mails: {link}\n"
    )
    assert f"/app/posts/{task.id}" not in email.alternatives[0].content


def test_an_outdated_reminder_is_not_sent(acme):
    changes = [
        lambda task: task.write({"closed": True}, by=acme.bob),
        lambda task: task.write({"responsible_id": acme.alice.id}, by=acme.bob),
        lambda task: task.write({"scheduled_at": timezone.now() + timedelta(days=1)}, by=acme.bob),
        lambda task: task.write({"scheduled_at": None}, by=acme.bob),
        lambda task: task.trash(by=acme.bob),
    ]
    tasks = [make_due_task(acme) for _ in changes]
    assert len(reminded()) == len(tasks)
    for task, change in zip(tasks, changes, strict=True):
        change(task)
    assert send_all() == []
