"""Clocks that jump by an hour: that of one machine of the service, and that of the database.

The clock of the database decides about codes, leases and attempts, because it is the same for all processes. The tests cannot change it.
Instead, they move the stored times in the opposite direction.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from accounts.sign_in.models import SignInCode
from core.changes.followers import Follower
from core.jobs import queue
from core.jobs.registry import jobs
from core.jobs.worker import Worker, defer_periodic
from tests.support.codes import code_in_letter, enter_code, request_code
from tests.support.factories import make_client, make_comment, make_post
from tests.support.jobs import run_jobs
from tests.support.letters import send_notifications
from tests.support.receiver import add_endpoint, deliver
from webhooks.models import Delivery

HOUR = timedelta(hours=1)
JUMPS = pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])


@pytest.fixture
def set_clock(monkeypatch):
    """Return a function that sets the difference of this machine's clock from the right time."""

    def set_clock(difference: timedelta) -> None:
        monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + difference)

    return set_clock


def jump_database_clock(jump: timedelta, *columns: str) -> None:
    """Move stored times, given as `table.column`, as if the clock of the database jumped."""
    with connection.cursor() as cursor:
        for column in columns:
            table, _dot, name = column.partition(".")
            cursor.execute(f"UPDATE {table} SET {name} = {name} - %s", [jump])  # noqa: S608


@JUMPS
def test_a_code_to_sign_in_does_not_depend_on_the_clock_of_a_machine(acme, set_clock, jump):
    visitor = acme.page()
    page = request_code(visitor, "carol@acme.example").follow()
    set_clock(jump)
    assert enter_code(page, code_in_letter()).headers["Location"] == "/"


def test_after_a_jump_of_the_database_a_code_has_expired_or_lasts_longer(acme):
    """After a jump forward, the page offers another code. After a jump back, the attempts are still limited."""
    visitor = acme.page()
    page = request_code(visitor, "carol@acme.example").follow()
    code = code_in_letter()
    jump_database_clock(HOUR, "accounts_signincode.expires_at")
    response = enter_code(page, code).follow()
    assert "This code no longer works. We can send you another one." in response
    page = request_code(visitor, "carol@acme.example").follow()
    code = code_in_letter()
    jump_database_clock(-HOUR, "accounts_signincode.expires_at")
    wrong = "000000" if code != "000000" else "000001"
    for _ in range(SignInCode.MAX_ATTEMPTS):
        enter_code(page, wrong)
    assert enter_code(page, code).headers["Location"].startswith("/app/sign-in/code")


@JUMPS
def test_a_webhook_is_delivered_once(acme, receiver, set_clock, jump):
    """The clock is wrong before the request, and set right during it. The duration of the request does not depend on it."""
    endpoint, _secret = add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)

    def respond(request):
        set_clock(timedelta())
        return 204, {}, b""

    receiver.respond = respond
    set_clock(jump)
    deliver()
    deliver()
    assert len(receiver.requests) == 1
    follower = Follower.objects.get(name="webhook", key=endpoint.id)
    assert (follower.cursor, follower.due_at) == (follower.newest, None)
    assert 0 <= Delivery.objects.get().duration_ms < 30_000


@JUMPS
def test_a_receiver_that_refuses_the_wrong_time_gets_the_event_when_the_clock_is_right(acme, receiver, set_clock, jump):
    """The signature has the time of each attempt, and a refusal with 4xx is repeated."""
    endpoint, secret = add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)

    def respond(request):
        try:
            Webhook(secret).verify(request.body, request.headers)
        except WebhookVerificationError:
            return 400, {}, b""
        return 200, {}, b""

    receiver.respond = respond
    set_clock(jump)
    deliver()
    set_clock(timedelta())
    jump_database_clock(timedelta(seconds=5), "core_follower.due_at")
    deliver()
    assert [entry.status for entry in endpoint.deliveries.order_by("id")] == [400, 200]
    first, second = receiver.requests
    assert first.id == second.id


@JUMPS
def test_leases_and_attempts_go_on_after_a_jump_of_the_database(acme, receiver, jump):
    """After a jump forward, the attempt is early. After a jump back, it waits until the clock has caught up."""
    endpoint, _secret = add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)
    receiver.answer(503)
    deliver()
    jump_database_clock(jump, "core_follower.due_at")
    receiver.answer(204)
    deliver()
    assert len(receiver.requests) == (2 if jump > timedelta() else 1)
    jump_database_clock(HOUR + timedelta(seconds=5), "core_follower.due_at")
    deliver()
    assert len(receiver.requests) == 2
    assert endpoint.deliveries.latest("id").status == 204


@JUMPS
def test_jobs_go_on_after_a_jump_of_the_database(acme, jump):
    """After a jump forward, a running worker loses no job. After a jump back, jobs wait until the clock has caught up."""
    queue.insert("default", "tests.waiting", {})
    worker = Worker()
    claimed = worker.claim("default")
    queue.insert("default", "tests.later", {}, scheduled_at=timezone.now() + 2 * HOUR)
    columns = ("core_job.scheduled_at", "core_job.leased_until")
    jump_database_clock(jump, *columns)
    # The lease has ended after a jump forward, but a worker does not take over jobs before the others could renew their leases.
    assert Worker().claim("default") is None
    worker.maintain()
    assert queue.claim("default") is None
    assert queue.finish(claimed)
    jump_database_clock(3 * HOUR - jump, *columns)
    assert queue.claim("default").name == "tests.later"


def test_a_periodic_job_is_deferred_once_for_each_time_after_a_jump(db, monkeypatch):
    name = "accounts.mail.sending.send_email"
    monkeypatch.setattr(jobs[name], "period", 600)
    for known in list(jobs):
        if known != name:
            monkeypatch.delitem(jobs, known)
    last_times: dict[str, int] = {}

    def deferred_at(hour: int, minute: int) -> int:
        number = defer_periodic(datetime(2026, 1, 1, hour, minute, tzinfo=UTC).timestamp(), last_times)
        while claimed := queue.claim("mail"):
            queue.finish(claimed)
        return number

    assert [deferred_at(10, 5), deferred_at(10, 9)] == [1, 0]
    # After a jump forward, one job is deferred, not one for each skipped time.
    assert [deferred_at(11, 10), deferred_at(11, 11)] == [1, 0]
    # After a jump back, the job is deferred at the next time, without waiting for an hour.
    assert [deferred_at(10, 12), deferred_at(10, 20), deferred_at(10, 30)] == [1, 1, 1]


@JUMPS
def test_an_email_of_a_notification_is_sent_once(acme, set_clock, jump):
    acme.account.users.update(notification="own", notify_new_posts=False)
    make_comment(make_post(acme.carol, "Dark mode"), acme.bob)
    set_clock(jump)
    sent = send_notifications(later=timedelta(minutes=5))
    set_clock(timedelta())
    sent += send_notifications(later=HOUR)
    assert [email.to for email in sent] == [["carol@acme.example"]]
    assert run_jobs() == 0
