"""Tokens that are limited to scopes, and to the networks of clients."""

import json
import logging

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from accounts.sessions.models import Session
from accounts.tokens.models import APIToken
from accounts.tokens.scopes import clean_networks, clean_scopes
from core.api.views import JSONViewSet
from core.errors import FieldError
from core.rows.scopes import areas
from tests.support.assertions import assert_refused, read
from tests.support.client import JSONClient
from tests.support.factories import make_client, make_token
from tests.support.pages import Visitor
from tests.support.tables import table

FIND = "/app/find.json?q=ann"


@table(
    ("scopes", "method", "path", "missing"),
    [
        (["read", "clients"], "GET", "/app/clients.json", []),
        (["read", "clients"], "GET", "/app/clients/tags.json", []),
        (["read", "clients"], "POST", "/app/clients.json", ["write"]),
        (["read", "clients"], "POST", "/app/deals.json", ["write", "deals"]),
        (["read", "clients"], "GET", "/app/posts.json", ["posts"]),
        (["read", "clients"], "GET", FIND, ["posts", "deals"]),
        # Conditions on related rows need the scope of these rows.
        (["read", "posts"], "GET", "/app/tasks.json?closed=true&title__contains=a", []),
        (["read", "posts"], "GET", "/app/tasks.json?or1.client.email=a&or2.closed=true", ["clients"]),
        (["read", "clients"], "GET", "/app/clients/sums.json?open_deals.name=a", ["deals"]),
        (["read", "deals"], "GET", "/app/deals/board.json?contact.name=a", ["clients"]),
        # Every program may need the names of statuses and the currency.
        (["read", "clients"], "GET", "/app/statuses.json", []),
        (["read", "clients"], "GET", "/app/account.json", []),
        (["read", "write", "clients"], "POST", "/app/clients.json", []),
        (["read", "write", "clients"], "POST", "/app/statuses.json", ["settings"]),
        (["read", "write", "clients"], "GET", "/app/audit.json", ["settings"]),
        (["read", "settings"], "GET", "/app/webhooks.json", ["posts", "clients", "deals"]),
        (["read", "clients", "deals", "posts"], "GET", FIND, []),
        (["read", "clients", "deals", "posts"], "GET", "/app/exports.json", ["export"]),
        (None, "GET", FIND, []),
    ],
)
def test_it_works(acme, scopes, method, path, missing):
    client = acme.json(make_token(acme.alice, scopes=scopes))
    response = client.request(method, path, json={"client": {"name": "Ann"}} if method == "POST" else None)
    if not missing:
        assert response.status_code in (200, 201)
        return
    assert response.status_code == 403
    assert response.json() == {"code": "scope", "message": f"The token lacks the scope {', '.join(missing)}"}
    challenge = f'Bearer error="insufficient_scope", scope="{" ".join(missing)}"'
    assert response.headers["WWW-Authenticate"] == challenge


def test_another_method_in_the_place_of_post_needs_write(acme):
    row = make_client(acme.alice, name="Ann")
    client = acme.json(make_token(acme.alice, scopes=["read", "clients"]))
    response = client.post(f"/app/clients/{row.id}.json", headers={"X-HTTP-Method-Override": "DELETE"})
    assert response.status_code == 403
    assert response.json()["code"] == "scope"


def test_scopes_give_no_rights_that_the_user_lacks(acme):
    token = make_token(acme.bob, scopes=["read", "write", "settings"])
    response = acme.json(token).post("/app/statuses.json", json={"status": {"name": "New"}})
    assert_refused(response, 403, "forbidden", message="Only an admin or the owner may do this")


def json_views(patterns: list[URLPattern | URLResolver]):
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from json_views(pattern.url_patterns)
        elif issubclass(view := getattr(pattern.callback, "cls", object), JSONViewSet):
            yield str(pattern.pattern), view(**pattern.callback.initkwargs)


# The views of everything: those without areas of their own.
OF_ALL_ROWS = {
    "AttachmentViewSet",
    "BackersViewSet",
    "ChangeViewSet",
    "DashboardViewSet",
    "ExamplesViewSet",
    "FindViewSet",
    "HomeViewSet",
    "ImportViewSet",
    "ReportViewSet",
    "SuggestionRevenueViewSet",
    "SummaryViewSet",
    "TimelineViewSet",
    "TrashViewSet",
    "UserLinkViewSet",
}


def test_every_route_has_areas():
    views = list(json_views(get_resolver().url_patterns))
    assert len(views) > 90
    of_all_rows = set()
    for path, view in views:
        needed = view.needed_areas(writes=True)
        assert needed, path
        assert {*needed, *view.needed_areas(writes=False)} <= set(areas.names), path
        if view.areas == JSONViewSet.areas and type(view).needed_areas is JSONViewSet.needed_areas:
            of_all_rows.add(type(view).__name__)
    assert of_all_rows == OF_ALL_ROWS, "name the areas of the view (`areas`), or add it here if it shows rows of all"


def at_address(client: JSONClient, address: str) -> JSONClient:
    client._transport.remote_addr = address
    return client


@pytest.fixture
def limited(acme) -> str:
    return make_token(acme.bob, networks=["203.0.113.0/24", "2001:db8::/32"])


@table(
    ("address", "is_accepted"),
    [
        ("203.0.113.9", True),
        ("203.0.113.9:5000", True),
        ("::ffff:203.0.113.9", True),
        ("2001:db8:1::1", True),
        ("203.0.114.9", False),
        ("2001:db9::1", False),
        ("", False),
    ],
)
def test_networks(acme, limited, address, is_accepted):
    response = at_address(acme.json(limited), address).get("/app/tasks.json")
    if is_accepted:
        assert response.status_code == 200
        row = APIToken.objects.find_by_token(limited)
        assert row.last_used_from in ("203.0.113.9", "2001:db8:1::/64")
    else:
        assert_refused(response, 401, "unauthenticated")
        assert APIToken.objects.find_by_token(limited).last_used_at is None


def test_another_network_is_refused_as_a_wrong_token_and_logged(acme, limited, caplog, django_assert_num_queries):
    caplog.set_level(logging.INFO, logger="rostrum.sign_in")
    bodies = []
    acme.json().get("/app/tasks.json")  # fills the cache of hosts
    for token in (limited, f"x{limited}"):
        client = at_address(acme.json(token), "198.51.100.1")
        with django_assert_num_queries(2):
            bodies.append(client.get("/app/tasks.json").content)
    assert bodies[0] == bodies[1]
    lines = [record.getMessage() for record in caplog.records if record.name == "rostrum.sign_in"]
    line = json.loads(lines[0])
    assert (line["reason"], line["user_id"], line["address"]) == ("other_network", acme.bob.id, "198.51.100.1")
    entries = acme.account.audit_entries.filter(action="sign_in.failed").order_by("id")
    assert [entry.details["reason"] for entry in entries] == ["other_network", "invalid_token"]


def test_it_normalizes_scopes_and_networks():
    assert clean_scopes(["posts", "write", "posts"]) == ["read", "write", "posts"]
    assert clean_networks(["::ffff:203.0.113.7", "::ffff:10.0.0.0/104", "::/0"]) == [
        "203.0.113.7/32",
        "10.0.0.0/8",
        "::/0",
    ]
    assert clean_networks(["203.0.113.9/24", " 203.0.113.0/24", "2001:DB8::1"]) == ["203.0.113.0/24", "2001:db8::1/128"]


def test_it_rejects_invalid_scopes_and_networks():
    for clean, value, text in (
        (clean_scopes, [], "must have read or write, and at least one area"),
        (clean_scopes, ["read"], "must have read or write, and at least one area"),
        (clean_scopes, ["clients"], "must have read or write, and at least one area"),
        (
            clean_scopes,
            ["read", "all"],
            "all is not one of read, write, posts, clients, deals, settings, export",
        ),
        (
            clean_networks,
            ["localhost"],
            "localhost is not an address or a network, such as 203.0.113.7 or 2001:db8::/32",
        ),
        (clean_networks, ["203.0.113.7"] * 21, "can't be more than 20"),
    ):
        with pytest.raises(FieldError) as caught:
            clean(value)
        assert caught.value.text == text


def test_the_token_of_a_new_account_is_not_limited(acme):
    """The partner's program sets the account up with it."""
    acme.account.partner_key = "partner"
    acme.account.save()
    body = {
        "account": {"prefix": "made"},
        "user": {"login": "eve", "email": "eve@example.com", "password": "long enough 7"},
    }
    limited = make_token(acme.alice, scopes=["read", "write", "settings"])
    made = read(acme.json(limited).post("/app/account.json", json=body))
    assert APIToken.objects.find_by_token(made["api_token"]).scopes is None


def test_the_list_of_the_users_tokens(acme):
    make_token(acme.bob, label="Old", expires_at=timezone.now())
    token = make_token(acme.bob, label="Shop", scopes=["read", "settings"], networks=["203.0.113.0/24"])
    client = at_address(acme.json(token), "203.0.113.9")
    first, shop = client.get("/app/tokens.json").json()
    assert (first["label"], first["scopes"], first["networks"], first["last_used_at"]) == ("test", None, None, None)
    row = APIToken.objects.find_by_token(token)
    assert shop.pop("created_at")
    assert shop.pop("last_used_at")
    assert shop == {
        "id": row.id,
        "label": "Shop",
        "hint": token[:3],
        "scopes": ["read", "settings"],
        "networks": ["203.0.113.0/24"],
        "last_used_from": "203.0.113.9",
        "expires_at": None,
    }


def test_a_session_has_the_address_of_its_last_use(acme):
    visitor = Visitor(acme.host, REMOTE_ADDR="2001:db8::7").sign_in("carol")
    assert acme.carol.sessions.get().address == "2001:db8::/64"
    acme.carol.sessions.update(seen_at=timezone.now() - 2 * Session.TOUCH_INTERVAL)
    visitor.extra_environ["REMOTE_ADDR"] = "192.0.2.7"
    visitor.get("/app/profile")
    assert acme.carol.sessions.get().address == "192.0.2.7"
