from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import quote

import pytest

from accounts.models import User
from crm.conditions import short_words
from crm.models import Client
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import client_body
from tests.support.factories import make_client, make_contact, make_deal, make_user
from tests.support.lists import link_to_first_page, values_by_page, values_of
from tests.support.tables import table

PATH = "/app/clients.json"
ORDERS = "id, -id, created_at, -created_at, updated_at, -updated_at, name, -name"
PARAMETERS = (
    "page, per_page, order, updated_since, q, tag, external_ids[key], external_id, email, status_id, responsible_id,"
    " contact_id, creator_id, updater_id"
)
START = datetime(2009, 1, 26, 17, 6, 53, 700_000, tzinfo=UTC)


def test_it_works(acme):
    contact = make_contact(acme.alice)
    fields = {
        "email": "jan@example.com",
        "external_ids": {"shop": "1"},
        "tags": ["vip"],
        "discount": Decimal("2.5"),
        "contact_id": contact.id,
        "responsible_id": acme.bob.id,
    }
    jan, anna = make_client(acme.alice, "Jan", **fields), make_client(acme.bob, "Anna")
    make_deal(acme.alice, client_id=jan.id)
    assert_answered(
        acme.json().get(PATH),
        200,
        [
            client_body(jan, acme.alice, name="Jan", **fields, deals_count=1),
            client_body(anna, acme.bob, name="Anna"),
        ],
        link=link_to_first_page(PATH),
    )


def test_an_empty_list(acme, other):
    make_client(other.mallory)
    make_client(acme.alice).trash(by=acme.alice)
    assert_answered(acme.json().get(PATH), 200, [], link=link_to_first_page(PATH))


ERRORS_BY_QUERY = {
    "page=0": {"page": ["must be a whole number, 1 or more"]},
    "per_page=1001": {"per_page": ["must be a whole number from 1 to 1000"]},
    "order=price": {"order": [f"is not one of {ORDERS}"]},
    "tag=a&tag=b": {"tag": ["is given more than once"]},
    "status_id=new": {"status_id": ["is not a whole number"]},
    "responsible_id=1.5": {"responsible_id": ["is not a whole number"]},
    "contact_id=9223372036854775808": {"contact_id": ["must be between -9223372036854775807 and 9223372036854775807"]},
    "updated_since=yesterday": {"updated_since": ["is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"]},
    f"q={'a' * 256}": {"q": ["is too long (maximum is 255 characters)"]},
    "q=%3F%21": {"q": ["must have a letter or a digit"]},
    "q=a%00b": {"q": ["has a character that can't be used (a control character or half of a surrogate pair)"]},
    "tag=a%00b": {"tag": ["has a character that can't be used (a control character or half of a surrogate pair)"]},
    "external_ids[a b]=1": {
        "external_ids": [
            "must be external_ids[key]=value: a key of 1-64 letters, digits, _, . and -, a value of 1-255 characters"
        ]
    },
    "&".join(f"external_ids[key{n}]=1" for n in range(51)): {"external_ids": ["are too many (maximum is 50)"]},
}


@table(("query", "errors"), ERRORS_BY_QUERY.items())
def test_it_rejects_invalid_parameters(acme, query, errors):
    assert_refused(acme.json().get(f"{PATH}?{query}"), 422, "validation_failed", errors)


@table("name", ["colour", "external_ids", "limit"])
def test_it_rejects_unknown_parameters_under_strict_handling(acme, name):
    response = acme.json().get(f"{PATH}?{name}=1", headers={"Prefer": "handling=strict"})
    assert_refused(response, 422, "validation_failed", {name: [f"is not one of the parameters {PARAMETERS}"]})


def test_it_rejects_every_error_at_once(acme):
    assert_refused(
        acme.json().get(
            f"{PATH}?shoe=42&page=x&order=shoe&tag=a&tag=b&status_id=x&q=!&updated_since=x",
            headers={"Prefer": "handling=strict"},
        ),
        422,
        "validation_failed",
        {
            "tag": ["is given more than once"],
            "shoe": [f"is not one of the parameters {PARAMETERS}"],
            "page": ["must be a whole number, 1 or more"],
            "order": [f"is not one of {ORDERS}"],
            "updated_since": ["is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"],
            "q": ["must have a letter or a digit"],
            "status_id": ["is not a whole number"],
        },
    )


def test_blank_parameters_are_ignored(acme, django_assert_num_queries):
    make_client(acme.alice, "Jan")
    json = acme.json()
    blank = dict.fromkeys(("page", "per_page", "order", "q", "tag", "status_id", "updated_since"), " ")
    assert values_of(json.get(PATH, params=blank)) == ["Jan"]
    # Blank parameters add no query. These are for the token, the ids and the rows.
    with django_assert_num_queries(3):
        json.get(PATH, params=blank)


def test_pages(acme):
    for number in range(7):
        make_client(acme.alice, f"Client {number}")
    pages = values_by_page(acme.json(), f"{PATH}?per_page=3")
    assert pages == [[f"Client {n}" for n in numbers] for numbers in ([0, 1, 2], [3, 4, 5], [6])]
    response = acme.json().get(f"{PATH}?per_page=3&page=2&order=id&api_token={quote(acme.bob_token)}")
    url = f"http://acme.example.test{PATH}?per_page=3&order=id&page="
    assert response.headers["Link"] == f'<{url}1>; rel="first", <{url}1>; rel="prev", <{url}3>; rel="next"'
    assert values_of(acme.json().get(f"{PATH}?page={10**40}")) == []


@pytest.fixture
def acme_with_three_clients(acme):
    """Create Łukasz, anna and Zoe. The order of their ids differs from all other orders."""
    for name, created, updated in (("Łukasz", 2, 5), ("anna", 3, 4), ("Zoe", 1, 6)):
        row = make_client(acme.alice, name)
        hours = {"created_at": START + timedelta(hours=created), "updated_at": START + timedelta(hours=updated)}
        Client.objects.filter(pk=row.pk).update(**hours)
    return acme


@table(
    ("order", "expected"),
    {
        "id": ["Łukasz", "anna", "Zoe"],
        "created_at": ["Zoe", "Łukasz", "anna"],
        "updated_at": ["anna", "Łukasz", "Zoe"],
        # Names are sorted without case and diacritics, in any locale of the database.
        "name": ["anna", "Łukasz", "Zoe"],
    }.items(),
)
def test_orders(acme_with_three_clients, order, expected):
    assert values_of(acme_with_three_clients.json().get(f"{PATH}?order={order}")) == expected
    assert values_of(acme_with_three_clients.json().get(f"{PATH}?order=-{order}")) == expected[::-1]


@table("order", ["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name"])
def test_ties_are_ordered_by_id(acme, order):
    ids = [make_client(acme.alice, "Same").id for _ in range(5)]
    Client.objects.update(created_at=START, updated_at=START)
    expected = ids[::-1] if order.startswith("-") else ids
    assert values_by_page(acme.json(), f"{PATH}?per_page=2&order={order}", "id") == [
        expected[:2],
        expected[2:4],
        expected[4:],
    ]


def test_filters_by_related_rows(acme):
    status = acme.account.statuses.create(kind="client", code="lead", name="Lead")
    contact = make_contact(acme.alice)
    carl = make_user(acme.account, "carl", role=User.Role.AGENT)
    make_client(acme.alice, "A", status_id=status.id, responsible_id=acme.bob.id)
    make_client(carl, "B", contact_id=contact.id, responsible_id=acme.bob.id).write({"note": "a"}, by=acme.bob)

    def names_for(query: str) -> list[str]:
        return values_of(acme.json().get(f"{PATH}?{query}"))

    assert names_for(f"status_id={status.id}") == ["A"]
    assert names_for(f"responsible_id={acme.bob.id}") == ["A", "B"]
    assert names_for(f"contact_id={contact.id}") == ["B"]
    assert names_for(f"creator_id={carl.id}") == ["B"]
    assert names_for(f"updater_id={acme.bob.id}") == ["B"]
    assert names_for(f"responsible_id={acme.bob.id}&status_id={status.id}") == ["A"]
    assert names_for("responsible_id=999999") == []


# Responses contain whole seconds, so a time without a fraction includes changes later in that second.
@table(
    ("since", "expected"),
    {
        "2009-01-26T18:06:53+01:00": ["A", "B"],
        "2009-01-26T18:06:53%2B01:00": ["A", "B"],
        "2009-01-26T17:06:53Z": ["A", "B"],
        "2009-01-26 17:06:53": ["A", "B"],
        "2009-01-26": ["A", "B"],
        "2009-01-26T17:06:53.700Z": ["A", "B"],
        "2009-01-26T17:06:53.701Z": ["B"],
        "2009-01-26T17:06:54Z": ["B"],
        "2009-01-26T17:06:55Z": [],
    }.items(),
)
def test_updated_since(acme, since, expected):
    for name, seconds in (("A", 0), ("B", 1)):
        row = make_client(acme.alice, name)
        Client.objects.filter(pk=row.pk).update(updated_at=START + timedelta(seconds=seconds))
    assert values_of(acme.json().get(f"{PATH}?updated_since={since}")) == expected


def test_filter_by_tag(acme, other):
    make_client(acme.alice, "A", tags=["VIP", "Łódź"])
    make_client(acme.alice, "B", tags=["other"])
    make_client(acme.alice, "C", tags=["vip"])
    make_client(other.mallory, "D", tags=["theirs"])
    for tag in ("vip", "VIP", " Vip "):
        assert values_of(acme.json().get(PATH, params={"tag": tag})) == ["A", "C"]
    assert values_of(acme.json().get(PATH, params={"tag": "łódź"})) == ["A"]
    assert values_of(acme.json().get(PATH, params={"tag": "vi"})) == []
    assert values_of(acme.json().get(PATH, params={"tag": "theirs"})) == []


def test_filter_by_external_ids(acme, other):
    make_client(acme.alice, "A", external_ids={"shop": "1", "erp": "x/ż"})
    make_client(acme.alice, "B", external_ids={"shop": "2", "erp.id": "1"})
    make_client(acme.alice, "C", external_ids={"shop": "3"}).trash(by=acme.alice)
    make_client(other.mallory, "D", external_ids={"shop": "4"})

    def names_for(**pairs: str) -> list[str]:
        return values_of(acme.json().get(PATH, params={f"external_ids[{key}]": value for key, value in pairs.items()}))

    assert names_for(shop="1") == ["A"]
    assert names_for(shop="1", erp="x/ż") == ["A"]
    assert names_for(**{"shop": "2", "erp.id": "1"}) == ["B"]
    # One client must have all of the ids.
    assert names_for(shop="2", erp="x/ż") == []
    assert names_for(shop="1", erp="y") == []
    for shop_id in ("3", "4", "9"):
        assert names_for(shop=shop_id) == []


@pytest.fixture
def tagged_clients(acme, other):
    """Create clients with and without a tag, in the trash, and of another account. Return those that a list with the tag shows."""
    for number in range(12):
        tags = ["vip"] if number % 4 else []
        row = make_client(acme.alice, f"Client {number * 7 % 12:02}", tags=tags)
        Client.objects.filter(pk=row.pk).update(updated_at=START + timedelta(hours=number * 5 % 12))
        make_client(other.mallory, f"Client {number}", tags=["vip"])
        make_client(acme.alice, f"Client {number}", tags=["vip"]).trash(by=acme.alice)
    return Client.objects.filter(account=acme.account, trashed_at=None, tags=["vip"])


@table(
    "limits",
    [
        # In turn: a full scan in list order, a partial scan, a partial scan with too many matches to sort, a sort of the
        # matches with a limit, and without one.
        {"COMMON_ROWS": -1},
        {"COMMON_ROWS": -1, "SCAN_ROWS": 3, "SPARSE_FACTOR": 0},
        {"COMMON_ROWS": -1, "SCAN_ROWS": 3, "SPARSE_FACTOR": 0, "SORT_LIMIT": 5},
        {"COMMON_ROWS": 10**9, "SORT_LIMIT": 5},
        {"COMMON_ROWS": 10**9},
    ],
)
@table("order", ["id", "-id", "name", "-name", "updated_at"])
def test_every_strategy_of_paging_returns_the_same_pages(acme, tagged_clients, monkeypatch, limits, order):
    for name, limit in limits.items():
        monkeypatch.setattr(f"core.api.lists.{name}", limit)
    expected = list(tagged_clients.order_by(order).values_list("name", flat=True))
    pages = values_by_page(acme.json(), f"{PATH}?tag=vip&order={order}&per_page=2")
    assert pages == [expected[n : n + 2] for n in range(0, len(expected), 2)]


def test_search_filters_and_order_together(acme):
    for name, tags in (("Jan Nowak", ["vip"]), ("Anna Nowak", ["vip"]), ("Ewa Nowak", []), ("Jan Lis", ["vip"])):
        make_client(acme.alice, name, tags=tags, responsible_id=acme.bob.id)
    query = f"q=nowak&tag=vip&responsible_id={acme.bob.id}&updated_since=2009-01-26&order=name&per_page=1"
    assert values_by_page(acme.json(), f"{PATH}?{query}") == [["Anna Nowak"], ["Jan Nowak"]]


def test_changes_are_found_immediately(acme):
    json = acme.json()
    client = read(json.post(PATH, json={"client": {"name": "Jan", "external_ids": {"shop": "1"}, "tags": ["vip"]}}))
    searches = ("q=jan", "tag=vip", "external_ids[shop]=1", "order=name")
    assert [values_of(json.get(f"{PATH}?{query}")) for query in searches] == [["Jan"]] * 4
    json.put(f"/app/clients/{client['id']}.json", json={"client": {"name": "Ewa", "tags": []}})
    assert [values_of(json.get(f"{PATH}?{query}")) for query in ("q=jan", "tag=vip", "q=ewa")] == [[], [], ["Ewa"]]
    json.delete(f"/app/clients/{client['id']}.json")
    assert [values_of(json.get(f"{PATH}?{query}")) for query in ("q=ewa", "external_ids[shop]=1")] == [[], []]


@table(
    ("text", "words"),
    [
        ("City 77", "'77':*"),
        ("B-5 Nowa, 7a", "'5':* & '7a':*"),
        ("77", ""),
        ("nowy sacz", ""),
        ("Łódź 7", ""),
    ],
)
def test_short_words_of_a_condition(text, words):
    assert short_words(text) == words
