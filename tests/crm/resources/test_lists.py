"""The lists of clients, contacts, deals and contact lists: bodies, parameters, orders, pages, filters and searches."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import quote

import pytest

from accounts.users.models import User
from crm.clients.models import Client
from team.conditions.conditions import short_words
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import client_body, contact_body, contact_list_body, deal_body
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_user
from tests.support.lists import link_to_first_page, values_by_page, values_of
from tests.support.tables import table

CLIENTS, CONTACTS, DEALS, LISTS = (f"/app/{name}.json" for name in ("clients", "contacts", "deals", "contact_lists"))
MAKE = {CLIENTS: make_client, CONTACTS: make_contact, DEALS: make_deal, LISTS: make_contact_list}
ORDERS = "id, -id, created_at, -created_at, updated_at, -updated_at, name, -name"
PARAMETERS = {
    CLIENTS: "page, per_page, order, updated_since, q, tag, external_ids[key], external_id, email, status_id, responsible_id,"
    " contact_id, creator_id, updater_id",
    CONTACTS: "page, per_page, order, updated_since, q, tag, external_ids[key], email, client_id, contact_list_id,"
    " responsible_id, creator_id, updater_id",
    DEALS: "page, per_page, order, updated_since, q, tag, external_ids[key], client_id, status_id, responsible_id, creator_id,"
    " updater_id, contact_id, outcome, pipeline_id, closed_at__after, closed_at__before, expected_close_date__after,"
    " expected_close_date__before",
    LISTS: "page, per_page, order, updated_since, q, creator_id, updater_id",
}
START = datetime(2009, 1, 26, 17, 6, 53, 700_000, tzinfo=UTC)


@pytest.fixture
def find(acme):
    """Return the names in a list, by its path and query."""
    return lambda path, query="": values_of(acme.json().get(f"{path}?{query}"))


def test_it_works(acme):
    """Each list has the whole bodies of its rows."""
    json, contact_list = acme.json(), make_contact_list(acme.alice, "Newsletter")
    other_list = make_contact_list(acme.bob, "Old")
    client_fields = {
        "email": "jan@example.com",
        "external_ids": {"shop": "1"},
        "tags": ["vip"],
        "discount": Decimal("2.5"),
    }
    contact_fields = {"contact_list_ids": [contact_list.id, other_list.id], "tags": ["vip"], "phone": "601 234 567"}
    ann, anna = make_contact(acme.alice, "Ann", **contact_fields), make_contact(acme.bob, "Anna")
    client_fields |= {"contact_id": ann.id, "responsible_id": acme.bob.id}
    jan, ewa = make_client(acme.alice, "Jan", **client_fields), make_client(acme.bob, "Ewa")
    deal_fields = {"client_id": jan.id, "price": Decimal("149.9"), "external_ids": {"order": "1043"}, "tags": ["a"]}
    order, other = make_deal(acme.alice, "Order", **deal_fields), make_deal(acme.bob, "Other")
    for path, rows in {
        CLIENTS: [
            client_body(jan, acme.alice, name="Jan", **client_fields, deals_count=1),
            client_body(ewa, acme.bob, name="Ewa"),
        ],
        CONTACTS: [
            contact_body(ann, acme.alice, name="Ann", **contact_fields),
            contact_body(anna, acme.bob, name="Anna"),
        ],
        DEALS: [deal_body(order, acme.alice, name="Order", **deal_fields), deal_body(other, acme.bob, name="Other")],
        LISTS: [contact_list_body(row, name=row.name, contacts_count=1) for row in (contact_list, other_list)],
    }.items():
        assert_answered(json.get(path), 200, rows, link=link_to_first_page(path))


@table(("path", "make"), MAKE.items())
def test_an_empty_list(acme, other, path, make):
    make(other.mallory)
    make(acme.alice).trash(by=acme.alice)
    assert_answered(acme.json().get(path), 200, [], link=link_to_first_page(path))


CHARACTERS = "has a character that can't be used (a control character or half of a surrogate pair)"
RANGE = "must be between -9223372036854775807 and 9223372036854775807"
NO_TIME = "is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"
PAIR = "must be external_ids[key]=value: a key of 1-64 letters, digits, _, . and -, a value of 1-255 characters"


@table(
    ("path", "query", "errors"),
    [
        (CLIENTS, "page=0&per_page=1001", {"page": "must be a whole number, 1 or more", "per_page": "must be a whole number from 1 to 1000"}),
        (CLIENTS, "contact_id=9223372036854775808&responsible_id=1.5", {"responsible_id": "is not a whole number", "contact_id": RANGE}),
        (CLIENTS, f"q={'a' * 256}", {"q": "is too long (maximum is 255 characters)"}),
        (CLIENTS, "q=a%00b&tag=a%00b", {"q": CHARACTERS, "tag": CHARACTERS}),
        (CLIENTS, "external_ids[a b]=1", {"external_ids": PAIR}),
        (CLIENTS, "&".join(f"external_ids[key{n}]=1" for n in range(51)), {"external_ids": "are too many (maximum is 50)"}),
        # All errors at once, in this order. Unknown parameters are errors under strict handling.
        (
            CLIENTS,
            "shoe=42&page=x&order=shoe&tag=a&tag=b&status_id=x&q=!&updated_since=yesterday",
            {
                "tag": "is given more than once",
                "shoe": "is not one of the parameters {parameters}",
                "page": "must be a whole number, 1 or more",
                "order": f"is not one of {ORDERS}",
                "updated_since": NO_TIME,
                "q": "must have a letter or a digit",
                "status_id": "is not a whole number",
            },
        ),
        *((CLIENTS, f"{name}=1", {name: "is not one of the parameters {parameters}"}) for name in ("external_ids", "limit")),
        (
            CONTACTS,
            "external_id=1&client_id=x&order=email",
            {
                "external_id": "is not one of the parameters {parameters}",
                "order": f"is not one of {ORDERS}",
                "client_id": "is not a whole number",
            },
        ),
        (
            DEALS,
            "colour=1&order=price&outcome=maybe",
            {
                "colour": "is not one of the parameters {parameters}",
                "order": f"is not one of {ORDERS}",
                "outcome": "is not one of open, won, lost",
            },
        ),
        (
            LISTS,
            "tag=a&creator_id=x",
            {"tag": "is not one of the parameters {parameters}", "creator_id": "is not a whole number"},
        ),
    ],
)  # fmt: skip
def test_it_rejects_invalid_parameters(acme, path, query, errors):
    response = acme.json().get(f"{path}?{query}", headers={"Prefer": "handling=strict"})
    expected = {name: [rule.format(parameters=PARAMETERS[path])] for name, rule in errors.items()}
    assert_refused(response, 422, "validation_failed", expected)


def test_blank_parameters_are_ignored(acme, django_assert_num_queries):
    make_client(acme.alice, "Jan")
    json = acme.json()
    blank = dict.fromkeys(("page", "per_page", "order", "q", "tag", "status_id", "updated_since"), " ")
    assert values_of(json.get(CLIENTS, params=blank)) == ["Jan"]
    # Blank parameters add no query. These are for the token, the ids and the rows.
    with django_assert_num_queries(3):
        json.get(CLIENTS, params=blank)


def test_pages(acme):
    for number in range(7):
        make_client(acme.alice, f"Client {number}")
    pages = values_by_page(acme.json(), f"{CLIENTS}?per_page=3")
    assert pages == [[f"Client {n}" for n in numbers] for numbers in ([0, 1, 2], [3, 4, 5], [6])]
    response = acme.json().get(f"{CLIENTS}?per_page=3&page=2&order=id&api_token={quote(acme.bob_token)}")
    url = f"http://acme.example.test{CLIENTS}?per_page=3&order=id&page="
    assert response.headers["Link"] == f'<{url}1>; rel="first", <{url}1>; rel="prev", <{url}3>; rel="next"'
    assert values_of(acme.json().get(f"{CLIENTS}?page={10**40}")) == []


@table("path", MAKE)
def test_orders(acme, find, path):
    """The order of the ids differs from all other orders. Names are sorted without case and diacritics, in any locale of the database."""
    for name, created, updated in (("Łukasz", 2, 5), ("anna", 3, 4), ("Zoe", 1, 6)):
        row = MAKE[path](acme.alice, name)
        hours = {"created_at": START + timedelta(hours=created), "updated_at": START + timedelta(hours=updated)}
        type(row).objects.filter(pk=row.pk).update(**hours)
    for order, expected in {
        "id": ["Łukasz", "anna", "Zoe"],
        "created_at": ["Zoe", "Łukasz", "anna"],
        "updated_at": ["anna", "Łukasz", "Zoe"],
        "name": ["anna", "Łukasz", "Zoe"],
    }.items():
        assert find(path, f"order={order}") == expected
        assert find(path, f"order=-{order}") == expected[::-1]


def test_ties_are_ordered_by_id(acme):
    ids = [make_client(acme.alice, "Same").id for _ in range(5)]
    Client.objects.update(created_at=START, updated_at=START)
    for order in ("created_at", "-created_at", "updated_at", "-updated_at", "name", "-name"):
        expected = ids[::-1] if order.startswith("-") else ids
        pages = values_by_page(acme.json(), f"{CLIENTS}?per_page=2&order={order}", "id")
        assert pages == [expected[:2], expected[2:4], expected[4:]], order


def test_filters_of_clients(acme, other, find):
    status = acme.account.statuses.create(kind="client", code="lead", name="Lead")
    contact = make_contact(acme.alice)
    carl = make_user(acme.account, "carl", role=User.Role.AGENT)
    make_client(acme.alice, "A", status_id=status.id, responsible_id=acme.bob.id, tags=["VIP", "Łódź"])
    b = make_client(carl, "B", contact_id=contact.id, responsible_id=acme.bob.id, tags=["other"])
    b.write({"note": "a"}, by=acme.bob)
    make_client(acme.alice, "C", tags=["vip"])
    make_client(other.mallory, "D", tags=["theirs"])
    for query, expected in {
        f"status_id={status.id}": "A",
        f"responsible_id={acme.bob.id}": "AB",
        f"contact_id={contact.id}": "B",
        f"creator_id={carl.id}": "B",
        f"updater_id={acme.bob.id}": "B",
        f"responsible_id={acme.bob.id}&status_id={status.id}": "A",
        "responsible_id=999999": "",
        "tag=vip": "AC",
        "tag=VIP": "AC",
        "tag=%20Vip%20": "AC",
        "tag=łódź": "A",
        "tag=vi": "",
        "tag=theirs": "",
    }.items():
        assert "".join(find(CLIENTS, query)) == expected, query


# Responses contain whole seconds, so a time without a fraction includes changes later in that second.
SINCE = {
    "2009-01-26T18:06:53+01:00": "AB",
    "2009-01-26T18:06:53%2B01:00": "AB",
    "2009-01-26T17:06:53Z": "AB",
    "2009-01-26 17:06:53": "AB",
    "2009-01-26": "AB",
    "2009-01-26T17:06:53.700Z": "AB",
    "2009-01-26T17:06:53.701Z": "B",
    "2009-01-26T17:06:54Z": "B",
    "2009-01-26T17:06:55Z": "",
}


def test_updated_since(acme, find):
    for seconds, name in enumerate("AB"):
        row = make_client(acme.alice, name)
        Client.objects.filter(pk=row.pk).update(updated_at=START + timedelta(seconds=seconds))
    assert {since: "".join(find(CLIENTS, f"updated_since={since}")) for since in SINCE} == SINCE


@table(("path", "make"), [(CLIENTS, make_client), (CONTACTS, make_contact), (DEALS, make_deal)])
def test_filter_by_external_ids(acme, other, path, make):
    make(acme.alice, "A", external_ids={"shop": "1", "erp": "x/ż"})
    make(acme.alice, "B", external_ids={"shop": "2", "erp.id": "1"})
    make(acme.alice, "C", external_ids={"shop": "3"}).trash(by=acme.alice)
    make(other.mallory, "D", external_ids={"shop": "4"})

    def names_for(**pairs: str) -> list[str]:
        return values_of(acme.json().get(path, params={f"external_ids[{key}]": value for key, value in pairs.items()}))

    assert names_for(shop="1") == names_for(shop=" 1 ") == ["A"]
    assert names_for(shop="1", erp="x/ż") == ["A"]
    assert names_for(**{"shop": "2", "erp.id": "1"}) == ["B"]
    # One row must have all of the ids.
    assert names_for(shop="2", erp="x/ż") == []
    assert names_for(shop="1", erp="y") == []
    for shop_id in ("3", "4", "9"):
        assert names_for(shop=shop_id) == []


@pytest.mark.parametrize(("path", "make"), [(CLIENTS, make_client), (CONTACTS, make_contact)])
def test_filter_by_email(acme, find, path, make):
    for number, email in enumerate(("Ann@Example.com", "ann@example.com", "ann@example.co", None)):
        make(acme.alice, f"{number}", email=email)
    make(acme.alice, "gone", email="ann@example.com").trash(by=acme.alice)
    assert find(path, "email=ANN@example.com") == ["0", "1"]
    assert find(path, "email=ann@example.com&order=-id&per_page=1") == ["1"]
    assert find(path, "email=ann") == []
    assert find(path, "email= ") == ["0", "1", "2", "3"]
    assert_refused(acme.json().get(f"{path}?email=a%00"), 422, "validation_failed", {"email": [CHARACTERS]})


@pytest.fixture
def tagged_clients(acme, other):
    """Create clients with and without a tag, in the trash, and of another account. Return those that a list with the tag shows."""
    for number in range(12):
        tags = ["vip"] if number % 4 else []
        row = make_client(acme.alice, f"Client {number * 7 % 12:02}", tags=tags)
        Client.objects.filter(pk=row.pk).update(updated_at=START + timedelta(hours=number * 5 % 12))
    for number in range(3):
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
@table("order", ["id", "-name", "updated_at"])
def test_every_strategy_of_paging_returns_the_same_pages(acme, tagged_clients, monkeypatch, limits, order):
    for name, limit in limits.items():
        monkeypatch.setattr(f"core.api.lists.{name}", limit)
    expected = list(tagged_clients.order_by(order).values_list("name", flat=True))
    pages = values_by_page(acme.json(), f"{CLIENTS}?tag=vip&order={order}&per_page=2")
    assert pages == [expected[n : n + 2] for n in range(0, len(expected), 2)]


def test_search_filters_and_order_together(acme):
    for name, tags in (("Jan Nowak", ["vip"]), ("Anna Nowak", ["vip"]), ("Ewa Nowak", []), ("Jan Lis", ["vip"])):
        make_client(acme.alice, name, tags=tags, responsible_id=acme.bob.id)
    query = f"q=nowak&tag=vip&responsible_id={acme.bob.id}&updated_since=2009-01-26&order=name&per_page=1"
    assert values_by_page(acme.json(), f"{CLIENTS}?{query}") == [["Anna Nowak"], ["Jan Nowak"]]


def test_changes_are_found_immediately(acme, find):
    json = acme.json()
    client = read(json.post(CLIENTS, json={"client": {"name": "Jan", "external_ids": {"shop": "1"}, "tags": ["vip"]}}))
    searches = ("q=jan", "tag=vip", "external_ids[shop]=1", "order=name")
    assert [find(CLIENTS, query) for query in searches] == [["Jan"]] * 4
    json.put(f"/app/clients/{client['id']}.json", json={"client": {"name": "Ewa", "tags": []}})
    assert [find(CLIENTS, query) for query in ("q=jan", "tag=vip", "q=ewa")] == [[], [], ["Ewa"]]
    json.delete(f"/app/clients/{client['id']}.json")
    assert [find(CLIENTS, query) for query in ("q=ewa", "external_ids[shop]=1")] == [[], []]


def test_filters_of_contacts(acme, other, find):
    client, news, old = make_client(acme.alice), make_contact_list(acme.alice), make_contact_list(acme.alice)
    make_contact(acme.alice, "A", client_id=client.id, tags=["VIP"], contact_list_ids=[news.id, old.id])
    make_contact(acme.bob, "B", responsible_id=acme.bob.id, contact_list_ids=[news.id], external_ids={"crm": "xyz"})
    make_contact(acme.alice, "C", contact_list_ids=[news.id]).trash(by=acme.alice)
    for query, expected in {
        f"client_id={client.id}": "A",
        f"responsible_id={acme.bob.id}": "B",
        f"creator_id={acme.bob.id}": "B",
        f"updater_id={acme.alice.id}": "A",
        "tag=vip": "A",
        "q=xyz": "B",
        "updated_since=2009-01-26": "AB",
        f"contact_list_id={news.id}": "AB",
        f"contact_list_id={old.id}": "A",
        # The id is increased because an id of another account may also be that of a row of acme.
        f"contact_list_id={make_contact_list(other.mallory).id + 10**6}": "",
    }.items():
        assert "".join(find(CONTACTS, query)) == expected, query
    # A list in the trash has no contacts.
    old.trash(by=acme.alice)
    assert find(CONTACTS, f"contact_list_id={old.id}") == []


def test_filters_of_deals(acme, find):
    client, contact = make_client(acme.alice), make_contact(acme.alice)
    statuses = {status.code: status.id for status in acme.account.statuses_of_kind("deal")}
    repairs = acme.account.pipelines.create(name="Repairs", position=2)
    repair = acme.account.statuses.create(kind="deal", code="repair", name="Repair", pipeline_id=repairs.id)
    make_deal(acme.alice, "Open", status_id=statuses["new"], contact_id=contact.id, expected_close_date="2026-12-01")
    won = make_deal(acme.alice, "Won", status_id=statuses["won"], expected_close_date="2026-12-31", client_id=client.id)
    make_deal(acme.alice, "Lost", status_id=statuses["lost"], responsible_id=acme.bob.id, tags=["Web"])
    make_deal(acme.bob, "Repair", status_id=repair.id)
    make_deal(acme.alice, "Unknown")
    acme.account.deals.filter(id=won.id).update(closed_at="2026-01-26T17:06:53Z")
    for query, expected in {
        f"client_id={client.id}": "Won",
        f"status_id={repair.id}": "Repair",
        f"responsible_id={acme.bob.id}": "Lost",
        f"creator_id={acme.bob.id}": "Repair",
        "tag=web": "Lost",
        f"contact_id={contact.id}": "Open",
        "outcome=open": "Open Repair Unknown",
        "outcome=won": "Won",
        f"pipeline_id={repairs.id}": "Repair",
        "pipeline_id=1": "Open Won Lost Unknown",
        "pipeline_id=1&outcome=lost": "Lost",
        "pipeline_id=99": "",
        "closed_at__after=2026-01-26": "Won Lost",
        "closed_at__before=2026-02-01": "Won",
        "expected_close_date__after=2026-12-31": "Won",
        "expected_close_date__before=2026-12-31": "Open",
    }.items():
        assert " ".join(find(DEALS, query)) == expected, query


def test_searches(acme, find):
    """The searched fields of contacts, deals and contact lists. `tests/core/search/test_search.py` has the rules of the search."""
    make_contact(acme.alice, "Jan Nowak", position="Zakupy", phone="22 601-23-45", note="Woli e-mail")
    make_contact(acme.alice, "Anna Lis")
    make_deal(acme.alice, "Order 1043", external_ids={"shop": "1043"})
    make_deal(acme.alice, "Order 1044", external_ids={"shop": "S-77"})
    make_deal(acme.alice, "Chairs", description="Dwa krzesła dębowe")
    make_contact_list(acme.alice, "Święta")
    make_contact_list(acme.bob, "News")
    for path, queries, expected in (
        (CONTACTS, ("nowak", "zakup", "226012345", "woli", "jan+email", "nowka"), ["Jan Nowak"]),
        (DEALS, ("1043",), ["Order 1043"]),
        (DEALS, ("order",), ["Order 1043", "Order 1044"]),
        (DEALS, ("s-77",), ["Order 1044"]),
        (DEALS, ("krzesla", "debowych", "charis"), ["Chairs"]),
        (LISTS, ("swieta",), ["Święta"]),
    ):
        assert {query: find(path, f"q={query}") for query in queries} == dict.fromkeys(queries, expected)
    assert find(LISTS, f"creator_id={acme.bob.id}") == ["News"]


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
