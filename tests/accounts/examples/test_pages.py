"""The user's own tokens, in the settings of the API."""

from datetime import datetime, timedelta

from bs4 import BeautifulSoup, SoupStrainer
from django.core import mail
from django.utils import timezone

from accounts.tokens.models import APIToken
from tests.support.factories import make_token
from tests.support.letters import letter, link_in
from tests.support.pages import Visitor
from tests.support.queries import capture_queries

PATH, NEW = "/app/account/api", "/app/account/api/tokens/new"


def fill_in(page, **values):
    """Return the form for a new token with these values."""
    form = page.forms["new"]
    for name, value in {"label": "Shop", **values}.items():
        form[name] = value
    return form


def test_it_works(acme):
    page = Visitor(acme.host, REMOTE_ADDR="192.0.2.7").start_session(acme.bob).get(NEW)
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


def test_it_asks_users_to_confirm_that_it_is_they(acme):
    """A token outlives the session."""
    bob = acme.page(acme.bob)
    acme.bob.sessions.update(confirmed_at=timezone.now() - timedelta(hours=1))
    assert bob.get(NEW).headers["Location"] == "/app/profile/confirm?next=%2Fapp%2Faccount%2Fapi%2Ftokens%2Fnew"
    assert "New token" in bob.get(PATH)


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
    page = acme.page(acme.bob).get(NEW)

    def create(expires: str, **values) -> datetime | None:
        """Create a token by the form of the last response, and return when it expires."""
        nonlocal page
        fill_in(page, expires=expires, **values).submit()
        page = page.goto(NEW)
        return acme.account.tokens.order_by("-id").first().expires_at

    assert create("never") is None
    for days in (30, 90, 365):
        assert abs(create(str(days)) - timezone.now() - timedelta(days=days)) < timedelta(minutes=1)
    day = timezone.localdate() + timedelta(days=9)
    end = create("date", until=day.isoformat()).astimezone(acme.account.zone)
    assert (end.date(), end.hour) == (day + timedelta(days=1), 0)


INVALID = [
    *({"label": label} for label in ("", "x" * 256, "\x00")),
    *({"expires": "date", "until": until} for until in ("", "2001-01-01", "9999-12-31", "tomorrow")),
    {"until": "tomorrow"},
    {"expires": "forever"},
    {"scope": "read"},
    {"scope": "some"},
    {"networks": "203.0.113.0/24 203.0.113.256"},
    {"networks": " ".join(["203.0.113.0"] * 21)},
]


def test_a_token_with_limits(acme):
    bob = acme.page(acme.bob)
    form = fill_in(bob.get(NEW), scope="write", networks="203.0.113.9/24\r\n2001:db8::1")
    form.set("areas", True, index=0)
    form.set("areas", True, index=1)
    form.submit()
    row = acme.bob.tokens.latest("id")
    assert row.scopes == ["read", "write", "posts", "clients"]
    assert row.networks == ["203.0.113.0/24", "2001:db8::1/128"]
    for page in (bob.get(PATH), acme.page(acme.alice).get(f"/app/account/users/{acme.bob.id}")):
        shown = " ".join(page.html.get_text().split())
        assert "Only read write posts clients only from 203.0.113.0/24 2001:db8::1/128" in shown


def test_it_rejects_invalid_values(acme):
    before = acme.account.tokens.count()
    form = acme.page(acme.bob).get(NEW).forms["new"]
    valid = {"label": "Shop", "expires": form["expires"].value, "until": "", "scope": "all", "networks": ""}
    for values in INVALID:
        for name, value in {**valid, **values}.items():
            form[name].force_value(value)
        response = form.submit(status=422)
        # To parse only the form is much faster.
        shown = BeautifulSoup(response.text, "html.parser", parse_only=SoupStrainer(id="new"))
        assert shown.find(class_="field-error"), values
        assert shown.find(attrs={"name": "label"}).get("value", "") == form["label"].value
    assert acme.account.tokens.count() == before
    assert not mail.outbox


def test_it_rejects_too_many_tokens(acme, monkeypatch):
    assert APIToken.MAX_PER_USER == 50
    monkeypatch.setattr(APIToken, "MAX_PER_USER", 2)
    make_token(acme.bob)
    response = fill_in(acme.page(acme.bob).get(NEW)).submit(status=422)
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
    assert len(queries) == 5, queries
    response = bob.get(NEW)
    response, queries = capture_queries(lambda: fill_in(response).submit())
    # With the key of the form, the e-mail about the token, and the entry in the audit log.
    assert len(queries) <= 14, queries
