"""The log of sign-ins and refusals."""

import json
import logging

import pytest
from django.db.models import F

from accounts.sessions import passwords
from accounts.sign_in.models import SignInCode
from accounts.users.invitations import Invitation
from accounts.users.models import User
from tests.support.client import Client, JSONClient, XMLClient
from tests.support.codes import code_in_letter, enter_code, request_code, wrong
from tests.support.factories import PASSWORD
from tests.support.pages import Visitor
from tests.support.settings import send

ADDRESS = "192.0.2.9"
LOGGER = "rostrum.sign_in"


@pytest.fixture
def lines(caplog):
    """Return a function that returns the lines since its last call, without what all have in common."""
    caplog.set_level(logging.INFO, logger=LOGGER)

    def read() -> list[dict]:
        records = [record for record in caplog.records if record.name == LOGGER]
        found = [json.loads(record.getMessage()) for record in records]
        assert all(
            (line.pop("event"), line.pop("account"), line.pop("address")) == ("sign_in", "acme", ADDRESS)
            for line in found
        )
        caplog.clear()
        return found

    return read


@pytest.fixture
def visitor(acme) -> Visitor:
    return Visitor(acme.host, REMOTE_ADDR=ADDRESS)


def at_address(client: Client) -> Client:
    client._transport.remote_addr = ADDRESS
    return client


def accepted(user: User, way: str) -> dict:
    return {"result": "accepted", "user_id": user.id, "login": user.login, "way": way}


def refused(way: str, reason: str, user: User | None = None) -> dict:
    named = {} if user is None else {"user_id": user.id, "login": user.login}
    return {"result": "refused", **named, "way": way, "reason": reason}


def test_it_works(acme, visitor, lines):
    visitor.sign_in("carol")
    assert lines() == [accepted(acme.carol, "password")]
    visitor.get("/app/profile")
    assert lines() == []


def test_passwords(acme, visitor, lines):
    acme.bob.deactivate(by=acme.alice)
    for login, expected in (
        ("carol", refused("password", "wrong_password", acme.carol)),
        ("CAROL@acme.example", refused("password", "wrong_password", acme.carol)),
        ("bob", refused("password", "deactivated", acme.bob)),
    ):
        send(visitor, "/app/sign-in", status=422, login=login, password="a wrong one")
        assert lines() == [expected]


def test_a_name_that_no_user_has_is_not_logged(acme, visitor, lines, caplog):
    """People type their password into the field for the login."""
    hashes = []
    for typed in ("my secret password", "MY secret password", "another"):
        send(visitor, "/app/sign-in", status=422, login=typed, password="x")
        assert typed not in caplog.text
        [line] = lines()
        hashes.append(line.pop("name_hash"))
        assert line == refused("password", "unknown_name")
    assert len(hashes[0]) == 16
    assert hashes[0] == hashes[1] != hashes[2]


def test_codes(acme, visitor, lines, caplog):
    page = request_code(visitor, "carol@acme.example").follow()
    code = code_in_letter()
    enter_code(page, wrong(code))
    assert lines() == [refused("code", "wrong_code")]
    enter_code(page, code)
    assert lines() == [accepted(acme.carol, "code")]
    send(visitor, "/app/sign-out")
    page = request_code(visitor, "carol@acme.example").follow()
    SignInCode.objects.update(expires_at=F("expires_at") - SignInCode.LIFETIME)
    enter_code(page, code_in_letter())
    assert lines() == [refused("code", "expired_code")]
    assert code not in caplog.text


def test_limits(acme, visitor, lines, settings):
    settings.FAILED_LOGIN_LIMIT = 1
    for reason in ("wrong_password", "too_many"):
        send(visitor, "/app/sign-in", status=422, login="carol", password="wrong")
        assert lines() == [refused("password", reason, acme.carol)]
    for _ in range(2):
        request_code(visitor, "carol@acme.example")
    assert lines() == [refused("code", "too_many", acme.carol)]


def test_links(acme, visitor, lines):
    visitor.get("/app/password/new?user=1&token=x", status=404)
    visitor.get("/app/invitation?secret=x", status=404)
    assert lines() == [refused(way, "invalid_link") for way in ("password_link", "invitation")]
    _row, secret = Invitation.objects.invite(acme.account, email="dora@example.com", role="agent", by=acme.alice)
    form = visitor.get(f"/app/invitation?secret={secret}").forms["join"]
    form["name"], form["login"], form["password"] = "Dora", "dora", "grasshopper lighthouse"
    form.submit()
    assert lines() == [accepted(acme.account.users.get(login="dora"), "invitation")]


def test_the_apis(acme, lines, caplog):
    basic = at_address(XMLClient(acme.host, auth=("carol", PASSWORD)))
    passwords.verified_credentials.clear()
    # A password is checked, and logged, once in some minutes.
    for expected in ([accepted(acme.carol, "basic")], [], []):
        assert basic.get("/app/users/me.xml").status_code == 200
        assert lines() == expected
    at_address(XMLClient(acme.host, auth=("carol", "wrong one"))).get("/app/users/me.xml")
    assert lines() == [refused("basic", "wrong_password", acme.carol)]
    at_address(JSONClient(acme.host, "no-such-token/acme")).get("/app/clients.json")
    assert lines() == [refused("token", "invalid_token")]
    assert "no-such-token" not in caplog.text
    assert "wrong one" not in caplog.text


def test_confirmations(acme, visitor, lines):
    visitor.start_session(acme.bob)
    form = visitor.get("/app/profile/confirm").forms["confirm"]
    form["current"] = "wrong"
    form.submit(status=422)
    assert lines() == [refused("confirmation", "wrong_password", acme.bob)]
