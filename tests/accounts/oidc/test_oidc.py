"""Single sign-on with a provider of OpenID Connect, from a draft to its enforcement."""

import base64
import hashlib
import json
from datetime import datetime, timedelta
from io import StringIO
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.utils import timezone
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from accounts.factors.models import SecondFactor
from accounts.identities.models import Identity
from accounts.oidc.jobs import check_domains_of_emails
from accounts.oidc.models import OIDCProvider
from accounts.sessions.models import Session
from accounts.users.models import User
from core import outbound
from core.errors import FieldError
from tests.support.codes import sign_in_with_code
from tests.support.factories import PASSWORD
from tests.support.jobs import run_jobs
from tests.support.tables import table

ISSUER = "https://login.example.com"
PATH = "/app/account/oidc"
KEY = RSAKey.generate_key(2048, parameters={"kid": "1"})
BOB = {"sub": "b-1", "email": "bob@acme.example", "email_verified": True, "name": "Bob Nowak", "groups": ["team"]}


class FakeProvider:
    """A provider that signs in the person that `claims` describes."""

    def __init__(self):
        # The published key, and that of the tokens.
        self.key = self.signing_key = KEY
        self.claims = dict(BOB)
        self.metadata = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
        }
        self.requests: list[tuple[str, str, dict]] = []
        self.challenge = self.nonce = ""
        self.records: list[str] = []
        self.userinfo: dict = {}

    async def fetch(self, method, url, *, account_id, headers=(), body=b"", **options):
        self.requests.append((method, url, dict(headers)))
        return self.answer(url, dict(headers), dict(parse_qsl(body.decode())))

    def answer(self, url: str, headers: dict, form: dict) -> outbound.Response:
        content: object = {"error": "not_found"}
        if url.endswith("/.well-known/openid-configuration"):
            content = self.metadata
        elif url.endswith("/keys"):
            content = KeySet([self.key]).as_dict(private=False)
        elif url.endswith("/userinfo"):
            content = self.userinfo
        elif url.endswith("/token"):
            assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"client:the-secret"
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == self.challenge
            content = {"id_token": self.sign(), "access_token": "x", "token_type": "Bearer"}
        status = 404 if content == {"error": "not_found"} else 200
        return outbound.Response(
            status, {}, json.dumps(content).replace('"DEEP"', "[" * 50_000 + "]" * 50_000).encode()
        )

    def sign(self) -> str:
        now = int(timezone.now().timestamp())
        claims = {"iss": ISSUER, "aud": "client", "iat": now, "exp": now + 60, "nonce": self.nonce, **self.claims}
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.signing_key)

    def go(self, response) -> str:
        """Follow the redirect to the provider, and return the path to which it leads back."""
        assert response.location.startswith(f"{ISSUER}/authorize?"), response.location
        query = {name: values[0] for name, values in parse_qs(urlsplit(response.location).query).items()}
        assert query["redirect_uri"] == "http://acme.example.test/app/sign-in/sso/callback"
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        self.challenge, self.nonce = query["code_challenge"], query["nonce"]
        return f"/app/sign-in/sso/callback?{urlencode({'code': 'abc', 'state': query['state'], 'iss': ISSUER})}"


@pytest.fixture
def fake(monkeypatch) -> FakeProvider:
    provider = FakeProvider()
    monkeypatch.setattr("accounts.oidc.client.outbound.fetch", provider.fetch)

    async def read_records(name: str) -> list[str]:
        return provider.records if name == "_rostrum.acme.example" else []

    monkeypatch.setattr("accounts.oidc.models.read_records", read_records)
    return provider


@pytest.fixture
def sso(acme, fake):
    """Return acme whose provider was tested and is on."""
    provider = OIDCProvider(account=acme.account)
    provider.write(issuer=ISSUER, client_identifier="client", secret="the-secret", group_roles={"team": "agent"})
    values = {"tested_at": timezone.now(), "state": "on", "domains": ["acme.example"]}
    OIDCProvider.objects.update(**values)
    acme.provider = OIDCProvider.objects.select_related("account").get()
    return acme


def sign_in(acme, fake, visitor=None, target: str = "/app/roadmap"):
    """Sign in with the provider. Return the response at the end."""
    visitor = visitor or acme.page()
    return visitor.get(fake.go(visitor.get(f"/app/sign-in/sso?{urlencode({'next': target})}")))


def test_it_works(acme, fake):
    """An owner goes from a draft to its enforcement."""
    alice = acme.page(acme.alice)
    form = alice.get(PATH).forms["provider"]
    form["issuer"], form["client_identifier"], form["secret"] = ISSUER, "client", "the-secret"
    form["group_roles"] = "team = agent\nboss = admin"
    form.submit("do", value="save").follow()
    # A draft is offered to nobody.
    assert "with your organisation" not in acme.page().get("/app/sign-in").text
    acme.page().get("/app/sign-in/sso", status=404)
    acme.page(acme.bob).get("/app/sign-in/sso?test", status=404)
    form = alice.get(PATH).forms["state"]
    form["state"] = "on"
    assert "before a successful test" in form.submit("do", value="state", status=422).text
    fake.claims = {"sub": "a-1", "email": "alice@acme.example", "email_verified": True, "groups": ["boss"]}
    page = alice.get(fake.go(alice.get("/app/sign-in/sso?test"))).follow()
    assert "alice@acme.example" in page.text
    assert "give the role Admin" in " ".join(page.text.split())
    assert Identity.objects.count() == 0
    form = page.forms["domain"]
    form["domain"] = "elsewhere.example"
    assert "Does not have the record yet" in form.submit("do", value="domain", status=422).text
    form["domain"] = "acme.example"
    fake.records = [f"rostrum-domain={OIDCProvider.objects.get().token}"]
    page = form.submit("do", value="domain").follow()
    page.forms["state"]["state"] = "on"
    page.forms["state"].submit("do", value="state")
    fake.claims = dict(BOB)
    assert "with your organisation" in acme.page().get("/app/sign-in").text
    assert sign_in(acme, fake).location == "/app/roadmap"
    assert Session.objects.latest("id").user_id == acme.bob.id
    # Nobody can enforce it who would be locked out with it.
    form = alice.get(PATH).forms["state"]
    form["state"] = "enforced"
    assert "a password and a second factor" in form.submit("do", value="state", status=422).text
    type(acme.alice).objects.filter(pk=acme.alice.pk).update(second_factor_at=timezone.now())
    form.submit("do", value="state")
    acme.account.refresh_from_db()
    assert (acme.account.sso_domains, acme.account.sso_exempt_id) == (["acme.example"], acme.alice.id)
    entries = acme.account.audit_entries.filter(action_group="oidc")
    assert "the-secret" not in str(list(entries.values_list("details", flat=True)))


def enforce(acme) -> None:
    acme.account.sso_domains, acme.account.sso_exempt_id = ["acme.example"], acme.alice.id
    acme.account.save()


def test_enforcement_leaves_no_other_way(sso, fake):
    enforce(sso)
    form = sso.page().get("/app/sign-in?password=1").forms["sign-in"]
    form["login"], form["password"] = "bob", PASSWORD
    response = form.submit()
    assert response.location == "/app/sign-in?next=%2F"
    assert "Your organisation has you sign in" in response.follow().text
    # What was written before is kept. The button for the provider leads back to it.
    visitor = sso.page()
    form = visitor.get("/app/posts/new").forms["post-form"]
    form["title"] = "Dark mode"
    page = form.submit().follow()
    assert "/app/sign-in/sso?next=%2Fapp%2Fposts%2Fnew%3Fdraft%3D1" in page.text
    response = sign_in_with_code(visitor, "bob@acme.example", "/app/draft")
    assert response.location == "/app/sign-in?next=%2Fapp%2Fposts%2Fnew%3Fdraft%3D1"
    assert not sso.account.posts.exists()
    assert sso.xml(sso.bob).get("/app/users/me.xml").status_code == 403
    assert sso.json().get("/app/clients.json").status_code == 200
    assert Session.objects.count() == 0
    assert sign_in(sso, fake).location == "/app/roadmap"
    # The owner who has enforced it, and members with other e-mails.
    sso.account.users.filter(login="carol").update(email_key="carol@home.example")
    for login, start in (("alice", "/app/home"), ("carol", "/")):
        form = sso.page().get("/app/sign-in?password=1").forms["sign-in"]
        form["login"], form["password"] = login, PASSWORD
        assert form.submit().location == start, login


def test_a_new_person_joins_with_the_role_of_the_group(sso, fake):
    fake.claims = {**BOB, "sub": "d-1", "email": "dan@acme.example", "name": "Dan"}
    sign_in(sso, fake)
    dan = sso.account.users.get(email="dan@acme.example")
    assert (dan.role, dan.name, dan.has_usable_password()) == ("agent", "Dan", False)
    # The group is gone at the next sign-in, and so is the e-mail: the subject stays.
    fake.claims |= {"groups": [], "email": "other@acme.example"}
    sign_in(sso, fake)
    dan.refresh_from_db()
    assert (dan.role, dan.email) == ("member", "dan@acme.example")
    assert Identity.objects.get().user_id == dan.id


def test_an_owner_keeps_the_role(sso, fake):
    fake.claims |= {"sub": "a-1", "email": "alice@acme.example"}
    sign_in(sso, fake)
    sso.alice.refresh_from_db()
    assert sso.alice.role == "owner"


def test_a_second_factor_is_asked_for_unless_the_provider_does(sso, fake):
    SecondFactor.objects.filter(user_id=sso.bob.id).delete()
    type(sso.bob).objects.filter(pk=sso.bob.pk).update(second_factor_at=timezone.now())
    assert sign_in(sso, fake).location == "/app/sign-in/second"
    OIDCProvider.objects.update(trusts_factors=True)
    assert sign_in(sso, fake).location == "/app/roadmap"
    assert Session.objects.latest("id").is_verified


@table(
    ("claims", "message"),
    [
        ({"email_verified": False}, "does not say that your e-mail is verified"),
        ({"email": None}, "does not say that your e-mail is verified"),
        ({"email": "bob@elsewhere.example"}, "is of no domain of this account"),
        ({"iss": "https://evil.example"}, "for another service, another browser or another time"),
        ({"aud": "other"}, "for another service, another browser or another time"),
        ({"aud": ["client", "other"]}, "for another service, another browser or another time"),
        ({"nonce": "x"}, "for another service, another browser or another time"),
        ({"exp": 1}, "for another service, another browser or another time"),
        ({"iat": 9**11}, "for another service, another browser or another time"),
        ({"sub": ""}, "for another service, another browser or another time"),
        ({"sub": 7}, "for another service, another browser or another time"),
        ({"sub": "a\x00"}, "for another service, another browser or another time"),
        ({"exp": float("nan")}, "for another service, another browser or another time"),
        ({"iat": float("nan")}, "for another service, another browser or another time"),
        ({"exp": "tomorrow"}, "for another service, another browser or another time"),
        ({"email": "b\x00b@acme.example", "sub": "x"}, "does not say that your e-mail is verified"),
        ({"email": "b ob@acme.example", "sub": "x"}, "does not say that your e-mail is verified"),
    ],
)
def test_it_rejects_claims(sso, fake, claims, message):
    fake.claims = {**BOB, **claims}
    visitor = sso.page()
    response = sign_in(sso, fake, visitor)
    assert response.location == "/app/sign-in"
    assert message in visitor.get("/app/sign-in").text.replace("&#39;", "'")
    assert Session.objects.count() == 0


def test_claims_of_any_form_are_shown(sso, fake):
    fake.claims |= {
        "groups": ["team", "\x00"],
        "name": "B\x00",
        "n": float("nan"),
        "deep": [{"\x00": 1}],
        "big": 10**400,
    }
    alice = sso.page(sso.alice)
    page = alice.get(fake.go(alice.get("/app/sign-in/sso?test"))).follow()
    assert "B\ufffd" in page.text
    assert sign_in(sso, fake).location == "/app/roadmap"


@table(
    "changes",
    [
        {"token_endpoint_auth_methods_supported": 7},
        {"authorization_endpoint": ["https://login.example.com/authorize"]},
        {"authorization_endpoint": None},
        {"token_endpoint": "https://10.0.0.1/"},
        {"jwks_uri": f"{ISSUER}/userinfo"},
        {"x": "\x00\ud800"},
        {"x": "DEEP"},
    ],
)
def test_documents_of_any_form_are_no_error_of_the_service(sso, fake, changes):
    fake.metadata |= changes
    OIDCProvider.objects.update(fetched_at=None)
    fake.userinfo = {"keys": "none"}
    visitor = sso.page()
    started = visitor.get("/app/sign-in/sso")
    if started.location.startswith(ISSUER):
        assert visitor.get(fake.go(started)).location in ("/app/sign-in", "/app/home")
    else:
        assert started.location == "/app/sign-in"


def test_it_rejects_the_signature_of_another_key(sso, fake):
    fake.key = RSAKey.generate_key(2048, parameters={"kid": "1"})
    assert sign_in(sso, fake).location == "/app/sign-in"
    assert Session.objects.count() == 0


def test_it_rejects_the_answer_in_another_browser(sso, fake):
    path = fake.go(sso.page().get("/app/sign-in/sso"))
    assert sso.page().get(path).location == "/app/sign-in"
    visitor = sso.page()
    path = fake.go(visitor.get("/app/sign-in/sso"))
    for state in ("x", "%C3%A9"):
        assert visitor.get(path.replace("state=", f"state={state}")).location == "/app/sign-in"
        path = fake.go(visitor.get("/app/sign-in/sso"))
    assert visitor.get(path.replace("login.example", "evil.example")).location == "/app/sign-in"
    assert Session.objects.count() == 0


def test_it_rejects_a_provider_that_names_another_issuer(acme, fake):
    fake.metadata["issuer"] = "https://evil.example"
    form = acme.page(acme.alice).get(PATH).forms["provider"]
    form["issuer"], form["client_identifier"], form["secret"] = ISSUER, "client", "the-secret"
    assert "names another issuer" in form.submit("do", value="save", status=422).text


@table("url", ["http://127.0.0.1:1", "https://10.0.0.1", "https://[::1]"])
def test_it_rejects_private_addresses(acme, url):
    form = acme.page(acme.alice).get(PATH).forms["provider"]
    form["issuer"], form["client_identifier"] = url, "client"
    assert "does not answer" in form.submit("do", value="save", status=422).text


def test_a_change_of_the_provider_begins_anew(sso, fake):
    sign_in(sso, fake)
    sso.provider.write(issuer="https://other.example")
    assert (sso.provider.state, sso.provider.tested_at, Identity.objects.count()) == ("draft", None, 0)
    with pytest.raises(FieldError, match="before a successful test"):
        sso.provider.change_state("on", by=sso.alice)


def test_a_new_secret_of_the_provider_changes_nothing_else(sso, fake):
    sign_in(sso, fake)
    OIDCProvider.objects.update(client_secret="")
    provider = OIDCProvider.objects.select_related("account").get()
    provider.write(secret="the-secret", issuer=ISSUER)
    assert (provider.state, Identity.objects.count()) == ("on", 1)
    assert sign_in(sso, fake).location == "/app/roadmap"


def test_keys_may_be_replaced_under_the_same_name(sso, fake):
    sign_in(sso, fake)
    fake.key = fake.signing_key = RSAKey.generate_key(2048, parameters={"kid": "1"})
    assert sign_in(sso, fake).location == "/app/roadmap"


def test_enforcement_ends_first_steps_in_other_ways(sso, fake):
    User.objects.filter(pk=sso.bob.pk).update(second_factor_at=timezone.now())
    visitor = sso.page()
    form = visitor.get("/app/sign-in?password=1").forms["sign-in"]
    form["login"], form["password"] = "bob", PASSWORD
    assert form.submit().location == "/app/sign-in/second"
    enforce(sso)
    assert visitor.get("/app/sign-in/second").location == "/app/sign-in"
    visitor = sso.page()
    assert sign_in(sso, fake, visitor).location == "/app/sign-in/second"
    assert visitor.get("/app/sign-in/second").status_code == 200


def test_a_refused_sign_in_does_not_seem_to_have_succeeded(sso, fake, outbox):
    enforce(sso)
    visitor = sso.page()
    text = sign_in_with_code(visitor, "bob@acme.example").follow().text
    assert "Your organisation has you sign in" in text
    assert "You are signed in" not in text


def test_the_email_may_come_from_userinfo(sso, fake):
    fake.metadata["userinfo_endpoint"] = f"{ISSUER}/userinfo"
    OIDCProvider.objects.update(fetched_at=None)
    fake.userinfo = {**BOB, "sub": "another"}
    fake.claims = {"sub": "b-1"}
    assert sign_in(sso, fake).location == "/app/sign-in"
    fake.userinfo = dict(BOB)
    assert sign_in(sso, fake).location == "/app/roadmap"


def test_a_provider_that_names_itself_has_to(sso, fake):
    fake.metadata["authorization_response_iss_parameter_supported"] = True
    OIDCProvider.objects.update(fetched_at=None)
    visitor = sso.page()
    path = fake.go(visitor.get("/app/sign-in/sso"))
    assert visitor.get(path.partition("&iss=")[0]).location == "/app/sign-in"


def test_an_operator_disables_it(sso, fake):
    enforce(sso)
    call_command("accounts", "disable-sso", "acme", stdout=StringIO())
    sso.account.refresh_from_db()
    assert (sso.account.sso_domains, OIDCProvider.objects.get().state) == ([], "draft")


def emails(mailbox) -> list[tuple[str, str]]:
    run_jobs()
    found = [(email.to[0], email.subject) for email in mailbox]
    mailbox.clear()
    return found


def pass_days(days: int) -> None:
    provider = OIDCProvider.objects.get()
    since = {
        name: (datetime.fromisoformat(text) - timedelta(days=days)).isoformat()
        for name, text in provider.missing_since.items()
    }
    OIDCProvider.objects.update(checked_at=timezone.now() - timedelta(days=days), missing_since=since)
    check_domains_of_emails()


def test_a_domain_counts_for_a_week_without_its_record(sso, fake, mailoutbox):
    OIDCProvider.objects.update(state="enforced", token=(token := uuid4()))
    enforce(sso)
    # A provider that was never checked is due.
    assert OIDCProvider.objects.due().count() == 1
    fake.records = [f"rostrum-domain={token}"]
    pass_days(1)
    assert OIDCProvider.objects.get().lapses_at == {}
    assert emails(mailoutbox) == []
    fake.records = []
    check_domains_of_emails()
    # It was checked within the day.
    assert OIDCProvider.objects.get().lapses_at == {}
    pass_days(1)
    assert emails(mailoutbox) == [("alice@acme.example", "The DNS record of acme.example is missing")]
    assert "The record of acme.example is missing" in sso.page(sso.alice).get(PATH).text
    for _ in range(6):
        pass_days(1)
    assert emails(mailoutbox) == []
    assert sign_in(sso, fake).location == "/app/roadmap"
    pass_days(1)
    sso.account.refresh_from_db()
    provider = OIDCProvider.objects.get()
    assert (provider.domains, provider.state, provider.missing_since, sso.account.sso_domains) == ([], "on", {}, [])
    assert [subject for _, subject in emails(mailoutbox)] == [
        "acme.example no longer counts for single sign-on",
        "Single sign-on at Acme has changed",
    ]
    fake.claims = {**BOB, "sub": "d-1", "email": "dan@acme.example"}
    assert sign_in(sso, fake).location == "/app/sign-in"


def test_it_rejects_domains(sso, fake, monkeypatch):
    provider = sso.provider
    for name in ("x", "acme example", "https://", "a" * 300):
        with pytest.raises(FieldError, match="is not a domain"):
            provider.prove_domain(name)
    monkeypatch.setattr(OIDCProvider, "find_proven", lambda self, names: {*names})
    for number in range(9):
        provider.prove_domain(f"d{number}.example")
    # The provider was read before.
    with pytest.raises(FieldError, match="there are 10 already"):
        provider.prove_domain("d9.example")
    provider.prove_domain("d0.example")
    OIDCProvider.objects.get().remove()
    with pytest.raises(FieldError, match="the provider was removed"):
        provider.prove_domain("d0.example")
    provider.check_domains()
    assert OIDCProvider.objects.count() == 0


def test_checks_of_domains_are_limited(sso, fake):
    alice = sso.page(sso.alice)
    form = alice.get(PATH).forms["domain"]
    form["domain"] = "elsewhere.example"
    statuses = [form.submit("do", value="domain", expect_errors=True).status_code for _ in range(21)]
    assert statuses == [422] * 20 + [429]


def test_a_record_that_returns_ends_the_wait(sso, fake):
    pass_days(1)
    assert list(OIDCProvider.objects.get().lapses_at) == ["acme.example"]
    fake.records = [f"rostrum-domain={OIDCProvider.objects.get().token}"]
    pass_days(6)
    assert OIDCProvider.objects.get().lapses_at == {}
    pass_days(6)
    assert OIDCProvider.objects.get().domains == ["acme.example"]


def test_owners_are_told_of_changes(sso, fake, mailoutbox):
    type(sso.alice).objects.filter(pk=sso.alice.pk).update(second_factor_at=timezone.now())
    sso.alice.refresh_from_db()
    changes = {
        "It is enforced now": lambda: sso.provider.change_state("enforced", by=sso.alice),
        "It is a draft now": lambda: call_command("accounts", "disable-sso", "acme", stdout=StringIO()),
        "The client secret was replaced": lambda: sso.provider.write(secret="other"),
        "The provider has changed": lambda: sso.provider.write(client_identifier="other"),
        "It was removed": sso.provider.remove,
    }
    for sentence, act in changes.items():
        act()
        run_jobs()
        [email] = mailoutbox
        assert (email.to, sentence in email.body) == (["alice@acme.example"], True)
        mailoutbox.clear()
    # Nobody signs in with a setting of roles.
    provider = OIDCProvider(account=sso.account)
    provider.write(issuer=ISSUER, client_identifier="client")
    provider.write(groups_claim="roles")
    assert emails(mailoutbox) == []


def test_keys_are_read_once_a_day(sso, fake):
    sign_in(sso, fake)
    number = len(fake.requests)
    sign_in(sso, fake)
    assert len(fake.requests) == number + 1
    OIDCProvider.objects.update(fetched_at=timezone.now() - timedelta(days=2))
    sign_in(sso, fake)
    assert len(fake.requests) == number + 4


def test_only_owners_see_the_settings(acme):
    assert acme.page(acme.bob).get(PATH, expect_errors=True).status_code == 403
