"""The answer to a proxy that asks whether to request a certificate for a host. `tests/config/test_proxy.py` asks with a real proxy."""

from django.db import OperationalError

from accounts.hosts import tls
from accounts.hosts.addresses import host_cache
from core.limits.rate_limits import rate_limiter
from tests.support.pages import Visitor
from tests.support.tables import table


def ask(domain: str | None, *, address: str = "127.0.0.1", host: str = "web:8000", **environ: str):
    parameters = {} if domain is None else {"domain": domain}
    return Visitor(host, REMOTE_ADDR=address, **environ).get("/internal/tls", parameters, expect_errors=True)


def test_it_works(acme):
    response = ask("acme.example.test")
    assert (response.status_code, response.body) == (200, b"")


@table(
    ("domain", "status"),
    [
        ("ACME.example.test", 200),
        ("ideas.customer.test", 200),
        ("example.test", 200),
        ("www.example.test", 200),
        ("api.example.test", 200),
        ("unproven.customer.test", 404),
        ("nobody.example.test", 404),
        ("x.acme.example.test", 404),
        ("other.test", 404),
        ("a..test", 404),
        ("x" * 70_000, 404),
        ("\x00", 404),
        ("", 404),
        (None, 404),
    ],
)
def test_the_hosts_of_the_service(acme, domain, status):
    for name in ("ideas.customer.test", "unproven.customer.test"):
        acme.account.hosts.create(name=name)
    acme.account.hosts.filter(name="unproven.customer.test").update(proven_at=None)
    assert ask(domain).status_code == status


def test_a_closed_account_keeps_its_certificate(acme, settings):
    settings.OPERATOR_ACCOUNT = ""
    acme.account.suspend("Unpaid")
    assert ask("acme.example.test").status_code == 200


@table(
    ("address", "status"),
    [
        ("127.0.0.1:5000", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        ("10.1.2.3", 404),
        ("2001:db8::1", 404),
        ("", 404),
    ],
)
def test_it_rejects_other_clients(acme, address, status):
    assert ask("acme.example.test", address=address).status_code == status


def test_it_rejects_clients_behind_the_proxy(acme, settings):
    settings.TRUST_PROXY = "forwarded"
    for forwarded in ("for=192.0.2.1;proto=https", "for=127.0.0.1, for=192.0.2.1"):
        assert ask("acme.example.test", HTTP_FORWARDED=forwarded).status_code == 404


def test_questions_are_limited(acme, settings, monkeypatch):
    settings.RATE_LIMIT = 600
    monkeypatch.setattr(tls, "MAX_QUESTIONS", 2)
    rate_limiter.clear()
    assert [ask("acme.example.test").status_code for _ in range(3)] == [200, 200, 429]


def test_an_unavailable_database(acme, monkeypatch):
    def fail(host: str) -> None:
        raise OperationalError

    monkeypatch.setattr(host_cache, "find", fail)
    assert ask("acme.example.test").status_code == 503
