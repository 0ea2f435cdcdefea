"""Resetting the password by a link in an e-mail."""

from collections import Counter
from functools import wraps

import pytest
from django.core import mail, signing
from django.db import connection

from accounts.mail import sending as accounts_mail
from core.limits import rate_limits
from core.logs import RedactingFormatter
from core.sealing import seal
from tests.support.factories import PASSWORD
from tests.support.letters import letter, link_in
from tests.support.pages import Visitor
from tests.support.tables import table
from tests.support.threads import at_once

NEW_PASSWORD = "grasshopper lighthouse vinegar"


def request_link(visitor: Visitor, login: str):
    form = visitor.get("/app/password").forms["password"]
    form["login"] = login
    return form.submit()


def count_calls(calls: Counter, name: str, function):
    @wraps(function)
    def counted(*args, **kwargs):
        calls[name] += 1
        return function(*args, **kwargs)

    return counted


def link_for(acme, login: str = "carol") -> str:
    mail.outbox.clear()
    request_link(acme.page(), login)
    return link_in(letter(f"{login}@acme.example", about="Set a new password"), acme.host)


def set_password(visitor: Visitor, path: str, password: str = NEW_PASSWORD):
    form = visitor.get(path).forms["password"]
    form["password"] = password
    return form.submit(expect_errors=True)


@table("login", ["carol", "CAROL", "Carol@acme.example"])
def test_it_works(acme, login):
    other_browser, visitor = acme.page(acme.carol), acme.page()
    page = request_link(visitor, login).follow()
    assert "If somebody here has that login or e-mail" in page.html.get_text()
    sent = letter("carol@acme.example", about="Set a new password")
    assert "Your login is carol." in sent.body
    path = link_in(sent, acme.host)
    mail.outbox.clear()
    response = set_password(visitor, path)
    assert (response.status_code, response.headers["Location"]) == (303, "/")
    page = visitor.get("/")
    assert "Your password is changed, and you are signed in." in page
    assert "Carol Member" in page
    assert "Carol Member" not in other_browser.get("/")
    letter("carol@acme.example", about="was changed")
    acme.page().sign_in("carol", NEW_PASSWORD)


def operations_of(acme, login: str) -> dict:
    """Return the calls, statements and e-mail of a request for a link. These are compared instead of times, which vary."""
    form = acme.page().get("/app/password").forms["password"]
    form["login"] = login
    # Drop the lease of the address, which would make later requests take fewer statements than the first.
    rate_limits.rate_limiter.clear()
    calls, statements, queued = Counter(), [], []

    def record(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        statements.append((sql, context["cursor"].rowcount))
        return result

    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(record):
        for module, name in [(signing, "dumps"), (signing.Signer, "signature")]:
            patch.setattr(module, name, count_calls(calls, name, getattr(module, name)))
        patch.setattr(accounts_mail, "seal", lambda email: queued.append(email) or seal(email))
        response = form.submit()
    [queued_letter] = [accounts_mail.Email(**email) for email in queued]
    # The e-mail is rendered later, even if it is not delivered.
    _subject, text, page = queued_letter.render()
    return {
        "calls": calls,
        "statements": statements,
        "template": queued_letter.template,
        "parts": (text.count("\n"), page.count("<p")),
        "response": (response.status_code, response.headers["Location"], response.body),
    }


@table("limit", [0, 60])
def test_known_and_unknown_names_take_the_same_operations(acme, settings, limit):
    settings.FAILED_LOGIN_LIMIT = limit
    acme.carol.is_active = False
    acme.carol.save()
    known = operations_of(acme, "bob")
    assert len(known["statements"]) <= 8
    assert known["calls"]["dumps"] == 1
    assert known["template"] == "accounts/mail/password_reset.txt"
    for login in ("bob@acme.example", "nobody", "nobody@acme.example", "carol", "mallory"):
        assert operations_of(acme, login) == known, login


def test_unknown_names_get_no_email(acme, monkeypatch):
    """The link that their e-mail would have is void."""
    queued = []
    monkeypatch.setattr(accounts_mail, "seal", lambda email: queued.append(email) or seal(email))
    acme.account.users.filter(id=acme.carol.id).update(is_active=False)
    for login in ("nobody", "nobody@acme.example", "carol", "carol@acme.example"):
        assert request_link(acme.page(), login).status_code == 303
    assert mail.outbox == []
    assert not any(email["deliver"] for email in queued)
    path = queued[0]["context"]["url"].removeprefix(f"http://{acme.host}")
    acme.page().get(path, status=404)


def test_it_rejects_empty_and_long_names_and_requests_over_the_limit(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 7
    form = acme.page().get("/app/password").forms["password"]
    for login in ("", "x" * 256):
        form["login"] = login
        form.submit(status=422)
    form["login"] = "carol"
    assert [form.submit(expect_errors=True).status_code for _ in range(8)] == [303] * 7 + [429]
    # Only the first requests send an e-mail.
    assert len(mail.outbox) == 5


def test_a_link_can_be_used_once(acme):
    path = link_for(acme)
    set_password(acme.page(), path)
    page = acme.page().get(path, status=404)
    assert "This link no longer works" in page
    assert "/app/password" in page


@pytest.mark.django_db(transaction=True)
def test_simultaneous_uses_of_one_link(acme):
    path = link_for(acme)
    forms = [acme.page().get(path).forms["password"] for _ in range(2)]
    for number, form in enumerate(forms):
        form["password"] = f"{NEW_PASSWORD} {number}"
    responses = at_once(*(lambda form=form: form.submit(expect_errors=True).status_code for form in forms))
    assert sorted(responses) == [303, 404]
    acme.page().sign_in("carol", f"{NEW_PASSWORD} {responses.index(303)}")


def test_it_rejects_invalid_links(acme, other, settings):
    path = link_for(acme)
    link_of_bob = link_for(acme, "bob")
    token = link_of_bob.partition("token=")[2]
    mixed_link = path.partition("token=")[0] + "token=" + token
    for invalid in (
        "/app/password/new",
        "/app/password/new?user=x&token=y",
        path[:-1],
        mixed_link,
        path.replace("user=", "user=9"),
    ):
        acme.page().get(invalid, status=404)
    Visitor(other.host).get(path, status=404)
    settings.PASSWORD_RESET_TIMEOUT = -1
    acme.page().get(path, status=404)


@table("change", [{"email": "carol@new.example", "email_key": "carol@new.example"}, {"is_active": False}])
def test_a_link_is_void_after_a_change_of_email_and_a_deactivation(acme, change):
    path = link_for(acme)
    acme.page().get(path, status=200)
    acme.account.users.filter(id=acme.carol.id).update(**change)
    acme.page().get(path, status=404)


def test_it_rejects_invalid_passwords(acme):
    path = link_for(acme)
    for password, error in (
        ("", "Can't be blank"),
        ("carol123", "too similar to the login"),
        ("x" * 1025, "at most 1024"),
    ):
        response = set_password(acme.page(), path, password)
        assert response.status_code == 422
        assert error in response.html.get_text()
    acme.page().sign_in("carol", PASSWORD)


def test_the_log_does_not_contain_the_link(acme, caplog):
    path = link_for(acme)
    token = path.partition("token=")[2]
    with caplog.at_level("INFO", "rostrum.access"):
        page = acme.page().get(path)
        # The sign-in link contains the current page.
        sign_in = page.html.find("a", string="Sign in")["href"]
        acme.page().get(sign_in)
    text = "\n".join(map(RedactingFormatter("%(message)s").format, caplog.records))
    assert "/app/password/new" in text
    assert token[-20:] not in text
    assert token[:20] not in text
