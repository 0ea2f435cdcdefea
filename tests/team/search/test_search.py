"""The search over everything as JSON. `tests/team/search/test_search_pages.py` has its page."""

from team.search.queries import MAX_FOUND
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.factories import make_client, make_contact, make_deal, make_note, make_post, make_task
from tests.support.queries import capture_queries

PATH = "/app/find.json"


def test_it_works(acme):
    client = make_client(acme.alice, "Northwind", email="office@northwind.example")
    deal = make_deal(acme.alice, "Northwind chairs", client_id=client.id)
    make_task(acme.alice, "Order paper")
    response, queries = capture_queries(lambda: acme.json().get(f"{PATH}?q=northwind"))
    url = "http://acme.example.test/app"
    found = {
        "clients": [
            {"id": client.id, "name": "Northwind", "detail": client.email, "url": f"{url}/clients/{client.id}"}
        ],
        "contacts": [],
        "deals": [{"id": deal.id, "name": "Northwind chairs", "detail": "Northwind", "url": f"{url}/deals/{deal.id}"}],
        "suggestions": [],
        "tasks": [],
        "notes": [],
    }
    assert_answered(response, 200, found)
    # Fewer rows than fit were found, so similar words are searched as well. If PostgreSQL estimates that many rows match, as with statistics
    # of rows that other tests have deleted, two statements more compare the first rows of the lists.
    assert 10 <= len(queries) <= 12, queries


def test_it_finds_every_kind_and_limits_their_number(acme, monkeypatch):
    for number in range(MAX_FOUND + 1):
        for make in (make_client, make_contact, make_deal, make_post, make_task, make_note):
            make(acme.alice, f"Lantern {number}")
    found = read(acme.json().get(f"{PATH}?q=lantern"))
    assert {name: len(rows) for name, rows in found.items()} == dict.fromkeys(found, MAX_FOUND)


def test_rows_of_others_are_not_found(acme, other):
    make_client(other.mallory, "Northwind")
    make_client(acme.alice, "Northwind", responsible_id=acme.alice.id)
    make_note(acme.alice, "Call Northwind", client_id=acme.account.clients.get().id)
    acme.account.change(agents_see="own")
    assert not any(read(acme.json().get(f"{PATH}?q=northwind")).values())
    found = read(acme.json(acme.alice_token).get(f"{PATH}?q=northwind"))
    assert [len(found[name]) for name in ("clients", "notes")] == [1, 1]
    assert found["notes"][0]["detail"] == "Northwind"


def test_it_rejects_a_text_that_cannot_be_searched(acme):
    too_long = "is too long (maximum is 255 characters)"
    for query, rule in (("", "can't be blank"), ("?q=+", "can't be blank"), (f"?q={'x' * 256}", too_long)):
        assert_refused(acme.json().get(PATH + query), 422, "validation_failed", {"q": [rule]})
