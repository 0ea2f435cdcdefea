"""The profile of a user: name, region, e-mail, password and sessions."""

from django.core import mail
from django.utils import translation

from accounts.sessions.models import Session
from accounts.users.models import User
from team.tasks.models import CalendarFeed
from tests.support.factories import PASSWORD, make_user
from tests.support.letters import letter, link_in
from tests.support.pages import Visitor
from tests.support.settings import send
from tests.support.tables import table

NEW_PASSWORD = "grasshopper lighthouse vinegar"
PROFILE, SECURITY = "/app/profile", "/app/profile/security"


def submit(visitor: Visitor, path: str, part: str, **values: str):
    form = visitor.get(path).forms[part]
    for name, value in values.items():
        form[name] = value
    return form.submit(expect_errors=True)


def fresh(user: User) -> User:
    return User.objects.get(pk=user.pk)


def test_it_works(acme):
    carol = acme.page(acme.carol)
    values = {"name": "Żaneta", "login": "Zaneta", "www": "example.com/z", "description": "One\r\ntwo"}
    response = submit(carol, PROFILE, "about", **values)
    assert (response.status_code, response.headers["Location"]) == (303, PROFILE)
    page = response.follow()
    assert "Saved." in page
    form = page.forms["about"]
    assert (form["name"].value, form["login"].value, form["www"].value) == ("Żaneta", "Zaneta", "https://example.com/z")
    user = fresh(acme.carol)
    assert (user.login, user.login_key, user.description) == ("Zaneta", "zaneta", "One\ntwo")
    response = acme.xml(user).get("/app/users/me.xml")
    assert "<www>https://example.com/z</www>" in response.text
    # Empty fields. Users may keep their own login in another case, and use their own e-mail.
    for login in ("ZANETA", "carol@acme.example"):
        assert submit(carol, PROFILE, "about", www="", description="", login=login).status_code == 303
    user = fresh(acme.carol)
    assert (user.www, user.description, user.login) == (None, "", "carol@acme.example")


@table(
    ("values", "error"),
    [
        ({"name": ""}, "Can't be blank"),
        ({"name": "x" * 256}, "at most 255"),
        ({"login": "bob"}, "Is already taken"),
        ({"login": "a:b"}, "Can't have a colon"),
        ({"login": "bob@acme.example"}, "Can't have an @"),
        ({"www": "javascript:alert(1)"}, "Enter a valid URL."),
        ({"www": "ftp://example.com"}, "Enter a valid URL."),
        ({"description": "x" * 65537}, "at most 65536"),
        ({"name": "a\u0001b"}, "Has characters that can't be stored"),
    ],
)
def test_it_rejects_invalid_values(acme, values, error):
    fields = {"part": "about", "name": "Carol Member", "login": "carol", **values}
    response = send(acme.page(acme.carol), PROFILE, status=422, **fields)
    assert error in response.html.find(id="about").get_text()
    # Only the sent form shows the error and keeps the input.
    assert "not right yet" not in response.html.find(id="region").get_text()
    [(name, value)] = values.items()
    assert response.forms["about"][name].value.lstrip("\n") == value
    user = fresh(acme.carol)
    assert (user.name, user.login, user.www) == ("Carol Member", "carol", None)


def test_the_notification_the_language_and_the_time_zone_can_be_changed(acme):
    carol = acme.page(acme.carol)
    assert submit(carol, PROFILE, "notification", notification="all").status_code == 303
    assert fresh(acme.carol).notification == "all"
    response = submit(carol, PROFILE, "region", language="pl", time_zone="Europe/Warsaw")
    user = fresh(acme.carol)
    assert (user.language, user.time_zone) == ("pl", "Europe/Warsaw")
    assert response.follow().html.html["lang"] == "pl"
    submit(carol, PROFILE, "region", language="auto", time_zone="")
    user = fresh(acme.carol)
    assert (user.language, user.time_zone) == (None, None)
    assert carol.get(PROFILE).html.html["lang"] == "en"


def test_it_rejects_unknown_choices(acme):
    carol = acme.page(acme.carol)
    region = {"language": "pl", "time_zone": "UTC"}
    for part, values in (
        ("notification", {"notification": "x"}),
        ("region", region | {"language": "x"}),
        ("region", region | {"time_zone": "x"}),
    ):
        send(carol, PROFILE, status=422, part=part, **values)
    send(carol, PROFILE, status=200, part="x", **region)


def test_the_email_can_be_changed(acme):
    carol = acme.page(acme.carol)
    response = submit(carol, SECURITY, "email", email="carol@new.example", current=PASSWORD)
    assert (response.status_code, response.headers["Location"]) == (303, SECURITY)
    assert "An e-mail to carol@new.example is on its way." in response.follow()
    path = link_in(letter("carol@new.example", about="Confirm your e-mail"), acme.host)
    assert fresh(acme.carol).email == "carol@acme.example"
    mail.outbox.clear()
    # The link also works in another browser.
    page = acme.page().get(path)
    assert "From now on carol@new.example is the e-mail of carol." in page
    assert fresh(acme.carol).email == "carol@acme.example"
    assert page.forms["confirm"].submit().headers["Location"] == SECURITY
    user = fresh(acme.carol)
    assert (user.email, user.email_key) == ("carol@new.example", "carol@new.example")
    letter("carol@acme.example", about="was changed")
    # The link works once.
    carol.get(path, status=404)
    acme.page().sign_in("carol@new.example")


@table("typed", ["Bob@acme.example", "kim\N{LATIN SMALL LETTER LONG S}@acme.example"])
def test_a_taken_email_is_reported_only_by_email(acme, typed):
    """The e-mail goes to the stored address, because the typed one may be another mailbox."""
    make_user(acme.account, "kims")
    carol = acme.page(acme.carol)
    response = submit(carol, SECURITY, "email", email=typed, current=PASSWORD)
    assert response.status_code == 303
    assert f"An e-mail to {typed} is on its way." in response.follow()
    stored = "bob@acme.example" if typed.startswith("Bob") else "kims@acme.example"
    sent = letter(stored, about="already in use")
    assert link_in(sent, acme.host) == "/app/sign-in"


def test_a_change_to_another_spelling_is_reported_to_the_old_address(acme):
    kim = make_user(acme.account, "kims")
    page = acme.page(kim)
    typed = "kim\N{LATIN SMALL LETTER LONG S}@acme.example"
    submit(page, SECURITY, "email", email=typed, current=PASSWORD)
    confirm = page.get(link_in(letter(typed), acme.host)).forms["confirm"]
    mail.outbox.clear()
    confirm.submit()
    assert fresh(kim).email == typed
    letter("kims@acme.example", about="was changed")


def test_it_rejects_an_email_that_was_taken_meanwhile(acme):
    carol = acme.page(acme.carol)
    submit(carol, SECURITY, "email", email="carol@new.example", current=PASSWORD)
    page = carol.get(link_in(letter("carol@new.example"), acme.host))
    acme.bob.change_email("carol@new.example")
    response = page.forms["confirm"].submit().follow()
    assert "already taken" in response
    assert fresh(acme.carol).email == "carol@acme.example"


def test_it_rejects_invalid_confirmation_links(acme, other):
    carol = acme.page(acme.carol)
    submit(carol, SECURITY, "email", email="carol@new.example", current=PASSWORD)
    path = link_in(letter("carol@new.example"), acme.host)
    for invalid in ("/app/profile/email", path[:-1], path.replace("/app/profile/email", "/app/password/new")):
        carol.get(invalid, status=404)
    Visitor(other.host).get(path, status=404)
    fresh(acme.carol).change_password(NEW_PASSWORD)
    acme.page().get(path, status=404)


@table("part", ["email", "password"])
def test_it_rejects_a_wrong_password(acme, settings, part):
    settings.FAILED_LOGIN_LIMIT = 60
    carol = acme.page(acme.carol)
    values = {"email": {"email": "carol@new.example"}, "password": {"password": NEW_PASSWORD}}[part]
    response = submit(carol, SECURITY, part, current="wrong", **values)
    assert response.status_code == 422
    assert "Is wrong" in response.html.find(id=part).get_text()
    settings.FAILED_LOGIN_LIMIT = 1
    response = submit(carol, SECURITY, part, current="wrong", **values)
    assert "Too many attempts." in response.html.find(id=part).get_text()
    assert mail.outbox == []
    assert fresh(acme.carol).password == acme.carol.password


def test_the_password_can_be_changed(acme):
    carol, other_browser = acme.page(acme.carol), acme.page(acme.carol)
    response = submit(carol, SECURITY, "password", current=PASSWORD, password=NEW_PASSWORD)
    assert response.status_code == 303
    assert "Your password is changed." in response.follow()
    assert other_browser.get(PROFILE).status_code == 303
    letter("carol@acme.example", about="was changed")
    acme.page().sign_in("carol", NEW_PASSWORD)
    # The e-mail is in the language of the user.
    acme.account.users.filter(id=acme.carol.id).update(language="pl")
    mail.outbox.clear()
    submit(carol, SECURITY, "password", current=NEW_PASSWORD, password=PASSWORD)
    [page] = mail.outbox[0].alternatives
    assert '<html lang="pl">' in page.content
    assert translation.get_language() == "en"


def test_it_rejects_an_invalid_password(acme):
    """The errors are in the language of the user."""
    carol = Visitor(acme.host, HTTP_ACCEPT_LANGUAGE="pl").sign_in("carol")
    response = submit(carol, SECURITY, "password", current=PASSWORD, password="carol-member")
    assert response.status_code == 422
    assert "Jest zbyt podobne do loginu, e-maila lub nazwy" in response.html.find(id="password").get_text()
    acme.page().sign_in("carol")


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def test_another_session_can_be_ended(acme):
    carol = acme.page(acme.carol)
    firefox = Visitor(acme.host, HTTP_USER_AGENT=FIREFOX, REMOTE_ADDR="192.0.2.7").sign_in("carol")
    bob = acme.page(acme.bob)
    session = acme.account.sessions.get(agent=FIREFOX)
    page = carol.get(SECURITY)
    items = [" ".join(item.get_text(" ").split()) for item in page.html.find("ul", class_="list").find_all("li")]
    assert len(items) == 2
    assert items[0].startswith("Firefox on Linux last seen just now from 192.0.2.7 signed in just now")
    assert items[1].startswith("An unknown browser This browser last seen just now")
    assert "You are signed out there." in page.forms[f"end-{session.id}"].submit("end").follow()
    assert firefox.get(PROFILE).status_code == 303
    # Send the same form again.
    assert page.forms[f"end-{session.id}"].submit("end").status_code == 303
    another = acme.page(acme.carol)
    page = carol.get(SECURITY)
    assert "You are signed out everywhere else." in page.forms["end-others"].submit("end").follow()
    assert another.get(PROFILE).status_code == 303
    assert "Carol Member" in carol.get("/")
    assert "Bob Nowak" in bob.get("/")


def test_the_current_session_can_be_ended(acme):
    carol = acme.page(acme.carol)
    [session] = acme.account.sessions.all()
    response = carol.get(SECURITY).forms[f"end-{session.id}"].submit("end")
    assert response.headers["Location"] == "/"
    assert "You are signed out." in carol.get("/")
    assert not acme.account.sessions.exists()


@table(
    ("agent", "expected"),
    [
        (FIREFOX, ("Firefox", "Linux")),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36", ("Chrome", "Windows")),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0", ("Edge", "Windows")),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15", ("Safari", "macOS")),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/141.0 Mobile/15E148 Safari/604.1", ("Chrome", "iPhone")),
        ("Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36", ("Chrome", "Android")),
        ("curl/8.9.1", ("", "")),
        ("", ("", "")),
    ],
)  # fmt: skip
def test_names_of_browsers_and_systems(agent, expected):
    session = Session(agent=agent)
    assert (session.browser, session.system) == expected


@table("way", ["profile", "link"])
@table("ends_access", [False, True])
def test_a_change_of_password_can_end_tokens_and_the_calendar(acme, way, ends_access):
    bob_token, calendar = acme.bob_token, CalendarFeed.objects.issue(acme.bob)
    CalendarFeed.objects.issue(acme.alice)
    if way == "profile":
        form = acme.page(acme.bob).get(SECURITY).forms["password"]
        form["current"] = PASSWORD
    else:
        page = acme.page()
        send(page, "/app/password", login="bob")
        form = page.get(link_in(letter(acme.bob.email), acme.host)).forms["password"]
    form["password"] = "grasshopper lighthouse"
    assert not form["ends_access"].checked
    form["ends_access"] = ends_access
    assert form.submit().status_code == 303
    works = not ends_access
    assert acme.json(bob_token).get("/app/account.json").status_code == (200 if works else 401)
    assert (CalendarFeed.objects.find(acme.account, calendar) is not None) == works
    # Those of others stay.
    assert acme.json(acme.alice_token).get("/app/account.json").status_code == 200
    assert CalendarFeed.objects.filter(user_id=acme.alice.id).exists()
