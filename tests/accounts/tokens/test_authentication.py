"""Tokens of the Account API, in every place of a request, and invalid tokens."""

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from django.utils import timezone

from accounts.account.models import Account
from accounts.tokens.models import APIToken
from accounts.users.models import User
from tests.support.assertions import assert_refused, read
from tests.support.client import JSONClient
from tests.support.factories import make_client, make_token
from tests.support.tables import table

METHODS = [
    ("GET", "/app/tasks.json", None),
    ("POST", "/app/clients.json", {"client": {"name": "a"}}),
    ("PUT", "/app/clients/{id}.json", {"client": {"name": "a"}}),
    ("PATCH", "/app/clients/{id}.json", {"client": {"name": "a"}}),
    ("GET", "/app/clients/{id}.json", None),
    ("DELETE", "/app/clients/{id}.json", None),
]


def call(acme, method, path, body=None, *, query="", **headers):
    client = make_client(acme.alice)
    return JSONClient(acme.host).request(method, path.format(id=client.id) + query, json=body, headers=headers)


@table(("method", "path", "body"), METHODS)
def test_it_works(acme, method, path, body):
    """The body of any method may contain the token."""
    response = call(acme, method, path, {"api_token": acme.bob_token, **(body or {})})
    assert response.status_code in (200, 201)
    assert "X-Ignored-Fields" not in response.headers
    # So may the query.
    assert "/" in acme.bob_token
    for token in (acme.bob_token.replace("/", "%2F"), acme.bob_token.replace("/", "%2f"), acme.bob_token):
        assert call(acme, method, path, body, query=f"?api_token={token}").status_code in (200, 201)


@table("scheme", ["Bearer", "Token", "bearer", "TOKEN"])
def test_the_token_in_a_header(acme, scheme):
    assert call(acme, "GET", "/app/tasks.json", Authorization=f"{scheme} {acme.bob_token}").status_code == 200


def get_with_tokens(acme, header, query, body):
    """Send tokens in the header, the query (a list) and the body. An ellipsis stands for no token."""
    content = {"api_token": body} if body is not ... else {}
    headers = {"Authorization": f"Bearer {header}"} if header is not ... else {}
    parameters = "?" + "&".join(f"api_token={quote(token, safe='')}" for token in query)
    return JSONClient(acme.host).request("GET", "/app/tasks.json" + parameters, json=content, headers=headers)


def test_equal_tokens_in_several_places(acme):
    token = acme.bob_token
    assert get_with_tokens(acme, token, [token, token], token).status_code == 200
    assert get_with_tokens(acme, token, [], None).status_code == 200


def test_it_rejects_different_tokens_in_several_places(acme):
    bob, alice = acme.bob_token, acme.alice_token
    for header, query, body in (
        (bob, [alice], ...),
        (bob, [], alice),
        (..., [bob], alice),
        (..., [bob, alice], ...),
        (bob, [""], ...),
        (bob, [], ""),
        (bob, [], 7),
        (bob, [bob], "x"),
    ):
        assert_refused(get_with_tokens(acme, header, query, body), 401, "unauthenticated")


IN_THE_BODY = ["", " ", "x", "/", "a/acme", "\x00", "ą", "\ud800", "x" * 100_000, 7, 1.5, True, False, [], {}, ["a"]]
IN_THE_QUERY = ["", "x", "%00", "%ff", "%", "%zz", "x" * 300]
IN_A_HEADER = [
    "Bearer",
    "Bearer ",
    "Bearer x",
    "Token",
    "Basic YWxpY2U6Y29ycmVjdCBob3JzZSBiYXR0ZXJ5",
    "Digest x",
    "",
    "x",
]


@table("token", IN_THE_BODY)
def test_it_rejects_invalid_tokens_in_the_body(acme, token):
    content = json.dumps({"api_token": token, "client": {"name": "a"}})
    response = JSONClient(acme.host).post("/app/clients.json", content=content)
    assert_refused(response, 401, "unauthenticated")


@table(("query", "header"), [*((token, None) for token in IN_THE_QUERY), *((None, header) for header in IN_A_HEADER)])
def test_it_rejects_invalid_tokens_in_the_query_and_in_headers(acme, query, header):
    parameters = "" if query is None else f"?api_token={query}"
    headers = {} if header is None else {"Authorization": header}
    response = JSONClient(acme.host).get(f"/app/tasks.json{parameters}", headers=headers)
    assert_refused(response, 401, "unauthenticated")


def test_it_rejects_parts_of_a_token_and_another_case(acme):
    secret, prefix = acme.bob_token.rsplit("/", 1)
    for token in (
        secret[:-1],
        f"{secret}/",
        f"/{prefix}",
        f"{secret}/other",
        f"{secret}x/{prefix}",
        f"{secret[:-1]}/{prefix}",
        acme.bob_token.swapcase(),
        acme.bob_token + "/",
    ):
        assert_refused(acme.json(token).get("/app/tasks.json"), 401, "unauthenticated")


def test_the_secret_without_prefix_is_valid_at_hosts_of_its_account(acme, other):
    acme.account.hosts.create(name="ideas.customer.test")
    secret = acme.bob_token.partition("/")[0]
    for host in (acme.host, "ideas.customer.test"):
        assert JSONClient(host, secret).get("/app/tasks.json").status_code == 200
        # Both forms of a token are the same token.
        response = JSONClient(host, secret).get("/app/tasks.json", params={"api_token": acme.bob_token})
        assert response.status_code == 200
    # At other hosts the account is unknown.
    for host in (other.host, "example.test", "api.example.test"):
        assert_refused(JSONClient(host, secret).get("/app/tasks.json"), 401, "unauthenticated")


@table("header", ['Token token="{}"', "Token token={}", 'token Token = "{}", nonce="a"', 'Bearer token="{}"; x=1'])
def test_the_header_in_the_notation_of_rails(acme, header):
    client = JSONClient(acme.host)
    client.headers["Authorization"] = header.format(acme.bob_token)
    assert client.get("/app/tasks.json").status_code == 200
    client.headers["Authorization"] = header.format("x" + acme.bob_token)
    assert_refused(client.get("/app/tasks.json"), 401, "unauthenticated")


def test_it_rejects_revoked_and_expired_tokens_immediately(acme):
    client = acme.json()
    rows = APIToken.objects.filter(user_id=acme.bob.id, account_id=acme.account.id)
    now = timezone.now()
    for unusable, usable in (
        ({"revoked_at": now}, {"revoked_at": None}),
        ({"expires_at": now}, {"expires_at": now + timedelta(hours=1)}),
        ({"digest": b"x" * 32}, {"digest": APIToken.digest_of(acme.bob_token)}),
    ):
        rows.update(**unusable)
        assert_refused(client.get("/app/tasks.json"), 401, "unauthenticated")
        rows.update(**usable)
        assert client.get("/app/tasks.json").status_code == 200
    acme.bob.is_active = False
    acme.bob.save()
    assert_refused(client.get("/app/tasks.json"), 401, "unauthenticated")


def test_a_member_who_joins_the_team_gets_access_immediately(acme):
    client = acme.json(make_token(acme.carol))
    assert client.get("/app/tasks.json").status_code == 403
    acme.carol.role = "agent"
    acme.carol.save()
    assert client.get("/app/tasks.json").status_code == 200


def test_rows_are_created_by_the_user_of_the_token(acme):
    for token, user in ((acme.alice_token, acme.alice), (acme.bob_token, acme.bob)):
        body = read(acme.json(token).post("/app/clients.json", json={"client": {"name": "a"}}))
        assert body["creator_id"] == body["updater_id"] == user.id


def test_the_format_of_a_token(acme):
    """Clients use the part after the last slash as the first label of the host."""
    for token in (acme.alice_token, acme.bob_token):
        secret, slash, prefix = token.rpartition("/")
        assert (slash, prefix) == ("/", "acme")
        assert secret.isascii()
        assert secret.isalnum()
        # 62 ** 32 is more than 2 ** 160.
        assert len(secret) == 32
    assert acme.alice_token != acme.bob_token


def test_only_the_digest_of_a_token_is_stored(acme):
    row = APIToken.objects.get(user_id=acme.bob.id)
    secret = acme.bob_token.partition("/")[0]
    stored = " ".join(str(getattr(row, field.attname)) for field in row._meta.concrete_fields)
    assert bytes(row.digest) == APIToken.digest_of(acme.bob_token)
    assert row.hint == secret[:3]
    assert secret not in stored
    assert secret[:8] not in stored
    assert secret[-8:] not in stored
    assert str(row) == f"{secret[:3]}… (test)"


def test_tokens_stay_valid_when_the_prefix_changes(acme):
    Account.objects.filter(id=acme.account.id).update(prefix="renamed")
    assert acme.json().get("/app/tasks.json").status_code == 200
    # The user's next token has the new prefix.
    assert make_token(User.objects.get(pk=acme.bob.pk)).endswith("/renamed")


def test_the_last_use_is_recorded_once_a_minute(acme, django_assert_num_queries):
    client, row = acme.json(), APIToken.objects.get(user_id=acme.bob.id)
    before = datetime.now(UTC)
    client.get("/app/tasks.json")
    row.refresh_from_db()
    assert before <= row.last_used_at <= datetime.now(UTC)
    first = row.last_used_at
    with django_assert_num_queries(2):
        client.get("/app/tasks.json")
    row.refresh_from_db()
    assert row.last_used_at == first
    APIToken.objects.filter(pk=row.pk).update(last_used_at=before - timedelta(minutes=1))
    with django_assert_num_queries(3):
        client.get("/app/tasks.json")
    row.refresh_from_db()
    assert row.last_used_at >= before


def test_the_body_is_parsed_before_the_token_is_checked(acme):
    """The body may contain the token, so a body that cannot be parsed is the first error."""
    client = JSONClient(acme.host)
    response = client.post("/app/clients.json", content=b"{")
    assert response.status_code == 400
    response = client.post("/app/clients.json", content=b"a=b", headers={"Content-Type": "application/xml"})
    assert_refused(response, 415, "unsupported_media_type")
