"""Rate limits: the counts, the response headers, and bursts on several processes."""

import base64
import time

import pytest
from django.core import mail
from django.db import connection
from django.db.models.functions import Now
from django.test import RequestFactory

from accounts import passwords
from accounts.addresses import host_cache
from accounts.cookies import KNOWN_BROWSER_COOKIE
from accounts.host_names import normalize
from accounts.known_browsers import find_browser
from accounts.models import Account, APIToken
from core import client_address
from core.api import throttling
from core.api.throttling import HOUR, MINUTE
from core.db import rate_limits
from core.db.rate_limits import RateLimiter, Window
from core.models import RateCount
from forum.models import Post
from tests.support.assertions import assert_answered, assert_refused
from tests.support.client import JSONClient, XMLClient
from tests.support.codes import code_in_letter, enter_code, request_code
from tests.support.factories import PASSWORD, make_token, make_user
from tests.support.jobs import run_housekeeping
from tests.support.pages import Visitor
from tests.support.settings import send
from tests.support.tables import table
from tests.support.threads import at_once
from tests.support.xml import TOO_MANY, UNAUTHENTICATED, refusal, shown

ME = "/app/users/me.xml"
TASKS = "/app/tasks.json"
SQL = rate_limits.INCREMENT_SQL
CONNECTIONS = 16
NEW_USER = {"login": "ann", "email": "ann@new.example", "password": "a long pass phrase"}


class Clock:
    """A clock for the limits, in the process and in the database, that moves only by `advance`."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.now = 1_800_000_000
        self.advance(0)
        monkeypatch.setattr(rate_limits, "monotonic", lambda: self.now)

    def advance(self, seconds: int) -> None:
        self.now += seconds
        self.monkeypatch.setattr(
            rate_limits, "INCREMENT_SQL", SQL.replace("statement_timestamp()", f"to_timestamp({self.now})")
        )


@pytest.fixture
def clock(monkeypatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def hashed(monkeypatch) -> list[str]:
    """Return a list that receives each password that is hashed, in order."""
    recorded, check = [], passwords.check_password

    def record_and_check(password, *args, **kwargs):
        recorded.append(password)
        return check(password, *args, **kwargs)

    monkeypatch.setattr(passwords, "check_password", record_and_check)
    return recorded


def limit_headers(response) -> tuple[str | None, ...]:
    """Return the values of the headers of the limit, None for a missing header."""
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After")
    return tuple(response.headers.get(name) for name in names)


NOT_COUNTED = (None, None, None, None)


def expected_headers(limit: int, remaining: int, reset: int, retry_after: int | None = None) -> tuple[str | None, ...]:
    """Return the values that `limit_headers` should return."""
    return (str(limit), str(remaining), str(reset), None if retry_after is None else str(retry_after))


def used_counts(prefix: str = "") -> list[int]:
    """Return the used part of each limit whose key begins with `prefix`, in the order of the keys."""
    return list(RateCount.objects.filter(key__startswith=prefix).order_by("key").values_list("used", flat=True))


# Requests


def test_it_works(acme, settings, clock):
    settings.RATE_LIMIT = 600
    for seconds, remaining, reset in ((0, 599, 60), (0, 598, 60), (20, 597, 40), (39, 596, 1), (1, 599, 60)):
        clock.advance(seconds)
        response = acme.json().get("/app/clients/tags.json")
        assert_answered(response, 200, [])
        assert limit_headers(response) == expected_headers(600, remaining, reset)


def test_it_rejects_requests_over_the_limit(acme, settings, clock):
    settings.RATE_LIMIT = 2
    xml, json = acme.xml(), acme.json()
    for client, path in ((xml, ME), (json, TASKS)):
        headers = [limit_headers(client.get(path)) for _ in range(2)]
        assert headers == [expected_headers(2, 1, 60), expected_headers(2, 0, 60)]
    clock.advance(18)
    for _ in range(2):
        response = xml.get(ME)
        assert shown(response) == refusal(429, TOO_MANY)
        assert limit_headers(response) == expected_headers(2, 0, 42, 42)
        response = json.get(TASKS)
        assert_refused(response, 429, "rate_limited", retry_after="42")
        assert limit_headers(response) == expected_headers(2, 0, 42, 42)
    assert xml.send_xml("POST", "/app/posts.xml", "<post><title>a</title></post>").status_code == 429
    assert not Post.objects.exists()
    clock.advance(41)
    assert limit_headers(xml.get(ME)) == expected_headers(2, 0, 1, 1)
    clock.advance(1)
    assert limit_headers(xml.get(ME)) == limit_headers(json.get(TASKS)) == expected_headers(2, 1, 60)


# (method, path, body, status)
COUNTED_XML = [
    ("GET", ME, "", 200),
    ("HEAD", ME, "", 200),
    ("GET", "/", "", 200),
    ("POST", "/app/posts.xml", "<post><title>a</title></post>", 201),
    ("POST", "/app/posts.xml", "<post><title></title></post>", 422),
    ("POST", "/app/posts.xml", "<post", 400),
    ("POST", "/app/users.xml", "<user/>", 403),
    ("GET", "/app/posts/999.xml", "", 404),
    ("DELETE", ME, "", 405),
    ("OPTIONS", ME, "", 405),
]
COUNTED_JSON = [
    ("GET", TASKS, "", 200),
    ("HEAD", TASKS, "", 200),
    ("POST", "/app/contact_lists.json", '{"contact_list": {"name": "a"}}', 201),
    ("POST", "/app/contact_lists.json", '{"contact_list": {}}', 422),
    ("POST", "/app/account.json", "{}", 403),
    ("GET", "/app/contact_lists/999.json", "", 404),
    ("PUT", "/app/contact_lists.json", "{}", 405),
]


def test_counted_requests(acme, settings, clock):
    settings.RATE_LIMIT = 100
    xml, json = acme.xml(acme.carol), acme.json()
    for number, (method, path, body, status) in enumerate(COUNTED_XML, 1):
        response = xml.send_xml(method, path, body) if body else xml.request(method, path)
        assert (response.status_code, response.headers["RateLimit-Remaining"]) == (status, f"{100 - number}"), path
    for number, (method, path, body, status) in enumerate(COUNTED_JSON, 1):
        response = json.request(method, path, content=body)
        assert (response.status_code, response.headers["RateLimit-Remaining"]) == (status, f"{100 - number}"), path


def test_server_errors_are_counted(acme, settings, clock, monkeypatch):
    settings.RATE_LIMIT = 7

    def fail(self, *args):
        raise RuntimeError

    monkeypatch.setattr("forum.xml.views.UserViewSet.me", fail)
    response = acme.xml().get(ME)
    assert response.status_code == 500
    assert limit_headers(response) == expected_headers(7, 6, 60)


def test_requests_that_are_not_counted(acme, settings, clock):
    settings.RATE_LIMIT = 1
    for response in (
        XMLClient(acme.host).get("/healthz"),
        XMLClient(acme.host).get(ME),
        XMLClient("nobody.example.test").get(ME),
        JSONClient(acme.host).get(TASKS),
        acme.json().get("/app/nothing.json"),
        acme.json().post("/app/contact_lists.json", content="{"),
    ):
        assert limit_headers(response) == NOT_COUNTED
    assert used_counts() == []


def test_each_user_and_each_token_has_its_own_count(acme, other, settings, clock):
    settings.RATE_LIMIT = 1
    second_token = make_token(acme.bob)
    calls = [
        *(lambda user=user: acme.xml(user).get(ME) for user in (acme.alice, acme.bob, acme.carol)),
        *(
            lambda token=token: acme.json(token).get(TASKS)
            for token in (acme.alice_token, acme.bob_token, second_token)
        ),
        lambda: other.xml().get(ME),
        lambda: other.json().get(TASKS),
    ]
    assert [call().status_code for call in calls] == [200] * 8
    assert [call().status_code for call in calls] == [429] * 8
    assert used_counts() == [1] * 8


def test_limits_may_be_off(acme, settings):
    """The settings of the tests have no limits."""
    assert (settings.RATE_LIMIT, settings.FAILED_LOGIN_LIMIT, settings.ACCOUNT_LIMIT) == (0, 0, 0)
    for client, path in ((acme.xml(), ME), (acme.json(), TASKS)):
        for _ in range(3):
            assert limit_headers(client.get(path)) == NOT_COUNTED
    for _ in range(3):
        assert limit_headers(fail_to_log_in(acme)) == limit_headers(acme.json("wrong/acme").get(TASKS)) == NOT_COUNTED
    assert used_counts() == []


def test_most_requests_need_no_query_for_the_limit(acme, settings, clock, django_assert_num_queries):
    settings.RATE_LIMIT = 600
    client = acme.xml()
    client.get(ME)
    # One query per request, and 2 more for leases of 10 requests. The first lease is for 1 request.
    with django_assert_num_queries(20 + 2):
        assert [client.get(ME).status_code for _ in range(20)] == [200] * 20
    assert used_counts() == [21]
    settings.RATE_LIMIT = 1
    assert client.get(ME).status_code == 429
    with django_assert_num_queries(5):
        assert [client.get(ME).status_code for _ in range(5)] == [429] * 5


@pytest.mark.django_db(transaction=True)
def test_requests_are_counted_before_the_transaction_opens(acme, settings, monkeypatch):
    """Otherwise a rejected write would roll back the count, and the request would hold the lock of the count."""
    settings.RATE_LIMIT = settings.FAILED_LOGIN_LIMIT = settings.ACCOUNT_LIMIT = 100
    acme.account.partner_key = "acme-partner"
    acme.account.save()
    in_transaction = []
    increment = rate_limits.increment

    def record_and_increment(*args):
        in_transaction.append(connection.in_atomic_block)
        return increment(*args)

    monkeypatch.setattr(rate_limits, "increment", record_and_increment)
    monkeypatch.setattr(throttling, "rate_limiter", RateLimiter(record_and_increment))
    json, xml = acme.json(acme.alice_token), acme.xml()
    for response, status in (
        (json.post("/app/contact_lists.json", json={"contact_list": {"name": "a"}}), 201),
        (json.post("/app/contact_lists.json", json={"contact_list": {"name": ""}}), 422),
        (json.post("/app/account.json", json={"account": {"prefix": "new-one"}, "user": NEW_USER}), 201),
        (json.post("/app/account.json", json={"account": {"prefix": "new-one"}, "user": NEW_USER}), 422),
        (xml.send_xml("POST", "/app/posts.xml", "<post><title>a</title></post>"), 201),
        (xml.send_xml("POST", "/app/posts.xml", "<post><title></title></post>"), 422),
        (fail_to_log_in(acme), 401),
        (acme.json("wrong/acme").get(TASKS), 401),
    ):
        assert response.status_code == status
    assert len(in_transaction) >= 8
    assert not any(in_transaction)
    assert used_counts("partner:") == [1]


@pytest.mark.django_db(transaction=True)
def test_requests_are_accepted_if_counting_fails(acme, settings, monkeypatch, caplog):
    settings.RATE_LIMIT, settings.FAILED_LOGIN_LIMIT = 1, 1
    monkeypatch.setattr(rate_limits, "INCREMENT_SQL", "SELECT %s::text, %s::int, %s::int, %s::int / 0")
    assert [acme.xml().get(ME).status_code for _ in range(3)] == [200] * 3
    assert {record.getMessage() for record in caplog.records if record.name == "rostrum.throttling"} == {
        "not counted: DataError"
    }


# Rate limiters. Each process has one, so a test uses several limiters to simulate several processes.


@table("processes", [1, 5])
@table("limit", [1, 2, 3, 59, 600])
def test_all_processes_together_allow_exactly_the_limit(db, clock, limit, processes):
    limiters = [RateLimiter() for _ in range(processes)]
    statuses = [limiters[number % processes].hit("key", limit, MINUTE) for number in range(limit + 50 * processes)]
    assert sum(status.allowed for status in statuses) == limit
    assert {(status.limit, status.reset) for status in statuses} == {(limit, 60)}
    assert {status.remaining for status in statuses if not status.allowed} == {0}
    assert not any(limiter.hit("key", limit, MINUTE).allowed for limiter in limiters)


def test_a_single_process_reports_the_exact_remaining_number(db, clock):
    limiter = RateLimiter()
    assert [limiter.hit("key", 600, MINUTE).remaining for _ in range(601)] == [*range(599, -1, -1), 0]


def test_an_idle_process_wastes_at_most_its_lease(db, clock):
    idle, busy = RateLimiter(), RateLimiter()
    for _ in range(2):
        idle.hit("key", 600, MINUTE)
    assert sum(busy.hit("key", 600, MINUTE).allowed for _ in range(600)) == 600 - 1 - RateLimiter.LARGEST_LEASE


def test_a_lease_ends_with_its_window(db, clock):
    limiter = RateLimiter()
    for _ in range(2):
        limiter.hit("key", 600, MINUTE)
    clock.advance(59)
    assert limiter.hit("key", 600, MINUTE).remaining == 597
    clock.advance(1)
    assert limiter.hit("key", 600, MINUTE).remaining == 599
    assert used_counts() == [1]


def test_a_late_response_of_the_database_does_not_affect_the_next_window(clock):
    """The third response belongs to a window that has ended, and arrives after another thread has opened the next one."""
    windows = [Window(1, 100.0, 60.0), Window(11, 100.0, 60.0), Window(11, 40.0, 0.0), Window(12, 100.0, 60.0)]
    limiter = RateLimiter(lambda *args: windows.pop(0))
    assert [limiter.hit("key", 600, MINUTE).remaining for _ in range(2)] == [599, 598]
    limiter._leases["key"].left = 0
    assert limiter.hit("key", 600, MINUTE).allowed
    assert limiter.hit("key", 600, MINUTE).remaining == 588
    assert limiter._leases["key"].left == 0


def test_a_process_caches_a_limited_number_of_keys(db, clock):
    limiter = RateLimiter(size=2)
    for key in ("a", "b", "c", "d"):
        limiter.hit(key, 1, MINUTE)
    assert list(limiter._leases) == ["c", "d"]
    # The database still has the counts that are no longer cached.
    assert not any(limiter.hit(key, 1, MINUTE).allowed for key in ("a", "b", "c", "d"))


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_are_each_counted_once(db):
    limiters = [RateLimiter() for _ in range(4)]

    def hits(limiter):
        return sum(limiter.hit("leased key", 100, HOUR).allowed for _ in range(20))

    assert sum(at_once(*(lambda n=n: hits(limiters[n % 4]) for n in range(CONNECTIONS)))) == 100
    results = at_once(*(lambda: [rate_limits.hit("key", 100, HOUR) for _ in range(10)] for _ in range(CONNECTIONS)))
    remaining = sorted(status.remaining for statuses in results for status in statuses if status.allowed)
    assert remaining == list(range(100))
    at_once(*(lambda: [rate_limits.increment("key", -1, HOUR) for _ in range(10)] for _ in range(CONNECTIONS)))
    assert used_counts("key") == [0]


# Failed logins


def from_address(client, address: str):
    client._transport.remote_addr = address
    return client


def log_in(cast, login: str, password: str = PASSWORD, address: str = "192.0.2.1"):
    return from_address(XMLClient(cast.host, auth=(login, password)), address).get(ME)


def fail_to_log_in(cast, login: str = "alice", address: str = "192.0.2.1"):
    return log_in(cast, login, "wrong", address)


def test_failed_logins_of_an_address_are_limited_before_any_hashing(acme, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 3
    for login, remaining in (("alice", 2), ("bob", 1), ("nobody", 0)):
        response = fail_to_log_in(acme, login)
        assert shown(response) == refusal(401, UNAUTHENTICATED)
        assert limit_headers(response) == expected_headers(3, remaining, 3600)
    assert hashed == ["wrong"] * 3
    clock.advance(600)
    for login, password in (("carol", "wrong"), ("nobody", "wrong"), ("", ""), ("carol", PASSWORD)):
        response = log_in(acme, login, password)
        assert shown(response) == refusal(429, TOO_MANY)
        assert limit_headers(response) == expected_headers(3, 0, 3000, 3000)
        assert "WWW-Authenticate" not in response.headers
    assert hashed == ["wrong"] * 3
    assert log_in(acme, "carol", address="192.0.2.2").status_code == 200
    clock.advance(3000)
    assert limit_headers(fail_to_log_in(acme, "carol")) == expected_headers(3, 2, 3600)


def test_failed_logins_of_a_user_are_limited_from_all_addresses(acme, other, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 5
    make_user(other.account, "alice")
    # The login and the e-mail of a user share a count.
    names = ["alice", "alice@acme.example", "ALICE", "Alice@Acme.example", "alice"]
    for number, name in enumerate(names):
        assert fail_to_log_in(acme, name, f"192.0.2.{number}").status_code == 401
    clock.advance(100)
    # A new address has `MAX_FAILURES_PER_ADDRESS` attempts of its own.
    assert [fail_to_log_in(acme, name, "198.51.100.1").status_code for name in names[:3]] == [401] * 3
    assert len(hashed) == 8
    response = fail_to_log_in(acme, "alice", "198.51.100.1")
    assert shown(response) == refusal(429, TOO_MANY)
    # The count of the login ends before that of the address, so its reset is returned.
    assert limit_headers(response) == expected_headers(3, 0, 3500, 3500)
    for name in names[:2]:
        assert log_in(acme, name, address="198.51.100.1").status_code == 429
    assert len(hashed) == 8
    # Rejected attempts do not count as failed, so the address has two attempts left for other logins.
    assert limit_headers(fail_to_log_in(acme, "bob", "198.51.100.1")) == expected_headers(5, 1, 3600)
    # The same login in another account has its own count.
    assert log_in(other, "alice", address="192.0.2.9").status_code == 200
    clock.advance(3500)
    assert log_in(acme, "alice", address="198.51.100.1").status_code == 200


def test_unknown_names_are_counted_separately(acme, settings, clock):
    """A deactivated user counts as unknown."""
    settings.FAILED_LOGIN_LIMIT = 1
    acme.carol.deactivate(by=acme.alice)
    for login in ("nobody", "carol"):
        assert [fail_to_log_in(acme, login, f"192.0.2.{number}").status_code for number in range(3)] == [401] * 3
        statuses = [
            fail_to_log_in(acme, f"{login}@acme.example", f"198.51.100.{number}").status_code for number in range(3)
        ]
        assert statuses == [401] * 3
        RateCount.objects.all().delete()


def send_wrong_password(page: Visitor, part: str):
    values = {"part": part, "current": "wrong", "email": "new@acme.example", "password": "grasshopper lighthouse"}
    return send(page, "/app/profile/security", status=422, **values)


def test_all_pages_that_ask_for_a_password_share_the_count(acme, settings, clock):
    page = Visitor(acme.host, REMOTE_ADDR="192.0.2.200").start_session(acme.carol)
    settings.FAILED_LOGIN_LIMIT = 4
    assert fail_to_log_in(acme, "carol", "192.0.2.1").status_code == 401
    visitor = Visitor(acme.host, REMOTE_ADDR="192.0.2.2")
    values = {"login": "carol@acme.example", "password": "wrong"}
    assert "The login or the password is wrong." in send(visitor, "/app/sign-in", status=422, **values)
    for part in ("email", "password"):
        assert "Is wrong" in send_wrong_password(page, part)
    assert used_counts("login:") == [4]
    # Reset the counts of all attempts of an address. The address of `page` still has `MAX_FAILURES_PER_ADDRESS` (3) attempts
    # for this user.
    RateCount.objects.filter(key__startswith="address:").delete()
    for part in ("email", "password", "email"):
        assert "Is wrong" in send_wrong_password(page, part)
    RateCount.objects.filter(key__startswith="address:").delete()
    assert "Too many attempts." in send_wrong_password(page, "password")


def use_up_sign_ins(acme, email: str, address: str) -> None:
    """Use up the attempts, the codes and the links of a user, as a stranger at an address."""
    for _ in range(6):
        fail_to_log_in(acme, email, address)
        stranger = Visitor(acme.host, REMOTE_ADDR=address)
        request_code(stranger, email)
        send(stranger, "/app/password", status="*", login=email)
        send(stranger, "/app/sign-up", status="*", email=email)


def ways_in(acme, visitor: Visitor, email: str) -> list[str]:
    """Return the ways by which the visitor could sign in."""
    found = []
    mail.outbox.clear()
    page = request_code(visitor, email)
    if page.status_code == 303 and "is your code" in mail.outbox[-1].subject:
        entered = enter_code(page.follow(), code_in_letter())
        found += ["code"] if entered.status_code == 303 else []
        send(visitor, "/app/sign-out", status="*")
    mail.outbox.clear()
    send(visitor, "/app/password", status="*", login=email)
    found += ["link"] if any("new password" in each.subject for each in mail.outbox) else []
    response = send(visitor, "/app/sign-in", status="*", login=email, password=PASSWORD)
    found += ["password"] if response.status_code == 303 else []
    send(visitor, "/app/sign-out", status="*")
    return found


@table("email", ["carol@acme.example", "nobody@example.com"])
def test_a_stranger_does_not_use_up_the_sign_ins_of_a_person_elsewhere(acme, settings, clock, email):
    settings.FAILED_LOGIN_LIMIT = 60
    use_up_sign_ins(acme, email, "192.0.2.1")
    assert "too many e-mails" in request_code(Visitor(acme.host, REMOTE_ADDR="192.0.2.1"), email)
    elsewhere = Visitor(acme.host, REMOTE_ADDR="192.0.2.2")
    assert ways_in(acme, elsewhere, email) == ["code", "link", *(["password"] if email.startswith("carol") else [])]


def test_strangers_do_not_use_up_the_sign_ins_of_a_browser_that_the_person_has_used(acme, settings, clock):
    settings.FAILED_LOGIN_LIMIT = 20
    known, new = (Visitor(acme.host, REMOTE_ADDR="192.0.2.1") for _ in range(2))
    known.sign_in("carol")
    send(known, "/app/sign-out", status="*")
    use_up_sign_ins(acme, "carol@acme.example", "192.0.2.1")
    # The limits of all addresses together are used up, too.
    RateCount.objects.update(used=10_000)
    rate_limits.rate_limiter.clear()
    for _ in range(2):
        passwords.verified_credentials.clear()
        assert ways_in(acme, known, "carol@acme.example") == ["code", "link", "password"]
    passwords.verified_credentials.clear()
    assert ways_in(acme, new, "carol@acme.example") == []
    # The cookie of carol's browser gives no privilege for another user.
    use_up_sign_ins(acme, "bob@acme.example", "192.0.2.1")
    assert request_code(known, "bob@acme.example").status_code == 422


def test_the_cookie_of_a_known_browser_is_valid_for_one_host(acme, other, settings, clock):
    settings.FAILED_LOGIN_LIMIT = 60
    visitor = acme.page().sign_in("carol")
    send(visitor, "/app/sign-out", status="*")
    [cookie] = [each for each in visitor.cookiejar if each.name == KNOWN_BROWSER_COOKIE]
    assert (cookie.path, cookie.has_nonstandard_attr("HttpOnly")) == ("/", True)
    assert cookie.expires - time.time() > 300 * 24 * 3600
    mallory = make_user(other.account, "twin", id=acme.carol.id)
    for value in (cookie.value, cookie.value[:-2], "x" * 5000, ""):
        request = RequestFactory().get("/")
        request.COOKIES = {KNOWN_BROWSER_COOKIE: value}
        request.address = host_cache.find(normalize(acme.host))
        assert bool(find_browser(request, acme.carol.id)) == (value == cookie.value)
        assert not find_browser(request, acme.bob.id)
        request.address = host_cache.find(normalize(other.host))
        assert not find_browser(request, mallory.id)


def test_the_owner_of_an_attacked_login_can_sign_in_from_another_address(acme, settings, clock):
    settings.FAILED_LOGIN_LIMIT = 4
    for number in range(16):
        fail_to_log_in(acme, "alice", f"192.0.2.{number}")
    for _ in range(5):
        passwords.verified_credentials.clear()
        assert log_in(acme, "alice", address="198.51.100.1").status_code == 200
    # Two wrong passwords do not lock the owner out.
    assert [fail_to_log_in(acme, "alice", "198.51.100.1").status_code for _ in range(2)] == [401] * 2
    assert log_in(acme, "alice", address="198.51.100.1").status_code == 200


def test_a_recently_verified_password_is_always_accepted(acme, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 1
    assert log_in(acme, "alice").status_code == 200
    assert [fail_to_log_in(acme).status_code for _ in range(5)] == [401, 429, 429, 429, 429]
    for address in ("192.0.2.1", "192.0.2.2"):
        assert log_in(acme, "alice", address=address).status_code == 200
    assert hashed == [PASSWORD, "wrong"]


def test_attempts_that_are_not_counted(acme, settings, clock):
    """Correct passwords, and requests without credentials."""
    settings.FAILED_LOGIN_LIMIT = 1
    for _ in range(3):
        passwords.verified_credentials.clear()
        response = log_in(acme, "alice")
        assert response.status_code == 200
        assert limit_headers(response) == NOT_COUNTED
    assert used_counts() == [0, 0]
    for header in ("Basic !", "Digest x", ""):
        response = XMLClient(acme.host).get(ME, headers={"Authorization": header})
        assert (response.status_code, limit_headers(response)) == (401, NOT_COUNTED)


def test_known_and_unknown_logins_get_the_same_responses(acme, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 3
    XMLClient(acme.host).get(ME)
    observed = {}
    for login in ("alice", "nobody"):
        observed[login] = []
        for number in range(5):
            before = len(hashed)
            with connection.execute_wrapper(recorder := StatementRecorder()):
                response = fail_to_log_in(acme, login, "192.0.2.1" if number > 2 else f"192.0.2.{number}")
            headers = {name: value for name, value in response.headers.items() if name != "x-request-id"}
            observed[login].append((shown(response), headers, recorder.statements, len(hashed) - before))
        RateCount.objects.all().delete()
    assert observed["alice"] == observed["nobody"]


class StatementRecorder:
    def __init__(self):
        self.statements = []

    def __call__(self, execute, sql, params, many, context):
        self.statements.append(sql)
        return execute(sql, params, many, context)


def test_malformed_credentials_are_counted_like_wrong_ones(acme, settings, clock):
    malformed = [b"", b":", b"alice", b"\xff:\xff", b"a\0b:c", b"x" * 5000 + b":y", "ł".encode() * 300 + b":"]
    settings.FAILED_LOGIN_LIMIT = len(malformed)
    headers = [{"Authorization": "Basic " + base64.b64encode(raw).decode()} for raw in malformed]
    responses = [shown(XMLClient(acme.host).get(ME, headers=header)) for header in headers]
    assert responses == [refusal(401, UNAUTHENTICATED)] * len(malformed)
    assert shown(XMLClient(acme.host).get(ME, headers=headers[0])) == refusal(429, TOO_MANY)


@pytest.mark.django_db(transaction=True)
def test_simultaneous_failed_logins_do_not_exceed_the_limit(acme, settings, hashed):
    settings.FAILED_LOGIN_LIMIT = 5
    for login in ("alice", "nobody"):
        responses = at_once(*(lambda login=login: fail_to_log_in(acme, login) for _ in range(CONNECTIONS)))
        assert sorted(response.status_code for response in responses) == [401] * 5 + [429] * (CONNECTIONS - 5)
        assert hashed == ["wrong"] * 5
        assert used_counts("address:") == used_counts("login:") == [5]
        hashed.clear()
        RateCount.objects.all().delete()
        rate_limits.rate_limiter.clear()


@pytest.mark.django_db(transaction=True)
def test_simultaneous_correct_passwords_are_accepted(acme, settings):
    settings.FAILED_LOGIN_LIMIT = passwords.MAX_CONCURRENT_HASHES
    responses = at_once(*(lambda: log_in(acme, "alice") for _ in range(CONNECTIONS)))
    assert [response.status_code for response in responses] == [200] * CONNECTIONS
    assert used_counts() == [0, 0]


# Wrong tokens


def test_wrong_tokens_of_an_address_are_limited(acme, settings, clock):
    settings.FAILED_LOGIN_LIMIT = 3
    for token, remaining in (("wrong/acme", 2), ("x" * 300, 1), ("", 0)):
        response = acme.json().get(TASKS, headers={"Authorization": f"Bearer {token}"})
        assert_refused(response, 401, "unauthenticated")
        assert limit_headers(response) == expected_headers(3, remaining, 3600)
    clock.advance(600)
    for token in ("wrong/acme", acme.bob_token + "x"):
        response = acme.json(token).get(TASKS)
        assert_refused(response, 429, "rate_limited", retry_after="3000")
        assert limit_headers(response) == expected_headers(3, 0, 3000, 3000)
    # A valid token of the same address, and a wrong token of another address, are not limited.
    assert acme.json().get(TASKS).status_code == 200
    assert from_address(acme.json("wrong/acme"), "192.0.2.2").get(TASKS).status_code == 401
    # Passwords are not limited either.
    assert acme.xml().get(ME).status_code == 200


# Client addresses


HTTPS_ELEMENT = "for=198.51.100.1;proto=https"


@table(
    ("remote", "forwarded", "address", "scheme"),
    [
        ("192.0.2.1", None, "192.0.2.1", "http"),
        ("192.0.2.1", "", "192.0.2.1", "http"),
        ("192.0.2.1", HTTPS_ELEMENT, "198.51.100.1", "https"),
        ("192.0.2.1", 'Proto=HTTPS; For="198.51.100.1"', "198.51.100.1", "https"),
        ("192.0.2.1", "for=198.51.100.1", "198.51.100.1", "http"),
        ("192.0.2.1", "for=198.51.100.1;proto=gopher", "198.51.100.1", "http"),
        # The client controls all elements but the last.
        ("192.0.2.1", f"for=203.0.113.9;proto=https, for=10.0.0.1,{HTTPS_ELEMENT}", "198.51.100.1", "https"),
        ("192.0.2.1", f'for="203.0.113.9, {HTTPS_ELEMENT}', "198.51.100.1", "https"),
        ("192.0.2.1", f'for="203.0.113.9\\", {HTTPS_ELEMENT}', "198.51.100.1", "https"),
        ("192.0.2.1", "for=203.0.113.9;proto=https, for=198.51.100.1", "198.51.100.1", "http"),
        ("192.0.2.1", 'for="198.51.100.1:50123"', "198.51.100.1", "http"),
        ("192.0.2.1", "for=2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "http"),
        ("192.0.2.1", 'for="[2001:db8:1:2::7]:443"', "2001:db8:1:2::/64", "http"),
        ("192.0.2.1", 'for="[2001:db8:1:2::7]"', "2001:db8:1:2::/64", "http"),
        ("192.0.2.1", "for=fe80::1%eth0", "fe80::/64", "http"),
        ("192.0.2.1", "for=::ffff:198.51.100.1", "198.51.100.1", "http"),
        # Ambiguous and malformed elements are ignored.
        ("192.0.2.1", "for=198.51.100.1;for=198.51.100.2;proto=https", "192.0.2.1", "http"),
        ("192.0.2.1", "for=198.51.100.1;proto=https;proto=http", "192.0.2.1", "http"),
        ("192.0.2.1", f"{HTTPS_ELEMENT};", "192.0.2.1", "http"),
        ("192.0.2.1", f"{HTTPS_ELEMENT},", "192.0.2.1", "http"),
        *(
            ("192.0.2.1", word, "192.0.2.1", "http")
            for word in ("for=unknown", "for=_hidden", "198.51.100.1", ",", "for=1.2.3", "for=[", "for=:", "x" * 9999)
        ),
        ("", None, "unknown", "http"),
        ("/run/socket", "for=\x00", "unknown", "http"),
        ("2001:db8:1:2:ffff::", None, "2001:db8:1:2::/64", "http"),
    ],
)
def test_the_client_behind_a_proxy(settings, remote, forwarded, address, scheme):
    settings.TRUST_PROXY = "forwarded"
    headers = {} if forwarded is None else {"HTTP_FORWARDED": forwarded}
    spoofed = {"HTTP_X_FORWARDED_FOR": "203.0.113.9", "HTTP_X_FORWARDED_PROTO": "https"}
    assert client_of(REMOTE_ADDR=remote, **headers, **spoofed) == (address, scheme)


def client_of(**headers) -> tuple[str, str]:
    """Return the address and the scheme of the client of a request."""
    environ = RequestFactory().get("/", **headers).META
    client_address.apply_proxy(environ)
    assert not set(client_address.PROXY_VARIABLES) & set(environ)
    return client_address.from_environ(environ), environ["wsgi.url_scheme"]


@table(
    ("address", "scheme", "expected"),
    [
        ("198.51.100.1", "https", ("198.51.100.1", "https")),
        ("203.0.113.9, 198.51.100.1", "https, http", ("198.51.100.1", "http")),
        ("", "", ("192.0.2.1", "http")),
    ],
)
def test_the_client_behind_a_proxy_with_older_headers(settings, address, scheme, expected):
    settings.TRUST_PROXY = "x-forwarded"
    headers = {"HTTP_X_FORWARDED_FOR": address, "HTTP_X_FORWARDED_PROTO": scheme, "HTTP_FORWARDED": "for=203.0.113.9"}
    assert client_of(REMOTE_ADDR="192.0.2.1", **headers) == expected


def test_the_client_without_a_proxy(settings):
    settings.TRUST_PROXY = ""
    headers = dict.fromkeys(client_address.PROXY_VARIABLES, "198.51.100.1") | {"HTTP_FORWARDED": HTTPS_ELEMENT}
    assert client_of(REMOTE_ADDR="192.0.2.1", **headers) == ("192.0.2.1", "http")


def test_networks_of_ipv6_are_counted_too(acme, settings, clock):
    """A subscriber may have a whole /48. Its limit is four times that of a /64, as others have only a part of one."""
    settings.FAILED_LOGIN_LIMIT = 1
    statuses = [fail_to_log_in(acme, f"user-{n}", f"2001:db8:1:{n:x}::1").status_code for n in range(6)]
    assert statuses == [401] * 4 + [429] * 2
    assert fail_to_log_in(acme, "user-7", "2001:db8:2::1").status_code == 401
    assert fail_to_log_in(acme, "user-8", "2001:db8:2:0:1::1").status_code == 429
    # The refused attempts do not count.
    assert max(RateCount.objects.filter(used__gt=0).values_list("used", flat=True)) == 4


@table("path", ["/app/sign-up", "/app/sign-in/code"])
def test_forms_of_visitors_count_networks_too(acme, settings, path):
    settings.FAILED_LOGIN_LIMIT = 1
    statuses = []
    for number in range(6):
        visitor = Visitor(acme.host, REMOTE_ADDR=f"2001:db8:1:{number:x}::1")
        form = next(form for form in visitor.get(path).forms.values() if "email" in form.fields)
        form["email"] = f"new-{number}@example.com"
        statuses.append(form.submit(expect_errors=True).status_code)
    assert statuses[:4] == [303] * 4
    assert 303 not in statuses[4:]


def test_a_login_has_a_limit_for_all_addresses(acme, settings, clock, hashed):
    settings.FAILED_LOGIN_LIMIT = 5
    statuses = [fail_to_log_in(acme, "alice", f"192.0.2.{number}").status_code for number in range(27)]
    assert statuses == [401] * 25 + [429] * 2
    assert len(hashed) == 25
    # The right password is refused too, and a code is not.
    assert log_in(acme, "alice", address="198.51.100.1").status_code == 429
    visitor = Visitor(acme.host, REMOTE_ADDR="198.51.100.1")
    form = next(form for form in visitor.get("/app/sign-in/code").forms.values() if "email" in form.fields)
    form["email"] = acme.alice.email
    assert form.submit().headers["Location"].startswith("/app/sign-in/code/enter")
    assert fail_to_log_in(acme, "bob", "198.51.100.1").status_code == 401
    clock.advance(3600)
    assert log_in(acme, "alice", address="198.51.100.1").status_code == 200


# New accounts


@pytest.fixture
def partner(acme):
    acme.account.partner_key = "acme-partner"
    acme.account.save()
    return acme


def create(partner, prefix: str, token: str | None = None):
    body = {"account": {"prefix": prefix}, "user": NEW_USER}
    return partner.json(token or partner.alice_token).post("/app/account.json", json=body)


def test_new_accounts_of_a_partner_are_limited(partner, other, settings, clock):
    settings.RATE_LIMIT, settings.ACCOUNT_LIMIT = 600, 2
    second_token = make_token(partner.alice)
    for prefix, token, status, expected in (
        ("one", None, 201, expected_headers(2, 1, 60)),
        # A failed creation does not count as a new account, but as a request.
        ("one", None, 422, expected_headers(600, 598, 60)),
        ("two", second_token, 201, expected_headers(2, 0, 60)),
    ):
        response = create(partner, prefix, token)
        assert response.status_code == status
        assert limit_headers(response) == expected
    clock.advance(15)
    for token in (None, second_token):
        response = create(partner, "three", token)
        assert_refused(response, 429, "rate_limited", retry_after="45")
        assert limit_headers(response) == expected_headers(2, 0, 45, 45)
    assert not Account.objects.filter(prefix="three").exists()
    assert partner.json().get(TASKS).status_code == 200
    # Each partner has its own count.
    Account.objects.filter(pk=other.account.pk).update(partner_key="other-partner")
    body = {"account": {"prefix": "other-one"}, "user": NEW_USER}
    assert other.json().post("/app/account.json", json=body).status_code == 201
    clock.advance(45)
    assert create(partner, "three").status_code == 201


# Stored counts


def test_stored_keys_reveal_no_login_address_or_secret(partner, settings, clock):
    settings.RATE_LIMIT, settings.FAILED_LOGIN_LIMIT, settings.ACCOUNT_LIMIT = 9, 1, 9
    fail_to_log_in(partner, "nobody@acme.example", "192.0.2.77")
    for _ in range(2):
        fail_to_log_in(partner, "nobody@acme.example", "192.0.2.78")
    partner.json("wrong/acme").get(TASKS)
    partner.xml().get(ME)
    create(partner, "one")
    keys = list(RateCount.objects.order_by("key").values_list("key", flat=True))
    account, token = partner.account.id, APIToken.objects.find_by_token(partner.alice_token).id
    assert [key for key in keys if len(key.rpartition(":")[2]) != 64] == [
        f"partner:{account}",
        f"token:{account}:{token}",
        f"user:{account}:{partner.alice.id}",
    ]
    kinds = sorted(key.partition(":")[0] for key in keys)
    assert kinds == ["address"] * 3 + ["login"] * 2 + ["login-at", "partner", "token", "user", "wrong-token"]
    assert max(map(len, keys)) <= 128


def test_hashed_keys_depend_on_the_secret_key_and_on_each_part(settings):
    keys = [rate_limits.hashed_key(*parts) for parts in (("a", "b", "c"), ("a", "bc"), ("b", "b", "c"), ("a", "b"))]
    settings.SECRET_KEY = "another"
    keys.append(rate_limits.hashed_key("a", "b", "c"))
    assert len(set(keys)) == 5


def test_housekeeping_removes_expired_windows(db):
    rate_limits.increment("open", 1, MINUTE)
    for key, seconds in (("over", 1), ("long over", 86_400)):
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO accounts_ratecount VALUES (%s, 600, statement_timestamp() - make_interval(secs => %s))",
                [key, seconds],
            )
    run_housekeeping()
    assert list(RateCount.objects.values_list("key", flat=True)) == ["open"]
    assert RateCount.objects.filter(ends_at__gt=Now()).count() == 1
