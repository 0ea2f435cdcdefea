"""The clients and contacts that are similar to a new one, as JSON. `tests/team/records/test_quick_create.py` has the warning of the pages."""

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.factories import make_client, make_contact
from tests.support.queries import capture_queries

PATH = "/app/similar.json"


def found(row, reason: str) -> dict:
    values = {"id": row.id, "name": row.name, "email": row.email, "reason": reason}
    return {"resource": row._meta.model_name} | values


def test_it_works(acme):
    client = make_client(acme.alice, "Northwind Traders", tax_no="PL 701-000-11-12")
    contact = make_contact(acme.alice, "Anna Nowak", email="anna@northwind.example")
    similar = make_client(acme.alice, "Northwind Trader")
    make_client(acme.alice, "Seagulls")
    acme.json().get(PATH)
    query = "name=Northwind+Trader&email=ANNA@northwind.example&tax_no=7010001112"
    response, queries = capture_queries(lambda: acme.json().get(f"{PATH}?{query}"))
    assert_answered(response, 200, [found(contact, "email"), found(client, "tax_no"), found(similar, "name")])
    assert len(queries) == 3, queries


def test_nothing_is_similar_to_no_values(acme):
    make_client(acme.alice)
    for query in ("", "?name=&email=+", "?tax_no=12"):
        assert_answered(acme.json().get(f"{PATH}{query}"), 200, [])


def test_agents_with_limited_access_find_their_own_rows(acme):
    own = make_client(acme.alice, "Northwind", responsible_id=acme.bob.id)
    make_client(acme.alice, "Northwind", responsible_id=acme.alice.id)
    acme.account.change(agents_see="own")
    assert read(acme.json().get(f"{PATH}?name=Northwind")) == [found(own, "name")]


def test_it_rejects_invalid_values(acme):
    characters = "has a character that can't be used (a control character or half of a surrogate pair)"
    too_long = "is too long (maximum is 255 characters)"
    response = acme.json().get(f"{PATH}?name=%01&email={'a' * 256}")
    assert_refused(response, 422, "validation_failed", {"name": [characters], "email": [too_long]})
    response = acme.json().get(f"{PATH}?name=a&name=b")
    assert_refused(response, 422, "validation_failed", {"name": ["is given more than once"]})
