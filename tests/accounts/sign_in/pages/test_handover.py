"""One sign-in for all forums of an account: hand-overs between hosts, and the switcher."""

from datetime import timedelta
from functools import partial
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.db.models import F
from django.utils import timezone

from accounts.sessions.cookies import HANDOVER_COOKIE, SESSION_COOKIE
from accounts.sessions.models import Session
from accounts.sign_in.models import Handover, switch_token
from accounts.users.digests import digest_of
from core.limits import rate_limits
from forum.forums.models import Forum
from tests.support.factories import PASSWORD, make_forum
from tests.support.membership import add
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.tables import table
from tests.support.threads import at_once

START, BEGIN = "/app/handover", "/app/handover/begin"
APPROVE, FINISH = "/app/handover/approve", "/app/handover/finish"


class Browser:
    """A browser with the cookies of each host. It follows redirects from host to host."""

    def __init__(self):
        self.visitors: dict[str, Visitor] = {}

    def at(self, host: str) -> Visitor:
        return self.visitors.setdefault(host, Visitor(host))

    def get(self, url: str, *, steps: int = 10):
        """Follow at most `steps` redirects. Return the last response, with the attributes `host` and `path` of its URL."""
        for left in range(steps, -1, -1):
            parts = urlsplit(url)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            response = self.at(parts.netloc).get(path, expect_errors=True)
            if response.status_code != 303 or left == 0:
                break
            location = response.headers["Location"]
            url = location if "://" in location else f"http://{parts.netloc}{location}"
        response.host, response.path = parts.netloc, path
        return response


def user_of(page) -> str:
    """Return the name in the menu of a page, or "" for a visitor."""
    name = page.html.select_one(".who .name")
    return name.text if name else ""


@pytest.fixture
def second(acme) -> str:
    """Create a private forum, and return its host."""
    forum = make_forum(acme.account, "second", access=Forum.Access.PRIVATE)
    add(forum, acme.carol)
    return acme.account.hosts.get(id=forum.host_id).name


@pytest.fixture
def carol(acme) -> Browser:
    browser = Browser()
    browser.at(acme.host).start_session(acme.carol)
    return browser


def link_to(second: str, browser: Browser, host: str) -> str:
    """Return the URL of the link of the switcher on the home page."""
    [link] = browser.at(host).get("/").html.select(".sites a")
    assert link["href"].startswith(f"{START}?to={second}&")
    return f"http://{host}{link['href']}"


def test_it_works(acme, second, carol):
    link = link_to(second, carol, acme.host)
    page = carol.get(f"{link}&next=/app/roadmap")
    assert (page.status_code, page.host, page.path) == (200, second, "/app/roadmap")
    assert user_of(page) == "Carol Member"
    assert HANDOVER_COOKIE not in carol.at(second).cookies
    assert not Handover.objects.exists()
    here, there = acme.account.sessions.order_by("id")
    assert here.family == there.family
    assert here.digest != there.digest
    assert (here.domain, there.domain) == ("", second)
    # There is no hand-over from a custom domain. The browser still has the session at the first forum.
    link = carol.at(second).get("/").html.select_one(".sites a")["href"]
    assert link == f"http://{acme.host}/"
    assert user_of(carol.get(link)) == "Carol Member"
    assert acme.account.sessions.count() == 2


def test_signing_out_ends_the_session_at_every_host(acme, second, carol):
    carol.get(link_to(second, carol, acme.host))
    other_browser = acme.page(acme.carol)
    page = carol.at(second).get("/")
    next(form for form in page.forms.values() if form.action == "/app/sign-out").submit()
    assert user_of(carol.at(acme.host).get("/")) == ""
    assert user_of(other_browser.get("/")) == "Carol Member"


def test_the_list_of_sessions_shows_a_browser_once(acme, second, carol):
    carol.get(link_to(second, carol, acme.host))
    acme.page(acme.carol)
    page = carol.at(acme.host).get("/app/profile/security")
    assert len(page.html.select("ul.list li")) == 2
    assert len(page.html.select("ul.list .badge")) == 1
    # Ending all others keeps both sessions of this browser.
    page.forms["end-others"].submit("end")
    assert acme.account.sessions.count() == 2
    assert user_of(carol.at(acme.host).get("/")) == "Carol Member"
    # Ending the shown one ends both.
    page = carol.at(acme.host).get("/app/profile/security")
    [form] = [form for id, form in page.forms.items() if isinstance(id, str) and id.startswith("end-")]
    assert form.submit("end").headers["Location"] == "/"
    assert not acme.account.sessions.exists()


def test_a_new_password_keeps_the_sessions_of_the_browser(acme, second, carol):
    """A deactivation ends them."""
    carol.get(link_to(second, carol, acme.host))
    other_browser = acme.page(acme.carol)
    form = carol.at(acme.host).get("/app/profile/security").forms["password"]
    form["current"], form["password"] = PASSWORD, "another long password"
    form.submit()
    assert user_of(carol.at(acme.host).get("/")) == user_of(carol.at(second).get("/")) == "Carol Member"
    assert user_of(other_browser.get("/")) == ""
    acme.carol.deactivate(by=acme.alice)
    assert user_of(carol.at(acme.host).get("/")) == ""
    assert carol.at(second).get("/").headers["Location"].startswith("/app/sign-in")


def test_a_visitor_comes_to_the_other_forum_as_a_visitor(acme, second):
    link = f"http://{acme.host}{START}?{urlencode({'to': second, 'next': '/app/roadmap'})}"
    page = Browser().get(link)
    assert (page.host, page.path) == (second, "/app/sign-in?next=%2Fapp%2Froadmap")
    assert not Handover.objects.exists()


def test_settings_link_to_each_forum(acme, second):
    browser = Browser()
    browser.at(acme.host).start_session(acme.alice)
    page = browser.at(acme.host).get("/app/account/forums")
    [link] = [link for link in page.html.select("main a") if link.get_text(" ", strip=True) == "Open : second"]
    # The team works at an address under BASE_DOMAIN, with all its rights.
    own = f"acme--{acme.account.hosts.get(name=second).id}"
    assert link["href"].startswith(f"{START}?to={own}&")
    page = browser.get(f"http://{acme.host}{link['href']}&next=/app/inbox")
    assert (page.status_code, page.host, page.path) == (200, f"{own}.example.test", "/app/inbox")


def finish_path(browser: Browser, acme, second: str) -> str:
    """Take the first three steps. Return the path of the fourth."""
    response = browser.get(link_to(second, browser, acme.host), steps=2)
    return response.headers["Location"].removeprefix(f"http://{second}")


def is_refused(browser: Browser, host: str, path: str) -> bool:
    browser.at(host).get(path)
    return SESSION_COOKIE not in browser.at(host).cookies


def test_it_rejects_a_code_in_another_browser_and_twice(acme, second, carol):
    """A thief cannot use a stolen code, and an attacker cannot sign in a victim as the attacker."""
    path = finish_path(carol, acme, second)
    nonce = carol.at(second).cookies[HANDOVER_COOKIE]
    victim, again = Browser(), Browser()
    # The victim has started another hand-over.
    victim.get(f"http://{second}{BEGIN}?from=acme", steps=0)
    assert HANDOVER_COOKIE in victim.at(second).cookies
    assert is_refused(victim, second, path)
    assert is_refused(Browser(), second, path)
    # Neither attempt has used the code.
    assert not is_refused(carol, second, path)
    again.at(second).set_cookie(HANDOVER_COOKIE, nonce)
    assert is_refused(again, second, path)


def test_it_rejects_an_expired_code(acme, second, carol):
    path = finish_path(carol, acme, second)
    left = Handover.objects.get().expires_at - timezone.now()
    assert timedelta(seconds=50) < left <= Handover.LIFETIME
    Handover.objects.update(expires_at=F("expires_at") - Handover.LIFETIME)
    assert is_refused(carol, second, path)
    Handover.objects.outdated().delete()
    assert not Handover.objects.exists()


def test_it_rejects_a_code_at_another_host(acme, second, carol):
    third = acme.account.hosts.get(id=make_forum(acme.account, "third").host_id).name
    link = next(link["href"] for link in carol.at(acme.host).get("/").html.select(".sites a") if second in link["href"])
    path = carol.get(f"http://{acme.host}{link}", steps=2).headers["Location"].removeprefix(f"http://{second}")
    carol.at(third).set_cookie(HANDOVER_COOKIE, carol.at(second).cookies[HANDOVER_COOKIE])
    assert is_refused(carol, third, path)


@table("end", ["the session", "the user"])
def test_it_rejects_a_code_after_the_access_ended(acme, second, end):
    carol = Browser()
    carol.at(acme.host).start_session(acme.carol)
    path = finish_path(carol, acme, second)
    if end == "the session":
        acme.account.sessions.get().end()
        assert not Handover.objects.exists()
    else:
        acme.account.users.filter(id=acme.carol.id).update(is_active=False)
    assert is_refused(carol, second, path)


def test_it_rejects_invalid_parameters(acme, other, second, carol):
    """Sources and targets that are no hosts of the account, and malformed nonces and codes."""
    nonce = "0" * 64
    finishing = Visitor(second)
    finishing.set_cookie(HANDOVER_COOKIE, "nonce")
    for visitor, path, name, values, others in (
        (
            Visitor(second),
            BEGIN,
            "from",
            ["other", "other.example.test", "nowhere", "acme\0", "x" * 300, "", second],
            {},
        ),
        (
            carol.at(acme.host),
            APPROVE,
            "to",
            ["other", "other.example.test", "evil.example", "//evil.example", ""],
            {"nonce": nonce},
        ),
        (carol.at(acme.host), APPROVE, "nonce", ["", nonce[1:], nonce + "0", "g" * 64, "٠" * 64], {"to": second}),
        (finishing, FINISH, "token", ["", "x", "x" * 300, "\udcff"], {}),
    ):
        for value in values:
            response = visitor.get(f"{path}?{urlencode({name: value, **others}, errors='surrogatepass')}")
            assert (response.status_code, response.headers["Location"]) == (303, "/"), (path, value)
    assert SESSION_COOKIE not in finishing.cookies
    assert not Handover.objects.exists()


def test_it_redirects_only_to_paths(acme, second, carol):
    link = link_to(second, carol, acme.host)
    page = carol.get(f"{link}&{urlencode({'next': '//evil.example/'})}")
    assert (page.host, page.path) == (second, "/")
    for target in ("https://evil.example/", "//evil.example/", "/\\evil.example", "evil"):
        for path in (START, BEGIN, APPROVE, FINISH):
            assert Visitor(second).get(f"{path}?{urlencode({'next': target})}").headers["Location"] == "/"


@table(("target", "quoted"), [("/\r\nX:y", "/%0D%0AX:y"), ("/\0", "/%00"), ("/ż", "/%C5%BC")])
def test_it_quotes_the_path(acme, second, target, quoted):
    """The redirect to another host contains a path from the request."""
    query = urlencode({"to": second, "nonce": "0" * 64, "next": target})
    location = Visitor(acme.host).get(f"{APPROVE}?{query}").headers["Location"]
    assert location in ("/", f"http://{second}{quoted}")
    assert location.isascii()


def make_code(session: Session, host: str, nonce: str = "nonce") -> str:
    """Return the code of a hand-over to the host, for the browser with the nonce."""
    ticket = Handover.objects.begin(session, host=host)
    code = Handover.objects.approve(session, ticket, host=host, nonce=digest_of(nonce))
    assert code is not None
    return code


def test_users_of_another_account_get_nothing(acme, other, second):
    mallory = Browser()
    mallory.at(other.host).start_session(other.mallory)
    nonce = digest_of("nonce").hex()
    # Neither host of another account is known here.
    mallory.at(other.host).get(f"{APPROVE}?{urlencode({'to': second, 'nonce': nonce})}")
    assert not Handover.objects.exists()
    mallory.get(f"http://{second}{BEGIN}?from=other")
    assert SESSION_COOKIE not in mallory.at(second).cookies
    # A code of mallory's own account is unknown to acme.
    session = other.account.sessions.get()
    code = make_code(session, second)
    mallory.at(second).set_cookie(HANDOVER_COOKIE, "nonce")
    mallory.at(second).get(f"{FINISH}?token={code}")
    assert SESSION_COOKIE not in mallory.at(second).cookies


def test_hand_overs_are_limited(acme, second, carol, settings):
    link = link_to(second, carol, acme.host)
    settings.RATE_LIMIT = 1
    rate_limits.rate_limiter.clear()
    carol.get(link, steps=0)
    assert carol.get(link, steps=0).status_code == 429
    assert Handover.objects.count() == 1


def test_it_rejects_links_that_no_page_of_the_session_shows(acme, second, carol):
    """Without a token of the session, the manager of one of the domains cannot sign in its visitors to steal their sessions."""
    [session] = acme.account.sessions.all()
    other_session, _secret = Session.objects.start(acme.carol)
    for token in ("", "0" * 64, "é", switch_token(session, "acme"), switch_token(other_session, second)):
        query = urlencode({"to": second, "nonce": "0" * 64, "token": token, "next": "/app/roadmap"})
        for path in (START, APPROVE):
            response = carol.at(acme.host).get(f"{path}?{query}")
            assert response.headers["Location"] == f"http://{second}/app/roadmap"
    assert not Handover.objects.exists()


def test_neither_the_table_nor_the_log_has_the_code(acme, second, carol, caplog):
    path = finish_path(carol, acme, second)
    [code] = parse_qs(urlsplit(path).query)["token"]
    row = Handover.objects.get()
    assert bytes(row.digest) == digest_of(code)
    assert bytes(row.nonce) == digest_of(carol.at(second).cookies[HANDOVER_COOKIE])
    carol.at(second).get(path)
    assert FINISH in caplog.text
    assert code not in caplog.text


def test_it_works_on_a_laptop(acme, second, settings):
    settings.LOCAL_ACCOUNT = "acme"
    carol = Browser()
    carol.at("localhost").start_session(acme.carol)
    link = link_to(second, carol, "localhost")
    assert "from=localhost" in carol.get(link, steps=0).headers["Location"]
    assert user_of(carol.get(link)) == "Carol Member"


def test_it_takes_few_statements(acme, second, carol):
    link = link_to(second, carol, acme.host)
    home = capture_queries(lambda: carol.at(acme.host).get("/app/profile"))[1]
    # The session; the forum; the segments of closed forums; the other forums.
    assert len(home) == 4, home
    path = finish_path(carol, acme, second)
    _response, queries = capture_queries(lambda: carol.at(second).get(path))
    # The forum; the hand-over, twice; the session at the source; the time of the sign-in; the new session, and its entry in the
    # audit log.
    assert len(queries) == 7, queries
    carol.at(second).reset()
    # The session; the forum; the limit; earlier hand-overs; the new one. Then the forum. Then the session; the forum; the hand-over.
    for number in (5, 1, 3):
        response, queries = capture_queries(partial(carol.get, link, steps=0))
        assert len(queries) <= number, queries
        link = response.headers["Location"]


@pytest.mark.django_db(transaction=True)
def test_only_one_of_two_requests_with_one_code_succeeds(acme):
    forum = make_forum(acme.account, "second")
    second = acme.account.hosts.get(id=forum.host_id).name
    session, _secret = Session.objects.start(acme.carol)
    code = make_code(session, second)

    def finish():
        visitor = Visitor(second)
        visitor.set_cookie(HANDOVER_COOKIE, "nonce")
        visitor.get(f"{FINISH}?token={code}")
        return SESSION_COOKIE in visitor.cookies

    assert sorted(at_once(*[finish] * 4)) == [False, False, False, True]
    assert acme.account.sessions.count() == 2


def test_the_switcher_of_many_forums_is_small(acme):
    page = acme.page(acme.carol).get("/")
    small = len(page.body)
    # Only users of accounts with several forums see it.
    assert not page.html.select(".sites")
    for number in range(20):
        make_forum(acme.account, f"forum-of-the-{number}th-product")
    assert not acme.page().get("/").html.select(".sites")
    page, queries = capture_queries(lambda: acme.page(acme.carol).get("/"))
    assert len(page.html.select(".sites a")) == 20
    assert len(page.body) - small < 4_000
    assert len(queries) <= 10, queries
