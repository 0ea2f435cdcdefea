from decimal import Decimal

from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import deal_body
from tests.support.factories import make_client, make_contact, make_deal
from tests.support.lists import link_to_first_page, values_by_page, values_of

PATH = "/app/deals.json"
PARAMETERS = (
    "page, per_page, order, updated_since, q, tag, external_ids[key], client_id, status_id, responsible_id, creator_id,"
    " updater_id, contact_id, outcome, pipeline_id, closed_at__after, closed_at__before, expected_close_date__after,"
    " expected_close_date__before"
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
        acme.json().get(f"{PATH}?colour=1&order=price", headers={"Prefer": "handling=strict"}),
        422,
        "validation_failed",
        {
            "colour": [f"is not one of the parameters {PARAMETERS}"],
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


def test_filters_by_contact_outcome_and_time(acme):
    contact = make_contact(acme.alice)
    statuses = {status.code: status.id for status in acme.account.statuses_of_kind("deal")}
    repairs = acme.account.pipelines.create(name="Repairs", position=2)
    repair = acme.account.statuses.create(kind="deal", code="repair", name="Repair", pipeline_id=repairs.id)
    make_deal(acme.alice, "Open", status_id=statuses["new"], contact_id=contact.id, expected_close_date="2026-12-01")
    won = make_deal(acme.alice, "Won", status_id=statuses["won"], expected_close_date="2026-12-31")
    make_deal(acme.alice, "Lost", status_id=statuses["lost"])
    make_deal(acme.alice, "Repair", status_id=repair.id)
    make_deal(acme.alice, "Without a status")
    acme.account.deals.filter(id=won.id).update(closed_at="2026-01-26T17:06:53Z")

    for query, expected in {
        f"contact_id={contact.id}": ["Open"],
        "outcome=open": ["Open", "Repair", "Without a status"],
        "outcome=won": ["Won"],
        f"pipeline_id={repairs.id}": ["Repair"],
        "pipeline_id=1": ["Open", "Won", "Lost", "Without a status"],
        "pipeline_id=1&outcome=lost": ["Lost"],
        "pipeline_id=99": [],
        "closed_at__after=2026-01-26": ["Won", "Lost"],
        "closed_at__before=2026-02-01": ["Won"],
        "expected_close_date__after=2026-12-31": ["Won"],
        "expected_close_date__before=2026-12-31": ["Open"],
    }.items():
        assert values_of(acme.json().get(f"{PATH}?{query}")) == expected, query
    assert_refused(
        acme.json().get(f"{PATH}?outcome=maybe"),
        422,
        "validation_failed",
        {"outcome": ["is not one of open, won, lost"]},
    )
