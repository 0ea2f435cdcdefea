"""Second factors: authenticator apps, recovery codes, their reset, and the accounts that require them."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from datetime import timedelta
from hashlib import sha256

import pyotp
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.core import mail
from django.core.exceptions import PermissionDenied
from django.utils import timezone
from fido2.cose import ES256
from fido2.webauthn import AttestedCredentialData

from accounts.factors.models import PERIOD, SecondFactor
from accounts.sessions.models import Session
from core.errors import Conflict
from tests.support.client import JSONClient, XMLClient
from tests.support.factories import PASSWORD, make_user
from tests.support.jobs import run_jobs
from tests.support.tables import table

PATH = "/app/profile/factors"


def code_of(secret: str, *, periods: int = 0) -> str:
    return pyotp.TOTP(secret).at(timezone.now(), counter_offset=periods)


def add_app(user) -> str:
    """Give the user an app whose last code was used long ago. Return its secret."""
    secret = pyotp.random_base32()
    SecondFactor.objects.add_app(user, secret, code_of(secret))
    user.second_factors.apps().update(counter=0)
    return secret


def sign_in(acme, login: str = "bob"):
    """Enter the password. Return the page of the second step."""
    page = acme.page().get("/app/sign-in?password=1")
    form = page.forms["sign-in"]
    form["login"], form["password"] = login, PASSWORD
    return form.submit().follow()


def test_it_works(acme):
    bob = acme.page(acme.bob)
    page = bob.get(PATH)
    secret = page.html.find("code").text.replace(" ", "")
    form = page.forms["app"]
    form["code"] = code_of(secret)
    page = form.submit("do", value="app")
    codes = page.html.find(id="codes").find("code").text.split("\n")
    assert len(codes) == 10
    assert all(re.fullmatch("[a-z2-7]{4}(-[a-z2-7]{4}){3}", code) for code in codes)
    run_jobs()
    assert [message.subject for message in mail.outbox] == ["Your second factor at Acme has changed"]
    # Signing in takes two steps now. The code that confirmed the app was used.
    step = sign_in(acme)
    assert step.request.path == "/app/sign-in/second"
    step.forms["second-factor"]["code"] = code_of(secret)
    page = step.forms["second-factor"].submit(status=422)
    assert "Is wrong, or was used already" in page.text
    page.forms["second-factor"]["code"] = code_of(secret, periods=1)
    assert page.forms["second-factor"].submit().location != "/app/sign-in"
    assert Session.objects.latest("id").is_verified
    # A recovery code works once.
    for status in (303, 422):
        form = sign_in(acme).forms["second-factor"]
        form["code"] = codes[0].upper()
        assert form.submit(status=status).status_code == status
    run_jobs()
    assert any("one of your recovery codes" in message.body for message in mail.outbox)
    actions = list(acme.account.audit_entries.order_by("id").values_list("action", flat=True))
    assert actions.count("user.app_added") == actions.count("user.recovery_codes_made") == 1


def test_it_rejects_too_many_codes(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 3
    add_app(acme.bob)
    step = sign_in(acme)
    for _number in range(3):
        step.forms["second-factor"]["code"] = "000000"
        step = step.forms["second-factor"].submit(status=422)
    secret = acme.bob.second_factors.apps().get().secret
    step.forms["second-factor"]["code"] = code_of(secret)
    assert "Too many attempts" in step.forms["second-factor"].submit(status=422).text


def test_the_first_step_ends_with_the_password_and_after_ten_minutes(acme, monkeypatch):
    add_app(acme.bob)
    step = sign_in(acme)
    acme.bob.change_password("another long pass phrase")
    assert step.forms["second-factor"].submit().location == "/app/sign-in"


def test_a_code_is_valid_for_a_minute_and_a_half(acme, monkeypatch):
    secret = add_app(acme.bob)
    now = timezone.now()
    monkeypatch.setattr("accounts.factors.models.timezone.now", lambda: now)
    for periods, accepted in ((-2, False), (-1, True), (0, True), (1, True), (2, False)):
        code = pyotp.TOTP(secret).at(now + timedelta(seconds=periods * PERIOD))
        assert bool(SecondFactor.objects.use_code(acme.bob, code)) is accepted, periods
    # An earlier code than the last one does not count.
    assert SecondFactor.objects.use_code(acme.bob, pyotp.TOTP(secret).at(now)) is None


def test_the_password_alone_no_longer_opens_the_forum_api(acme):
    add_app(acme.bob)
    response = acme.xml(acme.bob).get("/app/users/me.xml")
    assert response.status_code == 403
    assert "This user signs in with more than a password: send an api_token as the password" in response.text
    with_token = XMLClient(acme.host, auth=("bob", acme.bob_token))
    assert with_token.get("/app/users/me.xml").status_code == 200
    # A token of another user is a wrong password.
    assert XMLClient(acme.host, auth=("bob", acme.alice_token)).get("/app/users/me.xml").status_code == 401
    # Nothing changes for the Account API and for users without a second factor.
    assert acme.json().get("/app/clients.json").status_code == 200
    assert acme.xml(acme.carol).get("/app/users/me.xml").status_code == 200


def test_an_account_requires_a_second_factor(acme):
    form = acme.page(acme.alice).get("/app/account/sign-in").forms["rules"]
    form["roles"] = "owner,admin,agent"
    # The owner has none either.
    form.submit("do", value="save")
    bob = acme.page(acme.bob)
    assert bob.get("/app/clients").location == PATH
    assert bob.get("/", status=303).location == PATH
    page = bob.get(PATH)
    assert "This account requires a second factor of you" in page.text
    csrf = page.forms["app"]["csrfmiddlewaretoken"].value
    assert bob.post("/app/clients/new", {"csrfmiddlewaretoken": csrf}, expect_errors=True).status_code == 403
    headers = {"X-CSRFToken": csrf}
    assert bob.get("/app/clients.json", headers=headers, expect_errors=True).status_code == 403
    assert acme.xml(acme.bob).get("/app/users/me.xml").status_code == 403
    page.forms["app"]["code"] = code_of(page.html.find("code").text.replace(" ", ""))
    page.forms["app"].submit("do", value="app")
    bob.get("/app/clients", status=200)
    acme.page(acme.carol).get("/", status=200)


def test_an_owner_resets_a_second_factor(acme):
    add_app(acme.bob)
    alice = acme.page(acme.alice)
    user_path = f"/app/account/users/{acme.bob.id}"
    alice.get(user_path).click("Reset the second factor").forms["reset"].submit("do", value="reset")
    acme.bob.refresh_from_db()
    assert (acme.bob.second_factor_at, acme.bob.second_factors.count()) == (None, 0)
    run_jobs()
    assert mail.outbox[-1].to == ["bob@acme.example"]
    assert "removed by an owner" in mail.outbox[-1].body
    assert acme.account.audit_entries.latest("id").action == "user.factors_reset"


@table(
    ("by", "user", "error"),
    [
        ("alice", "bob", Conflict),
        ("bob", "carol", PermissionDenied),
        ("alice", "alice", PermissionDenied),
        ("admin", "alice", PermissionDenied),
    ],
)
def test_it_rejects_a_reset(acme, by, user, error):
    acme.admin = make_user(acme.account, "dan", role="admin")
    for name in ("alice", "carol"):
        add_app(getattr(acme, name))
    with pytest.raises(error):
        SecondFactor.objects.reset(getattr(acme, user), by=getattr(acme, by))


def text_of(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def test_it_rejects_passkeys_that_do_not_fit(acme, settings):
    settings.RATE_LIMIT = settings.FAILED_LOGIN_LIMIT = 0
    visitor = acme.page()
    csrf = visitor.get("/app/sign-in?password=1").forms["sign-in"]["csrfmiddlewaretoken"].value
    options = visitor.post("/app/sign-in/passkey/options", headers={"X-CSRFToken": csrf}).json
    assert options["publicKey"]["userVerification"] == "required"
    response = {
        "clientDataJSON": text_of(b'{"type": "webauthn.get", "challenge": "eA", "origin": "http://x"}'),
        "signature": "eA",
    }
    bodies = [
        {**response, "authenticatorData": text_of(bytes(32) + flags + bytes(4) + rest)}
        for flags in (b"\x01", b"\x45", b"\x85")
        for rest in (b"", b"\x00", b"\x81" * 3000, b"\xfb\x00", b"\xa1\x61")
    ]
    bodies += [{**response, "authenticatorData": "AA"}, [], None, {**response, "clientDataJSON": text_of(b"[" * 5000)}]
    odd = [
        json.dumps(
            {"id": "eA", "rawId": "eA", "type": "public-key", "response": body, "clientExtensionResults": results}
        )
        for body in bodies
        for results in ({}, [], "x")
    ]
    few = ("", "[]", "{", b64encode(b"x").decode(), '{"id": "x", "rawId": "eA", "type": "public-key"}', "[" * 20_000)
    for sent in (*few, *odd):
        response = visitor.post("/app/sign-in/passkey", {"csrfmiddlewaretoken": csrf, "passkey": sent})
        assert response.location == "/app/sign-in?next=%2F", sent
    assert Session.objects.count() == 0


def test_a_response_of_a_passkey_counts_once(acme):
    key = ec.generate_private_key(ec.SECP256R1())
    credential = AttestedCredentialData.create(bytes(16), b"id", ES256.from_cryptography_key(key.public_key()))
    SecondFactor.objects.add_passkey(acme.bob, credential, name="Telephone", counter=0)
    visitor = acme.page()
    csrf = visitor.get("/app/sign-in?password=1").forms["sign-in"]["csrfmiddlewaretoken"].value
    options = visitor.post("/app/sign-in/passkey/options", headers={"X-CSRFToken": csrf}).json["publicKey"]
    values = {"type": "webauthn.get", "challenge": options["challenge"], "origin": f"http://{acme.host}"}
    client = json.dumps(values).encode()
    data = sha256(acme.host.encode()).digest() + b"\x05" + bytes(4)
    signature = key.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
    names = {"clientDataJSON": client, "authenticatorData": data, "signature": signature}
    response = {name: text_of(value) for name, value in names.items()}
    answer = {"id": text_of(b"id"), "rawId": text_of(b"id"), "type": "public-key", "response": response}
    form = {"csrfmiddlewaretoken": csrf, "passkey": json.dumps(answer | {"clientExtensionResults": {}})}
    challenge = visitor.cookies["passkey"]
    assert visitor.post("/app/sign-in/passkey", form).location != "/app/sign-in?next=%2F"
    assert Session.objects.get().user_id == acme.bob.id
    thief = acme.page()
    csrf = thief.get("/app/sign-in?password=1").forms["sign-in"]["csrfmiddlewaretoken"].value
    thief.set_cookie("passkey", challenge)
    response = thief.post("/app/sign-in/passkey", form | {"csrfmiddlewaretoken": csrf})
    assert (response.location, Session.objects.count()) == ("/app/sign-in?next=%2F", 1)


def test_the_last_factor_takes_the_recovery_codes_with_it(acme):
    add_app(acme.bob)
    SecondFactor.objects.make_recovery_codes(acme.bob)
    page = acme.page(acme.bob).get(PATH)
    page.forms["remove-app"].submit("do", value="remove")
    acme.bob.refresh_from_db()
    assert (acme.bob.second_factor_at, acme.bob.second_factors.count()) == (None, 0)
    assert JSONClient(acme.host, acme.bob_token).get("/app/clients.json").status_code == 200
