"""The share of each account in what accounts use together: requests, e-mails, jobs and exports.

Each test has two accounts: one uses as much as it can, and the other must hardly notice. Where the order of the work shows this, no time is
measured. Otherwise the times of the neighbour are compared with its times in the same test while it is alone.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import timedelta
from itertools import islice
from time import perf_counter

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from accounts.account.models import NEW_ACCOUNT_AGE, Account
from accounts.hosts.addresses import Address
from accounts.hosts.middleware import RequestShareMiddleware
from accounts.mail import sending as mail
from accounts.mail.sending import MAIL_QUEUE, URGENT_MAIL_QUEUE
from core.http import throttling
from core.jobs import queue
from core.jobs.queue import Job
from core.jobs.registry import MAX_TIME_SLICE, PERIODIC_QUEUE, jobs, queues
from core.jobs.worker import Worker
from core.limits import leases, request_shares
from core.limits.rate_limits import hashed_key, increment
from core.limits.request_shares import CONTENTION, RequestShares, hold_share
from forum.notifications.emails import send_notifications
from team.batches import models as batches
from team.batches.models import run_batch
from team.bulk.models import BulkChange
from team.exports import pages as exports
from team.exports.models import write_export
from team.mailings.models import MessageRecipient
from tests.support.client import Client
from tests.support.exports import export
from tests.support.factories import make_client, make_message, make_user
from tests.support.jobs import run_jobs
from webhooks.delivery import resend, send_test

ACME, OTHER = 1, 2
THREADS = 4

# Requests


@pytest.fixture
def shares(monkeypatch) -> RequestShares:
    """The shares of a process of its own, in which requests do not wait."""
    monkeypatch.setattr(request_shares, "shares", RequestShares(THREADS))
    monkeypatch.setattr(request_shares, "MAX_WAIT", 0.0)
    return request_shares.shares


def accepted(shares: RequestShares, account_id: int, caller: str, number: int) -> int:
    """Begin requests of a user, and return how many are accepted."""
    count = 0
    for _ in range(number):
        shares.arrive(account_id)
        account, user = f"account {account_id}", f"user {account_id} {caller}"
        if shares.acquire(account, shares.max_of_account, account_id):
            if shares.acquire(user, shares.max_of_caller, account_id):
                count += 1
            else:
                shares.release([account])
    return count


def test_a_user_has_half_of_the_threads_and_an_account_three_quarters(shares):
    shares.arrive(OTHER)
    assert [accepted(shares, ACME, user, 16) for user in ("alice", "bob")] == [2, 1]
    assert accepted(shares, OTHER, "mallory", 1) == 1
    # A request that ends makes room for another one.
    shares.release([f"account {ACME}", f"user {ACME} alice"])
    assert accepted(shares, ACME, "alice", 16) == 1


def test_an_account_that_is_alone_has_all_threads(shares, monkeypatch):
    """An integration sends 16 requests at a time, with one token."""
    assert accepted(shares, ACME, "alice", 16) == 16
    assert accepted(shares, OTHER, "mallory", 16) == 2
    assert accepted(shares, ACME, "alice", 16) == 0
    now = request_shares.monotonic()
    monkeypatch.setattr(request_shares, "monotonic", lambda: now + CONTENTION + 1)
    assert accepted(shares, ACME, "alice", 16) == 16


def test_an_address_has_half_of_the_threads_in_all_accounts(shares):
    """Visitors of two forums of different accounts may have the same address."""
    shares.arrive(ACME)
    shares.arrive(OTHER)
    held = [shares.acquire("address 192.0.2.1", shares.max_of_caller, account_id) for account_id in (ACME, OTHER, ACME)]
    assert held == [True, True, False]


def test_a_request_waits_for_its_share(shares, monkeypatch):
    monkeypatch.setattr(request_shares, "MAX_WAIT", 60.0)
    shares.arrive(OTHER)
    assert shares.acquire("user", 1, ACME)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(shares.acquire, "user", 1, ACME)
        shares.release(["user"])
        assert waiting.result(60)


def test_the_waiting_requests_of_a_share_have_little_time_together(shares, monkeypatch):
    monkeypatch.setattr(request_shares, "MAX_WAIT", 0.01)
    shares.arrive(OTHER)
    assert shares.acquire("user", 1, ACME)
    assert not shares.acquire("user", 1, ACME)
    now = request_shares.monotonic()
    # The time has begun to be refilled.
    assert shares._waiting_time("user", now) < 0.001
    assert shares._waiting_time("user", now + 1) == 0.01
    assert shares._waiting_time("another user", now) == 0.01


class Process:
    """A process of a web server: threads that answer requests in the order of their arrival."""

    def __init__(self, view: Callable[[HttpRequest], HttpResponse]) -> None:
        self.middleware = RequestShareMiddleware(view)
        self.pool = ThreadPoolExecutor(THREADS)

    def send(self, account_id: int) -> "Future[tuple[int, float]]":
        """Send a request of the only user of an account. The result is the status and the seconds that it took."""
        request = RequestFactory().get("/app/clients.json")
        request.address = Address(account_id, 1, "")
        start = perf_counter()

        def answer() -> tuple[int, float]:
            status = self.middleware(request).status_code
            return status, perf_counter() - start

        return self.pool.submit(answer)


def identify(request: HttpRequest) -> int:
    """Count the request for its user, as authentication does. Return its account."""
    account_id = request.address.account_id
    hold_share(request, make_caller(account_id))
    return account_id


def make_caller(account_id: int):
    return type("Caller", (), {"account_id": account_id, "id": 1})()


@pytest.fixture
def process() -> Iterator[Callable[[Callable[[HttpRequest], HttpResponse]], Process]]:
    started: list[Process] = []

    def start(view) -> Process:
        started.append(Process(view))
        return started[-1]

    yield start
    for each in started:
        each.pool.shutdown(cancel_futures=True)


def test_a_neighbour_finds_a_thread_while_requests_of_an_account_do_not_end(shares, process):
    end = threading.Event()

    def view(request: HttpRequest) -> HttpResponse:
        if identify(request) == ACME:
            end.wait(60)
        return HttpResponse()

    running = process(view)
    assert running.send(OTHER).result(60)[0] == 200
    try:
        requests = [running.send(ACME) for _ in range(40)]
        for _ in range(10):
            assert running.send(OTHER).result(60)[0] == 200
        # A thread may begin its request late. It must not take the place of a request that `end` has ended.
        refused = [request.result()[0] for request in islice(as_completed(requests, 60), 38)]
    finally:
        end.set()
    assert refused == [503] * 38
    assert [request.result(60)[0] for request in requests].count(200) == 2


def p95(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) * 95 // 100]


@pytest.mark.soak
def test_the_95th_percentile_of_a_neighbour_at_most_doubles(process, monkeypatch):
    """The requests of both accounts take 50 ms. An account that repeats 16 requests without a pause has its share of the threads only."""
    monkeypatch.setattr(request_shares, "shares", RequestShares(THREADS))
    work, end = threading.Event(), threading.Event()

    def view(request: HttpRequest) -> HttpResponse:
        identify(request)
        work.wait(0.05)
        return HttpResponse()

    running = process(view)
    alone = [running.send(OTHER).result(60)[1] for _ in range(60)]
    refused = threading.Event()

    def repeat() -> None:
        while not end.is_set():
            if running.send(ACME).result(60)[0] == 503:
                refused.set()

    senders = [threading.Thread(target=repeat) for _ in range(16)]
    for sender in senders:
        sender.start()
    try:
        assert refused.wait(60)
        answers = [running.send(OTHER).result(60) for _ in range(60)]
    finally:
        end.set()
        for sender in senders:
            sender.join()
    assert {status for status, _ in answers} == {200}
    assert p95([seconds for _, seconds in answers]) <= 2 * p95(alone)


@pytest.mark.parametrize(
    ("path", "media_type", "text"),
    [
        ("/", "text/html", "<h1>The service is not available at the moment</h1>"),
        ("/app/clients.json", "application/json", '"code":"unavailable"'),
        ("/app/posts.xml", "application/xml", "<error>Too many requests are in progress"),
    ],
)
def test_it_rejects_a_request_in_the_format_of_its_path(acme, shares, path, media_type, text):
    """Each request is counted for its account, and released at its end."""
    shares.arrive(OTHER * 10**9)
    headers = {"Accept": media_type}
    client = acme.json(acme.alice_token) if path.endswith(".json") else Client(acme.host)
    assert client.get(path, headers=headers).status_code != 503
    assert shares._held == {}
    shares.acquire(f"account {acme.account.id}", THREADS, acme.account.id)
    shares.acquire(f"account {acme.account.id}", THREADS, acme.account.id)
    assert client.get(path, headers=headers).status_code != 503
    shares.acquire(f"account {acme.account.id}", THREADS, acme.account.id)
    response = client.get(path, headers=headers)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert response.headers["Content-Type"].startswith(media_type)
    assert text in response.text.replace('": "', '":"')


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/", "address 127.0.0.1"),
        ("/app/users/me.xml", "user {account} {user}"),
        ("/app/clients.json", "user {account} {user}"),
    ],
)
def test_it_rejects_a_request_of_a_user_or_an_address(acme, shares, path, key):
    """A token or a password belongs to its user, whatever the address of the client is."""
    shares.arrive(OTHER * 10**9)
    key = key.format(account=acme.account.id, user=acme.alice.id)
    clients = {"/": Client(acme.host), "/app/users/me.xml": acme.xml(acme.alice)}
    client = clients.get(path) or acme.json(acme.alice_token)
    for _ in range(2):
        assert client.get(path, headers={"Accept": "text/html"}).status_code == 200
        shares.acquire(key, THREADS, acme.account.id)
    assert client.get(path, headers={"Accept": "text/html"}).status_code == 503
    assert shares._held == {key: 2}


def test_previews_have_a_limit_per_user(acme, settings):
    settings.RATE_LIMIT = 600
    page = acme.page(acme.carol)
    token = page.get("/app/posts/new").html.find("input", {"name": "csrfmiddlewaretoken"})["value"]
    values = {"csrfmiddlewaretoken": token, "content": "*a*"}
    for _ in range(throttling.MAX_PREVIEWS_PER_MINUTE):
        assert page.post("/app/posts/preview", values).status_code == 200
    assert page.post("/app/posts/preview", values, expect_errors=True).status_code == 429
    assert acme.page(acme.bob).get("/").status_code == 200


# E-mails and jobs


class Turns:
    """A worker that claims the jobs of a queue."""

    def __init__(self, name: str) -> None:
        self.name, self.worker = name, Worker()

    def claim(self) -> Job | None:
        return self.worker.claim(self.name)

    def accounts(self, number: int) -> list[int | None]:
        """Claim jobs and end them at once. Return their accounts."""
        found: list[int | None] = []
        for _ in range(number):
            claimed = self.claim()
            found.append(None if claimed is None else claimed.account_id)
            if claimed is not None:
                queue.finish(claimed)
        return found


def send_email(account_id: int, *, urgent: bool) -> None:
    mail.send(
        "a@b.example",
        "accounts/mail/sign_in_code.txt",
        account_id=account_id,
        language="en",
        sender="A",
        urgent=urgent,
        code="1",
    )


def test_codes_do_not_wait_for_other_emails(acme, other):
    """Before a code, one code of each other account is sent at most. Invitations and notifications are in another queue."""
    ids = acme.account.id, other.account.id
    for _ in range(120):
        send_email(ids[0], urgent=False)
        send_email(ids[0], urgent=True)
    send_email(ids[1], urgent=True)
    assert Turns(URGENT_MAIL_QUEUE).accounts(4) == [*sorted(ids), ids[0], ids[0]]
    # Accounts take turns with other e-mails.
    for _ in range(2):
        send_notifications.defer(account_id=ids[1], user_id=1, ids=[1])
    assert Turns(MAIL_QUEUE).accounts(5) == [*sorted(ids), *sorted(ids), ids[0]]


def test_invitations_are_not_urgent(acme):
    form = acme.page(acme.alice).get("/app/account/users?tab=invitations").forms["invite"]
    form["email"] = "new@example.com"
    form.submit("do")
    assert queue.claim(URGENT_MAIL_QUEUE) is None
    assert queue.claim(MAIL_QUEUE) is not None


def test_messages_to_customers_count_as_emails_of_the_account(acme, settings, mailoutbox):
    settings.EMAIL_LIMIT_PER_ACCOUNT = 10
    Account.objects.update(created_at=timezone.now() - NEW_ACCOUNT_AGE)
    key = hashed_key("mail-of", acme.account.id)
    increment(key, 9, 3600)
    message = make_message(acme.alice)
    run_jobs()
    states = [row.state for row in MessageRecipient.objects.for_message(acme.account.id, message.id)]
    assert sorted(states) == [MessageRecipient.State.PENDING, MessageRecipient.State.SENT]
    # The rest continues after the window.
    increment(key, -20, 3600)
    MessageRecipient.objects.for_message(acme.account.id, message.id).update(due_at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("UPDATE core_job SET scheduled_at = now() WHERE state = 'waiting'")
    run_jobs()
    message.refresh_from_db()
    assert (message.state, message.sent) == ("sent", 2)


@pytest.mark.parametrize(("age", "sent"), [(timedelta(days=6), 1), (timedelta(days=8), 2)])
def test_a_new_account_sends_few_messages_to_customers(acme, settings, mailoutbox, age, sent):
    """Strangers could create accounts to send spam."""
    settings.EMAIL_LIMIT_PER_ACCOUNT = 10
    Account.objects.update(created_at=timezone.now() - age)
    make_message(acme.alice)
    run_jobs()
    assert len([message for message in mailoutbox if "customer.example" in message.to[0]]) == sent


def test_one_bulk_change_of_an_account_runs_at_a_time(acme, other):
    ids = acme.account.id, other.account.id
    for number in range(8):
        run_batch.defer(kind="BulkChange", account_id=ids[0], batch_id=number)
    run_batch.defer(kind="BulkChange", account_id=ids[1], batch_id=1)
    worker = Turns(run_batch.queue)
    claimed = [worker.claim() for _ in range(3)]
    assert [job and job.account_id for job in claimed] == [*sorted(ids), None]
    # Another process does not start a second one either.
    assert Turns(run_batch.queue).claim() is None
    queue.finish(next(job for job in claimed if job and job.account_id == ids[0]))
    assert worker.accounts(1) == [ids[0]]


def test_a_bulk_change_ends_its_turn_and_continues(acme, monkeypatch):
    monkeypatch.setattr(BulkChange, "PART_SIZE", 2)
    ids = [make_client(acme.alice).id for _ in range(6)]
    values = {"by": acme.alice, "resource": "client", "action": "add_tags", "data": {"tags": ["a"]}}
    change = BulkChange.start(acme.account, **values, ids=ids, query="")
    assert (run_batch.queue, run_batch.time_slice) == ("batches", MAX_TIME_SLICE)
    # The first time slice ends after one batch.
    has_time_left = iter([True, False, *[True] * 10])
    monkeypatch.setattr(batches, "has_time_left", lambda: next(has_time_left))
    worker = Turns(run_batch.queue)
    claimed = worker.claim()
    assert claimed is not None
    run_batch(**claimed.arguments)
    queue.finish(claimed)
    change.refresh_from_db()
    assert (change.state, change.changed) == ("running", 2)
    run_jobs()
    change.refresh_from_db()
    assert (change.state, change.changed) == ("done", 6)


def test_jobs_of_accounts_do_not_delay_periodic_jobs():
    """All jobs of an account that may take long have time slices, or queues of their own."""
    periodic = {name for name, job in jobs.items() if job.period}
    assert {name for name, job in jobs.items() if job.queue == PERIODIC_QUEUE} == periodic
    assert queues["default"].max_running == 2
    long = {job.name for job in jobs.values() if not job.period and job.time_limit > 60 and job.time_slice is None}
    # An e-mail waits for the mail server. Writing a file, or reading one, can't be continued, so it has another queue.
    assert {jobs[name].queue for name in long} == {MAIL_QUEUE, write_export.queue, run_batch.queue}
    # Tests of a webhook leave a thread for other accounts.
    for name in (send_test.queue, resend.queue, write_export.queue):
        assert (queues[name].max_running, queues[name].threads) == (1, 2)


# Exports


def test_an_account_exports_two_lists_at_a_time(acme, other):
    """The third one is rejected until one of the others is complete, or its client has disconnected."""
    make_client(acme.alice)
    held = [leases.acquire(f"export:{acme.account.id}", limit=exports.MAX_EXPORTS) for _ in range(3)]
    assert [lease is not None for lease in held] == [True, True, False]
    page = acme.page(acme.bob)
    response = export(page, "client")
    assert (response.status_code, response.headers["Retry-After"]) == (429, "10")
    assert "Your account is exporting as many lists as it may." in response.text
    neighbour = leases.acquire(f"export:{other.account.id}", limit=exports.MAX_EXPORTS)
    assert neighbour is not None
    held[0].release()
    # A complete export releases its lease.
    for _ in range(3):
        assert export(page, "client").status_code == 200


def test_the_lease_of_a_killed_process_ends(db):
    assert [leases.acquire("export:1", limit=1) is not None for _ in range(2)] == [True, False]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE core_ratecount SET ends_at = now() - interval '1 second'")
    assert leases.acquire("export:1", limit=1) is not None


def test_exports_have_a_limit_per_minute(acme, settings):
    settings.RATE_LIMIT = 600
    page = acme.page(acme.bob)
    for _ in range(throttling.MAX_EXPORTS_PER_MINUTE):
        assert export(page, "client").status_code == 200
    assert export(page, "client").status_code == 429
    # Another user of the account has no other limit, and pages work.
    dave = make_user(acme.account, "dave", role="agent")
    assert export(acme.page(dave), "client").status_code == 429
    assert page.get("/app/clients").status_code == 200
