"""Visitors create an account at the host of the service itself."""

import re
from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.account.models import Account
from accounts.account_creation import drafts, pages
from accounts.account_creation.guesses import guess_country, guess_currency, guess_time_zone, propose_prefix
from accounts.account_creation.models import AccountInvitation
from accounts.hosts.models import FormerPrefix
from accounts.sessions.cookies import DRAFT_COOKIE
from accounts.sessions.models import Session
from accounts.users.models import User
from core.limits.rate_limits import hashed_key, increment
from tests.support.codes import code_in_letter, enter_code, sign_in_with_code, wrong
from tests.support.letters import letter, link_in
from tests.support.pages import Visitor
from tests.support.tables import table

FRONT = "example.test"
START, CODE, APPROVE = "/app/start", "/app/start/code", "/app/start/approve"
NEW = {"name": "Łódź Desks", "address": "", "owner_name": "Ewa Nowak", "email": "Ewa.Nowak@desks.example"}


@pytest.fixture(autouse=True)
def open_front(db, settings, monkeypatch):
    settings.SIGN_UP = "open"
    monkeypatch.setattr(pages, "MIN_FORM_SECONDS", 0)


def front(host: str = FRONT, **environ) -> Visitor:
    return Visitor(host, **environ)


def ask(visitor: Visitor, **values):
    """Send the form, and return the response."""
    form = visitor.get(START).forms["start"]
    for name, value in {**NEW, **values}.items():
        form[name] = value
    return form.submit(expect_errors=True)


def create(visitor: Visitor, **values):
    """Send the form and the code, and return the response to the code."""
    return enter_code(ask(visitor, **values).follow(), code_in_letter())


def follow(response, visitors: dict[str, Visitor]):
    """Follow the redirects of a hand-over, each host with its own cookies. Return the last response and its host."""
    host = response.request.host
    while response.status_code == 303:
        parts = urlsplit(response.headers["Location"])
        host = parts.netloc or host
        visitor = visitors.setdefault(host, Visitor(host))
        response = visitor.get(f"{parts.path}?{parts.query}", expect_errors=True)
    return response, host


@table("host", ["example.test", "www.example.test"])
def test_it_works(host):
    visitor = front(host, HTTP_ACCEPT_LANGUAGE="pl-PL,pl;q=0.9")
    landing = visitor.get("/")
    assert landing.html.find("a", href=START)
    response = ask(visitor)
    assert response.headers["Location"] == CODE
    assert Account.objects.count() == 0
    page = response.follow()
    assert "lodz-desks.example.test" in page
    # Otherwise Chromium would stop the redirects after the form.
    assert "form-action 'self' http://lodz-desks.example.test" in page.headers["Content-Security-Policy"]
    [letter] = mail.outbox
    assert (letter.to, "Rostrum" in letter.from_email) == (["Ewa.Nowak@desks.example"], True)
    visitors = {host: visitor}
    page, at = follow(enter_code(page, code_in_letter()), visitors)
    assert (at, page.request.path, page.status_code) == ("lodz-desks.example.test", "/app/account/welcome", 200)
    account = Account.objects.get()
    assert {name: getattr(account, name) for name in ("name", "prefix", "language", "time_zone", "currency")} == {
        "name": "Łódź Desks",
        "prefix": "lodz-desks",
        "language": "pl",
        "time_zone": "Europe/Warsaw",
        "currency": "PLN",
    }
    owner = account.users.get()
    assert (owner.login, owner.name, owner.role) == ("Ewa-Nowak", "Ewa Nowak", User.Role.OWNER)
    assert (owner.has_usable_password(), account.tokens.count()) == (False, 0)
    assert [link["href"] for link in page.html.select("main .card a.button")] == ["/app/account/users", "/app/imports"]
    assert page.html.find(id="forum-url")["value"] == "http://lodz-desks.example.test"
    # Both sessions are one sign-in.
    assert Session.objects.values_list("family").distinct().count() == 1


def test_it_rejects_wrong_codes_and_expired_drafts(monkeypatch):
    visitor = front()
    page = ask(visitor).follow()
    code = code_in_letter()
    for _ in range(5):
        response = enter_code(page, wrong(code))
        assert response.status_code == 422
        assert "Is not the code from the newest e-mail" in response
    assert enter_code(page, code).headers["Location"] == START
    ask(visitor)
    now = drafts.time.time()
    monkeypatch.setattr(drafts.time, "time", lambda: now + 600)
    assert visitor.get(CODE).headers["Location"] == START
    visitor.set_cookie(DRAFT_COOKIE, "x")
    assert visitor.get(CODE).headers["Location"] == START
    assert Account.objects.count() == 0


def test_a_double_click_creates_one_account():
    visitor = front()
    form = ask(visitor).follow().forms["code"]
    form["code"] = code_in_letter()
    other = visitor.copy()
    visitors = {FRONT: other}
    form.submit()
    form.response.test_app = other
    page, at = follow(form.submit(), visitors)
    assert (at, page.request.path) == ("lodz-desks.example.test", "/app/account/welcome")
    assert Account.objects.count() == 1


@table(
    ("values", "errors"),
    [
        ({"name": "", "owner_name": "", "email": ""}, ["Can't be blank"] * 4),
        ({"name": "x" * 81}, ["Ensure this value has at most 80 characters (it has 81).", "Can't be blank"]),
        ({"name": "?"}, ["Can't be blank"]),
        ({"address": "taken"}, ["Is already taken"]),
        ({"address": "lapsed"}, ["Is already taken"]),
        ({"address": "www"}, ["Is reserved"]),
        ({"address": "a_b"}, ["Must be 2-63 letters a-z, digits and hyphens, neither first nor last a hyphen"]),
        ({"owner_name": "www.spam.example"}, ["Can't contain the address of a website"]),
        ({"email": "ewa@\u212adesks"}, ["Enter a valid email address."]),
        ({"opened": "x"}, []),
    ],
)
def test_it_rejects_invalid_values(values, errors):
    Account.objects.create(prefix="taken")
    FormerPrefix.objects.reserve("lapsed")
    response = ask(front(), **values)
    found = (
        [re.sub(r"\s+", " ", element.text).strip() for element in response.html.select(".field-error")]
        if response.html
        else []
    )
    assert (response.status_code, found) == ((422 if errors else 303), errors)
    assert len(mail.outbox) == (0 if errors else 1)


def test_it_rejects_a_prefix_that_was_taken_meanwhile():
    page = ask(front()).follow()
    Account.objects.create(prefix="lodz-desks")
    response = enter_code(page, code_in_letter())
    assert response.headers["Location"] == START
    page = response.follow()
    assert "is already taken" in page
    assert page.forms["start"]["email"].value == NEW["email"]


def test_it_rejects_another_browser(monkeypatch):
    """Without the cookie of the browser that has created the account, its hand-over leads nowhere."""
    response = create(front())
    page, at = follow(response, {})
    assert (at, page.request.path) == (FRONT, "/")


@table(("mode", "landing", "start"), [("open", 200, 200), ("closed", 200, 404)])
def test_the_modes(settings, mode, landing, start):
    settings.SIGN_UP = mode
    visitor = front()
    for path, status in (("/", landing), (START, start), (f"{START}/address", start)):
        assert visitor.get(path, expect_errors=True).status_code == status
    assert bool(visitor.get("/").html.find("a", href=START)) == (mode == "open")


def test_it_rejects_the_pages_at_other_hosts(acme):
    for host in (acme.host, "api.example.test"):
        for path in (START, CODE, APPROVE, f"{START}/address"):
            assert Visitor(host).get(path, expect_errors=True).status_code == 404
    assert Visitor("api.example.test").get("/", expect_errors=True).status_code == 404
    assert acme.page().get("/").html.find(id="find") is None


def test_the_language_can_be_changed():
    visitor = front()
    form = visitor.get("/").html.select_one("form.languages")
    token = form.find("input", {"name": "csrfmiddlewaretoken"})["value"]
    response = visitor.post("/app/language", {"csrfmiddlewaretoken": token, "language": "pl", "next": "/"})
    assert response.headers["Location"] == "/"
    assert visitor.get("/").html.html["lang"] == "pl"


def test_the_address_while_typing():
    visitor = front()
    Account.objects.create(prefix="desks")

    def part(**params):
        return visitor.get(f"{START}/address", params, headers={"HX-Request": "true"})

    field = part(name="Desks", address="", proposed="")
    assert field.html.find(id="id_address")["value"] == field.html.find(id="id_proposed")["value"] == "desks-2"
    assert "desks-2.example.test is free" in field
    assert (
        part(name="Desks & Co", address="desks-2", proposed="desks-2").html.find(id="id_address")["value"] == "desks-co"
    )
    assert part(name="Desks & Co", address="mine", proposed="desks-2").html.find(id="id_address")["value"] == "mine"
    for prefix, text in (("mine", "mine.example.test is free"), ("desks", "Is already taken"), ("www", "Is reserved")):
        state = part(address=prefix)
        assert text in state
        assert not state.html.find("input")
    assert part(address="").text.strip() == ""


@table(
    ("zone", "accepted", "guess"),
    [
        ("Asia/Tokyo", "pl", ("Asia/Tokyo", "JPY")),
        ("", "pl", ("Europe/Warsaw", "PLN")),
        ("", "en-GB,en;q=0.8", ("Europe/London", "GBP")),
        ("Nowhere/Zone", "en-US", ("UTC", "USD")),
        ("", "", ("UTC", "EUR")),
        ("", "tlh,*;q=0.1", ("UTC", "EUR")),
    ],
)
def test_guesses(zone, accepted, guess):
    zone = guess_time_zone(zone, accepted)
    assert (zone, guess_currency(guess_country(zone, accepted))) == guess


@table(
    ("company", "prefix"),
    [
        ("Żółw Ltd.", "zolw-ltd"),
        ("Desks_and - Chairs", "desks-and-chairs"),
        ("x", ""),
        ("木工", ""),
        ("Mail", "mail-2"),
        ("Support", ""),
        ("a" * 80, "a" * 30),
    ],
)
def test_proposed_prefixes(company, prefix):
    assert propose_prefix(company) == prefix


def test_robots_get_no_email(monkeypatch):
    monkeypatch.setattr(pages, "MIN_FORM_SECONDS", 3)
    form = front().get(START).forms["start"]
    for name, value in NEW.items():
        form[name] = value
    fast = form.submit(expect_errors=True)
    assert (fast.status_code, "Please check the form, and send it again." in fast) == (422, True)
    now = pages.time.time()
    monkeypatch.setattr(pages.time, "time", lambda: now + 3)
    form["homepage"] = "https://spam.example"
    assert form.submit().headers["Location"] == CODE
    assert mail.outbox == []
    form["homepage"] = ""
    form.submit()
    assert len(mail.outbox) == 1
    monkeypatch.setattr(pages.time, "time", lambda: now + 25 * 3600)
    assert form.submit(expect_errors=True).status_code == 422


def test_requests_for_codes_are_limited(settings, monkeypatch):
    settings.FAILED_LOGIN_LIMIT = 8
    visitor = front()
    assert [ask(visitor).status_code for _ in range(6)] == [303] * 5 + [422]
    assert "This address has got too many e-mails." in ask(visitor)
    assert ask(visitor, email="eve@desks.example").status_code == 303
    assert "Too many attempts." in ask(visitor, email="eve@desks.example")
    monkeypatch.setattr(pages, "MAX_CODES_FOR_NEW_ACCOUNTS", 7)
    assert "Too many attempts." in ask(front(REMOTE_ADDR="192.0.2.7"), email="eve@desks.example")


def test_an_address_creates_few_accounts_in_a_day(settings):
    settings.SIGN_UP_LIMIT = 100
    responses = [create(front(), address=f"desks-{number}") for number in range(6)]
    assert [response.status_code for response in responses] == [303] * 5 + [422]
    assert "Too many attempts." in responses[-1]
    assert create(front(REMOTE_ADDR="192.0.2.7"), address="desks-5").status_code == 303
    assert Account.objects.count() == 6


@table(
    ("earlier", "values", "is_held"),
    [
        ({}, {}, False),
        ({"new-accounts": 2}, {}, True),
        ({"new-account-domain": 10}, {}, True),
        ({}, {"name": "Best prices www.spam.example"}, True),
    ],
)
def test_a_suspicious_account_is_suspended_until_a_review(settings, earlier, values, is_held):
    settings.SIGN_UP_LIMIT = 2
    for kind, count in earlier.items():
        key = kind if kind == "new-accounts" else hashed_key(kind, "desks.example")
        increment(key, count, 3600)
    response = create(front(), address="desks", **values)
    account = Account.objects.get()
    assert account.is_closed == is_held
    if is_held:
        assert "looks at some new accounts" in response
        assert Session.objects.count() == 0
        assert "You get an e-mail when yours is open." in mail.outbox[-1].body
        call_command("accounts", "restore", "desks")
        assert "http://desks.example.test" in mail.outbox[-1].body
        # The owner signs in with a code.
        owner = Visitor("desks.example.test")
        assert sign_in_with_code(owner, NEW["email"]).status_code == 303
        assert owner.get("/app/account/welcome")


def test_it_rejects_a_flood_of_accounts(settings):
    settings.SIGN_UP_LIMIT = 2
    increment("new-accounts", 10, 3600)
    response = create(front())
    assert (response.status_code, "Too many accounts are being created" in response) == (422, True)
    assert Account.objects.count() == 0


def invite(email: str, *options: str) -> str:
    """Run the command. Return the path of the printed link, which is also in the e-mail, and empty the outbox."""
    output = StringIO()
    call_command("accounts", "invite", email, *options, stdout=output)
    path = link_in(letter(email), FRONT)
    assert output.getvalue() == f"http://{FRONT}{path}\n"
    mail.outbox.clear()
    return path


def test_an_invitation_of_the_operator_creates_one_account(settings):
    settings.SIGN_UP, settings.SIGN_UP_LIMIT = "invitation", 1
    increment("new-accounts", 10, 3600)
    path = invite("Ewa@desks.example", "--language", "pl")
    visitor = front()
    page = ask_with(path, visitor, name="Desks", owner_name="Ewa").follow()
    assert letter("Ewa@desks.example")
    # Without the link, the draft has the invitation.
    assert visitor.get(START).forms["start"]["email"].value == "Ewa@desks.example"
    second = ask_with(path, front(), name="Chairs", owner_name="Ewa").follow()
    code = code_in_letter()
    mail.outbox.pop()
    assert enter_code(page, code_in_letter()).status_code == 303
    assert Account.objects.get().is_closed is False
    assert AccountInvitation.objects.count() == 0
    response = enter_code(second, code)
    assert response.headers["Location"] == START
    refused = second.goto(START).follow()
    assert "Invitation is used or has expired" in refused
    assert "This invitation was used or has expired." in refused


def ask_with(path: str, visitor: Visitor, **values):
    """Send the form of an invitation, whose e-mail address can't be changed."""
    form = visitor.get(path).forms["start"]
    for name, value in values.items():
        form[name] = value
    return form.submit()


def test_it_rejects_visitors_without_an_invitation(settings):
    settings.SIGN_UP = "invitation"
    path = invite("ewa@desks.example")
    AccountInvitation.objects.update(expires_at=timezone.now())
    for wrong_path in (START, f"{START}?secret=x", f"{START}?secret={'x' * 500}", path):
        visitor = front()
        assert visitor.get(wrong_path).headers["Location"] == "/"
        assert "This invitation was used or has expired." in visitor.get("/")
    assert AccountInvitation.objects.outdated().count() == 1
    page = front().get("/")
    assert page.html.find("a", href=START) is None
    assert "New accounts need an invitation." in page


def test_it_rejects_to_invite(settings):
    with pytest.raises(CommandError, match="This is not an e-mail address"):
        call_command("accounts", "invite", "ewa")
    settings.SIGN_UP = "closed"
    with pytest.raises(CommandError, match="SIGN_UP is closed"):
        call_command("accounts", "invite", "ewa@desks.example")
