"""Signing in and joining with a code from an e-mail."""

from datetime import timedelta

import pytest
from django.core import mail
from django.db.models import F
from django.utils import timezone

from accounts.sessions.cookies import CODE_COOKIE
from accounts.sign_in.models import SignInCode
from accounts.users.invitations import Invitation
from accounts.users.models import User
from core.db.text import is_xml_text
from forum.forums.models import Forum
from tests.support.codes import code_in_letter, enter_code, request_code, sign_in_with_code, wrong
from tests.support.factories import make_user
from tests.support.letters import letter
from tests.support.membership import add
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.settings import send
from tests.support.tables import table
from tests.support.threads import at_once

PATH = "/app/sign-in/code"


def user_of(page) -> str:
    """Return the name in the menu of a page, or "" for a visitor."""
    name = page.html.select_one(".who .name")
    return name.text if name else ""


def expire_codes() -> None:
    """Let the codes of all browsers expire."""
    SignInCode.objects.update(expires_at=F("expires_at") - SignInCode.LIFETIME)


def test_it_works(acme):
    visitor = acme.page()
    response = request_code(visitor, "CAROL@acme.example", f"{PATH}?next=/app/roadmap")
    assert response.status_code == 303
    sent = letter("carol@acme.example", about="is your code for")
    assert code_in_letter() in sent.subject
    response = enter_code(response.follow(), code_in_letter())
    assert (response.status_code, response.headers["Location"]) == (303, "/app/roadmap")
    assert user_of(response.follow()) == "Carol Member"
    [session] = acme.account.sessions.all()
    assert session.user_id == acme.carol.id
    assert not SignInCode.objects.exists()
    assert CODE_COOKIE not in visitor.cookies
    # The e-mail is in the language of the page.
    request_code(Visitor(acme.host, HTTP_ACCEPT_LANGUAGE="pl"), "carol@acme.example")
    assert "to Twój kod do forum „Acme”" in mail.outbox[-1].subject


# Characters that equal an ASCII letter without regard to case, and may be another mailbox.
SPELLINGS = ["\N{KELVIN SIGN}ims@acme.example", "kim\N{LATIN SMALL LETTER LONG S}@acme.example", "KIMS@ACME.EXAMPLE"]


@table("typed", SPELLINGS)
def test_the_code_goes_to_the_stored_address(acme, typed):
    """CVE-2019-19844: the person who types an address equal to that of a user or an invitation may own only the typed one."""
    kim = make_user(acme.account, "kims")
    page = request_code(acme.page(), typed).follow()
    letter("kims@acme.example", about="is your code for")
    assert SignInCode.objects.get().email == "kims@acme.example"
    assert enter_code(page, code_in_letter()).status_code == 303
    assert [session.user_id for session in acme.account.sessions.all()] == [kim.id]
    mail.outbox.clear()
    acme.account.forums.update(access=Forum.Access.PRIVATE)
    typed = typed.replace("acme", "new").replace("ACME", "NEW")
    Invitation.objects.invite(acme.account, email="kims@new.example", role=User.Role.AGENT, by=acme.alice)
    page = request_code(acme.page(), typed).follow()
    letter("kims@new.example", about="is your code for")
    assert enter_code(page, code_in_letter()).status_code == 303
    assert acme.account.users.filter(email="kims@new.example", role=User.Role.AGENT).exists()


@table("typed", SPELLINGS)
@table("meanwhile", ["user", "invitation"])
def test_a_code_that_was_sent_to_another_spelling_signs_nobody_in(acme, typed, meanwhile):
    page = request_code(acme.page(), typed).follow()
    if meanwhile == "user":
        make_user(acme.account, "kims")
    else:
        Invitation.objects.invite(acme.account, email="kims@acme.example", role=User.Role.ADMIN, by=acme.alice)
        acme.account.forums.update(access=Forum.Access.PRIVATE)
    assert enter_code(page, code_in_letter()).headers["Location"] == f"{PATH}?next=%2F"
    assert not acme.account.sessions.exists()
    assert not acme.account.users.filter(role=User.Role.ADMIN).exclude(login__in=["alice"]).exists()


def test_a_stranger_without_a_name_is_not_named_after_the_email(acme):
    sign_in_with_code(acme.page(), "dan.smith@example.com")
    user = acme.account.users.get(email="dan.smith@example.com")
    assert user.name.startswith("Guest ")
    # Other members see the name when they mention somebody.
    assert user.login.startswith("user-")
    assert is_xml_text(user.name)


def test_a_stranger_becomes_a_member_who_can_set_a_password_later(acme):
    visitor = acme.page()
    page = sign_in_with_code(visitor, "dan@example.com").follow()
    user = acme.account.users.get(email="dan@example.com")
    assert user_of(page) == user.name
    assert (user.role, user.language) == (User.Role.MEMBER, "en")
    assert not user.has_usable_password()
    mail.outbox.clear()
    page = visitor.get("/app/profile/security")
    assert "You have no password" in page
    assert "email" not in page.forms
    # Other changes need a password.
    for part in ("email", "password"):
        send(visitor, "/app/profile/security", status="*", part=part, email="new@example.com", password="a long phrase")
        assert not mail.outbox
    page = page.forms["first-password"].submit().follow()
    assert "An e-mail to dan@example.com is on its way." in page
    letter("dan@example.com", about="Set a new password")
    user.refresh_from_db()
    assert not user.has_usable_password()
    user.change_password("a long enough password")
    page = acme.page(user).get("/app/profile/security")
    assert "You have no password" not in page
    assert "email" in page.forms


def test_it_rejects_a_wrong_code_five_times(acme):
    visitor = acme.page()
    page = request_code(visitor, "carol@acme.example").follow()
    code = code_in_letter()
    for _ in range(4):
        page = enter_code(page, wrong(code))
        assert page.status_code == 422
        assert "Is not the code from the newest e-mail" in page
    response = enter_code(page, wrong(code))
    assert response.headers["Location"] == f"{PATH}?next=%2F"
    assert "This code no longer works" in response.follow()
    # After five attempts, the right code is rejected too.
    page.forms["code"]["code"] = code
    assert page.forms["code"].submit().headers["Location"] == f"{PATH}?next=%2F"
    assert not acme.account.sessions.exists()


def test_the_right_code_counts_in_the_fifth_attempt(acme):
    """Malformed codes are rejected without counting them."""
    page = request_code(acme.page(), "carol@acme.example").follow()
    for code in ("", "12345", "1234567", "12345a", "١٢٣٤٥٦"):
        assert enter_code(page, code).status_code == 422
    assert SignInCode.objects.get().attempts == 0
    for _ in range(4):
        page = enter_code(page, wrong(code_in_letter()))
    code = code_in_letter()
    assert enter_code(page, f" {code[:3]}-{code[3:]} ").status_code == 303
    assert acme.account.sessions.exists()


def test_it_rejects_an_expired_code(acme):
    page = request_code(acme.page(), "carol@acme.example").follow()
    row = SignInCode.objects.get()
    assert timedelta(minutes=9) < row.expires_at - timezone.now() <= timedelta(minutes=10)
    expire_codes()
    assert enter_code(page, code_in_letter()).headers["Location"] == f"{PATH}?next=%2F"
    assert not acme.account.sessions.exists()
    SignInCode.objects.outdated().delete()
    assert not SignInCode.objects.exists()


def test_it_rejects_a_code_twice_and_in_another_account(acme, other):
    visitor = acme.page()
    page = request_code(visitor, "carol@acme.example").follow()
    second, at_other = acme.page(), Visitor(other.host)
    for browser in (second, at_other):
        browser.set_cookie(CODE_COOKIE, visitor.cookies[CODE_COOKIE])
    assert at_other.get(f"{PATH}/enter").status_code == 303
    assert not other.account.sessions.exists()
    assert enter_code(page, code_in_letter()).status_code == 303
    assert second.get(f"{PATH}/enter").headers["Location"] == f"{PATH}?next=%2F"


def test_it_rejects_the_code_of_another_browser(acme):
    request_code(acme.page(), "carol@acme.example")
    code = code_in_letter()
    attacker = acme.page()
    page = request_code(attacker, "mallory@example.com").follow()
    assert enter_code(page, code).status_code == (422 if code != code_in_letter() else 303)
    stranger = acme.page()
    assert stranger.get(f"{PATH}/enter").headers["Location"] == f"{PATH}?next=%2F"
    assert not acme.account.sessions.filter(user_id=acme.carol.id).exists()


def test_a_new_code_replaces_the_old_one(acme):
    visitor = acme.page()
    page = request_code(visitor, "carol@acme.example").follow()
    old = code_in_letter()
    request_code(visitor, "carol@acme.example")
    assert SignInCode.objects.count() == 1
    response = enter_code(page, old)
    assert response.status_code == (422 if old != code_in_letter() else 303)


def test_the_cookie_is_valid_only_for_the_host(acme):
    """The table has neither the code nor the cookie."""
    visitor = acme.page()
    cookies = request_code(visitor, "carol@acme.example").headers.getall("Set-Cookie")
    [cookie] = [cookie for cookie in cookies if cookie.strip().startswith(f"{CODE_COOKIE}=")]
    assert "Domain" not in cookie
    assert "HttpOnly" in cookie
    assert "Max-Age=600" in cookie
    [values] = SignInCode.objects.values_list("browser", "digest", "email", "attempts")
    stored = repr([bytes(value) if isinstance(value, memoryview) else value for value in values])
    assert code_in_letter() not in stored
    assert visitor.cookies[CODE_COOKIE] not in stored


def test_the_response_is_the_same_for_every_address(acme):
    acme.account.forums.update(access=Forum.Access.MEMBERS)
    make_user(acme.account, "gone", is_active=False)
    pages, counts = set(), set()
    for email in ("carol@acme.example", "gone@acme.example", "dan@example.com"):
        visitor = acme.page()
        form = visitor.get(PATH).forms["code-request"]
        form["email"] = email
        response, queries = capture_queries(form.submit)
        page = response.follow()
        token = page.forms["code"]["csrfmiddlewaretoken"].value
        pages.add((response.headers["Location"], page.text.replace(token, "").replace(email, "")))
        counts.add(len(queries))
    assert len(counts) == 1
    assert len({location for location, _page in pages}) == 1
    # Nobody can sign up at the forum, so only carol receives a code.
    letter("carol@acme.example")


@table("access", [Forum.Access.MEMBERS, Forum.Access.PRIVATE])
def test_it_rejects_strangers_where_nobody_signs_up(acme, access):
    visitor = acme.page()
    page = request_code(visitor, "dan@example.com").follow()
    code = code_in_letter()
    # The access changes after the code was sent.
    acme.account.forums.update(access=access)
    assert enter_code(page, code).headers["Location"] == f"{PATH}?next=%2F"
    assert not acme.account.users.filter(email="dan@example.com").exists()
    mail.outbox.clear()
    request_code(acme.page(), "eve@example.com")
    assert not mail.outbox
    add(acme.forum, acme.carol)
    assert sign_in_with_code(acme.page(), "carol@acme.example").headers["Location"] == "/"


def test_an_invited_stranger_gets_the_role_of_the_invitation(acme):
    acme.account.forums.update(access=Forum.Access.PRIVATE)
    Invitation.objects.invite(acme.account, email="dora@example.com", role=User.Role.AGENT, by=acme.alice)
    assert sign_in_with_code(acme.page(), "dora@example.com").status_code == 303
    user = acme.account.users.get(email="dora@example.com")
    assert (user.role, user.asks_name) == (User.Role.AGENT, True)
    assert not acme.account.invitations.exists()
    # An invitation without authority gives nothing.
    Invitation.objects.invite(acme.account, email="eve@example.com", role=User.Role.AGENT, by=acme.alice)
    acme.account.users.filter(id=acme.alice.id).update(role=User.Role.MEMBER)
    assert sign_in_with_code(acme.page(), "eve@example.com").headers["Location"] == f"{PATH}?next=%2F"
    assert not acme.account.users.filter(email="eve@example.com").exists()


def test_it_rejects_a_deactivated_user(acme):
    page = request_code(acme.page(), "carol@acme.example").follow()
    code = code_in_letter()
    acme.carol.deactivate(by=acme.alice)
    assert enter_code(page, code).headers["Location"] == f"{PATH}?next=%2F"
    assert not acme.account.sessions.exists()
    mail.outbox.clear()
    request_code(acme.page(), "carol@acme.example")
    assert not mail.outbox


def test_it_rejects_an_email_that_looks_like_that_of_a_user(acme):
    # The domain begins with a Cyrillic letter.
    response = sign_in_with_code(acme.page(), "carol@\u0430cme.example")
    assert response.status_code == 422
    assert "is already taken" in response
    assert not acme.account.sessions.exists()


def test_an_address_gets_few_emails(acme, settings):
    """Bots get none."""
    form = acme.page().get(PATH).forms["code-request"]
    form["email"], form["homepage"] = "dan@example.com", "https://bot.example"
    assert form.submit().status_code == 303
    assert not mail.outbox
    settings.FAILED_LOGIN_LIMIT = 60
    for _ in range(5):
        request_code(acme.page(), "carol@acme.example")
    response = request_code(acme.page(), "carol@acme.example")
    assert response.status_code == 422
    assert "This address has got too many e-mails" in response
    assert len(mail.outbox) == 5


def test_requests_and_codes_are_limited_by_client_address(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 2
    visitor = acme.page()
    page = request_code(visitor, "carol@acme.example").follow()
    code = code_in_letter()
    for _ in range(2):
        enter_code(page, wrong(code))
    assert "Too many attempts" in enter_code(page, code)
    request_code(visitor, "bob@acme.example")
    assert "Too many attempts" in request_code(visitor, "alice@acme.example")


def test_the_right_code_is_not_counted_as_an_attempt(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 2
    for _ in range(2):
        assert sign_in_with_code(acme.page(), "carol@acme.example").status_code == 303
    page = request_code(Visitor(acme.host, REMOTE_ADDR="192.0.2.7"), "carol@acme.example").follow()
    assert enter_code(page, code_in_letter()).status_code == 303


def test_it_redirects_only_to_paths_of_the_host(acme):
    target = "//evil.example/"
    page = request_code(acme.page(), "carol@acme.example", f"{PATH}?next={target}").follow()
    page.forms["code"]["next"].force_value(target)
    assert enter_code(page, code_in_letter()).headers["Location"] == "/"


def test_the_page_of_the_code_leads_back_to_the_address(acme):
    """It shows the address as it was typed. That of a user may be spelled in another way."""
    visitor = acme.page()
    page = request_code(visitor, "CAROL@acme.example", f"{PATH}?next=/app/roadmap").follow()
    assert "CAROL@acme.example" in page
    assert "Look in your spam folder" in page
    assert page.click("Change the address").forms["code-request"]["next"].value == "/app/roadmap"
    first = code_in_letter()
    response = page.forms["code-again"].submit("again")
    assert response.headers["Location"] == f"{PATH}/enter?next=%2Fapp%2Froadmap"
    page = response.follow()
    assert "another code is on its way" in page
    assert len(mail.outbox) == 2
    assert "CAROL@acme.example" in enter_code(page, wrong(code_in_letter()))
    if first != code_in_letter():
        assert enter_code(page, first).status_code == 422
    assert enter_code(page, code_in_letter()).headers["Location"] == "/app/roadmap"


def test_sending_again_has_the_limit_of_all_codes(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 60
    page = request_code(acme.page(), "dan@example.com").follow()
    assert "An address gets at most 5 in an hour" in " ".join(page.html.get_text().split())
    for _ in range(4):
        page = page.forms["code-again"].submit("again").follow()
    response = page.forms["code-again"].submit("again", status=422)
    assert "This address has got too many e-mails" in response
    assert response.forms["code-request"]["email"].value == "dan@example.com"
    assert len(mail.outbox) == 5


def test_one_page_asks_for_the_address(acme):
    """It links to the page for a password. A user is redirected."""
    for path in (PATH, f"{PATH}/enter"):
        assert acme.page(acme.carol).get(f"{path}?next=/app/roadmap").headers["Location"] == "/app/roadmap"
    page = acme.page().get("/app/sign-in?next=/app/roadmap")
    assert page.forms["code-request"]["next"].value == "/app/roadmap"
    page = page.click("Use a password instead")
    assert page.forms["sign-in"]["next"].value == "/app/roadmap"
    assert page.click("Sign in with a code by e-mail").forms["code-request"]["next"].value == "/app/roadmap"


def test_it_takes_few_statements(acme):
    visitor = acme.page()
    form = visitor.get(PATH).forms["code-request"]
    form["email"] = "dan@example.com"
    response, queries = capture_queries(form.submit)
    # The forum; three limits; the code; the user; the invitation.
    assert len(queries) <= 8, queries
    page = response.follow()
    page.forms["code"]["code"] = code_in_letter()
    _response, queries = capture_queries(page.forms["code"].submit)
    # The forum; the limit, twice; the code, twice; the lock and the user; the invitation; the login; three checks of names; the new
    # user; its event; the session.
    assert len(queries) <= 17, queries


@pytest.mark.django_db(transaction=True)
def test_one_code_signs_in_once(acme):
    """Of two requests with the same code, one signs in."""
    page = request_code(acme.page(), "dan@example.com").follow()
    form = page.forms["code"]
    form["code"] = code_in_letter()
    responses = at_once(*[form.submit] * 4)
    assert sorted(response.headers["Location"] for response in responses) == ["/", *[f"{PATH}?next=%2F"] * 3]
    assert acme.account.users.filter(email="dan@example.com").count() == 1
    assert acme.account.sessions.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_codes_of_one_address_create_one_user(acme):
    forms = []
    for _ in range(3):
        form = request_code(acme.page(), "dan@example.com").follow().forms["code"]
        form["code"] = code_in_letter()
        forms.append(form)
    responses = at_once(*(form.submit for form in forms))
    assert {response.headers["Location"] for response in responses} == {"/"}
    assert acme.account.users.filter(email="dan@example.com").count() == 1
    assert acme.account.sessions.count() == 3


@pytest.mark.django_db(transaction=True)
def test_simultaneous_guesses_are_limited_to_five(acme):
    page = request_code(acme.page(), "carol@acme.example").follow()
    form = page.forms["code"]
    form["code"] = wrong(code_in_letter())
    at_once(*[lambda: form.submit(expect_errors=True)] * 6)
    assert SignInCode.objects.get().attempts == 5
