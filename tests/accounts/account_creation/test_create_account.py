import pytest

from accounts.account.models import Account
from accounts.tokens.models import APIToken, APITokenQuerySet
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.client import JSONClient, XMLClient
from tests.support.tables import table

USER = {"login": "ann", "email": "ann@new.example", "password": "a long pass phrase"}
KEY = "acme-partner"


@pytest.fixture
def partner(acme):
    acme.account.partner_key = KEY
    acme.account.save()
    return acme


def create(partner, account=None, user=None, *, token=None, **others):
    body = {"account": {"prefix": "new-one", **(account or {})}, "user": {**USER, **(user or {})}, **others}
    return partner.json(token or partner.alice_token).post("/app/account.json", json=body)


def test_it_works(partner):
    response = create(partner, {"initial_module": "crm", "from_partner": KEY})
    account = Account.objects.get(prefix="new-one")
    owner = account.users.get()
    token = read(response)["api_token"]
    times = {"created_at": on_the_wire(account.created_at), "updated_at": on_the_wire(account.updated_at)}
    assert_answered(
        response,
        201,
        {
            "id": account.id,
            "prefix": "new-one",
            "initial_module": "crm",
            "from_partner": KEY,
            "name": "",
            "time_zone": "UTC",
            "language": "en",
            "currency": "EUR",
            "agents_see": "all",
            "link_guests_by_email": True,
            "trash_days": 30,
            "inactive_member_months": None,
            "exchange_rates": {},
            "exchange_rates_on": None,
            "takes_euro_rates": False,
            "start_page": "home",
            "country": "",
            "won_reasons": account.won_reasons,
            "lost_reasons": account.lost_reasons,
            "url": "http://new-one.example.test",
            "user": {
                "id": owner.id,
                "login": "ann",
                "email": "ann@new.example",
                "name": "ann",
                "role": "owner",
                "notification": "all",
                "description": "",
                "www": None,
                "group_id": None,
                "created_at": on_the_wire(owner.created_at),
                "updated_at": on_the_wire(owner.updated_at),
            },
            "api_token": token,
            **times,
        },
        location="http://new-one.example.test/app/account.json",
    )
    assert token.endswith("/new-one")
    assert APIToken.objects.get(account_id=account.id).digest == APIToken.digest_of(token)


def test_it_rejects_every_error_at_once(partner):
    response = partner.json(partner.alice_token).post(
        "/app/account.json",
        json={
            "account": {"prefix": "-", "initial_module": "Ä", "from_partner": "else", "name": []},
            "user": {"login": "a:b", "email": "x", "password": "1234567", "role": "member"},
        },
    )
    assert_refused(
        response,
        422,
        "validation_failed",
        {
            "account.prefix": ["must be 2-63 letters a-z, digits and hyphens, neither first nor last a hyphen"],
            "account.initial_module": ["is not valid"],
            "account.from_partner": ["is not your partner identifier"],
            "account.name": ["must be a single value"],
            "user.login": ["can't have a colon, nor a space at either end"],
            "user.email": ["is not an e-mail address"],
            "user.password": [
                "is too short (minimum is 8 characters)",
                "is too common",
                "can't be entirely numeric",
            ],
        },
    )
    assert Account.objects.count() == 1


@table(
    ("body", "fields"),
    [
        ({}, ["account", "user"]),
        ({"account": None, "user": None}, ["account", "user"]),
        ({"account": {}, "user": {}}, ["account.prefix", "user.login", "user.email", "user.password"]),
    ],
)
def test_it_rejects_missing_fields(partner, body, fields):
    response = partner.json(partner.alice_token).post("/app/account.json", json=body)
    assert_refused(response, 422, "validation_failed", {field: ["can't be blank"] for field in fields})


INVALID_PREFIXES = {
    "can't be blank": ["", " ", None],
    "must be 2-63 letters a-z, digits and hyphens, neither first nor last a hyphen": [
        *("a", "a" * 64, "-ab", "ab-", "a_b", "a.b", "a b", "ąb", "٣٣", "ab\n."),
    ],
    "is already taken": ["acme", "ACME"],
    "must be a text": [True],
    "must be a single value": [[]],
    "has a character that can't be used (a control character or half of a surrogate pair)": ["a\x00"],
    "is reserved": ["www", "api", "app", "admin", "mail", "static", "WWW", "xn--acm-xyz", "XN--a"],
}


@table(("rule", "prefixes"), INVALID_PREFIXES.items())
def test_it_rejects_invalid_prefixes(partner, rule, prefixes):
    for prefix in prefixes:
        response = create(partner, {"prefix": prefix})
        assert_refused(response, 422, "validation_failed", {"account.prefix": [rule]})


@table("prefix", ["ab", "42", "a-b", "a" * 63, "a--b", " Trimmed "])
def test_valid_prefixes(partner, prefix):
    body = read(create(partner, {"prefix": prefix}))
    name = prefix.strip().lower()
    assert (body["prefix"], body["url"]) == (name, f"http://{name}.example.test")


def test_it_rejects_an_account_that_is_not_a_partner(acme):
    response = create(acme, {"from_partner": ""})
    assert_refused(response, 403, "forbidden", message="Only a partner's account may create accounts")


def test_it_rejects_the_key_of_another_partner(partner, other):
    other.account.partner_key = "other-partner"
    other.account.save()
    response = create(partner, {"from_partner": "other-partner"})
    assert_refused(response, 422, "validation_failed", {"account.from_partner": ["is not your partner identifier"]})


@table("fields", [{}, {"from_partner": None, "initial_module": None}, {"from_partner": ""}])
def test_the_partner_and_the_module_may_be_left_out(partner, fields):
    body = read(create(partner, fields))
    assert (body["from_partner"], body["initial_module"]) == (KEY, "forum")


def test_a_new_account_can_be_used(partner):
    """The account has a forum, a category and statuses; its owner can sign in, and their token is valid."""
    token = read(create(partner))["api_token"]
    forum = XMLClient("new-one.example.test", auth=("ann", "a long pass phrase"))
    assert "<login>ann</login>" in forum.get("/app/users/me.xml").text
    assert "<name>General</name>" in forum.get("/app/categories.xml").text
    response = forum.send_xml("POST", "/app/posts.xml", "<post><title>First</title></post>")
    assert response.status_code == 201
    assert "<status>new</status>" in response.text
    client = JSONClient("new-one.example.test", token)
    assert client.get("/app/tasks.json").status_code == 200
    account = Account.objects.get(prefix="new-one")
    codes = {
        kind: list(account.statuses.filter(kind=kind).order_by("position").values_list("code", flat=True))
        for kind in ("post", "deal", "client")
    }
    assert codes == {
        "post": ["new", "accepted", "planned", "started", "completed", "rejected", "duplicate"],
        "deal": ["new", "qualified", "proposal", "won", "lost"],
        "client": [],
    }


def test_it_rejects_a_password_similar_to_the_login(partner):
    response = create(partner, user={"login": "kowalska", "password": "kowalska1"})
    errors = {"user.password": ["is too similar to the login, the e-mail or the name"]}
    assert_refused(response, 422, "validation_failed", errors)


def test_no_response_contains_the_password(partner):
    for user in ({}, {"login": ""}, {"password": "short-1"}):
        assert "a long pass phrase" not in create(partner, user=user).text
        assert "short-1" not in create(partner, user=user).text


def test_ignored_fields(partner):
    """The first user is the owner, whatever the request says."""
    body = {"account": {"prefix": "another"}, "user": {**USER, "role": "agent"}}
    headers = {"Prefer": "handling=strict"}
    response = partner.json(partner.alice_token).post("/app/account.json", json=body, headers=headers)
    assert_refused(response, 422, "validation_failed", {"user.role": ["is not a field that can be set"]})
    response = create(partner, {"id": 1, "currency": "PLN"}, {"role": "agent"}, colour="red")
    assert response.headers["X-Ignored-Fields"] == "colour,account.id,account.currency,user.role"
    assert (read(response)["currency"], read(response)["user"]["role"]) == ("EUR", "owner")


@table(("sent", "name"), [("Ann Kowalska", "Ann Kowalska"), ("", "ann"), (None, "ann")])
def test_the_name_of_the_owner_defaults_to_the_login(partner, sent, name):
    response = create(partner, {"name": "New Ltd"}, {"name": sent})
    assert response.status_code == 201
    assert (read(response)["name"], read(response)["user"]["name"]) == ("New Ltd", name)


def test_the_address_of_the_account_has_the_port_of_the_request(partner):
    response = JSONClient("acme.example.test:8000", partner.alice_token).post(
        "/app/account.json", json={"account": {"prefix": "new-one"}, "user": USER}
    )
    assert read(response)["url"] == "http://new-one.example.test:8000"
    assert response.headers["Location"] == "http://new-one.example.test:8000/app/account.json"


def test_a_failed_creation_is_rolled_back(partner, monkeypatch):
    """If the last step fails, no row of the account is left."""
    token_of_alice = APIToken.objects.select_related("user", "account").get(user_id=partner.alice.id)

    def fail(*args, **kwargs):
        raise RuntimeError

    monkeypatch.setattr(APIToken, "digest_of", fail)
    monkeypatch.setattr(APITokenQuerySet, "find_by_token", lambda self, token: token_of_alice)
    assert create(partner).status_code == 500
    assert Account.objects.count() == 1
