"""Proofs of custom domains, by a DNS record or a file."""

import asyncio
import socket
import threading
from contextlib import contextmanager
from datetime import timedelta

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rrset
import pytest
from django.db import transaction
from django.utils import timezone

from accounts.account.models import Account
from accounts.hosts import domains
from accounts.hosts.addresses import host_cache
from accounts.hosts.domains import Proof, check, check_domains, read_records
from accounts.hosts.models import Host
from accounts.hosts.names import is_reserved, own_name
from accounts.sessions.models import Session
from core import outbound
from core.errors import FieldError
from forum.forums.models import Forum
from forum.notifications.emails import senders_of
from tests.support.jobs import run_jobs
from tests.support.pages import Visitor
from tests.support.tables import table

DOMAIN = "ideas.example.org"


@pytest.fixture(autouse=True)
def proven_domains_only(settings):
    settings.FORUM_DOMAINS = "proven"


class Internet:
    """The DNS records and the files that checks find: by name, and by URL."""

    def __init__(self):
        self.records: dict[str, list[str]] = {}
        self.files: dict[str, tuple[int, str]] = {}
        self.requested: list[str] = []

    async def read_records(self, name):
        return self.records.get(name, [])

    async def fetch(self, method, url, *, account_id, timeout):
        self.requested.append(url)
        if url not in self.files:
            raise outbound.OutboundError("connect")
        status, body = self.files[url]
        return outbound.Response(status, {}, body.encode())

    def add_record(self, host: Host) -> None:
        proof = Proof.build(host)
        self.records.setdefault(proof.record_name, []).append(proof.record_value)


@pytest.fixture
def internet(monkeypatch) -> Internet:
    internet = Internet()
    monkeypatch.setattr(domains, "read_records", internet.read_records)
    monkeypatch.setattr(domains, "fetch", internet.fetch)
    return internet


def claim(account: Account, domain: str = DOMAIN) -> Host:
    with transaction.atomic():
        forum = Forum.objects.create_for(account, name=domain, host=domain)
    return account.hosts.get(id=forum.host_id)


def is_served(host: str) -> bool:
    return Visitor(host).get("/", expect_errors=True).status_code == 200


def refresh(host: Host) -> Host:
    host.refresh_from_db()
    return host


def test_it_works(acme, internet):
    """A domain is a host of the account once an admin has added the record and asked for a check."""
    page = acme.page(acme.alice)
    form = page.get("/app/account/forums/new").forms["forum"]
    form["name"], form["host"] = "Ideas", DOMAIN
    settings_page = form.submit("do").follow()
    host = acme.account.hosts.get(name=DOMAIN)
    address = f"acme--{host.id}.example.test"
    assert f"{DOMAIN} is not proven yet, so the forum does not answer there. Until then it is at {address}." in (
        " ".join(settings_page.html.select_one("#domain .notice").text.split())
    )
    shown = [code.text for code in settings_page.html.select("#domain dd code")]
    assert shown[:3] == ["TXT", f"_rostrum.{DOMAIN}", f"rostrum-domain={host.token}"]
    # Nothing leads to the domain, and it is unknown.
    assert not is_served(DOMAIN)
    assert is_served(address)
    assert DOMAIN not in "".join(link["href"] for link in acme.page(acme.carol).get("/").html.select(".sites a"))

    internet.add_record(host)
    assert "The domain is being checked." in settings_page.forms["check"].submit("do").follow()
    assert run_jobs() == 1
    host_cache.clear()
    assert is_served(DOMAIN)
    assert "is proven" in page.get(settings_page.request.path).html.select_one("#domain").text
    [link] = acme.page(acme.carol).get("/").html.select(".sites a")
    assert f"to={DOMAIN}&" in link["href"]


@table(
    ("url", "status", "body", "is_proof"),
    [
        ("https://{}/.well-known/rostrum-domain", 200, "{}", True),
        ("http://{}/.well-known/rostrum-domain", 200, "other\r\n{}\r\n", True),
        ("https://{}/.well-known/rostrum-domain", 404, "{}", False),
        ("https://{}/.well-known/rostrum-domain", 301, "{}", False),
        ("https://{}/.well-known/rostrum-domain", 200, "x{}", False),
        ("https://{}/.well-known/rostrum-domain", 200, "", False),
        ("https://{}/", 200, "{}", False),
        ("https://www.{}/.well-known/rostrum-domain", 200, "{}", False),
    ],
)
def test_files(acme, internet, url, status, body, is_proof):
    host = claim(acme.account)
    internet.files[url.format(DOMAIN)] = (status, body.format(Proof.build(host).record_value))
    check([host])
    assert refresh(host).is_proven == is_proof
    assert host.checked_at is not None


@table(
    ("name", "value", "is_proof"),
    [
        ("_rostrum.{}", "rostrum-domain={}", True),
        ("_rostrum.{}", "{}", False),
        ("_rostrum.{}", "rostrum-domain=", False),
        ("{}", "rostrum-domain={}", False),
        ("_rostrum.example.org", "rostrum-domain={}", False),
    ],
)
def test_records(acme, internet, name, value, is_proof):
    host = claim(acme.account)
    internet.records[name.format(DOMAIN)] = ["v=spf1 -all", value.format(host.token)]
    check([host])
    assert refresh(host).is_proven == is_proof


@contextmanager
def name_server(records: dict[str, list[str]]):
    """Serve TXT records on a port of this machine."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def serve():
        while True:
            data, address = server.recvfrom(4096)
            if not data:
                return
            query = dns.message.from_wire(data)
            response = dns.message.make_response(query)
            response.flags |= dns.flags.RA
            name = query.question[0].name
            texts = records.get(name.to_text(omit_final_dot=True), [])
            if texts:
                response.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", *texts))
            server.sendto(response.to_wire(), address)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stopper:
            stopper.sendto(b"", server.getsockname())
        thread.join(5)
        server.close()


def test_records_are_read_from_a_name_server(monkeypatch):
    with name_server({"_rostrum.ideas.example.org": ['"v=spf1 -all"', '"rostrum-" "domain=17"']}) as port:

        def make_resolver():
            resolver = dns.asyncresolver.Resolver(configure=False)
            resolver.nameservers, resolver.port, resolver.lifetime = ["127.0.0.1"], port, 5
            return resolver

        monkeypatch.setattr(domains, "make_resolver", make_resolver)
        assert sorted(asyncio.run(read_records("_rostrum.ideas.example.org"))) == ["rostrum-domain=17", "v=spf1 -all"]
        assert asyncio.run(read_records("_rostrum.unknown.example.org")) == []
        assert asyncio.run(read_records("_rostrum." + "a" * 63 + ".example." * 30)) == []


def test_the_file_is_not_read_from_a_private_network(acme, monkeypatch):
    """A domain can lead to any address. The guard of webhooks refuses it before a connection."""
    tried = []

    async def connect(*arguments):
        tried.append(arguments)
        raise OSError

    monkeypatch.setattr(outbound, "_connect", connect)
    host = claim(acme.account)
    for address in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"):
        monkeypatch.setattr(outbound, "resolve_host", lambda host, port, address=address: [address])
        assert asyncio.run(domains.read_file(host)) == []
    assert tried == []
    monkeypatch.setattr(outbound, "resolve_host", lambda host, port: ["93.184.216.34"])
    assert asyncio.run(domains.read_file(host)) == []
    assert len(tried) == 2


def test_the_service_serves_the_file_of_a_proven_domain(acme, other, internet):
    """Nothing is served at an unproven domain: its DNS record may still lead here for the account that proved it before."""
    host, claimed = claim(acme.account), claim(other.account)
    path, agent = "/.well-known/rostrum-domain", {"User-Agent": outbound.USER_AGENT}
    assert Visitor(DOMAIN).get(path, headers=agent, status=404)
    internet.add_record(host)
    check([host])
    response = Visitor(DOMAIN).get(path, headers=agent)
    assert response.text == f"rostrum-domain={host.token}\n"
    assert str(claimed.token) not in response.text
    assert Visitor(acme.host).get(path, status=404)
    assert Visitor("nowhere.example.org").get(path, status=404)
    # Other paths refuse requests of the service itself.
    assert Visitor(DOMAIN).get("/", headers=agent, status=403)


def test_domains_are_checked_daily_and_lapse_after_the_grace(acme, internet):
    host = claim(acme.account)
    internet.add_record(host)
    check([host])
    secret = Session.objects.start(acme.alice, domain=DOMAIN)[1]
    here = Session.objects.start(acme.alice)[0]

    def pass_time(time: timedelta) -> Host:
        """Move the times of the domain to the past, and check it if it is due."""
        refresh(host)
        host.checked_at -= time
        host.failing_since = host.failing_since and host.failing_since - time
        host.save()
        check_domains()
        return refresh(host)

    before = host.checked_at
    assert pass_time(timedelta(hours=23)).checked_at < before
    assert pass_time(timedelta(hours=2)).checked_at > before
    internet.records.clear()
    failing = pass_time(timedelta(hours=25))
    assert failing.is_proven
    assert failing.lapses_at - timezone.now() > timedelta(days=6, hours=23)
    # The page warns of it.
    forum = acme.account.forums.get(host_id=host.id)
    warning = acme.page(acme.alice).get(f"/app/account/forums/{forum.id}").html.select_one("#domain .notice.error")
    assert f"The proof of {DOMAIN} has not been found since" in " ".join(warning.text.split())
    # It is found once more.
    internet.add_record(host)
    assert pass_time(timedelta(days=3)).failing_since is None
    internet.records.clear()
    assert pass_time(timedelta(days=2)).is_proven
    assert pass_time(timedelta(days=6)).is_proven
    assert Session.objects.find_by_secret(acme.account.id, secret, domain=DOMAIN) is not None
    assert not pass_time(timedelta(days=2)).is_proven
    assert Session.objects.find_by_secret(acme.account.id, secret, domain=DOMAIN) is None
    assert here in acme.account.sessions.all()
    # An unproven domain is not checked again by itself.
    internet.add_record(host)
    assert not pass_time(timedelta(days=2)).is_proven


def test_the_account_that_proves_a_domain_gets_it(acme, other, internet):
    """A claim that is not proven blocks nobody, and a proof is replaced by that of a new owner of the domain."""
    squatted, owned = claim(other.account), claim(acme.account)
    internet.add_record(owned)
    check([squatted, owned])
    assert (refresh(squatted).is_proven, refresh(owned).is_proven) == (False, True)
    session = Session.objects.start(acme.alice, domain=DOMAIN)[0]
    # Both records are there: the domain stays where it is.
    internet.add_record(squatted)
    check([squatted])
    assert (refresh(squatted).is_proven, refresh(owned).is_proven) == (False, True)
    # Only the record of the other account is there, while the domain still leads to the service.
    internet.records[f"_rostrum.{DOMAIN}"] = [Proof.build(squatted).record_value]
    internet.files[Proof.build(owned).file_url] = (200, Proof.build(owned).record_value)
    check([squatted])
    assert (refresh(squatted).is_proven, refresh(owned).is_proven) == (True, False)
    assert not Session.objects.filter(pk=session.pk).exists()


def test_an_account_may_have_ten_unproven_domains(acme, internet):
    hosts = [claim(acme.account, f"forum-{number}.example.org") for number in range(Host.MAX_UNPROVEN)]
    with pytest.raises(FieldError, match="prove the domains"):
        claim(acme.account)
    # Addresses under BASE_DOMAIN need no proof.
    assert claim(acme.account, "acme-ideas").is_proven
    internet.add_record(hosts[0])
    check(hosts[:1])
    claim(acme.account)


def test_checks_are_limited(acme, internet, monkeypatch):
    monkeypatch.setattr("accounts.hosts.domains.MAX_DOMAIN_CHECKS", 1)
    host = claim(acme.account)
    forum = acme.account.forums.get(host_id=host.id)
    page = acme.page(acme.alice)
    for status in (303, 429):
        form = page.get(f"/app/account/forums/{forum.id}").forms["check"]
        assert form.submit("do", expect_errors=True).status_code == status


def test_the_hosts_of_links(acme, internet):
    """Links for the team lead to the account, those for others never to an unproven domain."""
    default, host = acme.account.hosts.get(name="acme"), claim(acme.account)
    forum = acme.account.forums.get(host_id=host.id)
    own = f"acme--{host.id}"
    senders = [senders_of(acme.account, to_team=to_team) for to_team in (True, False)]
    assert [found[forum.id].host for found in senders] == [own, own]
    internet.add_record(host)
    check([host])
    senders = [senders_of(acme.account, to_team=to_team) for to_team in (True, False)]
    assert [found[forum.id].host for found in senders] == [own, DOMAIN]
    assert [found[None].host for found in senders] == [default.name, default.name]
    current = Forum.objects.with_account(acme.account.id, acme.forum.id)
    assert current.siblings_for(acme.alice) == [(forum.name, own)]
    assert current.siblings_for(acme.carol) == [(forum.name, DOMAIN)]


def test_an_operator_may_trust_domains(acme, other, internet, settings):
    settings.FORUM_DOMAINS = "trusted"
    host = claim(acme.account)
    assert host.is_proven
    with pytest.raises(FieldError, match="is not available"):
        claim(other.account)
    Host.objects.filter(id=host.id).update(checked_at=timezone.now() - timedelta(days=30))
    check_domains()
    assert refresh(host).failing_since is None
    assert internet.requested == []
    assert is_served(DOMAIN)


def test_deleting_a_forum_ends_the_sessions_at_its_domain(acme, settings):
    settings.FORUM_DOMAINS = "trusted"
    forum = acme.account.forums.get(host_id=claim(acme.account).id)
    Session.objects.start(acme.carol, domain=DOMAIN)
    here = Session.objects.start(acme.carol)[0]
    forum.account = acme.account
    forum.change(host="acme-ideas")
    assert list(acme.account.sessions.all()) == [here]


RESERVED = [
    *("login-acme", "acme-login", "acmelogin", "signin", "sign-in-acme", "accounts-acme", "my-account"),
    *("acme-support", "supporters", "verify-acme", "xn--acme-abc", "acme--17"),
]
ALLOWED = ["acme", "acme-ideas", "blogging", "plugins"]


def test_reserved_labels():
    assert [label for label in (*RESERVED, *ALLOWED) if is_reserved(label)] == RESERVED


def test_an_account_keeps_an_address_that_is_reserved_now(acme):
    acme.account.hosts.create(name="acme-login")
    assert Host.objects.get_or_create_for(acme.account, "acme-login").name == "acme-login"
    with pytest.raises(FieldError, match="is reserved"):
        Host.objects.get_or_create_for(acme.account, "acme-support")


def test_the_own_address_of_a_long_prefix():
    assert own_name("a" * 63, 17, DOMAIN) == "a" * 40 + "--17"
    assert own_name("acme", 17, "ideas") == "ideas"
