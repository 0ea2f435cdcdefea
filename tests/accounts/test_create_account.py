import pytest

from accounts.host_names import RESERVED_PREFIXES
from accounts.models import Account, APIToken
from accounts.tokens import APITokenQuerySet
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.client import JSONClient, XMLClient
from tests.support.factories import make_token, make_user
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


@table("body", [{}, {"account": None, "user": None}, {"accounts": {}}])
def test_it_rejects_a_body_without_account_and_user(partner, body):
    response = partner.json(partner.alice_token).post("/app/account.json", json=body)
    assert_refused(response, 422, "validation_failed", {"account": ["can't be blank"], "user": ["can't be blank"]})


def test_it_rejects_a_body_without_required_fields(partner):
    response = partner.json(partner.alice_token).post("/app/account.json", json={"account": {}, "user": {}})
    assert_refused(
        response,
        422,
        "validation_failed",
        {
            "account.prefix": ["can't be blank"],
            "user.login": ["can't be blank"],
            "user.email": ["can't be blank"],
            "user.password": ["can't be blank"],
        },
    )


@table(
    ("prefix", "rule"),
    [
        ("", "can't be blank"),
        (" ", "can't be blank"),
        (None, "can't be blank"),
        ("a", "must be"),
        ("a" * 64, "must be"),
        ("-ab", "must be"),
        ("ab-", "must be"),
        ("a_b", "must be"),
        ("a.b", "must be"),
        ("a b", "must be"),
        ("ąb", "must be"),
        ("٣٣", "must be"),
        ("ab\n.", "must be"),
        ("acme", "is already taken"),
        ("ACME", "is already taken"),
        (True, "must be a text"),
        ([], "must be a single value"),
        ("a\x00", "has a character"),
        *(
            (prefix, "is reserved")
            for prefix in ("www", "api", "app", "admin", "mail", "static", "WWW", "xn--acm-xyz", "XN--a")
        ),
    ],
)
def test_it_rejects_invalid_prefixes(partner, prefix, rule):
    response = create(partner, {"prefix": prefix})
    rules = {
        "must be": "must be 2-63 letters a-z, digits and hyphens, neither first nor last a hyphen",
        "has a character": "has a character that can't be used (a control character or half of a surrogate pair)",
    }
    assert_refused(response, 422, "validation_failed", {"account.prefix": [rules.get(rule, rule)]})


def test_common_host_names_are_reserved(partner):
    assert {"www", "api", "app", "admin", "mail", "static"} <= RESERVED_PREFIXES


@table("prefix", ["ab", "42", "a-b", "a" * 63, "a--b", " trimmed "])
def test_valid_prefixes(partner, prefix):
    assert read(create(partner, {"prefix": prefix}))["prefix"] == prefix.strip()


def test_prefixes_are_converted_to_lower_case(partner):
    assert read(create(partner, {"prefix": "New-One"}))["url"] == "http://new-one.example.test"


def test_it_rejects_an_account_that_is_not_a_partner(acme):
    response = create(acme, {"from_partner": ""})
    assert_refused(response, 403, "forbidden", message="Only a partner's account may create accounts")


def test_it_rejects_the_key_of_another_partner(partner, other):
    other.account.partner_key = "other-partner"
    other.account.save()
    response = create(partner, {"from_partner": "other-partner"})
    assert_refused(response, 422, "validation_failed", {"account.from_partner": ["is not your partner identifier"]})


@pytest.mark.parametrize("role", ["agent", "member"])
def test_it_rejects_users_who_are_not_admins(partner, role):
    token = make_token(make_user(partner.account, role=role))
    response = create(partner, token=token)
    assert_refused(response, 403, "forbidden", message="Only an admin or the owner may do this")


def test_an_admin_may_create_accounts(partner):
    token = make_token(make_user(partner.account, role="admin"))
    assert create(partner, token=token).status_code == 201


def test_it_rejects_other_methods(partner):
    response = partner.json(partner.alice_token).delete("/app/account.json")
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, POST, PUT, PATCH")


@table("fields", [{}, {"from_partner": None}, {"from_partner": ""}])
def test_the_partner_may_be_left_out(partner, fields):
    assert read(create(partner, fields))["from_partner"] == KEY


@pytest.mark.parametrize("fields", [{}, {"initial_module": None}], ids=str)
def test_the_module_may_be_left_out(partner, fields):
    assert read(create(partner, fields))["initial_module"] == "forum"


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


def test_a_login_may_be_used_in_two_accounts(partner):
    assert create(partner, user={"login": "alice", "email": "alice@acme.example"}).status_code == 201


def test_it_rejects_a_password_similar_to_the_login(partner):
    response = create(partner, user={"login": "kowalska", "password": "kowalska1"})
    assert_refused(
        response,
        422,
        "validation_failed",
        {"user.password": ["is too similar to the login, the e-mail or the name"]},
    )


def test_no_response_contains_the_password(partner):
    for user in ({}, {"login": ""}, {"password": "short-1"}):
        assert "a long pass phrase" not in create(partner, user=user).text
        assert "short-1" not in create(partner, user=user).text


def test_ignored_fields(partner):
    response = create(partner, {"id": 1, "currency": "PLN"}, {"notification": "none"}, colour="red")
    assert response.headers["X-Ignored-Fields"] == "colour,account.id,account.currency,user.notification"
    assert read(response)["currency"] == "EUR"


@table(("sent", "name"), [("Ann Kowalska", "Ann Kowalska"), ("", "ann"), (None, "ann")])
def test_the_name_of_the_owner_defaults_to_the_login(partner, sent, name):
    response = create(partner, {"name": "New Ltd"}, {"name": sent})
    assert response.status_code == 201
    assert (read(response)["name"], read(response)["user"]["name"]) == ("New Ltd", name)


def test_the_first_user_is_the_owner_and_any_role_is_ignored(partner):
    response = create(partner, user={"role": "agent"})
    assert response.headers["X-Ignored-Fields"] == "user.role"
    assert read(response)["user"]["role"] == "owner"
    body = {"account": {"prefix": "another"}, "user": {**USER, "role": "agent"}}
    headers = {"Prefer": "handling=strict"}
    response = partner.json(partner.alice_token).post("/app/account.json", json=body, headers=headers)
    assert_refused(response, 422, "validation_failed", {"user.role": ["is not a field that can be set"]})


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
