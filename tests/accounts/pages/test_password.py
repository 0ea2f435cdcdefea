"""Resetting the password by a link in an e-mail."""

from collections import Counter
from functools import wraps

import pytest
from django.core import mail, signing
from django.db import connection

from accounts import mail as accounts_mail
from core.db import rate_limits
from core.logs import RedactingFormatter
from tests.support.factories import PASSWORD
from tests.support.letters import letter, link_in
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.threads import at_once

NEW = "grasshopper lighthouse vinegar"


def ask(visitor: Visitor, login: str):
    form = visitor.get("/app/password").forms["password"]
    form["login"] = login
    return form.submit()


def counting(work: Counter, name: str, function):
    @wraps(function)
    def counted(*args, **kwargs):
        work[name] += 1
        return function(*args, **kwargs)

    return counted


def link_for(acme, login: str = "carol") -> str:
    mail.outbox.clear()
    ask(acme.page(), login)
    return link_in(letter(f"{login}@acme.example", about="Set a new password"), acme.host)


def renew(visitor: Visitor, path: str, password: str = NEW):
    form = visitor.get(path).forms["password"]
    form["password"] = password
    return form.submit(expect_errors=True)


@pytest.mark.parametrize("login", ["carol", "CAROL", "Carol@acme.example"])
def test_it_works(acme, login):
    elsewhere, visitor = acme.page(acme.carol), acme.page()
    page = ask(visitor, login).follow()
    assert "If somebody here has that login or e-mail" in page.html.get_text()
    sent = letter("carol@acme.example", about="Set a new password")
    assert "Your login is carol." in sent.body
    path = link_in(sent, acme.host)
    mail.outbox.clear()
    response = renew(visitor, path)
    assert (response.status_code, response.headers["Location"]) == (303, "/")
    page = visitor.get("/")
    assert "Your password is changed, and you are signed in." in page
    assert "Carol Member" in page
    assert "Carol Member" not in elsewhere.get("/")
    letter("carol@acme.example", about="was changed")
    acme.page().sign_in("carol", NEW)


def test_known_and_unknown_names_get_the_same_response(acme):
    acme.carol.is_active = False
    acme.carol.save()
    answers, counts = [], []
    for login in ("bob", "carol", "nobody", "mallory"):
        form = acme.page().get("/app/password").forms["password"]
        form["login"] = login
        response, statements = capture_queries(form.submit)
        answers.append((response.status_code, response.headers["Location"], response.body))
        counts.append(len(statements))
    assert len(set(answers)) == 1
    assert len(set(counts)) == 1
    assert counts[0] <= 8
    letter("bob@acme.example")


def work_of(acme, login: str) -> dict:
    """Return the work of a request for a link, in counted operations instead of time."""
    form = acme.page().get("/app/password").forms["password"]
    form["login"] = login
    # The limiter has a lease for the address, whatever the login is.
    rate_limits.rate_limiter.clear()
    work, statements, queued = Counter(), [], []

    def note(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        statements.append((sql, context["cursor"].rowcount))
        return result

    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(note):
        for module, name in [(signing, "dumps"), (signing.Signer, "signature")]:
            patch.setattr(module, name, counting(work, name, getattr(module, name)))
        patch.setattr(accounts_mail.mail_queue, "enqueue", queued.append)
        response = form.submit()
    [queued_letter] = queued
    # The e-mail is rendered later, even if it is not delivered.
    _subject, text, page = queued_letter.render()
    return {
        "work": work,
        "statements": statements,
        "template": queued_letter.template,
        "parts": (text.count("\n"), page.count("<p")),
        "status": response.status_code,
    }


@pytest.mark.parametrize("limit", [0, 60])
def test_known_and_unknown_names_take_the_same_work(acme, settings, limit):
    settings.FAILED_LOGIN_LIMIT = limit
    acme.carol.is_active = False
    acme.carol.save()
    known = work_of(acme, "bob")
    assert known["work"]["dumps"] == 1
    assert known["template"] == "password_reset"
    for login in ("bob@acme.example", "nobody", "nobody@acme.example", "carol", "mallory"):
        assert work_of(acme, login) == known, login


def test_unknown_names_get_no_email(acme):
    acme.carol.is_active = False
    acme.carol.save()
    for login in ("nobody@acme.example", "carol", "carol@acme.example"):
        assert ask(acme.page(), login).status_code == 303
    assert mail.outbox == []


def test_the_link_of_an_unknown_name_is_void(acme, monkeypatch):
    queued = []
    monkeypatch.setattr(accounts_mail.mail_queue, "enqueue", queued.append)
    ask(acme.page(), "nobody")
    assert not queued[0].deliver
    path = queued[0].context["url"].removeprefix(f"http://{acme.host}")
    acme.page().get(path, status=404)


def test_it_rejects_empty_and_long_names(acme):
    for login in ("", "x" * 256):
        form = acme.page().get("/app/password").forms["password"]
        form["login"] = login
        form.submit(status=422)


def test_it_rejects_requests_over_the_limit(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 7
    visitor = acme.page()
    form = visitor.get("/app/password").forms["password"]
    form["login"] = "carol"
    assert [form.submit(expect_errors=True).status_code for _ in range(8)] == [303] * 7 + [429]
    # Only the first requests send an e-mail.
    assert len(mail.outbox) == 5


def test_a_link_can_be_used_once(acme):
    path = link_for(acme)
    renew(acme.page(), path)
    page = acme.page().get(path, status=404)
    assert "This link no longer works" in page
    assert "/app/password" in page


@pytest.mark.django_db(transaction=True)
def test_simultaneous_uses_of_one_link(acme):
    path = link_for(acme)
    forms = [acme.page().get(path).forms["password"] for _ in range(2)]
    for number, form in enumerate(forms):
        form["password"] = f"{NEW} {number}"
    answers = at_once(*(lambda form=form: form.submit(expect_errors=True).status_code for form in forms))
    assert sorted(answers) == [303, 404]
    acme.page().sign_in("carol", f"{NEW} {answers.index(303)}")


def test_a_link_is_void_after_a_change_of_email(acme):
    path = link_for(acme)
    acme.carol.change_email("carol@new.example")
    acme.page().get(path, status=404)


def test_it_rejects_invalid_links(acme, other, settings):
    path = link_for(acme)
    of_bob = link_for(acme, "bob")
    token = of_bob.partition("token=")[2]
    mixed = path.partition("token=")[0] + "token=" + token
    for wrong in (
        "/app/password/new",
        "/app/password/new?user=x&token=y",
        path[:-1],
        mixed,
        path.replace("user=", "user=9"),
    ):
        acme.page().get(wrong, status=404)
    Visitor(other.host).get(path, status=404)
    settings.PASSWORD_RESET_TIMEOUT = -1
    acme.page().get(path, status=404)


def test_it_rejects_a_user_deactivated_meanwhile(acme):
    path = link_for(acme)
    acme.carol.is_active = False
    acme.carol.save()
    acme.page().get(path, status=404)


def test_it_rejects_invalid_passwords(acme):
    path = link_for(acme)
    for password, error in (
        ("", "Can't be blank"),
        ("carol123", "too similar to the login"),
        ("x" * 1025, "at most 1024"),
    ):
        response = renew(acme.page(), path, password)
        assert response.status_code == 422
        assert error in response.html.get_text()
    acme.page().sign_in("carol", PASSWORD)


@pytest.mark.parametrize("path", ["/app/password", "/app/password/sent", "link"])
def test_pages_take_few_statements(acme, path):
    visitor = acme.page()
    # The host is cached.
    visitor.get("/app/sign-in")
    path = link_for(acme) if path == "link" else path
    _response, queries = capture_queries(lambda: visitor.get(path))
    assert len(queries) <= 2, queries


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
