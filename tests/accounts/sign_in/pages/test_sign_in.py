"""Signing in and out on the pages."""

from datetime import timedelta

from django.core import mail
from django.utils import timezone

from accounts.sessions.models import Session
from accounts.users.digests import digest_of
from tests.support.codes import sign_in_with_code
from tests.support.letters import letter, link_in
from tests.support.pages import Visitor
from tests.support.settings import send
from tests.support.tables import table


def test_it_works(acme):
    """The cookie is valid only for the host."""
    visitor = acme.page()
    form = visitor.get("/app/sign-in?next=/app/profile&password=1").forms["sign-in"]
    form["login"], form["password"] = "carol", "correct horse battery"
    response = form.submit()
    [cookie] = [line for line in response.headers.getall("Set-Cookie") if line.strip().startswith("session=")]
    assert "Domain" not in cookie
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Lax", "Path=/"))
    assert response.status_code == 303
    assert response.headers["Location"] == "/app/profile"
    [session] = acme.account.sessions.all()
    assert session.user_id == acme.carol.id
    secret = visitor.cookies["session"]
    assert bytes(session.digest) == digest_of(secret)
    assert "Carol Member" in visitor.get("/")


def test_a_password_of_a_breach_still_works_and_is_reported(acme):
    for password, is_reported in (("password123", True), ("correct horse battery", False)):
        acme.carol.change_password(password)
        form = acme.page().get("/app/sign-in?next=/app/profile&password=1").forms["sign-in"]
        form["login"], form["password"] = "carol", password
        shown = form.submit(status=303).follow()
        assert ("Your password is widely known from breaches" in shown) == is_reported
        assert bool(shown.html.select("#messages a[href='/app/profile/security']")) == is_reported


def test_it_rejects_a_wrong_password(acme):
    form = acme.page().get("/app/sign-in?password=1").forms["sign-in"]
    form["login"], form["password"] = "carol", "wrong"
    response = form.submit(status=422)
    assert "The login or the password is wrong." in response
    assert response.forms["sign-in"]["login"].value == "carol"
    assert response.forms["sign-in"]["password"].value == ""
    assert not acme.account.sessions.exists()


def test_the_user_agent_is_cleaned_and_truncated(acme):
    Visitor(acme.host, HTTP_USER_AGENT="a\x00b\x1f" + "c" * 300).sign_in("carol")
    [session] = acme.account.sessions.all()
    assert session.agent == "a\ufffdb\ufffd" + "c" * 251


def test_it_redirects_only_to_paths_of_the_host(acme):
    for target in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"):
        form = acme.page().get("/app/sign-in", {"next": target, "password": 1}).forms["sign-in"]
        form["login"], form["password"] = "carol", "correct horse battery"
        form["next"].force_value(target)
        assert form.submit().headers["Location"] == "/"


def test_links_of_the_header_return_to_the_current_page(acme):
    for path in ("/app/roadmap?status=planned", "/app/sign-in?next=%2Fapp%2Froadmap%3Fstatus%3Dplanned"):
        page = acme.page().get(path)
        for name in ("Sign in", "Sign up"):
            link = page.html.select_one("header").find("a", string=name)
            assert link["href"].endswith("?next=/app/roadmap%3Fstatus%3Dplanned"), path


def test_a_session_expires_and_ends_with_a_change_of_password(acme):
    carol, other_browser = acme.page(acme.carol), acme.page(acme.carol)
    Session.objects.filter(id=acme.account.sessions.earliest("id").id).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert "Carol Member" not in carol.get("/")
    assert "Carol Member" in other_browser.get("/")
    acme.carol.change_password("another long password")
    assert "Carol Member" not in other_browser.get("/")


def test_a_form_sent_after_the_session_ended_is_not_saved(acme):
    alice = acme.page(acme.alice)
    message = "You were signed out, so nothing was saved. Sign in and do it again."
    form = alice.get("/app/account/forums/new").forms["forum"]
    form["name"], form["host"] = "Second", "second"
    Session.objects.all().delete()
    referer = {"Referer": f"http://{acme.host}/app/account/forums/new"}
    page = form.submit("do", headers=referer).follow()
    assert message in page
    form = page.click("Use a password instead").forms["sign-in"]
    form["login"], form["password"] = "alice", "correct horse battery"
    assert form.submit().headers["Location"] == "/app/account/forums/new"
    # A GET request has lost no input, so there is no such message.
    assert message not in acme.page().get("/app/account").follow()


def test_sign_out(acme):
    carol = acme.page(acme.carol)
    page = carol.get("/")
    [form] = [form for form in page.forms.values() if form.action == "/app/sign-out"]
    response = form.submit().follow()
    assert "You are signed out." in response
    assert "Carol Member" not in response
    assert not acme.account.sessions.exists()


def test_the_language_of_the_pages(acme):
    page = acme.page().get("/app/sign-in")
    assert page.html.html["lang"] == "en"
    assert Visitor(acme.host, HTTP_ACCEPT_LANGUAGE="pl,en;q=0.5").get("/app/sign-in").html.html["lang"] == "pl"
    acme.account.language = "pl"
    acme.account.save()
    assert Visitor(acme.host, HTTP_ACCEPT_LANGUAGE="de").get("/app/sign-in").html.html["lang"] == "pl"


def test_signing_in_again_with_a_session_due_for_renewal(acme):
    """The response sets the cookie of the new session only, although the old session was due for renewal."""
    carol = acme.page(acme.carol)
    acme.account.sessions.update(seen_at=timezone.now() - 2 * Session.TOUCH_INTERVAL)
    send(carol, "/app/sign-in", login="bob", password="correct horse battery")
    assert "Bob Nowak" in carol.get("/")
    # Signing out removes the cookie of such a session.
    acme.account.sessions.update(seen_at=timezone.now() - 2 * Session.TOUCH_INTERVAL)
    send(carol, "/app/sign-out")
    assert "session" not in carol.cookies


@table(
    ("language", "subject", "text"),
    [
        ("en", "New sign-in at Acme", "signed in as carol in a browser"),
        ("pl", "Nowe logowanie w „Acme”", "carol"),
    ],
)
def test_a_sign_in_from_a_new_browser_is_reported(acme, language, subject, text):
    acme.account.users.filter(id=acme.carol.id).update(language=language, time_zone="Europe/Warsaw")
    agent = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0"
    visitor = Visitor(acme.host, REMOTE_ADDR="192.0.2.7", HTTP_USER_AGENT=agent)
    visitor.sign_in("carol")
    sent = letter("carol@acme.example", about=subject)
    for part in (text, "Firefox", "Windows", "192.0.2.7", "(Europe/Warsaw)"):
        assert part in sent.body
    assert link_in(sent, acme.host) == "/app/profile/security"
    mail.outbox.clear()
    # The same browser again, also after signing out and with a code.
    for _ in range(2):
        send(visitor, "/app/sign-out")
        visitor.sign_in("carol")
    send(visitor, "/app/sign-out")
    sign_in_with_code(visitor, "carol@acme.example")
    assert not [each for each in mail.outbox if subject in each.subject]
    # Another user in the same browser.
    send(visitor, "/app/sign-out")
    mail.outbox.clear()
    visitor.sign_in("bob")
    letter("bob@acme.example", about="New sign-in at Acme")


def test_a_sign_in_with_a_code_from_a_new_browser_is_reported(acme):
    """The first sign-in of a new member is not reported."""
    sign_in_with_code(acme.page(), "carol@acme.example")
    sign_in_with_code(acme.page(), "dan@example.com")
    assert [each.to for each in mail.outbox if "New sign-in" in each.subject] == [["carol@acme.example"]]


def test_a_session_ends_after_ninety_days_in_any_case(acme):
    """Neither use nor a hand-over extends it."""
    visitor = acme.page(acme.carol)
    row = Session.objects.get()
    for days in (20, 40, 60, 80, 89):
        Session.objects.update(
            created_at=timezone.now() - timedelta(days=days), seen_at=timezone.now() - timedelta(hours=2)
        )
        visitor.get("/app/profile", status=200)
        row.refresh_from_db()
        assert row.expires_at <= row.created_at + timedelta(days=90)
    handed_over, _secret = Session.objects.start(acme.carol, family=row.family)
    assert (handed_over.created_at, handed_over.expires_at) == (row.created_at, row.created_at + timedelta(days=90))
    # A session that an earlier version has extended beyond its end.
    Session.objects.update(
        created_at=timezone.now() - timedelta(days=91), expires_at=timezone.now() + timedelta(days=9)
    )
    assert visitor.get("/app/profile").headers["Location"].startswith("/app/sign-in")
    assert not Session.objects.active_for(acme.carol).exists()
