"""Addresses of an older server, which links may still contain."""

from tests.support.client import Client
from tests.support.factories import make_category, make_post
from tests.support.reading import titles

FORMER_ADDRESSES = {
    "/login": "/app/sign-in",
    "/logout": "/app/profile",
    "/account": "/app/account",
    "/Login": "/app/sign-in",
}


def test_it_works(acme):
    for path, address in FORMER_ADDRESSES.items():
        for headers in ({}, {"Accept": "*/*"}, {"Accept": "text/html"}):
            response = Client(acme.host).get(path, headers=headers)
            assert (response.status_code, response.headers["Location"]) == (303, address)


def test_a_category_takes_precedence_over_a_former_address(acme):
    category = make_category(acme.account, "Account")
    make_post(acme.alice, "Two addresses", category_id=category.id)
    assert titles(acme.page().get("/account")) == ["Two addresses"]
    assert "Two addresses" in acme.xml().get("/account").text


def test_api_clients_get_an_authentication_challenge(acme):
    """The challenge is sent for an existing category. A private forum sends it for every name, which keeps its categories secret."""
    make_category(acme.account, "Account")
    assert Client(acme.host).get("/account").status_code == 401
    assert Client(acme.host).get("/login").status_code == 303
    forum = acme.forum
    forum.access = forum.Access.PRIVATE
    forum.save()
    for path in ("/account", "/login"):
        assert Client(acme.host).get(path).status_code == 401


def test_it_rejects_api_requests(acme):
    """For the API the path is the name of a category, and no such category exists."""
    assert acme.xml().get("/login").status_code == 404
    assert acme.xml().get("/login", auth=("alice", "wrong")).status_code == 401


def test_a_plus_may_stand_for_a_space_in_the_name_of_a_category(acme):
    make_post(acme.alice, "Dark theme", category_id=make_category(acme.account, "Look and feel").id)
    make_post(acme.alice, "Sums", category_id=make_category(acme.account, "C++").id)
    for path in ("/Look+and+feel", "/look+AND%20feel", "/Look%20and%20feel"):
        assert "Dark theme" in acme.xml().get(path).text
        assert titles(acme.page().get(path)) == ["Dark theme"]
    assert "Sums" in acme.xml().get("/C++").text
    assert titles(acme.page().get("/C++")) == ["Sums"]
    assert acme.xml().get("/Look++feel").status_code == 404
