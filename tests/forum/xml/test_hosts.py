"""The addresses of the Forum API, and the errors at unknown ones."""

from django.db import OperationalError

from accounts import addresses
from accounts.addresses import HostCache, host_cache
from accounts.host_names import normalize
from accounts.models import Host
from tests.support.client import XMLClient
from tests.support.factories import PASSWORD, make_account, make_post
from tests.support.tables import table
from tests.support.xml import (
    NO_FORUM,
    UNAUTHENTICATED,
    UNAVAILABLE,
    call,
    document,
    posts,
    refusal,
    shown,
    single,
    titles,
)

ALICE = ("alice", PASSWORD)
UNKNOWN_HOST = refusal(404, NO_FORUM)
UNKNOWN_HOST_IN_JSON = (404, "application/json", '{"code":"not_found","message":"No forum lives at this address"}')


def test_it_works(acme, django_assert_num_queries):
    # The host and its forum, which are cached for seconds; the user with the account.
    with django_assert_num_queries(3):
        assert call(acme.host, user=ALICE).status_code == 200
    with django_assert_num_queries(1):
        assert call(acme.host, user=ALICE).status_code == 200


@table(
    "host",
    [
        *(
            "unknown.example.test",
            "acme.example.org",
            "acme",
            "localhost",
            "127.0.0.1",
            "[::1]",
            "[::1]:8000",
            "example.test.",
            "",
        ),
        *(
            "www.acme.example.test",
            "acme.example.test.example.test",
            "xacme.example.test",
            "acmeexample.test",
            ".example.test",
        ),
        *(
            "acme..example.test",
            "-acme.example.test",
            "acme-.example.test",
            "ac_me.example.test",
            "acme.example.test..",
            "..",
            ".",
        ),
        *(
            "acme.example.test:",
            "acme.example.test:x",
            "acme.example.test:-1",
            "acme.example.test:123456",
            "acme.example.test:80:80",
        ),
        *(
            "acme.example.test, other.example.test",
            "user@acme.example.test",
            "acme.example.test/app",
            "acme.example.test?x",
            "*",
        ),
        *(
            "acme.example.test\0",
            "acme\0.example.test",
            "acme.example.test\n",
            " acme.example.test",
            "acme.example.test ",
            "\t",
        ),
        *(
            "\xff",
            "\xc5\x82.example.test",
            "xn--.example.test.",
            "%61cme.example.test",
            "acme%2eexample.test",
            "http://acme.example.test",
        ),
        *(
            "a" * 64 + ".example.test",
            "a." * 127 + "a",
            "a" * 253,
            "a" * 70_000,
            "a." * 35_000,
            ":" * 1000,
            "'; DROP TABLE x; --",
        ),
    ],
)
def test_it_rejects_unknown_hosts_in_the_format_of_the_path(acme, host):
    for path in (b"/app/users/me.xml", b"/", b"/General", b"/unknown", b"/app/posts.xml"):
        response = call(host, path, user=ALICE)
        assert shown(response) == UNKNOWN_HOST
        assert "WWW-Authenticate" not in response.headers
    # At the service's own address the token selects the account, and JSON paths are served.
    if normalize(host) != "example.test":
        assert shown(call(host, b"/app/clients/1.json", user=ALICE)) == UNKNOWN_HOST_IN_JSON


@table("host", ["example.test", "EXAMPLE.test:8000", "api.example.test"])
def test_it_rejects_the_forum_api_at_the_hosts_of_the_service(acme, host):
    for path in (b"/app/users/me.xml", b"/", b"/General"):
        assert shown(call(host, path, user=ALICE)) == UNKNOWN_HOST


@table("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "FOO"])
def test_it_rejects_unknown_hosts_with_any_method(acme, method):
    response = call("unknown.example.test", b"/app/posts.xml", method=method, user=ALICE, body=b"<broken")
    assert shown(response) == UNKNOWN_HOST


def test_it_rejects_a_request_without_a_host(acme):
    response = call("", HTTP_HOST="", SERVER_NAME=acme.host, user=ALICE)
    assert shown(response) == UNKNOWN_HOST


def test_it_rejects_users_of_another_account(acme, other):
    assert shown(call(other.host, user=ALICE)) == refusal(401, UNAUTHENTICATED)
    assert shown(call(acme.host, user=("mallory", PASSWORD))) == refusal(401, UNAUTHENTICATED)


@table(
    "host",
    [
        "acme.example.test",
        "ACME.Example.TEST",
        "acme.example.test:80",
        "acme.example.test:65535",
        "acme.example.test.",
        "acme.example.test.:1",
    ],
)
def test_a_host_is_found_in_any_spelling(acme, host, django_assert_num_queries):
    call(acme.host, user=ALICE)
    with django_assert_num_queries(1):
        assert call(host, user=ALICE).status_code == 200


def test_forwarded_hosts_are_ignored(acme, other):
    for name in ("HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED", "HTTP_X_HOST", "HTTP_X_ORIGINAL_HOST"):
        assert call(acme.host, user=ALICE, **{name: "other.example.test"}).status_code == 200
        assert call(other.host, user=ALICE, **{name: "acme.example.test"}).status_code == 401


LONGEST_HOST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])


@table(
    "host",
    [
        "ideas.example.org",
        "ideas.example.org:8443",
        LONGEST_HOST,
        LONGEST_HOST + ":65535",
        LONGEST_HOST + ".",
        "10.0.0.1",
    ],
)
def test_a_forum_with_its_own_host(db, host):
    assert len(LONGEST_HOST) == 253
    account, owner, _ = make_account("own", login="ann", host=host.partition(":")[0])
    post = make_post(owner, "there")
    # The account's own address also serves the default forum.
    for address in (host, "own.example.test"):
        client = XMLClient(address, auth=("ann", PASSWORD))
        assert shown(client.get("/")) == posts(post)
        created = client.send_xml("POST", "/app/posts.xml", "<post><title>t</title></post>")
        new = account.posts.latest("id")
        assert shown(created) == document(201, single(new))
        assert created.headers["Location"] == f"http://{address}/app/posts/{new.id}.xml"
        new.delete()


def test_it_rejects_a_host_of_254_characters():
    assert normalize(LONGEST_HOST) == LONGEST_HOST
    assert normalize(LONGEST_HOST + "e") is None
    assert normalize("a" * 63 + ".example.org") is not None
    assert normalize("a" * 64 + ".example.org") is None


@table(
    ("host", "name"),
    [
        ("acme.example.test", "acme"),
        ("ACME.EXAMPLE.TEST.:80", "acme"),
        ("a.b.example.test", "a.b.example.test"),
        ("example.test", "example.test"),
        ("ideas.example.org", "ideas.example.org"),
        ("acme", None),
        ("example.test.:x", None),
        ("[::1]", None),
        ("", None),
    ],
)
def test_normalized_host_names(host, name):
    assert normalize(host) == name


@table("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000"])
def test_the_local_account_is_also_at_localhost(acme, other, settings, host):
    settings.BASE_DOMAIN, settings.LOCAL_ACCOUNT = "localhost", "acme"
    assert call(host, user=ALICE).status_code == 200
    assert call("acme.localhost:8000", user=ALICE).status_code == 200
    assert shown(call(host, user=("mallory", PASSWORD))) == refusal(401, UNAUTHENTICATED)
    assert call("other.localhost", user=("mallory", PASSWORD)).status_code == 200


def test_two_forums_of_an_account_are_separate(acme):
    forum = acme.account.forums.create(name="Ideas", host_id=acme.account.hosts.create(name="ideas.example.org").id)
    category = acme.account.categories.create(forum_id=forum.id, name="General")
    make_post(acme.alice, "first")
    make_post(acme.alice, "second", forum_id=forum.id, category_id=category.id)
    client = acme.xml()
    assert titles(client.get("/")) == ["first"]
    assert titles(client.get("http://ideas.example.org/")) == ["second"]
    # All forums of an account have the same users.
    assert client.get("http://ideas.example.org/app/users/me.xml").text == client.get("/app/users/me.xml").text
    response = call("ideas.example.org")
    assert response.headers["WWW-Authenticate"] == 'Basic realm="Ideas", charset="UTF-8"'


def test_a_host_without_a_forum_serves_the_default_forum(acme):
    acme.account.hosts.create(name="spare.example.org")
    make_post(acme.alice, "first")
    assert titles(acme.xml().get("http://spare.example.org/")) == ["first"]


def test_a_new_account_is_available_immediately(acme):
    response = call("new.example.test", user=("ann", PASSWORD))
    assert shown(response) == UNKNOWN_HOST
    make_account("new", login="ann")
    assert call("new.example.test", user=("ann", PASSWORD)).status_code == 200


def test_a_deleted_host_is_unknown_within_a_second(acme, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(addresses, "monotonic", lambda: now)
    monkeypatch.setattr(host_cache, "seconds", HostCache().seconds)
    acme.account.hosts.create(name="ideas.example.org")
    assert call("ideas.example.org", user=ALICE).status_code == 200
    Host.objects.filter(name="ideas.example.org").delete()
    now += 1
    assert shown(call("ideas.example.org", user=ALICE)) == UNKNOWN_HOST


def test_the_cache_is_limited_and_keeps_no_unknown_hosts(acme):
    for number in range(5):
        acme.account.hosts.create(name=f"host-{number}.example.org")
    cache = HostCache(size=3)
    for number in range(5):
        assert cache.find(f"host-{number}.example.org").account_id == acme.account.id
        assert cache.find(f"unknown-{number}.example.org") is None
    assert list(cache._entries) == ["host-2.example.org", "host-3.example.org", "host-4.example.org"]


def test_an_unavailable_database_causes_503(acme, monkeypatch):
    def fail_to_connect(self, host):
        raise OperationalError("connection refused: postgresql://rostrum:secret@db")

    monkeypatch.setattr(HostCache, "_look_up", fail_to_connect)
    response = call(acme.host, user=ALICE)
    assert shown(response) == refusal(503, UNAVAILABLE)
    assert response.headers["Retry-After"] == "5"
    response = call(acme.host, b"/app/clients/1.json")
    assert shown(response) == (503, "application/json", f'{{"code":"unavailable","message":"{UNAVAILABLE}"}}')
    assert response.headers["Retry-After"] == "5"


def test_health_checks_work_at_any_host(acme, readiness_probe, django_assert_num_queries):
    with django_assert_num_queries(0):
        for host in (acme.host, "unknown.example.org", "", "\xff", "a" * 70_000):
            assert shown(call(host, b"/healthz")) == (200, "text/plain", "ok\n")
        # `/readyz` asks the database in a thread, whose connection these queries do not include.
        assert shown(call("unknown.example.org", b"/readyz")) == (200, "text/plain", "ok\n")
