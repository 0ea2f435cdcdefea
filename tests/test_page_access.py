"""Permissions of every page route, for GET and for POST."""

from urllib.parse import quote

import pytest
from django.urls import get_resolver
from django.utils.encoding import escape_uri_path

from core.db.tenancy import next_ids
from forum.forums.models import Forum
from tests.support.factories import make_client, make_contact, make_post
from tests.support.fill import SECRET, fill
from tests.support.page_routes import ROUTES, make_rows, page_class, path_of
from tests.support.pages import Visitor
from tests.support.tables import undone

# Pages of a private forum that visitors need to sign in or sign up. They show only the forum's name.
FOR_ANYONE = {
    "app/sign-in",
    "app/sign-in/code",
    "app/sign-in/code/enter",
    "app/sign-in/second",
    "app/sign-in/sso",
    "app/sign-in/sso/callback",
    "app/sign-in/token",
    "app/sign-in/passkey",
    "app/sign-in/passkey/options",
    # Redirects, which tests/accounts/sign_in/pages/test_handover.py covers.
    "app/handover",
    "app/handover/begin",
    "app/handover/approve",
    "app/handover/finish",
    "app/sign-out",
    "app/language",
    # The reference of the APIs, which is the same for all accounts.
    "app/docs",
    "app/docs/<slug:slug>",
    # The front, where visitors create accounts. No account has these pages.
    "app/start",
    "app/start/address",
    "app/start/code",
    "app/start/approve",
    "app/sign-up",
    "app/invitation",
    "app/password",
    "app/password/sent",
    "app/password/new",
    "app/profile/email",
    # Links of e-mails: the token is the permission, and the key is unknown to others.
    "app/unsubscribe",
    "app/erasure",
    "app/unsubscribe/customer",
    # Of every page, and in e-mails.
    "app/logo/<slug:key>.png",
    "app/brand/icon/<slug:key>.png",
    "app/brand/share/<slug:key>.jpg",
    "app/brand/<slug:key>.css",
    "app/manifest.webmanifest",
    # As what it is attached to. `tests/accounts/attachments` asks each kind of readers.
    "app/attachments/<id:id>/<str:name>",
    # Fragments of the page of a new suggestion: a visitor only learns that the session has ended.
    "app/posts/similar",
    "app/posts/preview",
}
# The beginnings of the routes of the team's pages over the CRM.
TEAM_COLLECTIONS = (
    "app/find",
    "app/home",
    "app/clients",
    "app/contacts",
    "app/contact_lists",
    "app/deals",
    "app/deals/board",
    "app/notes",
    "app/mentions",
    "app/messages",
    "app/imports",
)
# What the team does from its inbox, which has the suggestions of all forums.
OF_INBOX = ("app/posts/<id:id>/answer", "app/posts/<id:id>/replies")
# Searches, which could reveal texts.
SEARCHES = ["/?q={}", "/app/feed.atom?q={}", "/app/posts/similar?title={}", "/app/posts/new?title={}"]


def required_role(route: str) -> str:
    """Return the lowest role that may use the route, judged by the path alone."""
    if route.startswith("app/account/api"):
        return "team"
    if route.startswith(("app/account", "app/audit")):
        return "admin"
    if route.startswith(TEAM_COLLECTIONS):
        return "team"
    if route in (
        "app/inbox",
        "app/inbox/reported",
        "app/moderation",
        "app/posts/behalf",
        "app/authors/<id:id>",
    ) or route.endswith(("/team", "/merge", "/behalf", "/history", "/message")):
        return "team"
    return "user"


def token_of(visitor: Visitor) -> str:
    page = visitor.get("/app/profile" if "session" in visitor.cookies else "/app/sign-in")
    return page.html.find("input", {"name": "csrfmiddlewaretoken"})["value"]


def responses_to(visitor: Visitor, path: str, methods: set[str], *, csrf: str = "", **values):
    """Return the responses of a path to each of the methods."""
    if "post" in methods and not hasattr(visitor, "token"):
        visitor.token = csrf or token_of(visitor)
    if "get" in methods:
        yield visitor.get(path, expect_errors=True)
        yield visitor.get(path, headers={"HX-Request": "true"}, expect_errors=True)
    if "post" in methods:
        data = {"csrfmiddlewaretoken": visitor.token, "title": "wish", "content": "text", **values}
        yield visitor.post(path, data, expect_errors=True)


@pytest.fixture
def private(acme):
    """Make acme's forum private and fill it with rows."""
    ids = make_rows(acme.account, acme.bob)
    fill(acme.account, acme.bob, SECRET)
    acme.account.forums.update(access=Forum.Access.PRIVATE)
    return acme, ids


def redirects_to_sign_in(response) -> bool:
    location = response.headers.get("Location") or response.headers.get("HX-Redirect", "")
    return location.startswith("/app/sign-in?next=")


def is_refused_to_visitors(response) -> bool:
    """Return True for a redirect to the sign-in page, a form shown again with a sign-in form, or an empty fragment for htmx."""
    is_empty_fragment = "HX-Request" in response.request.headers and response.status_code == 204
    has_sign_in_form = response.status_code == 403 and bool(response.html.find(id="id_password"))
    # The page for a first vote, which refuses suggestions that visitors may not see.
    is_first_vote = (response.headers.get("Location") or response.headers.get("HX-Redirect", "")).endswith(
        "/vote/first"
    )
    return redirects_to_sign_in(response) or is_empty_fragment or has_sign_in_form or is_first_vote


def test_it_works(private, other):
    """A private forum shows nothing to visitors and to users of other accounts."""
    acme, ids = private
    visitor = acme.page()
    visitor.token = token_of(visitor)
    mallory = Visitor(acme.host)
    mallory.set_cookie("session", Visitor(other.host).sign_in("mallory").cookies["session"])
    for route, methods in ROUTES.items():
        path = path_of(route, ids)
        with undone({}):
            for response in responses_to(visitor.copy(), path, methods, csrf=visitor.token):
                assert SECRET not in response.text, path
                assert response.status_code < 500, path
                if route in OF_OPERATOR:
                    assert response.status_code == 404, (path, response.request.method, response.status)
                elif route not in FOR_ANYONE:
                    assert is_refused_to_visitors(response), (path, response.request.method, response.status)
        if "get" in methods:
            response = mallory.copy().get(path, expect_errors=True)
            assert SECRET not in response.text, path
            assert route in FOR_ANYONE | OF_OPERATOR or redirects_to_sign_in(response), path
    for path in ["/sitemap.xml", "/robots.txt", *SEARCHES, "/app/roadmap", "/app/feed.atom"]:
        response = acme.page().get(path.format("acme"), expect_errors=True)
        assert SECRET not in response.text, path
        assert "Allow" not in response.text, path


# The console of operators exists for nobody else.
OF_OPERATOR = {route for route in ROUTES if route.startswith("app/operator")}
# Pages of the account, which show a user their own profile at every host of the account.
OF_PROFILE = {route for route in ROUTES if route.startswith("app/profile") and route != "app/profile/posts"}


def test_members_of_other_forums_find_nothing_of_a_private_forum(private):
    acme, ids = private
    carol = acme.page(acme.carol)
    carol.token = token_of(carol)
    before = list(acme.account.posts.order_by("id").values())
    for route, methods in ROUTES.items():
        path = path_of(route, ids)
        with undone({}):
            for response in responses_to(carol.copy(), path, methods, csrf=carol.token, vote="1", follow="1"):
                # The form of the language repeats the requested path.
                assert SECRET not in response.text.replace(quote(path), ""), route
                assert response.status_code < 500, route
                if route in OF_OPERATOR:
                    assert response.status_code == 404, route
                # A part of the page of a new suggestion shows the text that was sent.
                elif route not in FOR_ANYONE | OF_PROFILE or route == "app/posts/similar":
                    assert response.status_code == 403, (route, response.request.method, response.status)
            assert list(acme.account.posts.order_by("id").values()) == before, route


def test_it_rejects_users_below_the_required_role(private):
    """In a public forum, the role alone decides."""
    acme, ids = private
    acme.account.forums.update(access=Forum.Access.PUBLIC)
    for user, forbidden_roles in (
        (None, {"team", "admin"}),
        (acme.carol, {"team", "admin"}),
        (acme.bob, {"admin"}),
    ):
        page = acme.page(user)
        for route in [route for route in ROUTES if required_role(route) in forbidden_roles]:
            for response in responses_to(page, path_of(route, ids), ROUTES[route]):
                assert SECRET not in response.text
                if user is None:
                    assert is_refused_to_visitors(response), (route, response.request.method, response.status)
                    continue
                # The page of the settings redirects agents to the first page that they may open.
                is_redirected = (route, user, response.request.method) == ("app/account", acme.bob, "GET")
                assert response.status_code == (303 if is_redirected else 403), (route, response.request.method)


# The actions of the pages that have no table of them.
OTHER_ACTIONS = ("save", "delete", "trash", "restore", "undo", "cancel", "find")


def actions_of_pages() -> dict[str, tuple[str, ...]]:
    """Return the values of the buttons `do` of each page, by its route."""
    pages = {str(pattern.pattern): page_class(pattern) for pattern in get_resolver().url_patterns}
    return {route: tuple(getattr(pages[route], "actions", ())) or OTHER_ACTIONS for route in ROUTES}


def test_it_rejects_ids_of_another_account(acme, other):
    """For an owner, rows of another account do not exist."""
    # Skip ids, so that no id of a row of the other account is also an id of acme.
    next_ids(other.account.id, 1000)
    ids = make_rows(other.account, other.mallory)
    alice, actions = acme.page(acme.alice), actions_of_pages()
    for route, methods in ROUTES.items():
        if "<id:id>" in route or "<category_name" in route:
            path = path_of(route, ids)
            # A GET request has no action.
            requests = [(methods & {"get"}, "")] + [({"post"}, do) for do in actions[route] if "post" in methods]
            for sent, do in requests:
                for response in responses_to(alice, path, sent, do=do, vote="1", role="admin", name="mine"):
                    # A row that is already in the trash is trashed once more.
                    is_without_effect = response.headers.get("Location") == path or (
                        do == "trash" and response.status_code == 303
                    )
                    assert is_error(response, route) or is_without_effect, (route, do, response.status)
                    # An error page repeats the requested path, for the choice of the language.
                    assert SECRET not in response.text.replace(escape_uri_path(path), "")
    assert not other.account.posts.trashed().exists()


def is_error(response, route: str) -> bool:
    """Return True for an error: 400 for an unknown action, 422 for invalid input, 404. The search while typing ignores ids."""
    is_search = "HX-Request" in response.request.headers and route.endswith(("/merge", "/behalf"))
    return is_search or response.status_code in (400, 404, 422)


def test_a_forum_shows_nothing_of_another_forum(acme):
    """Pages of a public forum show nothing of the account's private forum."""
    account = acme.account
    host = account.hosts.create(name="second")
    forum = account.forums.create(host_id=host.id, name="Second", access=Forum.Access.PRIVATE)
    account.categories.create(forum_id=forum.id, name=SECRET)
    private_post = make_post(acme.bob, f"{SECRET} wish", forum_id=forum.id, content=SECRET)
    private_post.write({"response": SECRET}, by=acme.bob)
    ids = {"posts": private_post.id, "comments": private_post.comment(by=acme.bob, text=SECRET).id}
    public_post = make_post(acme.bob, "Shown")
    for user in (None, acme.carol, acme.bob):
        page = acme.page(user)
        for path in ["/", "/?order=top", "/app/roadmap", "/app/feed.atom", "/sitemap.xml", "/app/moderation"]:
            assert SECRET not in page.get(path, expect_errors=True).text
        for path in SEARCHES:
            text = page.get(path.format(SECRET), expect_errors=True).text
            assert f"/app/posts/{private_post.id}" not in text
            assert "wish" not in text
        for route, methods in ROUTES.items():
            if route.startswith("app/posts/<id:id>") and not (user == acme.bob and route in OF_INBOX):
                for response in responses_to(page, path_of(route, ids), methods, vote="1", do="status"):
                    assert SECRET not in response.text
                    has_no_access = (
                        is_error(response, route) or response.status_code == 403 or is_refused_to_visitors(response)
                    )
                    assert has_no_access, (route, response.status)
    merge = acme.page(acme.bob).get(f"/app/posts/{public_post.id}/merge?q={SECRET}&into={private_post.id}")
    assert "wish" not in merge.html.find("main").get_text()


def test_members_learn_nothing_about_customers(acme):
    client, contact = make_client(acme.bob, f"{SECRET} client"), make_contact(acme.bob, f"{SECRET} contact")
    post = make_post(acme.bob, "For a customer", client_id=client.id)
    post.cast_proxy_vote(by=acme.bob, contact_id=contact.id)
    for user in (None, acme.carol):
        page = acme.page(user)
        for path in ("/", f"/app/posts/{post.id}", "/app/feed.atom", "/?q=customer", "/app/roadmap"):
            assert SECRET not in page.get(path).text
