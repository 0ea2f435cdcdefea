"""The addresses of the Forum API, and the errors at unknown ones. tests/accounts/hosts/test_hosts.py has more of them."""

from django.db import OperationalError

from accounts.hosts.addresses import HostCache
from accounts.hosts.names import normalize
from tests.support.client import XMLClient
from tests.support.factories import PASSWORD, make_account, make_forum, make_post
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


def test_it_rejects_unknown_hosts_with_any_method(acme):
    for method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "FOO"):
        for path in (b"/app/posts.xml", b"/General", b"/unknown"):
            response = call("unknown.example.test", path, method=method, user=ALICE, body=b"<broken")
            assert shown(response) == UNKNOWN_HOST
            assert "WWW-Authenticate" not in response.headers
    response = call("unknown.example.test", b"/app/clients/1.json", user=ALICE)
    assert shown(response) == (404, "application/json", f'{{"code":"not_found","message":"{NO_FORUM}"}}')


def test_it_rejects_a_request_without_a_host(acme):
    response = call("", HTTP_HOST="", SERVER_NAME=acme.host, user=ALICE)
    assert shown(response) == UNKNOWN_HOST


def test_it_works(acme, django_assert_num_queries):
    """A host is found in any spelling."""
    call(acme.host, user=ALICE)
    for spelling in (
        acme.host,
        "ACME.Example.TEST",
        f"{acme.host}:80",
        f"{acme.host}:65535",
        f"{acme.host}.",
        f"{acme.host}.:1",
    ):
        with django_assert_num_queries(1):
            assert call(spelling, user=ALICE).status_code == 200


def test_forwarded_hosts_are_ignored(acme, other):
    for name in ("HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED", "HTTP_X_HOST", "HTTP_X_ORIGINAL_HOST"):
        assert call(acme.host, user=ALICE, **{name: "other.example.test"}).status_code == 200
        assert call(other.host, user=ALICE, **{name: "acme.example.test"}).status_code == 401


LONGEST_HOST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])


@table("host", ["ideas.example.org", "ideas.example.org:8443", f"{LONGEST_HOST}:65535", f"{LONGEST_HOST}.", "10.0.0.1"])
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


@table(
    ("host", "name"),
    [
        ("acme.example.test", "acme"),
        ("ACME.EXAMPLE.TEST.:80", "acme"),
        ("a.b.example.test", "a.b.example.test"),
        ("example.test", "example.test"),
        ("ideas.example.org", "ideas.example.org"),
        (LONGEST_HOST, LONGEST_HOST),
        ("a" * 63 + ".example.org", "a" * 63 + ".example.org"),
    ],
)
def test_normalized_host_names(host, name):
    assert normalize(host) == name


INVALID_HOSTS = [
    *("", "acme", "[::1]", "[::1]:8000", "a" * 64 + ".example.org", LONGEST_HOST + "e", "a" * 253, "a" * 70_000),
    *("example.test.:x", "acme.example.test:", "acme.example.test:-1", "acme.example.test:123456", ":" * 1000),
    *("acme.example.test:80:80", "acme.example.test:²", ".example.test", "acme..example.test", "..", "."),
    *("acme.example.test..", "-acme.example.test", "acme-.example.test", "ac_me.example.test", "*", "\t"),
    *("acme.example.test, other.example.test", "user@acme.example.test", "acme.example.test/app"),
    *("acme.example.test\0", "acme.example.test\n", " acme.example.test", "acme.example.test ", "\xff"),
    *("\xc5\x82.example.test", "xn--.example.test.", "acme%2eexample.test", "http://acme.example.test"),
]


def test_it_rejects_invalid_host_names():
    assert [host for host in INVALID_HOSTS if normalize(host) is not None] == []


@table("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000"])
def test_the_local_account_is_also_at_localhost(acme, other, settings, host):
    settings.BASE_DOMAIN, settings.LOCAL_ACCOUNT = "localhost", "acme"
    assert call(host, user=ALICE).status_code == 200
    assert call("acme.localhost:8000", user=ALICE).status_code == 200
    assert shown(call(host, user=("mallory", PASSWORD))) == refusal(401, UNAUTHENTICATED)
    assert call("other.localhost", user=("mallory", PASSWORD)).status_code == 200


def test_two_forums_of_an_account_are_separate(acme):
    forum = make_forum(acme.account, "ideas")
    make_post(acme.alice, "first")
    make_post(acme.alice, "second", forum_id=forum.id)
    acme.account.hosts.create(name="spare.example.org")
    client = acme.xml()
    # A host without a forum serves the default forum.
    for host, expected in ((acme.host, "first"), ("ideas.example.org", "second"), ("spare.example.org", "first")):
        assert titles(client.get(f"http://{host}/")) == [expected]
    # All forums of an account have the same users.
    assert client.get("http://ideas.example.org/app/users/me.xml").text == client.get("/app/users/me.xml").text
    response = call("ideas.example.org")
    assert response.headers["WWW-Authenticate"] == 'Basic realm="ideas", charset="UTF-8"'


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
