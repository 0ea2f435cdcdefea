"""The examples contain the token that the user created during the visit, until the visit ends."""

import pytest

from accounts.tokens.models import APIToken
from accounts.tokens.pages import VISIT_TOKEN_COOKIE
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.settings import send

PATH = "/app/account/api"


@pytest.fixture
def bob(acme):
    return acme.page(acme.bob)


@pytest.fixture
def token(bob) -> str:
    """Return a token that bob has just created."""
    form = bob.get(f"{PATH}/tokens/new").forms["new"]
    form["label"] = "Shop"
    return form.submit().html.find(id="new-token")["value"]


def shown_in(page) -> set[str]:
    """Return the tokens in the code of a page."""
    code = " ".join(element.text for element in page.html.find_all(attrs={"data-code": True}))
    return {word.strip("'\",") for word in code.split() if "/acme" in word and "://" not in word}


def test_it_works(bob, token):
    page = bob.get(f"{PATH}/clients")
    assert shown_in(page) == {token}
    assert page.html.find(id="api-token")["value"] == token
    assert page.headers["Cache-Control"] == "private, no-store"
    assert shown_in(bob.get(PATH)) == {token}
    assert bob.get(PATH).html.find(id="new-token") is None
    # Forum pages and the reference do not contain it.
    for path in ("/", "/app/docs/clients"):
        assert token not in bob.get(path)
    # The token takes one statement.
    _response, queries = capture_queries(lambda: bob.get(f"{PATH}/statuses"))
    bob.set_cookie(VISIT_TOKEN_COOKIE, "")
    _response, queries_without = capture_queries(lambda: bob.get(f"{PATH}/statuses"))
    assert len(queries) == len(queries_without) + 1, queries


def test_the_cookie_is_encrypted_and_ends_with_the_browser(bob):
    form = bob.get(f"{PATH}/tokens/new").forms["new"]
    form["label"] = "Second"
    response = form.submit()
    cookies = [line.strip() for line in response.headers.getall("Set-Cookie")]
    (cookie,) = (line for line in cookies if line.startswith(VISIT_TOKEN_COOKIE))
    assert cookie.endswith("; HttpOnly; Path=/; SameSite=Strict")
    assert "expires" not in cookie.lower()
    assert response.html.find(id="new-token")["value"].partition("/")[0] not in cookie


def test_it_ends_when_the_user_signs_out(acme, bob, token):
    cookie = bob.cookies[VISIT_TOKEN_COOKIE]
    send(bob, "/app/sign-out")
    assert VISIT_TOKEN_COOKIE not in bob.cookies
    # The cookie is invalid in another session of the same user.
    again = acme.page(acme.bob)
    again.set_cookie(VISIT_TOKEN_COOKIE, cookie)
    assert token not in again.get(f"{PATH}/clients")


def test_it_rejects_the_cookie_of_another_user_and_of_a_revoked_token(acme, bob, other, token):
    cookie = bob.cookies[VISIT_TOKEN_COOKIE]
    for visitor in (acme.page(acme.alice), Visitor(other.host).start_session(other.mallory)):
        visitor.set_cookie(VISIT_TOKEN_COOKIE, cookie)
        assert token not in visitor.get(f"{PATH}/clients", expect_errors=True).text
    acme.bob.revoke_token(APIToken.objects.find_by_token(token).id, by=acme.bob)
    page = bob.get(f"{PATH}/clients")
    assert token not in page
    assert "YOUR_API_TOKEN" in page


def test_it_rejects_other_cookies(bob):
    for cookie in ("x", "gAAAAA", "a" * 3000):
        bob.set_cookie(VISIT_TOKEN_COOKIE, cookie)
        assert "YOUR_API_TOKEN" in bob.get(f"{PATH}/clients")
