"""The completion of mentions, and the users that a text mentions."""

import pytest

from forum.notifications.mentions import mentioned_ids
from tests.support.factories import make_comment, make_post, make_user
from tests.support.queries import capture_queries


@pytest.fixture
def post(acme):
    make_user(acme.account, "stranger")
    post = make_post(acme.carol)
    make_comment(post, make_user(acme.account, "borys", name="Zofia Bąk"))
    post.comment(by=make_user(acme.account, "boss", role="agent"), text="For us", internal=True)
    return post


def found(acme, user, post, q: str) -> list[str]:
    return [row["login"] for row in acme.page(user).get(f"/app/posts/{post.id}/mentions?q={q}").json]


def test_it_works(acme, post):
    response = acme.page(acme.carol).get(f"/app/posts/{post.id}/mentions?q=BO")
    assert sorted(response.json, key=str) == [
        {"login": "bob", "name": "Bob Nowak"},
        {"login": "borys", "name": "Zofia Bąk"},
        {"login": "boss", "name": "boss"},
    ]
    assert found(acme, acme.carol, post, "nowak") == ["bob"]
    assert found(acme, acme.bob, post, "car") == ["carol"]


def test_it_shows_nobody_else(acme, post):
    assert found(acme, acme.carol, post, "stranger") == []
    # The user does not mention themselves.
    assert found(acme, acme.carol, post, "carol") == []


def test_it_rejects_posts_that_the_user_may_not_see(acme, post):
    post.write({"private": True, "user_id": acme.bob.id}, by=acme.bob)
    private = make_post(acme.bob, private=True)
    for id in (private.id, 10**9):
        acme.page(acme.carol).get(f"/app/posts/{id}/mentions?q=b", status=404)


def test_it_takes_few_statements(acme, post):
    page = acme.page(acme.carol)
    _response, queries = capture_queries(lambda: page.get(f"/app/posts/{post.id}/mentions?q=b"))
    # With the host and its forum, which are cached.
    assert len(queries) == 8, queries


@pytest.mark.parametrize(
    ("text", "logins"),
    [
        ("@carol", ["carol"]),
        ("Ask @Carol, or @bob.", ["bob", "carol"]),
        ("(@carol)", ["carol"]),
        ("@Bob Nowak knows", ["bob"]),
        ("@Bob", ["bob"]),
        ("mail carol@carol.example", []),
        ("@Carol Member", ["carol"]),
        ("@Twin", []),
        ("@nobody", []),
        ("@", []),
        ("@left", []),
        ("@carol " * 50, ["carol"]),
    ],
)
def test_mentions_in_a_text(acme, text, logins):
    make_user(acme.account, "twin-1", role="agent", name="Twin")
    make_user(acme.account, "twin-2", role="agent", name="Twin")
    make_user(acme.account, "left", is_active=False)
    ids = dict(acme.account.users.values_list("id", "login"))
    assert sorted(ids[id] for id in mentioned_ids(acme.account, text)) == logins
