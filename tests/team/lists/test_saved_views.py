"""Saved views in the Account API. The pages of the lists open them."""

import pytest

from team.lists import saved_views as views
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import saved_view_body
from tests.support.factories import make_client, make_field_definition, make_saved_view
from tests.support.queries import capture_queries

PATH = "/app/views.json"


def path_of(view) -> str:
    return f"/app/views/{view.id}.json"


def post(client, **values):
    return client.post(PATH, json={"view": {"resource": "client", "name": "Leads", **values}})


def test_it_works(acme):
    bob = acme.json()
    response = post(bob, query="?sort=name&city=Krak%C3%B3w&page=3&responsible_id=me", shared=True)
    row = acme.account.saved_views.get()
    normal = "city=Krak%C3%B3w&responsible_id=me&sort=name"
    body = saved_view_body(row, resource="client", name="Leads", query=normal, shared=True, owner_id=acme.bob.id)
    assert_answered(response, 201, body, location=f"http://acme.example.test{path_of(row)}")
    assert_answered(bob.get(path_of(row)), 200, body)
    assert read(acme.json(acme.alice_token).get(PATH)) == [body]
    assert read(bob.get(f"{PATH}?resource=deal")) == []

    response = bob.put(path_of(row), json={"view": {"name": " My   leads ", "query": None, "position": 7}})
    row.refresh_from_db()
    changed = {"name": "My leads", "query": "", "position": 7}
    assert_answered(
        response, 200, saved_view_body(row, resource="client", shared=True, owner_id=acme.bob.id, **changed)
    )
    assert_answered(bob.delete(path_of(row)), 200, "ok")
    assert_refused(bob.get(path_of(row)), 404, "not_found")


def test_it_rejects_invalid_input(acme):
    taken = make_saved_view(acme.bob, "Taken")
    for values, field, rule in (
        ({"name": " "}, "name", "can't be blank"),
        ({"name": "n" * 61}, "name", "is too long (maximum is 60 characters)"),
        ({"name": "Taken"}, "name", "is the name of another view"),
        ({"resource": "post"}, "resource", "is not one of client, contact, deal, task, contact_list, suggestion"),
        ({"query": "citty=x"}, "query", "has citty, which is not a filter of this list"),
        ({"query": "discount__after=x"}, "query", "has discount__after, which is not a number"),
        ({"query": "sort=cities"}, "query", "has sort, which is not a column by which the list can be ordered"),
        ({"query": "city=" + "x" * 4000}, "query", "is too long (maximum is 4000 characters)"),
        ({"shared": "perhaps"}, "shared", "is not true or false"),
    ):
        assert_refused(post(acme.json(), **values), 422, "validation_failed", {field: [rule]})
    assert acme.account.saved_views.count() == 1
    response = acme.json().put(path_of(taken), json={"view": {"resource": "deal"}})
    assert_refused(response, 422, "validation_failed", {"resource": ["can't be changed"]})


def test_it_rejects_more_views_than_the_limits(acme, monkeypatch):
    monkeypatch.setattr(views, "MAX_VIEWS_OF_USER", 2)
    monkeypatch.setattr(views, "MAX_SHARED_VIEWS", 1)
    bob = acme.json()
    first = make_saved_view(acme.bob, "First", shared=True)
    second = make_saved_view(acme.bob, "Second", resource="deal")
    message = "can't be saved: you have 2 views already, which is the maximum"
    assert_refused(post(bob), 422, "validation_failed", {"view": [message]})
    response = bob.put(path_of(second), json={"view": {"shared": True}})
    message = "can't be set: the team shares 1 views already, which is the maximum"
    assert_refused(response, 422, "validation_failed", {"shared": [message]})
    # A change that adds none is possible.
    assert bob.put(path_of(first), json={"view": {"name": "Changed", "shared": True}}).status_code == 200


def test_private_views_are_hidden_and_shared_ones_belong_to_their_owner(acme):
    private, shared = make_saved_view(acme.bob, "Private"), make_saved_view(acme.alice, "Shared", shared=True)
    of_bob = make_saved_view(acme.bob, "Of Bob", shared=True)
    bob, alice = acme.json(), acme.json(acme.alice_token)
    assert [row["name"] for row in read(alice.get(PATH))] == ["Shared", "Of Bob"]
    assert [row["name"] for row in read(bob.get(PATH))] == ["Shared", "Of Bob", "Private"]
    for method in ("get", "delete"):
        assert_refused(getattr(alice, method)(path_of(private)), 404, "not_found")
    assert_refused(alice.put(path_of(private), json={"view": {"name": "Mine"}}), 404, "not_found")
    message = "Only the owner of a view may do this, and an admin if the view is shared"
    assert_refused(bob.put(path_of(shared), json={"view": {"name": "Mine"}}), 403, "forbidden", message=message)
    assert_refused(bob.delete(path_of(shared)), 403, "forbidden", message=message)
    assert alice.put(path_of(of_bob), json={"view": {"name": "Of an admin"}}).status_code == 200
    of_bob.refresh_from_db()
    assert (of_bob.name, of_bob.owner_id) == ("Of an admin", acme.bob.id)


def test_a_view_whose_field_is_gone_can_be_renamed(acme):
    definition = make_field_definition(acme.account, "seats", label="Seats", type="number")
    view = make_saved_view(acme.bob, query="additional_fields[seats]__after=3")
    definition.erase()
    response = acme.json().put(path_of(view), json={"view": {"name": "Renamed"}})
    assert read(response)["query"] == "additional_fields%5Bseats%5D__after=3"


def test_a_view_that_becomes_shared_comes_last(acme):
    first = make_saved_view(acme.alice, "First", shared=True)
    private = [make_saved_view(acme.bob, name) for name in ("A", "B")]
    acme.json().put(path_of(private[0]), json={"view": {"shared": True}})
    positions = {row["name"]: row["position"] for row in read(acme.json().get(PATH))}
    assert (first.position, positions) == (1, {"First": 1, "A": 2, "B": 2})


# Lists


@pytest.fixture
def clients(acme):
    make_client(acme.bob, "Adler", city="Gdynia", discount=5, responsible_id=acme.bob.id)
    make_client(acme.bob, "Brandt", city="Gdańsk", discount=10)
    make_client(acme.bob, "Corvus", country="Poland", additional_fields={"size": "XL"})


def test_lists_accept_the_conditions_of_the_pages(acme, clients):
    for query, expected in {
        "city__contains=gd": "Adler Brandt",
        "city__contains=gd&sort=-name": "Brandt Adler",
        "sort=-name": "Corvus Brandt Adler",
        "city__contains=gd&city__not=Gdynia": "Brandt",
        "city__empty=true": "Corvus",
        "discount__after=5": "Brandt",
        "additional_fields[size]=XL": "Corvus",
        "mine=true": "Adler",
        "no_task=true&responsible_id=0": "",
        # The parameters of the API keep their meaning: a blank one is ignored.
        "city__contains=gd&responsible_id=": "Adler Brandt",
        "city__contains=gd&q=brandt": "Brandt",
        "city__contains=": "Adler Brandt Corvus",
    }.items():
        response = acme.json().get(f"/app/clients.json?{query}")
        assert [row["name"] for row in read(response)] == expected.split(), query
        assert "x-ignored-parameters" not in response.headers
    # Unknown parameters are ignored.
    response = acme.json().get("/app/clients.json?citty=x&columns=city&add=city&city__contains=gd")
    assert [row["name"] for row in read(response)] == ["Adler", "Brandt"]
    assert response.headers["x-ignored-parameters"] == "citty,columns,add"


def test_lists_reject_wrong_conditions(acme, clients):
    gone = "was deleted, or is not shared with you"
    for query, field, rule in (
        ("discount__after=x", "discount__after", "is not a number"),
        ("mine=perhaps", "mine", "is not true or false"),
        ("sort=cities", "sort", "is not a column by which the list can be ordered"),
        ("sort=name&sort=id", "sort", "is given more than once"),
        ("sort=name&order=id", "sort", "can't be given together with order, which has the same meaning"),
        ("view=1", "view", gone),
        ("view=x", "view", gone),
    ):
        response = acme.json().get(f"/app/clients.json?{query}")
        assert (response.status_code, read(response)["errors"]) == (422, {field: [rule]})


def test_a_list_of_a_view(acme, clients):
    bob = acme.json()
    view = make_saved_view(acme.bob, query="city__contains=gd&sort=-name&columns=city")

    def names(query: str) -> list[str]:
        return [row["name"] for row in read(bob.get(f"/app/clients.json?view={view.id}{query}"))]

    assert names("") == ["Brandt", "Adler"]
    assert names("&order=name") == ["Adler", "Brandt"]
    assert names("&discount__after=5") == ["Brandt"]
    assert names("&per_page=1&page=2") == ["Adler"]
    message = ["was deleted, or is not shared with you"]
    alice = acme.json(acme.alice_token)
    for path in (f"/app/clients.json?view={view.id}", f"/app/deals.json?view={view.id}"):
        assert_refused(alice.get(path), 422, "validation_failed", {"view": message})


def test_a_view_whose_status_is_gone_is_an_error(acme):
    status = acme.account.statuses.create(kind="client", code="hot", name="Hot")
    view = make_saved_view(acme.bob, query=f"status_id={status.id}&city=a")
    acme.account.statuses.filter(id=status.id).delete()
    message = "has status_id, which names a status that was deleted"
    response = acme.json().get(f"/app/clients.json?view={view.id}")
    assert_refused(response, 422, "validation_failed", {"view": [message]})


def test_a_condition_that_takes_too_long_is_cut_off(acme, clients, monkeypatch):
    monkeypatch.setattr("core.search.queries.TIME_LIMIT_MS", 1)
    monkeypatch.setattr("core.api.lists.collect_and_sort", lambda *args, **kwargs: sleep_in_database())
    response = acme.json().get("/app/clients.json?country__contains=po&sort=name")
    message = (
        "takes too long, because too many rows would have to be compared: add a search, or one of the filters status_id,"
        " responsible_id, creator_id, updater_id, tags"
    )
    assert (response.status_code, read(response)["errors"]) == (422, {"country__contains": [message]})


def sleep_in_database():
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1)")


def test_hidden_rows_stay_hidden(acme, clients):
    acme.account.change(agents_see="own")
    view = make_saved_view(acme.alice, query="city__contains=gd", shared=True)
    for query in ("city__contains=gd", f"view={view.id}"):
        assert [row["name"] for row in read(acme.json().get(f"/app/clients.json?{query}"))] == ["Adler"]


def test_the_number_of_statements_of_a_list(acme, clients):
    view = make_saved_view(acme.bob, query=f"responsible_id={acme.bob.id}&sort=name")
    bob = acme.json()
    bob.get(PATH)
    for query, number in (("sort=name", 3), ("city=Gdynia", 5), (f"view={view.id}", 7)):
        response, queries = capture_queries(lambda query=query: bob.get(f"/app/clients.json?{query}"))
        assert response.status_code == 200
        assert len(queries) == number, queries
