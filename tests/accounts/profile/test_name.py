"""The question for the name of a user who has joined with a code."""

from tests.support.codes import sign_in_with_code
from tests.support.factories import make_forum, make_post
from tests.support.pages import Visitor
from tests.support.settings import send
from tests.support.tables import table

PATH = "/app/profile/name"


def join(acme, visitor=None):
    """Join with a first vote. Return the visitor and the page after it."""
    visitor = visitor or acme.page()
    post = make_post(acme.bob, "Dark mode")
    return visitor, sign_in_with_code(visitor, "dan@example.com", f"/app/posts/{post.id}/vote/first").follow()


def test_it_works(acme):
    visitor, page = join(acme)
    assert "What should we call you?" in page
    form = page.forms["ask-name"]
    form["name"] = "  Dan   Smith "
    response = form.submit(headers={"Referer": f"http://{acme.host}/app/roadmap"})
    assert (response.status_code, response.headers["Location"]) == (303, "/app/roadmap")
    page = response.follow()
    assert "Thank you, Dan Smith." in page.html.get_text()
    assert page.html.select_one(".who .name").text == "Dan Smith"
    assert "ask-name" not in page.forms
    user = acme.account.users.get(email="dan@example.com")
    assert (user.name, user.asks_name) == ("Dan Smith", False)
    # It is asked for once. The profile changes it later.
    send(visitor, PATH, name="Somebody else")
    user.refresh_from_db()
    assert user.name == "Dan Smith"


@table("values", [{"later": "1", "name": "Dan"}, {"name": ""}])
def test_not_now(acme, values):
    """The guest keeps the name with a number, and is not asked again."""
    visitor, _page = join(acme)
    user = acme.account.users.get(email="dan@example.com")
    send(visitor, PATH, **values)
    assert "ask-name" not in visitor.get("/").forms
    assert acme.account.users.get(email="dan@example.com").name == user.name
    assert user.name.startswith("Guest ")


def test_users_of_before_are_not_asked(acme):
    for user in (acme.alice, acme.bob, acme.carol):
        assert "ask-name" not in acme.page(user).get("/").forms


@table(
    ("name", "error"),
    [
        ("x" * 256, "at most 255 characters"),
        ("a\u0001b", "Has characters that can't be stored"),
        ("www.spam.example", "can't contain the address of a website"),
    ],
)
def test_it_rejects_invalid_names(acme, name, error):
    visitor, _page = join(acme)
    page = send(visitor, PATH, name=name).follow()
    assert error in page.html.get_text()
    assert "ask-name" in page.forms
    assert acme.account.users.get(email="dan@example.com").name.startswith("Guest ")


def test_a_custom_domain_asks_too(acme):
    make_forum(acme.account, "ideas")
    visitor = Visitor("ideas.example.org")
    page = sign_in_with_code(visitor, "dan@example.com").follow()
    form = page.forms["ask-name"]
    form["name"] = "Dan"
    assert form.submit().status_code == 303
    assert acme.account.users.get(email="dan@example.com").name == "Dan"
