from decimal import Decimal

from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import deal_body
from tests.support.factories import make_client, make_deal
from tests.support.lists import link_to_first_page, values_by_page, values_of

PATH = "/app/deals.json"
PARAMETERS = (
    "page, per_page, order, updated_since, q, tag, external_ids[key], client_id, status_id, responsible_id, creator_id,"
    " updater_id"
)


def test_it_works(acme):
    client = make_client(acme.alice)
    fields = {"client_id": client.id, "price": Decimal("149.9"), "external_ids": {"order": "1043"}, "tags": ["a"]}
    order, other = make_deal(acme.alice, "Order", **fields), make_deal(acme.bob, "Other")
    assert_answered(
        acme.json().get(PATH),
        200,
        [deal_body(order, acme.alice, name="Order", **fields), deal_body(other, acme.bob, name="Other")],
        link=link_to_first_page(PATH),
    )


def test_an_empty_list(acme, other):
    make_deal(other.mallory)
    make_deal(acme.alice).trash(by=acme.alice)
    assert_answered(acme.json().get(PATH), 200, [], link=link_to_first_page(PATH))


def test_it_rejects_unknown_and_invalid_parameters(acme):
    assert_refused(
        acme.json().get(f"{PATH}?contact_id=1&order=price", headers={"Prefer": "handling=strict"}),
        422,
        "validation_failed",
        {
            "contact_id": [f"is not one of the parameters {PARAMETERS}"],
            "order": ["is not one of id, -id, created_at, -created_at, updated_at, -updated_at, name, -name"],
        },
    )


def test_pages_orders_filters_and_searches(acme):
    client = make_client(acme.alice)
    won = acme.account.statuses.get(kind="deal", code="won")
    make_deal(acme.alice, "Order 1043", client_id=client.id, external_ids={"shop": "1043"}, tags=["Web"])
    make_deal(acme.alice, "Order 1044", status_id=won.id, responsible_id=acme.bob.id, external_ids={"shop": "S-77"})
    make_deal(acme.bob, "Chairs", description="Dwa krzesła dębowe")

    def names_for(query: str) -> list[str]:
        return values_of(acme.json().get(f"{PATH}?{query}"))

    assert values_by_page(acme.json(), f"{PATH}?per_page=2&order=name") == [["Chairs", "Order 1043"], ["Order 1044"]]
    assert names_for("order=-updated_at") == ["Chairs", "Order 1044", "Order 1043"]
    assert names_for(f"client_id={client.id}") == ["Order 1043"]
    assert names_for(f"status_id={won.id}") == ["Order 1044"]
    assert names_for(f"responsible_id={acme.bob.id}") == ["Order 1044"]
    assert names_for(f"creator_id={acme.bob.id}") == ["Chairs"]
    assert names_for("tag=web") == ["Order 1043"]
    assert names_for("external_ids[shop]=1043") == ["Order 1043"]
    for query, expected in {
        "1043": ["Order 1043"],
        "order": ["Order 1043", "Order 1044"],
        "s-77": ["Order 1044"],
        "krzesla": ["Chairs"],
        "debowych": ["Chairs"],
        "charis": ["Chairs"],
    }.items():
        assert names_for(f"q={query}") == expected, query
