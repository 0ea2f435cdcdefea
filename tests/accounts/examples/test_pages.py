"""The user's own tokens, in the settings of the API."""

from datetime import datetime, timedelta

from bs4 import BeautifulSoup, SoupStrainer
from django.core import mail
from django.utils import timezone

from accounts.sign_in.models import SignInCode
from accounts.tokens.models import APIToken
from tests.support.codes import code_in_letter, request_code, wrong
from tests.support.factories import PASSWORD, make_token
from tests.support.letters import letter, link_in
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.tables import table

PATH = "/app/account/api"


def fill_in(page, **values):
    """Return the form for a new token with these values."""
    form = page.forms["new"]
    for name, value in {"label": "Shop", "current": PASSWORD, **values}.items():
        form[name] = value
    return form


def test_it_works(acme):
    page = Visitor(acme.host, REMOTE_ADDR="192.0.2.7").start_session(acme.bob).get(PATH)
    form = fill_in(page)
    response = form.submit()
    assert response.status_code == 200
    token = response.html.find(id="new-token")["value"]
    assert acme.json(token).get("/app/account.json").status_code == 200
    row = APIToken.objects.find_by_token(token)
    assert (row.user_id, row.label) == (acme.bob.id, "Shop")
    # By default, it expires.
    assert abs(row.expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)
    sent = letter("bob@acme.example", about="New API token at Acme")
    assert "“Shop” was created for bob" in sent.body
    assert "192.0.2.7" in sent.body
    assert link_in(sent, acme.host) == PATH
    assert token.partition("/")[0] not in sent.body
    assert response.headers["Cache-Control"] == "private, no-store"
    assert f"Authorization: Bearer {token}" in response.html.find(id="read_account-code").text
    # Pages in another browser do not contain it, and neither does the response to the same form.
    assert token not in acme.page(acme.bob).get(PATH)
    response = form.submit(status=303).follow()
    assert "This token exists already, and was shown once." in response
    assert response.html.find(id="new-token") is None


@table("has_password", [True, False])
def test_a_fresh_code_confirms_a_user(acme, has_password):
    if not has_password:
        acme.account.users.filter(id=acme.bob.id).update(password="!")
    form = acme.page(acme.bob).get(PATH).forms["new"]
    assert ("current" in form.fields) == has_password
    form["label"], form["expires"] = "Shop", "30"
    page = form.submit("do", value="code")
    letter("bob@acme.example", about="is your code for Acme")
    form = page.forms["new"]
    # What was entered stays.
    assert (form["label"].value, form["expires"].value) == ("Shop", "30")
    code = code_in_letter()
    form["code"] = wrong(code)
    page = form.submit(status=422)
    assert "Is not the code from the newest e-mail" in page
    page.forms["new"]["code"] = code
    response = page.forms["new"].submit()
    assert response.html.find(id="new-token")
    # The code works once.
    again = response.forms["new"]
    assert "code" not in again.fields
    assert not SignInCode.objects.exists()


def test_it_rejects_the_code_of_another_user(acme):
    """A code that was sent for a sign-in with another address confirms nobody."""
    visitor = acme.page()
    request_code(visitor, "carol@acme.example")
    code = code_in_letter()
    visitor.start_session(acme.bob)
    form = visitor.get(PATH).forms["new"]
    form["label"], form["code"] = "Shop", code
    assert "Is not the code" in form.submit(status=422)


def test_only_the_tokens_of_the_user_are_listed(acme):
    make_token(acme.bob, label="Bob's")
    make_token(acme.alice, label="Alice's")
    make_token(acme.bob, label="Old", expires_at=timezone.now() - timedelta(days=1))
    listed = acme.page(acme.bob).get(PATH).html.find(id="tokens").text
    assert "Bob's" in listed
    assert "Expired" in listed
    assert "Alice's" not in listed


def test_the_expiry_of_a_token(acme):
    acme.account.time_zone = "Europe/Warsaw"
    acme.account.save()
    page = acme.page(acme.bob).get(PATH)

    def create(expires: str, **values) -> datetime | None:
        """Create a token by the form of the last response, and return when it expires."""
        nonlocal page
        page = fill_in(page, expires=expires, **values).submit()
        return acme.account.tokens.order_by("-id").first().expires_at

    assert create("never") is None
    for days in (30, 90, 365):
        assert abs(create(str(days)) - timezone.now() - timedelta(days=days)) < timedelta(minutes=1)
    day = timezone.localdate() + timedelta(days=9)
    end = create("date", until=day.isoformat()).astimezone(acme.account.zone)
    assert (end.date(), end.hour) == (day + timedelta(days=1), 0)


INVALID = [
    *({"current": current} for current in ("", "wrong", PASSWORD.upper())),
    *({"label": label} for label in ("", "x" * 256, "\x00")),
    *({"expires": "date", "until": until} for until in ("", "2001-01-01", "9999-12-31", "tomorrow")),
    {"until": "tomorrow"},
    {"expires": "forever"},
]


def test_it_rejects_invalid_values(acme):
    before = acme.account.tokens.count()
    form = acme.page(acme.bob).get(PATH).forms["new"]
    valid = {"label": "Shop", "current": PASSWORD, "expires": form["expires"].value, "until": ""}
    for values in INVALID:
        for name, value in {**valid, **values}.items():
            form[name].force_value(value)
        response = form.submit(status=422)
        # To parse only the form is much faster.
        shown = BeautifulSoup(response.text, "html.parser", parse_only=SoupStrainer(id="new"))
        is_unconfirmed = values == {"current": ""}
        assert ("Confirm that it is you" in shown.text) == is_unconfirmed
        assert is_unconfirmed or shown.find(class_="field-error"), values
        assert shown.find(attrs={"name": "label"}).get("value", "") == form["label"].value
    assert acme.account.tokens.count() == before
    assert not mail.outbox


def test_it_rejects_too_many_tokens(acme, monkeypatch):
    assert APIToken.MAX_PER_USER == 50
    monkeypatch.setattr(APIToken, "MAX_PER_USER", 2)
    make_token(acme.bob)
    response = fill_in(acme.page(acme.bob).get(PATH)).submit(status=422)
    assert "can't be more than 50" in response.html.get_text()
    acme.bob.revoke_token(acme.bob.tokens.first().id, by=acme.bob)
    assert fill_in(response).submit().status_code == 200


def revoke(page, id):
    return page.forms[f"revoke-{id}"].submit()


def test_a_token_can_be_revoked(acme):
    token = make_token(acme.bob, label="Shop")
    row = APIToken.objects.find_by_token(token)
    bob = acme.page(acme.bob)
    page = bob.get(PATH)
    response = revoke(page, row.id)
    assert response.status_code == 303
    assert "“Shop” is revoked." in response.follow()
    assert acme.json(token).get("/app/account.json").status_code == 401
    # The same action from another tab.
    assert revoke(page, row.id).status_code == 303


def test_it_takes_few_statements(acme):
    bob = acme.page(acme.bob)
    bob.get(PATH)
    for _ in range(5):
        make_token(acme.bob)
    response, queries = capture_queries(lambda: bob.get(PATH))
    # Statements: the session, the forum, the valid tokens, the expired tokens, the numbers of the inbox and of tasks.
    assert len(queries) == 6, queries
    response, queries = capture_queries(lambda: fill_in(response).submit())
    # With the key of the form, the e-mail about the token, and the entry in the audit log.
    assert len(queries) <= 14, queries
