import pytest

from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import contact_body
from tests.support.factories import make_client, make_contact, make_contact_list
from tests.support.lists import link_to_first_page, values_by_page, values_of

PATH = "/app/contacts.json"
PARAMETERS = "page, per_page, order, updated_since, q, tag, external_ids[key], email, client_id, contact_list_id, responsible_id, creator_id, updater_id"


def test_it_works(acme):
    client = make_client(acme.alice)
    lists = sorted(make_contact_list(acme.alice).id for _ in range(2))
    fields = {"client_id": client.id, "contact_list_ids": lists, "tags": ["vip"], "phone": "601 234 567"}
    jan, anna = make_contact(acme.alice, "Jan", **fields), make_contact(acme.bob, "Anna")
    assert_answered(
        acme.json().get(PATH),
        200,
        [contact_body(jan, acme.alice, name="Jan", **fields), contact_body(anna, acme.bob, name="Anna")],
        link=link_to_first_page(PATH),
    )


def test_an_empty_list(acme, other):
    make_contact(other.mallory)
    make_contact(acme.alice).trash(by=acme.alice)
    assert_answered(acme.json().get(PATH), 200, [], link=link_to_first_page(PATH))


def test_it_rejects_unknown_and_invalid_parameters(acme):
    assert_refused(
        acme.json().get(f"{PATH}?external_id=1&client_id=x&order=email", headers={"Prefer": "handling=strict"}),
        422,
        "validation_failed",
        {
            "external_id": [f"is not one of the parameters {PARAMETERS}"],
            "order": [
                "is not one of id, -id, created_at, -created_at, updated_at, -updated_at, name, -name",
            ],
            "client_id": ["is not a whole number"],
        },
    )


def test_pages_and_orders(acme):
    for name in ("Ćwik", "cat", "Bob"):
        make_contact(acme.alice, name)
    assert values_by_page(acme.json(), f"{PATH}?per_page=2") == [["Ćwik", "cat"], ["Bob"]]
    assert values_by_page(acme.json(), f"{PATH}?per_page=2&order=name") == [["Bob", "cat"], ["Ćwik"]]
    assert values_by_page(acme.json(), f"{PATH}?per_page=2&order=-id") == [["Bob", "cat"], ["Ćwik"]]


@pytest.fixture
def names_for(acme):
    return lambda query: values_of(acme.json().get(f"{PATH}?{query}"))


def test_filters_by_related_rows(acme, names_for):
    client = make_client(acme.alice)
    make_contact(acme.alice, "A", client_id=client.id, tags=["VIP"])
    make_contact(acme.bob, "B", responsible_id=acme.bob.id)
    assert names_for(f"client_id={client.id}") == ["A"]
    assert names_for(f"responsible_id={acme.bob.id}") == ["B"]
    assert names_for(f"creator_id={acme.bob.id}") == ["B"]
    assert names_for(f"updater_id={acme.alice.id}") == ["A"]
    assert names_for("tag=vip") == ["A"]
    assert names_for("updated_since=2009-01-26") == ["A", "B"]


def test_filter_by_contact_list(acme, other, names_for):
    news, old = make_contact_list(acme.alice), make_contact_list(acme.alice)
    make_contact(acme.alice, "A", contact_list_ids=[news.id, old.id])
    make_contact(acme.alice, "B", contact_list_ids=[news.id])
    make_contact(acme.alice, "C", contact_list_ids=[news.id]).trash(by=acme.alice)
    make_contact(acme.alice, "D")
    assert names_for(f"contact_list_id={news.id}") == ["A", "B"]
    assert names_for(f"contact_list_id={old.id}") == ["A"]
    # A list in the trash and an unknown list have no contacts.
    old.trash(by=acme.alice)
    assert names_for(f"contact_list_id={old.id}") == []
    # The id is increased because an id of another account may also be that of a row of acme.
    other_list = make_contact_list(other.mallory)
    assert names_for(f"contact_list_id={other_list.id + 10**6}") == []


def test_a_search(acme, names_for):
    make_contact(acme.alice, "Jan Nowak", position="Zakupy", phone="22 601-23-45", note="Woli e-mail")
    make_contact(acme.alice, "Anna Lis")
    for query in ("nowak", "zakup", "226012345", "woli", "jan+email", "nowka"):
        assert names_for(f"q={query}") == ["Jan Nowak"], query


def test_filter_by_external_ids(acme, names_for):
    make_contact(acme.alice, "A", external_ids={"crm": "1", "erp": "x"})
    make_contact(acme.alice, "B", external_ids={"crm": "2"})
    assert names_for("external_ids[crm]=1&external_ids[erp]=x") == ["A"]
    assert names_for("external_ids[crm]=2&external_ids[erp]=x") == []
    assert names_for("q=x") == ["A"]
