"""Definitions of additional fields. The team reads them; admins and owners write them."""

from decimal import Decimal

import pytest

from accounts.fields import api
from accounts.fields import models as field_definitions
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import field_definition_body
from tests.support.factories import make_client, make_contact, make_deal, make_field_definition
from tests.support.queries import capture_queries
from tests.support.tables import table

PATH = "/app/field_definitions.json"


@pytest.fixture
def admin(acme):
    return acme.json(acme.alice_token)


def post(admin, **values):
    return admin.post(PATH, json={"field_definition": {"resource": "client", **values}})


def test_it_works(acme, admin):
    fields = {"label": "Shoe size", "type": "choice", "choices": ["S", "M"], "required": True, "in_lists": True}
    response = post(admin, **fields)
    row = acme.account.field_definitions.get()
    body = field_definition_body(row, resource="client", key="shoe_size", **fields)
    path = f"/app/field_definitions/{row.id}.json"
    assert_answered(response, 201, body, location=f"http://acme.example.test{path}")
    assert_answered(acme.json().get(path), 200, body)
    assert read(acme.json().get(f"{PATH}?resource=client")) == [body]
    assert read(acme.json().get(f"{PATH}?resource=deal")) == []

    response = admin.put(path, json={"field_definition": {"type": "text", "required": None, "label": "Size"}})
    row.refresh_from_db()
    body = {**field_definition_body(row, resource="client", key="shoe_size"), "label": "Size", "required": True}
    assert_answered(response, 200, {**body, "in_lists": True})

    assert_answered(admin.delete(path), 200, "ok")
    assert_refused(acme.json().get(path), 404, "not_found")
    acme.account.refresh_from_db()
    assert acme.account.resources_with_fields == []


OTHER_FIELD = "is the name of another field"


@table(
    ("values", "field", "rule"),
    [
        ({}, "label", "can't be blank"),
        ({"resource": "post", "label": "a"}, "resource", "is not one of client, contact, deal, suggestion"),
        ({"label": "a", "key": "a[b]"}, "key", "is not valid"),
        ({"label": "a", "key": "k" * 65}, "key", "is too long (maximum is 64 characters)"),
        *(({"label": "a", "key": key}, "key", OTHER_FIELD) for key in ("email", "external_id", "datetime1")),
        ({"label": "a", "key": "integer1"}, "type", "can only be money, number for this key"),
        ({"label": "a", "type": "list"}, "type", "is not one of text, number, money, date, boolean, choice, choices, link"),
        ({"label": "a", "type": "choice"}, "choices", "can't be blank"),
        ({"label": "a", "choices": ["a"]}, "choices", "can only be set for the types choice and choices"),
        ({"label": "a", "type": "choice", "choices": ["a", " a "]}, "choices", "has a more than once"),
        ({"label": "a", "type": "choice", "choices": "a"}, "choices", "must be a list of texts"),
        ({"label": "a", "type": "choice", "choices": ["a" * 256]}, "choices", "has a text that is too long (maximum is 255 characters)"),
        ({"label": "a", "type": "choice", "choices": [*range(201)]}, "choices", "are too many (maximum is 200)"),
        ({"label": "a", "type": "choices", "choices": ["a,b"]}, "choices", "can't have commas for the type choices"),
        ({"label": "Size"}, "label", "is already taken"),
        ({"label": "a", "resource": "suggestion", "key": "view_count"}, "type", "can only be money, number for this key"),
        ({"label": "a", "resource": "suggestion", "key": "title"}, "key", OTHER_FIELD),
        ({"label": "a", "resource": "suggestion", "required": True}, "required", "can't be true for suggestions: visitors write them"),
    ],
)  # fmt: skip
def test_it_rejects_invalid_definitions(acme, admin, values, field, rule):
    make_field_definition(acme.account, "size", label="Size")
    assert_refused(post(admin, **values), 422, "validation_failed", {field: [rule]})


def test_it_rejects_another_key_and_resource(acme, admin):
    path = f"/app/field_definitions/{make_field_definition(acme.account, 'size').id}.json"
    response = admin.put(path, json={"field_definition": {"key": "a", "resource": "deal"}})
    errors = {"resource": ["can't be changed"], "key": ["can't be changed"]}
    assert_refused(response, 422, "validation_failed", errors)


def test_keys_made_from_labels_are_unique(acme, admin):
    labels = ["Size!", "Size?", "Size", f"{'x' * 70} a", f"{'x' * 70} b"]
    keys = [read(post(admin, label=label))["key"] for label in labels]
    assert keys == ["size", "size_2", "size_3", "x" * 64, f"{'x' * 62}_2"]


def test_it_rejects_too_many(acme, admin, monkeypatch):
    monkeypatch.setattr(field_definitions, "MAX_DEFINITIONS", 1)
    assert post(admin, label="a").status_code == 201
    error = "can't be defined: there are 1 already, which is the maximum"
    assert_refused(post(admin, label="b"), 422, "validation_failed", {"field_definition": [error]})
    assert post(admin, label="b", resource="deal").status_code == 201


# Values of defined fields


VALUES = [
    ("text", " a ", " a "),
    ("text", 5, "5"),
    ("number", "5.50", Decimal("5.5")),
    ("number", 7, 7),
    ("money", "100", 100),
    ("date", "1.12.2026", "2026-12-01"),
    ("boolean", "yes", True),
    ("choice", "M", "M"),
    ("choices", ["M", "S", "M"], "S, M"),
    ("choices", "M", "M"),
    ("link", "https://example.com/a?b", "https://example.com/a?b"),
]
INVALID = [
    ("text", {}, "must be a single value"),
    ("number", "a", "is not a number"),
    ("money", True, "is not a number"),
    ("date", "31.02.2026", "is not a date (ISO 8601, such as 2009-01-26)"),
    ("boolean", "maybe", "is not true or false"),
    ("choice", "L", "is not one of S, M"),
    ("choices", "S,L", "has L, which is not one of S, M"),
    ("choices", [["S"]], "must be a list of texts, or one text with commas"),
    ("link", "javascript:alert(1)", "is not a link that begins with https:// or http://"),
]


@pytest.fixture
def fields_of_all_types(acme):
    for type in ("text", "number", "money", "date", "boolean", "choice", "choices", "link"):
        make_field_definition(
            acme.account, type, type=type, choices=["S", "M"] if type in ("choice", "choices") else []
        )


def test_values(acme, fields_of_all_types):
    path = f"/app/clients/{make_client(acme.alice).id}.json"
    for type, sent, answered in VALUES:
        # What was answered can be sent back, and a null removes the value.
        sent_back = str(answered) if isinstance(answered, Decimal) else answered
        for value, expected in ((sent, {type: answered}), (sent_back, {type: answered}), (None, {})):
            response = acme.json().put(path, json={"client": {"additional_fields": {type: value}}})
            assert read(response)["additional_fields"] == expected, (type, value)


def test_it_rejects_values_that_do_not_fit(acme, fields_of_all_types):
    for type, sent, error in INVALID:
        body = {"client": {"name": "A", "additional_fields": {type: sent}, "discount": "x"}}
        errors = {"discount": ["is not a number"], "additional_fields": [f"{type} {error}"]}
        assert_refused(acme.json().post("/app/clients.json", json=body), 422, "validation_failed", errors)


def test_it_rejects_a_value_of_a_typed_field(acme):
    """`string1` is a field of its own and an additional field."""
    make_field_definition(acme.account, "string1", type="choice", choices=["S"])
    response = acme.json().post("/app/clients.json", json={"client": {"name": "A", "string1": "L"}})
    assert_refused(response, 422, "validation_failed", {"string1": ["is not one of S"]})
    assert read(acme.json().post("/app/clients.json", json={"client": {"name": "A", "string1": "S"}}))["string1"] == "S"


@table("resource", ["client", "contact", "deal"])
def test_required_fields(acme, resource):
    earlier = {"client": make_client, "contact": make_contact, "deal": make_deal}[resource](acme.alice)
    make_field_definition(acme.account, "size", resource=resource, required=True)
    missing = {"additional_fields": ["size can't be blank"]}
    path = f"/app/{resource}s.json"
    response = acme.json().post(path, json={resource: {"name": "A", "additional_fields": {"size": " "}}})
    assert_refused(response, 422, "validation_failed", missing)
    response = acme.json().post(f"/app/{resource}s/bulk.json", json={f"{resource}s": [{"name": "A"}]})
    assert read(response)[0]["errors"] == missing

    created = read(acme.json().post(path, json={resource: {"name": "A", "additional_fields": {"size": "M"}}}))
    # An update that does not name the field keeps working; one that blanks it does not.
    for id in (created["id"], earlier.id):
        path = f"/app/{resource}s/{id}.json"
        assert acme.json().put(path, json={resource: {"name": "B"}}).status_code == 200
        response = acme.json().put(path, json={resource: {"additional_fields": {"size": None}}})
        assert_refused(response, 422, "validation_failed", missing)


def test_a_deal_may_bring_a_client_without_required_fields(acme):
    """A nested client has no additional fields."""
    make_field_definition(acme.account, "size", required=True)
    body = {"deal": {"name": "Order", "client": {"name": "Ann"}}}
    assert acme.json().post("/app/deals.json", json=body).status_code == 201


@table(
    ("type", "options", "misfits"),
    [
        ("text", {}, 2),
        ("number", {}, 4),
        ("money", {}, 4),
        ("date", {}, 4),
        ("boolean", {}, 4),
        ("choice", {"choices": ["red"]}, 4),
        ("choices", {"choices": ["red"]}, 5),
        ("link", {}, 4),
    ],
)
def test_values_are_compared_with_every_type(acme, admin, type, options, misfits):
    row = make_field_definition(acme.account, "size", type=type, **options)
    for value in ("red", 5, "2026-11-27", True, "https://a.example/"):
        make_client(acme.alice, additional_fields={"size": value})
    answer = read(acme.json().get(f"/app/field_definitions/{row.id}/misfits.json"))
    assert answer == {"count": misfits, "compared": 5, "complete": True}


def test_a_changed_type_keeps_the_values(acme, admin, monkeypatch):
    row = make_field_definition(acme.account, "size")
    client = make_client(acme.alice, additional_fields={"size": "big"})
    make_client(acme.alice, additional_fields={"size": 5})
    make_client(acme.alice)
    path = f"/app/field_definitions/{row.id}.json"
    assert admin.put(path, json={"field_definition": {"type": "number"}}).status_code == 200
    misfits = f"/app/field_definitions/{row.id}/misfits.json"
    assert_answered(acme.json().get(misfits), 200, {"count": 1, "compared": 3, "complete": True})
    # The value can be sent back unchanged, but not be changed to another one that does not fit.
    path = f"/app/clients/{client.id}.json"
    whole = read(acme.json().get(path))
    assert read(acme.json().put(path, json={"client": whole}))["additional_fields"] == {"size": "big"}
    response = acme.json().put(path, json={"client": {"additional_fields": {"size": "small"}}})
    assert_refused(response, 422, "validation_failed", {"additional_fields": ["size is not a number"]})

    monkeypatch.setattr(api, "MAX_COMPARED_ROWS", 2)
    assert_answered(acme.json().get(misfits), 200, {"count": 0, "compared": 2, "complete": False})


def test_definitions_take_one_statement_of_a_write(acme):
    def number_of_statements(kind) -> int:
        return len(capture_queries(lambda: acme.json().post(f"/app/{kind}s.json", json={kind: {"name": "A"}}))[1])

    number_of_statements("client")
    before = number_of_statements("client"), number_of_statements("deal")
    make_field_definition(acme.account, "size")
    # Definitions of clients do not concern deals.
    assert (number_of_statements("client"), number_of_statements("deal")) == (before[0] + 1, before[1])
