"""Additional fields of clients, with and without a type."""

import json
from decimal import Decimal

import pytest

from crm.clients.models import Client
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import client_body
from tests.support.factories import make_client
from tests.support.tables import table

ALL_TYPES = {
    "string1": "first",
    "string10": "tenth",
    "text1": "a long text",
    "text10": "",
    "integer1": 7,
    "decimal1": Decimal("12.345678"),
    "boolean1": False,
    "checkbox1": True,
    "checkbox10": False,
    "date1": "2009-01-26",
    "datetime1": "2009-01-26T17:06:53+00:00",
}


def send(acme, method, path, values: str):
    """Send a client with additional fields. `values` is JSON text, so that numbers keep their digits."""
    return acme.json().request(method, path, content=f'{{"client": {values}}}')


def put(acme, client, **values):
    return acme.json().put(f"/app/clients/{client.id}.json", json={"client": values})


def get(acme, client):
    return read(acme.json().get(f"/app/clients/{client.id}.json"))


def test_it_works(acme):
    additional_fields = (
        '{"shoe size": 42, "ratio": 2.50, "member": true, "no": false, "colour": "żółty", "none": null, "empty": ""}'
    )
    response = send(acme, "POST", "/app/clients.json", f'{{"name": "Ann", "additional_fields": {additional_fields}}}')
    client = acme.account.clients.get()
    expected = {"colour": "żółty", "empty": "", "member": True, "no": False, "ratio": Decimal("2.5"), "shoe size": 42}
    body = client_body(client, acme.bob, name="Ann", additional_fields=expected)
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/clients/{client.id}.json")
    assert_answered(acme.json().get(f"/app/clients/{client.id}.json"), 200, body)


@table(
    ("sent", "stored"),
    [
        # A float keeps its shortest form.
        ("149.90000000000001", "149.9"),
        ("3.3000000000000003", "3.3000000000000003"),
        ("0.1234567890123456", "0.1234567890123456"),
        ("-5.551115123125783e-17", "-0.00000000000000005551115123125783"),
        ("2.00000000000000001", "2"),
        ("12345678901234.567891", "12345678901234.567891"),
        ('"149.90000000000001"', '"149.90000000000001"'),
        # Other numbers are exact.
        *(
            (number, number)
            for number in ("9223372036854775807", "-9223372036854775807", "0.1", "-12345678901234.123456", "0.000001")
        ),
    ],
)
def test_numbers(acme, sent, stored):
    response = send(acme, "POST", "/app/clients.json", f'{{"name": "Ann", "additional_fields": {{"total": {sent}}}}}')
    assert response.status_code == 201, response.text
    for each_response in (response, acme.json().get(f"/app/clients/{read(response)['id']}.json")):
        assert f'"additional_fields":{{"total":{stored}}}' in each_response.text


OBJECT = "must be an object of key to value"
CHARACTERS = "has a character that can't be used (a control character or half of a surrogate pair)"
DATE = "is not a date (ISO 8601, such as 2009-01-26)"
INVALID = [
    ("7", OBJECT),
    ('"a"', OBJECT),
    ('["a"]', OBJECT),
    ('{"": 1}', "key  is not a text of 1-64 characters"),
    ('{" ": 1}', "key   is not a text of 1-64 characters"),
    (f'{{"{"a" * 65}": 1}}', "key " + "a" * 64 + " is not a text of 1-64 characters"),
    ('{"a\\u0000": 1}', "key a\ufffd is not a text of 1-64 characters"),
    ('{"a": []}', "a must be a single value"),
    ('{"a": {"b": 1}}', "a must be a single value"),
    (f'{{"a": "{"b" * 65_537}"}}', "a is too long (maximum is 65536 characters)"),
    ('{"a": "\\ud800"}', f"a {CHARACTERS}"),
    ('{"a": 1e999999}', "a must have at most 14 digits before the decimal point"),
    ('{"a": 0.0000001}', "a must have at most 6 decimal places"),
    ('{"integer1": "seven"}', "integer1 is not a whole number"),
    ('{"date1": "tomorrow"}', f"date1 {DATE}"),
    ('{"boolean10": []}', "boolean10 must be a single value"),
    ('{"checkbox1": "ticked"}', "checkbox1 is not true or false"),
    ('{"paid_from": "soon"}', f"paid_from {DATE}"),
    (json.dumps({f"{number}": 1 for number in range(201)}), "are too many (maximum is 200)"),
    (
        json.dumps({f"{number}": "a" * 60_000 for number in range(5)}),
        "are too long (maximum is 262144 characters in all)",
    ),
]


def test_it_rejects_invalid_fields(acme):
    client = make_client(acme.alice, additional_fields={"kept": 1})
    for number, (additional_fields, rule) in enumerate(INVALID):
        method, path = (("POST", "/app/clients.json"), ("PUT", f"/app/clients/{client.id}.json"))[number % 2]
        response = send(acme, method, path, f'{{"name": "a", "additional_fields": {additional_fields}}}')
        assert_refused(response, 422, "validation_failed", {"additional_fields": [rule]})
    # All errors at once.
    fields = {"a": [], "": 1, "integer2": "x"}
    response = put(acme, client, additional_fields=fields, integer1="y", date10=[])
    rules = ["a must be a single value", "key  is not a text of 1-64 characters", "integer2 is not a whole number"]
    errors = {"integer1": ["is not a whole number"], "date10": ["must be a single value"], "additional_fields": rules}
    assert_refused(response, 422, "validation_failed", errors)
    assert [row.additional_fields for row in Client.objects.all()] == [{"kept": 1}]


def test_fields_are_merged_and_null_removes_a_field(acme):
    client = make_client(acme.alice, additional_fields={"a": 1, "b": "two"})
    for change, expected in (
        ({"c": True}, {"a": 1, "b": "two", "c": True}),
        ({"a": None, "b": 2, "not there": None}, {"b": 2, "c": True}),
        ({}, {"b": 2, "c": True}),
        (None, {"b": 2, "c": True}),
        ({"b": None, "c": None}, {}),
    ):
        response = put(acme, client, additional_fields=change)
        assert response.status_code == 200
        assert read(response)["additional_fields"] == expected == get(acme, client)["additional_fields"]


def test_it_rejects_more_than_two_hundred_after_the_merge(acme):
    client = make_client(acme.alice, additional_fields={f"{number}": 1 for number in range(200)})
    response = put(acme, client, string1="a")
    assert_refused(response, 422, "validation_failed", {"additional_fields": ["are too many (maximum is 200)"]})
    assert put(acme, client, string1="a", additional_fields={"0": None}).status_code == 200


@pytest.mark.parametrize("is_nested", [False, True])
def test_typed_fields(acme, is_nested):
    values = {name: str(value) for name, value in ALL_TYPES.items()}
    client = make_client(acme.alice, "Ann")
    response = put(acme, client, **({"additional_fields": values} if is_nested else values))
    client.refresh_from_db()
    body = client_body(
        client, acme.alice, name="Ann", updater_id=acme.bob.id, additional_fields=dict(sorted(ALL_TYPES.items()))
    )
    # Typed fields that have a value follow the other fields of the body.
    body |= ALL_TYPES
    assert_answered(response, 200, body)
    assert_answered(acme.json().get(f"/app/clients/{client.id}.json"), 200, body)
    # A blank or a null removes a field. Only a text may be empty.
    for empty, left in (("", {"string1": "", "string10": "", "text1": "", "text10": ""}), (None, {})):
        response = put(acme, client, **dict.fromkeys(ALL_TYPES, empty))
        assert read(response)["additional_fields"] == left
    assert not ALL_TYPES.keys() & read(response).keys()


def test_changed_value_wins_when_the_whole_client_is_sent_back(acme):
    client = make_client(acme.alice)
    put(acme, client, string1="old", integer1=1)
    body = get(acme, client)
    response = put(acme, client, **{**body, "string1": "new"})
    assert read(response)["string1"] == "new" == read(response)["additional_fields"]["string1"]
    body = get(acme, client)
    response = put(acme, client, **{**body, "additional_fields": {**body["additional_fields"], "integer1": 2}})
    assert read(response)["integer1"] == 2 == read(response)["additional_fields"]["integer1"]
    # If both have a new value, the field itself takes precedence.
    response = put(acme, client, string1="a", additional_fields={"string1": "b"})
    assert read(response)["string1"] == "a"


def test_times_are_in_the_time_zone_of_the_account(acme):
    client = make_client(acme.alice)
    acme.account.change(time_zone="Europe/Warsaw")
    response = put(acme, client, datetime1="2009-01-26 18:06:53")
    assert read(response)["datetime1"] == "2009-01-26T18:06:53+01:00"
    acme.account.change(time_zone="UTC")
    body = get(acme, client)
    assert body["datetime1"] == body["additional_fields"]["datetime1"] == "2009-01-26T17:06:53+00:00"


def test_names_outside_the_numbered_fields_are_ignored(acme):
    response = put(acme, make_client(acme.alice), string11="a", decimal0=1, decimals1=2, text11="")
    assert response.headers["X-Ignored-Fields"] == "string11,decimal0,decimals1,text11"
