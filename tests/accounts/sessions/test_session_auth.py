"""API requests of a page, with the cookie of the session and the CSRF token of the page."""

from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.settings import token_of
from tests.support.tables import table

PATHS = ["/app/account.json", "/app/users/me.xml"]


def status(visitor: Visitor, path: str, **headers: str) -> int:
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return visitor.get(path, headers=headers, expect_errors=True).status_int


@table("path", PATHS)
def test_it_works(acme, path):
    """The cookie needs the CSRF token of the page, and a request of the same site."""
    bob = acme.page(acme.bob)
    assert status(bob, path) == 401
    right = token_of(bob)
    assert status(bob, path, X_CSRFToken=right) == 200
    assert status(bob, path, X_CSRFToken="x" * len(right)) == 403
    assert status(bob, path, X_CSRFToken="") == 403
    # The origin is that of another site.
    assert status(bob, path, X_CSRFToken=right, Origin="http://evil.example") == 403


@table("path", PATHS)
def test_it_rejects_a_session_of_another_account(acme, other, path):
    bob = acme.page(acme.bob)
    token = token_of(bob)
    bob.set_cookie("session", Visitor(other.host).sign_in("mallory").cookies["session"])
    assert status(bob, path, X_CSRFToken=token) == 401


@table("path", PATHS)
def test_browsers_get_no_basic_challenge(acme, path):
    bob = acme.page(acme.bob)
    token = token_of(bob)
    acme.account.sessions.all().delete()
    response = bob.get(path, headers={"X-CSRFToken": token}, status=401)
    assert "Basic" not in response.headers["WWW-Authenticate"]
    # Clients of the Forum API get the challenge.
    assert acme.xml().get("/app/users/me.xml", auth=("alice", "wrong")).headers["WWW-Authenticate"].startswith("Basic")


def test_a_session_has_the_permissions_of_its_user(acme):
    carol = acme.page(acme.carol)
    token = token_of(carol)
    assert status(carol, "/app/users/me.xml", X_CSRFToken=token) == 200
    assert status(carol, "/app/account.json", X_CSRFToken=token) == 403


@table("path", PATHS)
def test_credentials_take_precedence_over_a_session(acme, path):
    """Requests with credentials need no query for the session."""
    bob = acme.page(acme.bob)
    token = token_of(bob)
    assert status(bob, path, X_CSRFToken=token, Authorization="Bearer wrong") == 401
    client = acme.xml(acme.alice) if path.endswith("xml") else acme.json(acme.alice_token)
    client.get(path)
    _, expected = capture_queries(lambda: client.get(path))
    headers = {"Cookie": f"session={bob.cookies['session']}; csrf={bob.cookies['csrf']}", "X-CSRFToken": token}
    response, queries = capture_queries(lambda: client.get(path, headers=headers))
    assert "alice" in response.text or response.json()["prefix"] == "acme"
    assert len(queries) == len(expected)


@table("host", ["example.test", "api.example.test"])
def test_it_rejects_a_session_at_the_hosts_of_the_service(acme, host):
    """The service's own hosts belong to no account."""
    bob = acme.page(acme.bob)
    token, cookies = token_of(bob), bob.cookies
    service = Visitor(host)
    for name in ("session", "csrf"):
        # `set_cookie` adds quotes.
        service.set_cookie(name, cookies[name].strip('"'))
    assert status(service, "/app/account.json", X_CSRFToken=token) == 401
