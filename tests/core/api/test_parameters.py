"""Parameters of JSON lists, in the query and in the body, and unknown parameters."""

import json

import pytest

from tests.support.assertions import assert_refused, read
from tests.support.client import JSONClient
from tests.support.factories import make_client, make_post
from tests.support.lists import values_of
from tests.support.tables import table

PATH = "/app/clients.json"


def get(acme, body, path=PATH, **kwargs):
    # httpx cannot encode a lone surrogate, but clients may send an escaped one.
    return acme.json().request("GET", path, content=json.dumps(body), **kwargs)


@pytest.fixture
def three_clients(acme):
    return [make_client(acme.alice, name, external_ids={"shop": name}) for name in ("Ann", "Eve", "Jan")]


# In the body of a GET


def test_it_works(acme, three_clients):
    body = {"api_token": acme.bob_token, "order": "-name", "per_page": 2}
    response = JSONClient(acme.host).request("GET", PATH, json=body)
    assert values_of(response) == ["Jan", "Eve"]
    # The links repeat the parameters of the request, without the token.
    assert response.links["next"]["url"].partition("?")[2] == "order=-name&per_page=2&page=2"


@table(
    ("body", "expected"),
    [
        ({"external_ids": {"shop": "Eve"}}, ["Eve"]),
        ({"external_ids[shop]": "Eve"}, ["Eve"]),
        ({"order": None, "page": None, "per_page": ""}, ["Ann", "Eve", "Jan"]),
        ({"responsible_id": None, "q": ""}, ["Ann", "Eve", "Jan"]),
        ({"updated_since": "2009-01-26T18:06:53+01:00"}, ["Ann", "Eve", "Jan"]),
        ({"q": "jan"}, ["Jan"]),
        ({}, ["Ann", "Eve", "Jan"]),
        ([{"page": 2}], ["Ann", "Eve", "Jan"]),
    ],
)
def test_values_of_parameters_in_the_body(acme, three_clients, body, expected):
    assert values_of(get(acme, body)) == expected


def test_the_query_takes_precedence_over_the_body(acme, three_clients):
    assert values_of(get(acme, {"page": 2, "order": "-name"}, f"{PATH}?page=1")) == ["Jan", "Eve", "Ann"]


def test_the_body_of_a_get_may_be_a_form(acme, three_clients):
    response = acme.json().request("GET", PATH, data={"order": "-name", "external_ids[shop]": "Eve"})
    assert values_of(response) == ["Eve"]


def test_parameters_of_other_lists_in_the_body(acme):
    post = make_post(acme.alice)
    for text in ("first", "second"):
        post.comment(by=acme.alice, text=text)
    response = get(acme, {"per_page": 1, "page": 2}, f"/app/posts/{post.id}/comments.json")
    assert values_of(response, "comment") == ["second"]
    errors = {"limit": ["must be between 1 and 1000"]}
    assert_refused(get(acme, {"limit": 0}, "/app/changes.json"), 422, "validation_failed", errors)
    make_client(acme.alice).trash(by=acme.alice)
    post.trash(by=acme.alice)
    response = acme.json(acme.alice_token).request("GET", "/app/trash.json", json={"resource": "post"})
    assert values_of(response, "resource") == ["post"]


@table(
    ("body", "errors"),
    [
        ({"page": 0}, {"page": ["must be a whole number, 1 or more"]}),
        ({"page": True}, {"page": ["must be a whole number, 1 or more"]}),
        ({"page": [1, 2]}, {"page": ["is given more than once"]}),
        ({"per_page": 1001}, {"per_page": ["must be a whole number from 1 to 1000"]}),
        ({"external_ids": {"a b": 1}}, None),
        ({"q": "\ud800a"}, None),
        ({"order": "\ud800"}, None),
        ({"external_ids": {"shop": "\ud800"}}, None),
    ],
)
def test_it_rejects_invalid_values(acme, body, errors):
    response = get(acme, body)
    assert_refused(response, 422, "validation_failed", errors or read(response)["errors"])
    assert list(read(response)["errors"]) == list(body)


def test_a_put_reads_parameters_only_from_its_query(acme):
    """In a PUT body, a key beside the resource is an ignored field, not a parameter."""
    response = acme.json().put(PATH, json={"external_ids": {"shop": "1"}, "client": {"name": "a"}})
    assert_refused(response, 422, "validation_failed", {"external_ids": ["can't be blank"]})


# Unknown parameters

UNKNOWN = "_=1&callback=show&locale=pl&format=json&utf8=%E2%9C%93&limit=5"


def test_unknown_parameters_are_ignored_and_reported(acme, three_clients):
    response = acme.json().get(f"{PATH}?{UNKNOWN}&order=-name&external_ids=1")
    assert values_of(response) == ["Jan", "Eve", "Ann"]
    assert response.headers["X-Ignored-Parameters"] == "_,callback,locale,format,utf8,limit,external_ids"
    assert response.links["first"]["url"].partition("?")[2] == "order=-name&page=1"


LISTS = ("clients", "contacts", "contact_lists", "deals", "posts", "tasks", "statuses", "users", "trash", "changes")
TAG_LISTS = ("clients/tags", "posts/tags", "contacts/tags", "deals/tags")


@table("path", [*LISTS, *TAG_LISTS])
def test_every_list_reports_unknown_parameters(acme, path):
    client = acme.json(acme.alice_token)
    response = client.get(f"/app/{path}.json", params={"_": 1, "a,b": 2})
    assert (response.status_code, response.headers["X-Ignored-Parameters"]) == (200, "_,a%2Cb")
    response = client.get(f"/app/{path}.json", params={"_": 1}, headers={"Prefer": "handling=strict"})
    [[name, [rule]]] = read(response)["errors"].items()
    assert (response.status_code, name, read(response)["message"]) == (422, "_", f"_ {rule}")
    assert "X-Ignored-Parameters" not in client.get(f"/app/{path}.json").headers


def test_unknown_parameters_in_a_body(acme, three_clients):
    body = {"api_token": acme.bob_token, "shoe": {"size": 42}, "\ud800": 1, "a" * 65: {"b": 1}, "deep": {"a": {"b": 1}}}
    response = get(acme, body)
    assert values_of(response) == ["Ann", "Eve", "Jan"]
    assert response.headers["X-Ignored-Parameters"] == f"shoe%5Bsize%5D,%3F,{'a' * 64},deep%5Ba%5D"


def test_a_long_name_is_reported_once(acme):
    """Reporting it for each of its members would make the response larger than the request."""
    body = {"a" * 400_000: dict.fromkeys(map(str, range(50_000)), 1)}
    response = get(acme, body)
    assert response.status_code == 200
    assert response.headers["X-Ignored-Parameters"] == "a" * 64


# Pages


def test_a_page_may_have_a_thousand_rows(acme, three_clients):
    response = acme.json().get(f"{PATH}?per_page=1000")
    assert len(read(response)) == 3
    assert "next" not in response.links


# Names with brackets, as PHP and JavaScript send lists


@table(
    ("query", "expected"),
    [
        ("tag[]=vip", ["Eve"]),
        ("tag%5B%5D=VIP", ["Eve"]),
        ("tag[0]=vip", ["Eve"]),
        ("tag[]=", ["Ann", "Eve"]),
        ("status_id[]=0", []),
        ("order[]=-name&per_page[]=1&page[]=2", ["Ann"]),
        ("external_ids[7]=Eve", ["Eve"]),
        ("external_ids[7]=Eve&tag[]=new", []),
        ("email__not[]=eve@example.com", ["Ann"]),
    ],
)
def test_the_index_of_a_parameter_is_ignored(acme, query, expected):
    make_client(acme.alice, "Ann", tags=["new"])
    make_client(acme.alice, "Eve", tags=["vip"], email="eve@example.com", external_ids={"7": "Eve"})
    response = acme.json().get(f"{PATH}?{query}")
    assert (response.status_code, values_of(response)) == (200, expected)
    assert "X-Ignored-Parameters" not in response.headers


@table("body", [{"tag[]": "vip"}, {"tag": ["vip"]}, {"tag": {"0": "vip"}}])
def test_the_index_of_a_parameter_in_the_body_is_ignored(acme, body):
    make_client(acme.alice, "Ann")
    make_client(acme.alice, "Eve", tags=["vip"])
    assert values_of(get(acme, body)) == ["Eve"]


def test_other_lists_ignore_the_index(acme):
    assert values_of(acme.json().get("/app/statuses.json?kind[]=deal"), "kind") == ["deal"] * 5
    assert read(acme.json().get("/app/tasks.json?closed[]=true")) == []
    make_post(acme.alice, tags=["vip"])
    assert len(read(acme.json().get("/app/posts.json?tag[]=vip"))) == 1


def test_it_rejects_several_items_of_a_parameter(acme):
    response = acme.json().get(f"{PATH}?tag[]=a&tag[]=b")
    assert_refused(response, 422, "validation_failed", {"tag": ["is given more than once"]})
