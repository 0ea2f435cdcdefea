"""Sessions at custom domains: they have the rights of a member, even those of an owner."""

from urllib.parse import urlsplit

import pytest
from django.urls import get_resolver
from webtest import TestApp

from accounts.hosts.addresses import host_cache
from accounts.sessions.cookies import HANDOVER_COOKIE, SESSION_COOKIE
from accounts.sessions.models import Session
from accounts.sign_in.models import Handover, switch_token
from accounts.users.digests import digest_of
from accounts.users.models import User
from config.wsgi import application
from core.pages.base import Page
from tests.support.factories import PASSWORD, make_forum, make_post
from tests.support.page_routes import ROUTES, make_rows, page_class, path_of
from tests.support.pages import Visitor
from tests.support.settings import token_of

DOMAIN = "ideas.example.org"
# Views without a user, which have the same response for everyone.
PUBLIC_VIEWS = {"core-openapi", "core-swagger"}


@pytest.fixture
def domain(acme):
    """Lead a custom domain to acme's default forum."""
    acme.forum.change(host=DOMAIN)
    return DOMAIN


def outcome(response) -> tuple[int, str]:
    return response.status_code, response.headers.get("Location", "")


def test_it_works(acme, domain):
    """The owner reads, votes, comments and suggests there, as any member does."""
    owner = Visitor(domain).sign_in("alice")
    post = make_post(acme.carol, "Dark mode")
    page = owner.get(f"/app/posts/{post.id}")
    assert page.html.select_one(".who .name").text == acme.alice.name
    assert not page.html.select("header.team, .find, a[href='/app/inbox'], a[href='/app/account']")
    # The link of the team leads to the account's own address.
    assert [link["href"] for link in page.html.select(".who a") if "team" in link.text] == [f"http://{acme.host}/"]
    form = page.forms["comment-form"]
    form["content"] = "Me too"
    assert form.submit().status_code == 303
    next(form for form in page.forms.values() if form.action == f"/app/posts/{post.id}/vote").submit("vote")
    post.refresh_from_db()
    assert (post.comments_cache, post.votes_cache) == (1, 1)


def test_a_page_of_the_team_leads_to_the_account(acme, domain):
    owner = Visitor(domain).sign_in("alice")
    for path in ("/app/inbox", "/app/account/users?page=1", "/app/clients", "/app/profile/security"):
        for visitor in (owner, Visitor(domain)):
            assert outcome(visitor.get(path)) == (303, f"http://{acme.host}{path}")
    response = owner.get("/app/clients", headers={"HX-Request": "true"}, status=403)
    assert "This is only possible at the address of the account." in response


def test_the_team_works_on_a_further_forum_at_an_own_address(acme):
    forum = make_forum(acme.account, "second")
    make_post(acme.carol, "Dark mode", forum_id=forum.id)
    address = f"acme--{forum.host_id}.example.test"
    response = Visitor("second.example.org").sign_in("alice").get("/app/inbox")
    assert outcome(response) == (303, f"http://{address}/app/inbox")
    assert "Dark mode" in Visitor(address).sign_in("alice").get("/app/inbox")
    # The id is that of the host, which belongs to another account or to an address under BASE_DOMAIN.
    for wrong in (f"other--{forum.host_id}", f"acme--{acme.account.hosts.get(name='acme').id}", "acme--0", "acme--x"):
        assert Visitor(f"{wrong}.example.test").get("/", status=404)


def test_no_route_does_more_than_for_a_member(acme, domain):
    """Pages: each route, with the session of the owner and with that of a member."""
    ids = make_rows(acme.account, acme.bob)
    results = {}
    for user in (acme.carol, acme.alice):
        visitor = Visitor(domain).start_session(user)
        token = token_of(visitor)
        for route, methods in ROUTES.items():
            if route in ("app/sign-out", "app/handover/finish"):
                continue
            path = path_of(route, ids)
            responses = []
            if "get" in methods:
                responses += [visitor.get(path, expect_errors=True)]
            if "post" in methods:
                data = {"csrfmiddlewaretoken": token, "title": "wish", "content": "text", "text": "text", "do": "save"}
                responses += [visitor.post(path, data, expect_errors=True)]
            results.setdefault(route, []).append(
                [
                    (response.status_code, urlsplit(response.headers.get("Location", "")).netloc)
                    for response in responses
                ]
            )
    for route, (of_member, of_owner) in results.items():
        assert of_owner == of_member, route
    served = {route for route, (_, of_owner) in results.items() if any(status < 300 for status, _ in of_owner)}
    for pattern in get_resolver().url_patterns:
        page = page_class(pattern)
        if page is not None and str(pattern.pattern) in served:
            assert page.access in ("anyone", "user"), pattern
            assert page.access == "anyone" or page.is_of_forum, pattern
    acme.alice.refresh_from_db()
    assert acme.alice.role == User.Role.OWNER


def test_a_page_for_users_is_refused_by_default(acme, domain, rf):
    class NewPage(Page):
        access = "user"

        def get(self, request):
            raise AssertionError

    request = rf.get("/app/new", HTTP_HOST=domain)
    request.address, request.account, request.user, request.htmx = (
        host_cache.find(domain),
        acme.account,
        acme.carol,
        False,
    )
    response = NewPage.as_view()(request)
    assert (response.status_code, response["Location"]) == (303, f"http://{acme.host}/app/new")


def api_routes():
    """Return the path and the methods of each route of the APIs."""
    for pattern in get_resolver().url_patterns:
        view = getattr(pattern.callback, "cls", None)
        if view is not None and pattern.name not in PUBLIC_VIEWS:
            path = "/" + str(pattern.pattern).replace("<id:id>", "1").replace("<id:comment_id>", "1")
            path = path.replace("<category_name:category_name>", "General").replace("<slug:name>", "results")
            for method in pattern.callback.actions:
                yield path, method.upper()


def test_the_apis_refuse_the_session(acme, domain):
    owner = Visitor(domain).start_session(acme.alice)
    headers = {"X-CSRFToken": token_of(owner), "Accept": "*/*"}
    routes = list(api_routes())
    assert len(routes) > 100
    for path, method in routes:
        response = owner._gen_request(method, path, headers=headers, expect_errors=True)
        assert response.status_code in (401, 403), (path, method, response.status)
    # The same requests work at the account's own address.
    own = acme.page(acme.alice)
    headers = {"X-CSRFToken": token_of(own), "Accept": "*/*"}
    assert own.get("/app/clients.json", headers=headers).json == []
    # Tokens and passwords work at the domain.
    visitor = TestApp(application, extra_environ={"HTTP_HOST": domain})
    assert visitor.get("/app/clients.json", headers={"Authorization": f"Bearer {acme.bob_token}"}).json == []
    visitor.authorization = ("Basic", ("alice", PASSWORD))
    assert b"<login>alice</login>" in visitor.get("/app/users/me.xml").body


def test_a_cookie_is_valid_only_where_it_was_set(acme, domain):
    """The person who manages a domain can copy its cookies, and send them to any host of the account."""
    make_forum(acme.account, "second")
    hosts = (DOMAIN, "acme.example.test", "second.example.org")
    for made_at in hosts:
        secret = Visitor(made_at).sign_in("alice").cookies[SESSION_COOKIE]
        for host in hosts:
            visitor = Visitor(host)
            visitor.set_cookie(SESSION_COOKIE, secret)
            name = visitor.get("/").html.select_one(".who .name")
            assert (name is not None) == (host == made_at)


def test_a_domain_hands_no_session_over(acme, domain):
    """Otherwise the session of an owner at a domain would become one at the account's own address."""
    make_forum(acme.account, "second")
    owner = Visitor(domain).sign_in("alice")
    session = acme.account.sessions.get()
    ticket = Handover.objects.begin(session, host="acme")
    for target in ("acme", "second.example.org"):
        for path in ("/app/handover", "/app/handover/approve"):
            token = switch_token(session, target) if path == "/app/handover" else ticket
            response = owner.get(f"{path}?to={target}&nonce={'0' * 64}&token={token}")
            assert "token=" not in response.headers["Location"]
    assert Handover.objects.count() == 1


def test_the_server_of_a_domain_gets_no_session_elsewhere(acme, domain):
    """It receives the ticket, sends its own nonce, and gets the code. The code is worth a session with the rights of a member there."""
    session, _secret = Session.objects.start(acme.alice)
    for host in (acme.host, domain):
        ticket = Handover.objects.begin(session, host=domain)
        code = Handover.objects.approve(session, ticket, host=domain, nonce=digest_of("mine"))
        assert Handover.objects.approve(session, ticket, host=domain, nonce=digest_of("mine")) is None
        thief = Visitor(host)
        thief.set_cookie(HANDOVER_COOKIE, "mine")
        thief.get(f"/app/handover/finish?token={code}")
        assert (SESSION_COOKIE in thief.cookies) == (host == domain)
        # Each code is used up.
        assert not Handover.objects.exists()
    assert thief.get("/app/account/api").status_code == 303
    assert acme.account.sessions.latest("id").domain == domain


def test_a_code_without_a_nonce_is_not_used_up(acme, domain):
    """A server that hides the cookie from the service cannot make the code useless for the browser that has it."""
    session, _secret = Session.objects.start(acme.alice)
    ticket = Handover.objects.begin(session, host=domain)
    code = Handover.objects.approve(session, ticket, host=domain, nonce=digest_of("nonce"))
    Visitor(domain).get(f"/app/handover/finish?token={code}")
    assert Handover.objects.exists()


def test_a_form_that_signs_in_gives_the_rights_of_a_member(acme, domain):
    """The form of a comment can be submitted with a login and a password."""
    forum_page = Visitor(domain)
    post = make_post(acme.carol)
    page = forum_page.post(f"/app/posts/{post.id}/comments", {"content": "Hello"}, status=403)
    form = next(form for form in page.forms.values() if "password" in form.fields)
    form["login"], form["password"] = "alice", PASSWORD
    assert form.submit().status_code == 303
    assert acme.account.sessions.get().is_limited
    assert outcome(forum_page.get("/app/inbox")) == (303, f"http://{acme.host}/app/inbox")
