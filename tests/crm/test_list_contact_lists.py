from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import contact_list_body
from tests.support.factories import make_contact, make_contact_list
from tests.support.lists import link_to_first_page, values_by_page, values_of

PATH = "/app/contact_lists.json"


def test_it_works(acme):
    news, old = make_contact_list(acme.alice, "Newsletter"), make_contact_list(acme.bob, "Old")
    for _ in range(2):
        make_contact(acme.alice, contact_list_ids=[news.id])
    assert_answered(
        acme.json().get(PATH),
        200,
        [
            contact_list_body(news, name="Newsletter", contacts_count=2),
            contact_list_body(old, name="Old", contacts_count=0),
        ],
        link=link_to_first_page(PATH),
    )


def test_an_empty_list(acme, other):
    make_contact_list(other.mallory)
    make_contact_list(acme.alice).trash(by=acme.alice)
    assert_answered(acme.json().get(PATH), 200, [], link=link_to_first_page(PATH))


def test_it_rejects_unknown_and_invalid_parameters(acme):
    known = "page, per_page, order, updated_since, q, creator_id, updater_id"
    assert_refused(
        acme.json().get(f"{PATH}?tag=a&creator_id=x", headers={"Prefer": "handling=strict"}),
        422,
        "validation_failed",
        {"tag": [f"is not one of the parameters {known}"], "creator_id": ["is not a whole number"]},
    )


def test_pages_orders_filters_and_searches(acme):
    for name in ("Święta", "sale", "News"):
        make_contact_list(acme.bob if name == "News" else acme.alice, name)
    json = acme.json()
    assert values_by_page(json, f"{PATH}?per_page=2") == [["Święta", "sale"], ["News"]]
    assert values_by_page(json, f"{PATH}?per_page=2&order=-name") == [["Święta", "sale"], ["News"]]
    assert values_of(json.get(f"{PATH}?order=-created_at")) == ["News", "sale", "Święta"]
    assert values_of(json.get(f"{PATH}?creator_id={acme.bob.id}")) == ["News"]
    assert values_of(json.get(f"{PATH}?q=swieta")) == ["Święta"]
