"""Groups of users of the team. The team reads them; admins and owners write them."""

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_token, make_user
from tests.support.lists import link_to_first_page
from tests.support.tables import table

PATH = "/app/groups.json"


def body(row, name: str) -> dict:
    times = {"created_at": on_the_wire(row.created_at), "updated_at": on_the_wire(row.updated_at)}
    return {"id": row.id, "name": name, **times}


def test_it_works(acme, django_assert_num_queries):
    admin = acme.json(acme.alice_token)
    response = admin.post(PATH, json={"group": {"name": "Sales"}})
    row = acme.account.user_groups.get()
    path = f"/app/groups/{row.id}.json"
    assert_answered(response, 201, body(row, "Sales"), location=f"http://acme.example.test{path}")
    response = admin.put(path, json={"group": {"name": "Field sales"}})
    row.refresh_from_db()
    assert_answered(response, 200, body(row, "Field sales"))
    other_row = acme.account.user_groups.create(name="Answers")
    acme.json().get(PATH)
    # The token, the ids in the order of the names, and the rows.
    with django_assert_num_queries(3):
        response = acme.json().get(PATH)
    rows = [body(other_row, "Answers"), body(row, "Field sales")]
    assert_answered(response, 200, rows, link=link_to_first_page(PATH))
    assert_answered(acme.json().get(path), 200, rows[1])
    assert_answered(admin.delete(path), 200, "ok")
    assert_refused(acme.json().get(path), 404, "not_found")


@table(
    ("fields", "errors"),
    [
        ({}, {"name": ["can't be blank"]}),
        ({"name": " "}, {"name": ["can't be blank"]}),
        ({"name": "Sales"}, {"name": ["is already taken"]}),
        ({"name": "a" * 256}, {"name": ["is too long (maximum is 255 characters)"]}),
    ],
)
def test_it_rejects_invalid_values(acme, fields, errors):
    row = acme.account.user_groups.create(name="Sales")
    admin = acme.json(acme.alice_token)
    assert_refused(admin.post(PATH, json={"group": fields}), 422, "validation_failed", errors)
    assert acme.account.user_groups.count() == 1
    # The group's own name is not taken.
    assert admin.put(f"/app/groups/{row.id}.json", json={"group": {"name": "Sales"}}).status_code == 200


# The group of a user


def test_the_group_of_a_user(acme):
    admin = acme.json(acme.alice_token)
    group = acme.account.user_groups.create(name="Sales")
    path = f"/app/users/{acme.bob.id}.json"
    response = admin.put(path, json={"user": {"group_id": group.id}})
    assert (response.status_code, read(response)["group_id"]) == (200, group.id)
    assert read(acme.json().get(path)) == read(response)
    assert [row["group_id"] for row in read(acme.json().get("/app/users.json"))] == [None, group.id]
    # Without the field, the group stays.
    assert read(admin.put(path, json={"user": {}}))["group_id"] == group.id
    assert read(admin.patch(path, json={"user": {"group_id": None}}))["group_id"] is None
    admin.put(path, json={"user": {"group_id": group.id}})
    # A deleted group leaves its users without one.
    admin.delete(f"/app/groups/{group.id}.json")
    assert read(acme.json().get(path))["group_id"] is None


def test_it_rejects_unknown_groups_and_other_fields(acme, other):
    admin, path = acme.json(acme.alice_token), f"/app/users/{acme.bob.id}.json"
    foreign = other.account.user_groups.create(name="Theirs")
    for value, message in ((foreign.id, "can't be found"), ("x", "is not an id"), (-1, "can't be found")):
        response = admin.put(path, json={"user": {"group_id": value}})
        assert_refused(response, 422, "validation_failed", {"group_id": [message]})
    response = admin.put(path, json={"user": {"role": "owner"}})
    assert (read(response)["role"], response.headers["X-Ignored-Fields"]) == ("agent", "role")


def test_it_rejects_members_and_owners_by_admins(acme):
    group = acme.account.user_groups.create(name="Sales")
    fields = {"user": {"group_id": group.id}}
    response = acme.json(acme.alice_token).put(f"/app/users/{acme.carol.id}.json", json=fields)
    assert_refused(response, 404, "not_found")
    admin = make_user(acme.account, "dora", role="admin")
    response = acme.json(make_token(admin)).put(f"/app/users/{acme.alice.id}.json", json=fields)
    assert response.status_code == 403
    assert not acme.account.users.exclude(group_id=None).exists()


# What agents see


def test_what_agents_see(acme):
    admin, path = acme.json(acme.alice_token), "/app/account.json"
    assert read(acme.json().get(path))["agents_see"] == "all"
    assert read(admin.put(path, json={"account": {"agents_see": "own"}}))["agents_see"] == "own"
    assert read(acme.json().get(path))["agents_see"] == "own"
    # Null changes nothing.
    assert read(admin.put(path, json={"account": {"agents_see": None}}))["agents_see"] == "own"
    for value in ("none", 7):
        response = admin.put(path, json={"account": {"agents_see": value}})
        assert_refused(response, 422, "validation_failed", {"agents_see": ["is not one of all, own"]})
