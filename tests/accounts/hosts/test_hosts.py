"""The account and the forum that a host selects."""

import pytest
from django.test import override_settings

from accounts.hosts import addresses
from accounts.hosts.addresses import HostCache, host_cache
from accounts.hosts.models import Host
from accounts.hosts.names import normalize
from tests.support.assertions import assert_refused, read
from tests.support.client import JSONClient, XMLClient
from tests.support.factories import PASSWORD, make_account, make_task
from tests.support.tables import table


def tasks(host, token):
    return JSONClient(host, token).get("/app/tasks.json")


@pytest.fixture
def custom_host(acme) -> str:
    """Create a second forum of acme at its own host, and return the host."""
    host = acme.account.hosts.create(name="ideas.customer.test")
    acme.account.forums.create(host_id=host.id, name="Ideas")
    return host.name


HOSTS = [
    *("acme.example.test", "ACME.Example.TEST", "acme.example.test.", "acme.example.test:8000", "acme.example.test:80"),
    *("ideas.customer.test", "IDEAS.customer.test:8000", "example.test", "example.test:8000", "EXAMPLE.test."),
    *("api.example.test", "api.example.test:8000", "www.example.test"),
]


@table("host", HOSTS)
def test_it_works(acme, custom_host, host):
    make_task(acme.alice, "Here")
    response = tasks(host, acme.bob_token)
    assert response.status_code == 200
    assert [task["title"] for task in read(response)] == ["Here"]


@table("host", ["acme.example.test", "ideas.customer.test"])
def test_it_rejects_the_token_of_another_account(acme, custom_host, other, host):
    response_to_wrong_token = tasks(host, "x" * 32 + "/acme")
    response = tasks(host, other.token)
    # The response is the same as that to a wrong token.
    assert_refused(response, 401, "unauthenticated")
    assert response.content == response_to_wrong_token.content
    assert tasks(other.host, acme.bob_token).status_code == 401


@table("host", ["example.test", "www.example.test", "api.example.test"])
def test_the_token_decides_the_account_at_the_hosts_of_the_service(acme, other, host):
    make_task(acme.alice, "Of acme")
    make_task(other.mallory, "Of other")
    assert [task["title"] for task in read(tasks(host, acme.bob_token))] == ["Of acme"]
    assert [task["title"] for task in read(tasks(host, other.token))] == ["Of other"]
    assert_refused(tasks(host, None), 401, "unauthenticated")


UNKNOWN_HOSTS = [
    *("nobody.example.test", "www.nobody.example.test", "acme.nobody.example.test", "x.acme.example.test", "acme"),
    *("acme.example.test.evil.test", "localhost", "127.0.0.1", "[::1]", "[::1]:8000", "acme.example.test:"),
    *("acme.example.test:80x", "acme.example.test:800000", "acme.example.test:٣", "acme..example.test"),
    *(".example.test", "example.test..", "-acme.example.test", "acme-.example.test", "acme_.example.test"),
    *("acme.example.test/x", "acme.example.test@evil.test", "user@acme.example.test"),
    *("acme.example.test evil.test", "acme.example.test,evil.test", "%61cme.example.test"),
    *("a" * 64 + ".example.test", "a" * 70_000 + ".example.test", ".".join(["a"] * 200) + ".test"),
    *("", " ", "\x00", "xn--.example.test", "аcme.example.test"),
]


def test_it_rejects_unknown_hosts_before_anything_else(acme):
    def get(path, host):
        # Set the header directly, so that the client library does not normalize the host.
        headers = {"Host": host.encode("ascii", "replace").decode(), "Authorization": f"Bearer {acme.bob_token}"}
        return XMLClient("acme.example.test").get(path, headers=headers)

    for host in UNKNOWN_HOSTS:
        assert_refused(get("/app/tasks.json", host), 404, "not_found", message="No forum lives at this address")
    for path in ("/app/posts.xml", "/"):
        response = get(path, "nobody.example.test")
        assert (response.status_code, response.headers["Content-Type"]) == (404, "application/xml; charset=utf-8")
        error = "<errors>\n  <error>No forum lives at this address</error>\n</errors>\n"
        assert response.text == f'<?xml version="1.0" encoding="UTF-8"?>\n{error}'


def test_it_rejects_forum_paths_at_the_hosts_of_the_service(acme):
    for host in ("example.test", "api.example.test"):
        for path in ("/", "/General", "/app/users/me.xml", "/app/nothing"):
            response = XMLClient(host, auth=("alice", PASSWORD)).get(path)
            assert response.status_code == 404
            assert "No forum lives at this address" in response.text


def test_a_new_account_is_available_immediately(acme):
    assert tasks("brand-new.example.test", acme.bob_token).status_code == 404
    _, _, token = make_account("brand-new")
    assert tasks("brand-new.example.test", token).status_code == 200


def test_a_moved_host_serves_its_new_account_within_a_second(acme, other, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(addresses, "monotonic", lambda: now)
    monkeypatch.setattr(host_cache, "seconds", HostCache().seconds)
    assert tasks(other.host, other.token).status_code == 200
    Host.objects.filter(name="other").update(name="gone")
    acme.account.hosts.create(name="other")
    now += 1
    assert tasks(other.host, other.token).status_code == 401
    assert tasks(other.host, acme.bob_token).status_code == 200


def test_locations_have_the_host_of_the_request(acme, custom_host):
    for host in ("acme.example.test", "acme.example.test:8000", "ideas.customer.test", "api.example.test"):
        response = JSONClient(host, acme.bob_token).post("/app/clients.json", json={"client": {"name": "a"}})
        assert response.headers["Location"] == f"http://{host}/app/clients/{read(response)['id']}.json"


@table("host", ["localhost", "127.0.0.1:8000"])
def test_the_local_account_is_served_at_localhost(acme, other, host):
    make_task(acme.alice, "Here")
    with override_settings(LOCAL_ACCOUNT="acme"):
        assert [task["title"] for task in read(tasks(host, acme.bob_token))] == ["Here"]
        assert XMLClient(host, auth=("alice", PASSWORD)).get("/app/users/me.xml").status_code == 200
        assert XMLClient(host, auth=("mallory", PASSWORD)).get("/app/users/me.xml").status_code == 401
        # Without DNS, new accounts are at localhost too. There the token decides the account.
        assert tasks(host, other.token).status_code == 200
    host_cache.clear()
    assert tasks(host, acme.bob_token).status_code == 404


def test_an_unknown_local_account(acme):
    with override_settings(LOCAL_ACCOUNT="nobody"):
        response = tasks("localhost", acme.bob_token)
    assert_refused(response, 404, "not_found", message="No forum lives at this address")


def test_health_checks_work_at_any_host(db, readiness_probe):
    for host in ("acme.example.test", "nobody.example.test", "127.0.0.1", "%%%"):
        for path in ("/healthz", "/readyz"):
            response = XMLClient("acme.example.test").get(path, headers={"Host": host})
            assert (response.status_code, response.text) == (200, "ok\n")


def test_the_age_of_a_cached_host_includes_the_time_of_its_query(acme, monkeypatch):
    """The time is taken before the query, because a host may move to another account during a slow query."""
    now = 1000.0
    monkeypatch.setattr(addresses, "monotonic", lambda: now)
    look_up, hosts = HostCache._look_up, []

    def slow_look_up(self, host):
        nonlocal now
        now += 1
        hosts.append(host)
        return look_up(self, host)

    monkeypatch.setattr(HostCache, "_look_up", slow_look_up)
    cache = HostCache()
    cache.find("acme")
    cache.find("acme")
    assert hosts == ["acme", "acme"]


def test_hosts_are_cached(acme, django_assert_num_queries):
    cache = HostCache(size=2, seconds=1000)
    with django_assert_num_queries(2):
        cache.find("acme")
    with django_assert_num_queries(0):
        address = cache.find("acme")
    assert (address.account_id, address.site_id, address.site_name) == (acme.account.id, acme.forum.id, "Acme")
    with django_assert_num_queries(2):
        assert cache.find("nobody") is None
        assert cache.find("nobody") is None
    # The size of the cache is limited: the oldest entry is evicted.
    make_account("second")
    make_account("third")
    cache.find("second")
    cache.find("third")
    with django_assert_num_queries(2):
        cache.find("acme")
    # Cached hosts expire.
    cache = HostCache(seconds=-1)
    cache.find("acme")
    with django_assert_num_queries(2):
        cache.find("acme")


@table(
    ("host", "name"),
    [
        ("a.example.test", "a"),
        ("example.test", "example.test"),
        ("a.b.example.test", "a.b.example.test"),
        ("forum.customer.test", "forum.customer.test"),
        ("single", None),
        ("localhost", "localhost"),
        ("1.2.3.4", "1.2.3.4"),
    ],
)
def test_normalized_host_names(host, name):
    assert normalize(host) == name
