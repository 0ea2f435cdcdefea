"""Valid and invalid values of each type, in every field of every resource."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.api.additional_fields import CUSTOM_FIELDS
from core.api.fields import BooleanField, ScalarField, TextField, WireField
from core.api.serializers import ResourceSerializer
from core.errors import FieldError
from core.http.times import to_time
from crm.clients.api import ClientSerializer
from crm.contacts.api import ContactListSerializer, ContactSerializer
from crm.deals.api import DealSerializer, NestedClientSerializer
from forum.comments.api import CommentOnPostSerializer
from forum.posts.api import PostSerializer
from tests.support.assertions import assert_refused, outline, read
from tests.support.client import JSONClient
from tests.support.factories import (
    make_account,
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_post,
    make_task,
)
from tests.support.fixtures import committed
from tests.support.tables import table

CHARACTERS = "has a character that can't be used (a control character or half of a surrogate pair)"

RESOURCES: dict[str, tuple[str, type[ResourceSerializer]]] = {
    "client": ("clients", ClientSerializer),
    "contact": ("contacts", ContactSerializer),
    "contact_list": ("contact_lists", ContactListSerializer),
    "deal": ("deals", DealSerializer),
    "post": ("posts", PostSerializer),
}


# The custom fields except the first of each type, and `external_id`, which has rules of its own.
EXCLUDED = {"external_id", *(name for name in CUSTOM_FIELDS if name.rstrip("0123456789") + "1" != name)}


def fields_of(kind: type[WireField]) -> list[tuple[str, str]]:
    return [
        (resource, name)
        for resource, (_, serializer) in RESOURCES.items()
        for name, field in serializer._declared_fields.items()
        if isinstance(field, kind) and not field.read_only and name not in EXCLUDED
    ]


TEXTS, SCALARS, BOOLEANS = fields_of(TextField), fields_of(ScalarField), fields_of(BooleanField)
WARSAW = ZoneInfo("Europe/Warsaw")


def body_of(resource: str, **fields) -> dict:
    required = {"post": {"title": "a", "task_kind": "task"}}.get(resource, {"name": "a"})
    return {resource: {**required, **fields}}


def create(acme, resource: str, **fields):
    # httpx rejects lone surrogates, so encode the body here.
    content = json.dumps(body_of(resource, **fields))
    return acme.json().post(f"/app/{RESOURCES[resource][0]}.json", content=content)


def create_deals(acme, field: str, values: Iterable) -> list[dict]:
    """Create a deal with each value in one bulk request, and return the results."""
    content = json.dumps({"deals": [{"name": "a", field: value} for value in values]})
    return read(acme.json().post("/app/deals/bulk.json", content=content))


def error_of(field: WireField, value) -> str | None:
    try:
        field.run_validation(value)
    except FieldError as error:
        return error.text
    return None


def test_it_works(acme):
    """Send a text in every text field of a resource at once."""
    for resource in RESOURCES:
        fields = {field: f"{field} ąę\t\r\n😀" for owner, field in TEXTS if owner == resource}
        response = create(acme, resource, **fields)
        assert response.status_code == 201
        assert {name: read(response)[name] for name in fields} == fields


INVALID = [
    (
        TextField,
        CHARACTERS,
        ["a\x00b", *(f"a{character}b" for character in "\x01\x0b\x1f\ud800\udfff\ufffe\uffff")],
    ),
    (TextField, "must be a single value", [[], ["a"], {}, {"a": 1}]),
    (TextField, "must be a text", [True, False]),
    (BooleanField, "is not true or false", [2, -1, Decimal("1.5"), "x", "truth", "\x00", "\ud800"]),
]


def test_it_rejects_invalid_texts_and_booleans():
    for field, rule, values in INVALID:
        assert [error_of(field(), value) for value in values] == [rule] * len(values)


@table("resource", RESOURCES)
def test_it_rejects_invalid_values_in_every_field(acme, resource):
    """One value is sent in all fields of its type at once: the response has an error for each of them."""
    for fields, value, rule in (
        (TEXTS, "a\x00b", CHARACTERS),
        (TEXTS, True, "must be a text"),
        (SCALARS, {"a": 1}, "must be a single value"),
        (BOOLEANS, "\ud800", "is not true or false"),
    ):
        if names := [name for owner, name in fields if owner == resource]:
            response = create(acme, resource, **dict.fromkeys(names, value))
            assert_refused(response, 422, "validation_failed", {name: [rule] for name in names})


@table("resource", RESOURCES)
def test_a_number_in_a_text_field_is_stored_as_its_text(acme, resource):
    numbers = ["17", "-1.50", "9" * 30, "0"]
    names = [name for owner, name in TEXTS if owner == resource]
    sent = {name: numbers[index % 4] for index, name in enumerate(names)}
    content = json.dumps(body_of(resource, **{name: f"number {text}" for name, text in sent.items()}))
    content = re.sub(r'"number ([^"]+)"', r"\1", content)
    response = acme.json().post(f"/app/{RESOURCES[resource][0]}.json", content=content)
    assert response.status_code == 201
    assert {name: read(response)[name] for name in names} == sent


def test_accepted_booleans(acme):
    for stored, values in {True: [True, "true", 1, 1.0, "1"], False: [False, "False", 0, 0.0, "0"]}.items():
        assert [result["deal"]["checkbox1"] for result in create_deals(acme, "checkbox1", values)] == [stored] * 5
    for resource in {owner for owner, _name in BOOLEANS}:
        names = [name for owner, name in BOOLEANS if owner == resource]
        response = create(acme, resource, **dict.fromkeys(names, 1))
        assert response.status_code == 201
        # `try_update` is an option and is not stored. Without a day, no day is a quarter.
        not_stored = {"try_update", "target_is_quarter"}
        assert all(name in not_stored or read(response)[name] is True for name in names)


def test_currencies(acme):
    """Historical currencies are valid too."""
    valid = ["EUR", "PLN", "XXX", "HRK", "DEM", "eur", " pln ", "EUR\n"]
    results = create_deals(acme, "currency", valid)
    assert [result["deal"]["currency"] for result in results] == [text.strip().upper() for text in valid]
    invalid = ["EU", "EURO", "E R", "€€€", "ＥＵＲ", "ZZZ", "a\x00b", 978, True]
    errors = [result["errors"] for result in create_deals(acme, "currency", invalid)]
    assert errors == [{"currency": ["is not a code of ISO 4217, such as EUR"]}] * len(invalid)


INVALID_DATES = [
    *("26/01/2009", "01/02/2009", "2009/01-26", "26.01-2009", "30.02.2009", "26.01.09", "2009.01.26", "2009/13/01"),
    *("٢٦.٠١.٢٠٠٩", "2009-02-30", "2009-1-1x", "2009-01-26garbage", "0000-01-01", "10000-01-01", "٢٠٠٩-٠١-٢٦"),
    *(20090126, True, "x", "\x00"),
]


def test_it_rejects_invalid_dates(acme):
    error = {"expected_close_date": ["is not a date (ISO 8601, such as 2009-01-26)"]}
    results = create_deals(acme, "expected_close_date", INVALID_DATES)
    assert [result["errors"] for result in results] == [error] * len(INVALID_DATES)


DATES = {
    "2009-01-26": ["2009-01-26", " 2009-01-26 ", "2009-01-26T18:06:53+01:00", "2009/01/26", "26.01.2009", "26-01-2009"],
    # The day comes first, even if it could be a month.
    "2009-02-01": ["01.02.2009", "1-2-2009"],
    None: ["", " ", None],
}
TIMES = [
    *("2009-01-26T18:06:53+01:00", "2009-01-26T18:06:53", "2009-01-26 18:06:53", "26.01.2009 18:06:53"),
    *("26-01-2009 18:06:53", "2009/01/26 18:06:53", "26.01.2009T18:06:53", "26.01.2009, 18:06:53"),
    *("26.01.2009 17:06:53 +00:00", "Mon, 26 Jan 2009 18:06:53 +0100", "Mon, 26 Jan 2009 17:06:53 GMT"),
    *("26 Jan 2009 12:06:53 EST (winter)", "Mon, 26 Jan 2009 17:06:53 -0000"),
    *(1232989613, "1232989613", 1232989613.25),
]


def test_dates(acme):
    acme.account.change(time_zone="Europe/Warsaw")
    for date, values in (*DATES.items(), ("2009-01-26", TIMES)):
        results = create_deals(acme, "expected_close_date", values)
        assert [result["deal"]["expected_close_date"] for result in results] == [date] * len(values)


INVALID_TIMES = [
    *("2009-02-30T00:00:00Z", "2009-01-26T25:00:00Z", "2009-01-26T18:06:53+99:00", "26/01/2009", "30.02.2009"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9998-12-31T23:59:59-12:00"),
    *("0002-01-01T00:00:00+01:00", "99999-01-01T00:00:00Z"),
    # Milliseconds, a year, and a date as a number.
    *(1232989613000, 2009, 20090126, -1232989613),
    *("26/01/2009 18:06", "26.01.2009 18:60", "32.01.2009 10:00", "26.01.2009 6:06 PM", "Mon, 26 Jan 2009 18:06:53"),
    *("Mon, 26 Jan 2009 18:06:53 XYZ", "Mon, 31 Feb 2009 18:06:53 +0100", True, "now", "\x00", "\ud800"),
]


def test_it_rejects_invalid_times(acme):
    assert [time for time in INVALID_TIMES if to_time(time, ZoneInfo("UTC")) is not None] == []
    rule = "is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"
    assert_refused(create(acme, "post", scheduled_at="now"), 422, "validation_failed", {"scheduled_at": [rule]})


def test_formats_of_times():
    moment = datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC)
    sent = [Decimal(str(time)) if isinstance(time, float) else time for time in TIMES]
    assert {to_time(time, WARSAW).replace(microsecond=0) for time in sent} == {moment}
    without_seconds = ("26.01.2009 18:06", "Mon, 26 Jan 2009 18:06 +0100")
    assert {to_time(time, WARSAW) for time in without_seconds} == {moment.replace(second=0)}
    midnight = datetime(2009, 1, 25, 23, tzinfo=UTC)
    dates = ("2009-01-26", "2009/01/26", "26.01.2009", "26-01-2009")
    assert {to_time(date, WARSAW) for date in dates} == {midnight}


@table("sent", [TIMES[3], 1232989613.25])
def test_times_are_in_the_time_zone_of_the_account(acme, sent):
    acme.account.change(time_zone="Europe/Warsaw")
    post = read(create(acme, "post", scheduled_at=sent, remind_at=sent))
    assert (post["scheduled_at"], post["remind_at"]) == ("2009-01-26T18:06:53+01:00",) * 2
    for name in ("scheduled_before", "scheduled_after"):
        response = acme.json().get("/app/tasks.json", params={name: str(sent)})
        assert len(read(response)) == (name == "scheduled_after")


@table(
    ("sent", "expected"),
    [
        # Clocks go forward from 2:00 to 3:00.
        ("29.03.2026 02:30", "2026-03-29T03:30:00+02:00"),
        # Clocks go back from 3:00 to 2:00: a time without an offset is the first one.
        ("2026-10-25T02:30:00", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T02:30:00+01:00", "2026-10-25T02:30:00+01:00"),
    ],
)
def test_a_change_of_the_clocks_is_the_same_in_every_response(acme, sent, expected):
    acme.account.change(time_zone="Europe/Warsaw")
    created = read(create(acme, "post", scheduled_at=sent, remind_at=sent))
    path = f"/app/posts/{created['id']}.json"
    updated = read(acme.json().put(path, json={"post": {"scheduled_at": sent, "remind_at": sent}}))
    for response in (created, updated, read(acme.json().get(path))):
        assert (response["scheduled_at"], response["remind_at"]) == (expected, expected)


@table("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
@table("time", ["9998-12-31T23:59:59+00:00", "0002-01-01T00:00:00+00:00"])
def test_a_time_at_the_end_of_the_calendar_may_be_sent_back(acme, zone, time):
    acme.account.change(time_zone=zone)
    first = read(create(acme, "post", scheduled_at=time))["scheduled_at"]
    assert datetime.fromisoformat(first) == datetime.fromisoformat(time)
    assert read(create(acme, "post", scheduled_at=first))["scheduled_at"] == first


def test_it_rejects_characters_in_nested_fields(acme):
    post = make_post(acme.alice)
    comment = {"task_kind": "comment", "post_id": post.id, "content": "a"}
    for serializer, create_row, prefix in (
        (NestedClientSerializer, lambda **field: create(acme, "deal", client={"name": "a", **field}), "client."),
        (CommentOnPostSerializer, lambda **field: create(acme, "post", **{**comment, **field}), ""),
    ):
        names = [name for name, field in serializer._declared_fields.items() if isinstance(field, TextField)]
        assert names
        for name in names:
            assert_refused(create_row(**{name: "\x00"}), 422, "validation_failed", {f"{prefix}{name}": [CHARACTERS]})


@table("key", ["\x00", "\ud800", "", "a" * 100_000, "__proto__", "é", ","])
def test_any_unknown_key_is_ignored(acme, key):
    response = create(acme, "client", **{key: "x"})
    assert response.status_code == 201
    assert "X-Ignored-Fields" in response.headers


# Arbitrary values


def collections_of(strategy):
    return st.lists(strategy, max_size=3) | st.dictionaries(st.text(max_size=5), strategy, max_size=3)


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False).map(str)
    | st.text(st.characters(codec=None), max_size=20)
    | st.sampled_from(
        ["", " ", "2009-01-26", "2009-01-26T18:06:53+01:00", "EUR", "task", "new", "1e999", "\x00", "a,b"]
    ),
    collections_of,
    max_leaves=5,
)


@pytest.fixture(scope="module")
def shared_account(django_db_setup, django_db_blocker):
    """Return a client of an account that all examples share, its owner and a strategy for its ids.

    Creating an account takes longer than a request.
    """
    with committed(django_db_blocker):
        account, owner, token = make_account("house")
        ids = st.sampled_from(
            [row.id for row in (owner, make_client(owner), make_contact(owner), make_contact_list(owner))]
            + [account.categories.get().id, account.forums.get().id, make_post(owner).id]
            + list(account.statuses.values_list("id", flat=True))
        )
        yield JSONClient("house.example.test", token), owner, ids


@pytest.mark.django_db
@pytest.mark.parametrize("resource", RESOURCES)
@pytest.mark.parametrize("update", [False, True])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_is_rejected_or_returned_unchanged(shared_account, resource, update, data):
    client, owner, ids = shared_account
    path, serializer = RESOURCES[resource]
    names = [name for name, field in serializer._declared_fields.items() if not field.read_only]
    fields = data.draw(
        st.dictionaries(st.sampled_from(names), ANY | ids | st.lists(ids, max_size=3), min_size=1, max_size=6).map(
            lambda drawn: {**({} if update else body_of(resource)[resource]), **drawn}
        )
    )
    content = json.dumps({resource: fields})
    if update:
        make = {"client": make_client, "contact": make_contact, "contact_list": make_contact_list}
        row = {**make, "deal": make_deal, "post": make_task}[resource](owner)
        response = client.put(f"/app/{path}/{row.id}.json", content=content)
    else:
        response = client.post(f"/app/{path}.json", content=content)

    assert response.status_code in ((200, 422) if update else (201, 422)), (content, response.text)
    if response.status_code == 422:
        assert set(read(response)) == {"code", "message", "errors"}
    else:
        reread = read(client.get(f"/app/{path}/{read(response)['id']}.json"))
        assert reread == read(response)
        assert outline({**reread, "external_ids": None}) == outline({**read(response), "external_ids": None})
