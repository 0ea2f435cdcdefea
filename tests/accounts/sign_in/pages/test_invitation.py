"""Accepting an invitation."""

from datetime import timedelta

from django.utils import timezone

from accounts.users.invitations import Invitation
from accounts.users.models import User
from tests.support.factories import make_user
from tests.support.pages import Visitor
from tests.support.settings import texts
from tests.support.tables import table

PASSWORD = "grasshopper lighthouse vinegar"


def invite(acme, email: str = "eve@example.com", role: str = "agent") -> str:
    _row, secret = Invitation.objects.invite(acme.account, email=email, role=role, by=acme.alice)
    return f"/app/invitation?secret={secret}"


def accept(visitor: Visitor, path: str, **values: str):
    form = visitor.get(path).forms["join"]
    for name, value in {"name": "Eve", "password": PASSWORD, **values}.items():
        form[name] = value
    return form.submit(expect_errors=True)


def test_it_works(acme):
    visitor, path = acme.page(), invite(acme)
    response = accept(visitor, path)
    assert (response.status_code, response.headers["Location"]) == (303, "/app/home")
    user = acme.account.users.get(login="eve")
    assert (user.email, user.name, user.role) == ("eve@example.com", "Eve", "agent")
    assert not acme.account.invitations.exists()
    [session] = acme.account.sessions.all()
    assert session.user_id == user.id


def test_it_rejects_invalid_links(acme, other):
    path = invite(acme)
    for invalid in ("/app/invitation", "/app/invitation?secret=x", path + "x", path + "x" * 100):
        assert "This link no longer works" in acme.page().get(invalid, status=404)
    assert "This link no longer works" in Visitor(other.host).get(path, status=404)
    # Another invitation of the same person replaces the first one.
    first, path = path, invite(acme)
    acme.page().get(first, status=404)
    acme.page().get(path, status=200)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "This link no longer works" in acme.page().get(path, status=404)


def test_it_rejects_a_second_click(acme):
    path = invite(acme)
    form = acme.page().get(path).forms["join"]
    assert accept(acme.page(), path).status_code == 303
    form["name"], form["password"] = "Eve", PASSWORD
    assert "If you have used it already, sign in." in form.submit(status=404)
    assert acme.account.users.filter(email_key="eve@example.com").count() == 1


def test_an_invitation_can_be_accepted_once(acme):
    """Two requests read the invitation before either accepts it. The first one deletes it, so the second one fails."""
    invite(acme)
    [invitation] = acme.account.invitations.all()
    values = {"password": PASSWORD, "name": "Eve"}
    assert User.objects.accept(invitation, login="eve", **values) is not None
    assert User.objects.accept(invitation, login="eve2", **values) is None
    assert acme.account.users.filter(name="Eve").count() == 1


def test_it_rejects_an_email_that_was_taken_meanwhile(acme):
    visitor, path = acme.page(), invite(acme)
    form = visitor.get(path).forms["join"]
    form["name"], form["password"] = "Eve", PASSWORD
    make_user(acme.account, "eve", email="Eve@example.com")
    response = form.submit()
    assert response.headers["Location"] == "/app/sign-in?next=%2F"
    assert "You already have an account here." in response.follow()


def test_the_page_shows_the_signed_in_user(acme):
    carol, path = acme.page(acme.carol), invite(acme)
    assert "You are signed in as carol." in carol.get(path)
    # A taken login is rejected.
    response = accept(carol, path, login="Bob")
    assert response.status_code == 422
    assert "Is already taken" in response
    assert acme.account.invitations.count() == 1
    accept(carol, path)
    assert "Eve" in carol.get("/")


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
    response = accept(acme.page(), invite(acme, "dan@example.com"), **values)
    if not error:
        assert response.status_code == 303
        return
    assert response.status_code == 422
    assert error in response.html.get_text()
    form = response.forms["join"]
    assert form["name"].value == values.get("name", "Eve")
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
    assert texts(accept(visitor, invite(acme, "dan@example.com"), password=password), ".field-error") == [error]


def test_an_unused_login_is_suggested(acme):
    make_user(acme.account, "dan", email="dan@other.example")
    make_user(acme.account, "dan2")
    visitor = acme.page()
    assert visitor.get(invite(acme, "dan@example.com")).forms["join"]["login"].value == "dan3"
    assert visitor.get(invite(acme, "+@example.com")).forms["join"]["login"].value == "user"
