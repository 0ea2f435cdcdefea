"""Rate limits: the counts, the response headers, bursts on several processes, and the addresses of clients."""

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import RequestFactory

from core.http import throttling
from core.http.throttling import HOUR, MINUTE
from core.limits import client_address, rate_limits
from core.limits.rate_limits import RateCount, RateLimiter, Window
from forum.posts.models import Post
from tests.support.assertions import assert_answered, assert_refused
from tests.support.client import JSONClient, XMLClient
from tests.support.factories import make_token
from tests.support.jobs import run_housekeeping
from tests.support.limits import NEW_USER, NOT_COUNTED, expected_headers, fail_to_log_in, limit_headers, used_counts
from tests.support.tables import table
from tests.support.threads import at_once
from tests.support.xml import TOO_MANY, refusal, shown

ME = "/app/users/me.xml"
TASKS = "/app/tasks.json"
CONNECTIONS = 16


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

    monkeypatch.setattr("forum.xml.views.XMLUserViewSet.me", fail)
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

    def record_and_increment(*args, **options):
        in_transaction.append(connection.in_atomic_block)
        return increment(*args, **options)

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
    settings.RATE_LIMIT = 1
    monkeypatch.setattr(rate_limits, "INCREMENT_SQL", "SELECT %s::text, %s::int, %s::int, %s::int / 0")
    assert [acme.json().get(TASKS).status_code for _ in range(3)] == [200] * 3
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
    return client_address.read_address(environ), environ["wsgi.url_scheme"]


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


# Stored counts


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
                "INSERT INTO core_ratecount VALUES (%s, 600, statement_timestamp() - make_interval(secs => %s))",
                [key, seconds],
            )
    run_housekeeping()
    assert list(RateCount.objects.values_list("key", flat=True)) == ["open"]
    assert RateCount.objects.filter(ends_at__gt=Now()).count() == 1
