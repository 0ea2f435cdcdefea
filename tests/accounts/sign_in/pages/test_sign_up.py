"""Signing up: the address that leads to signing in, and the links of former e-mails: name, login and password."""

from django.core import mail

from accounts.users.models import User
from forum.forums.models import Forum
from tests.support.factories import make_user
from tests.support.pages import Visitor
from tests.support.settings import texts
from tests.support.sign_up import PASSWORD, path_for
from tests.support.tables import table


def finish(visitor: Visitor, path: str, **values: str):
    form = visitor.get(path).forms["join"]
    for name, value in {"name": "Dan", "password": PASSWORD, **values}.items():
        form[name] = value
    return form.submit(expect_errors=True)


def test_it_works(acme):
    """The address of the former page leads to that for signing in, where an e-mail is enough."""
    visitor = acme.page()
    response = visitor.get("/app/sign-up?next=/app/posts/new")
    assert (response.status_code, response.headers["Location"]) == (303, "/app/sign-in?next=%2Fapp%2Fposts%2Fnew")
    assert "the code makes you a member" in response.follow()
    visitor.post("/app/sign-up", {"email": "dan@example.com"}, status=403)
    assert mail.outbox == []


def test_links_of_former_emails_work(acme):
    visitor, path = acme.page(), path_for(acme, "Dan.Smith+forum@example.com", "/app/posts/new")
    assert visitor.get(path).forms["join"]["login"].value == "Dan.Smith"
    response = finish(visitor, path)
    assert (response.status_code, response.headers["Location"]) == (303, "/app/posts/new")
    assert "Welcome! You are signed in." in visitor.get("/")
    user = acme.account.users.get(login_key="dan.smith")
    assert (user.name, user.email, user.role) == ("Dan", "Dan.Smith+forum@example.com", User.Role.MEMBER)
    assert user.notification == User.Notification.OWN
    acme.page().sign_in("dan.smith", PASSWORD)


def test_it_rejects_sign_ups_in_a_closed_forum(acme, monkeypatch):
    path = path_for(acme)
    monkeypatch.setattr(Forum, "takes_sign_ups", False)
    visitor = acme.page()
    for page in ("/app/sign-up", path):
        assert "Members join by invitation" in visitor.get(page)
    visitor.post(path, status=403)


def test_it_redirects_only_to_paths_of_the_host(acme):
    """Users are redirected at once."""
    response = acme.page(acme.carol).get("/app/sign-up?next=/app/roadmap")
    assert (response.status_code, response.headers["Location"]) == (303, "/app/roadmap")
    assert acme.page().get("/app/sign-up?next=https://evil.example/").headers["Location"] == "/app/sign-in?next=%2F"


@table(
    ("values", "error"),
    [
        ({"name": ""}, "Can't be blank"),
        ({"login": ""}, "Can't be blank"),
        ({"login": "a:b"}, "Can't have a colon"),
        ({"login": "alice@acme.example"}, "Can't have an @, unless it is your own e-mail"),
        ({"login": "CAROL"}, "Is already taken"),
        ({"login": "x" * 256}, "at most 255 characters"),
        ({"password": "short"}, "Is too short (minimum is 8 characters)"),
        ({"password": "password123"}, "Is too common"),
        # Valid: the password may contain the login among other words.
        ({"login": "grasshopper"}, ""),
        ({"name": "lighthouse", "password": "lighthouse1"}, "Is too similar to the login, the e-mail or the name"),
    ],
)
def test_it_rejects_invalid_values(acme, values, error):
    response = finish(acme.page(), path_for(acme), **values)
    if not error:
        assert response.status_code == 303
        return
    assert response.status_code == 422
    assert error in response.html.get_text()
    form = response.forms["join"]
    assert form["name"].value == values.get("name", "Dan")
    assert form["password"].value == ""
    assert not acme.account.users.filter(email_key="dan@example.com").exists()


@table(
    ("password", "error"),
    [
        ("short", "Jest za krótkie (co najmniej 8 znaków)"),
        ("12345678", "Jest zbyt popularne Nie może składać się z samych cyfr"),
        ("dan@example", "Jest zbyt podobne do loginu, e-maila lub nazwy"),
    ],
)
def test_errors_of_passwords_are_in_the_language_of_the_reader(acme, password, error):
    visitor = Visitor(acme.host, HTTP_ACCEPT_LANGUAGE="pl")
    assert texts(finish(visitor, path_for(acme), password=password), ".field-error") == [error]


def test_it_rejects_invalid_links(acme, other, settings):
    visitor, path = acme.page(), path_for(acme)
    for invalid in ("/app/sign-up/finish", "/app/sign-up/finish?token=x", path[:-1], path + "é", path + "x" * 9000):
        assert "This link no longer works" in visitor.get(invalid, status=404)
    # A link of another account, and an expired link.
    assert "This link no longer works" in Visitor(other.host).get(path, status=404)
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "This link no longer works" in visitor.get(path, status=404)


def test_a_second_click_creates_no_second_user(acme):
    visitor, path = acme.page(), path_for(acme, target="/app/roadmap")
    form = visitor.get(path).forms["join"]
    form["name"], form["password"] = "Dan", PASSWORD
    other_browser = acme.page()
    other_form = other_browser.get(path).forms["join"]
    form.submit()
    # Click the link again in the same browser, and submit the form of another browser.
    assert visitor.get(path).headers["Location"] == "/app/roadmap"
    response = other_form.submit()
    assert response.headers["Location"] == "/app/sign-in?next=%2Fapp%2Froadmap"
    assert "You already have an account here. Please sign in." in response.follow()
    assert acme.account.users.filter(email_key="dan@example.com").count() == 1


def test_an_unused_login_is_suggested(acme):
    make_user(acme.account, "dan", email="dan@other.example")
    make_user(acme.account, "dan2")
    visitor = acme.page()
    assert visitor.get(path_for(acme)).forms["join"]["login"].value == "dan3"
    assert visitor.get(path_for(acme, "+@example.com")).forms["join"]["login"].value == "user"
