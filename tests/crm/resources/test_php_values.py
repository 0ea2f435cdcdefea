"""Empty and indexed values as PHP and forms send them: an empty array for an object, an object with integer keys for a list, a blank text."""

from core.api.fields import to_list, to_object
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal
from tests.support.tables import table

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
EMPTY = ([], "", " ", [""], {})


@table(
    ("data", "value"),
    [
        ([], {}),
        ("", {}),
        (" \u3000", {}),
        ([""], {}),
        ({"a": []}, {"a": []}),
        (["a"], ["a"]),
        ("a", "a"),
        (0, 0),
        (None, None),
    ],
)
def test_to_object(data, value):
    assert to_object(data) == value


@table(
    ("data", "value"),
    [
        ({"0": "a", "2": "b"}, ["a", "b"]),
        ({"7": "b", "1": "a"}, ["b", "a"]),
        ({}, []),
        ("", []),
        (" ", []),
        (["a"], ["a"]),
        ({"a": "b"}, {"a": "b"}),
        ({"0": "a", "x": "b"}, {"0": "a", "x": "b"}),
        ({"٣": "a"}, {"٣": "a"}),
        ("a", "a"),
        (None, None),
    ],
)
def test_to_list(data, value):
    assert to_list(data) == value


def test_an_empty_array_is_an_empty_object(acme):
    """Each notation of an empty array, in each place that takes an object. `to_object` is the same in all of them."""
    holder = make_client(acme.alice, "Ann")
    for kind, empty in zip(("client", "contact", "deal", "client", "deal"), EMPTY, strict=True):
        values = {"name": "Ann", "external_ids": empty, "additional_fields": empty}
        created = acme.json().post(f"/app/{kind}s.json", json={kind: values})
        [result] = read(acme.json().post(f"/app/{kind}s/bulk.json", json={f"{kind}s": {"3": values}}))
        path = f"/app/{kind}s/{read(created)['id']}.json"
        updated = acme.json().put(path, json={kind: values})
        for status, body in ((201, read(created)), (201, result[kind]), (200, read(updated))):
            assert (body["external_ids"], body["additional_fields"]) == ({}, {}), status
        upserted = acme.json().put(f"/app/{kind}s.json?external_ids[{read(created)['id']}]=1", json={kind: values})
        assert (upserted.status_code, list(read(upserted)["external_ids"].values())) == (201, ["1"])
        # The resource itself, and a client in a deal.
        response = acme.json().put(path, json={kind: empty})
        assert (response.status_code, read(response)["name"]) == (200, "Ann")
        nested = {"name": "Order", "client": {"name": "New", "external_ids": empty}}
        response = acme.json().post("/app/deals.json", json={"deal": nested})
        assert acme.account.clients.get(id=read(response)["client_id"]).external_ids == {}
        deal = {"name": "a", "client": empty, "client_id": holder.id}
        assert read(acme.json().post("/app/deals.json", json={"deal": deal}))["client_id"] == holder.id
        for collection, key in (
            ("clients", "client"),
            ("posts", "post"),
            ("contact_lists", "contact_list"),
            ("statuses", "status"),
        ):
            response = acme.json(acme.alice_token).post(f"/app/{collection}.json", json={key: empty})
            assert response.status_code == 422
            assert "can't be blank" in str(read(response)["errors"]), collection
            assert "object" not in response.text, collection


def test_an_object_with_integer_keys_is_a_list(acme):
    first, second = make_contact_list(acme.alice, "A"), make_contact_list(acme.alice, "B")
    values = {"name": "Ann", "tags": {"0": "a", "2": "b"}, "contact_list_ids": {"1": first.id, "5": second.id}}
    response = acme.json().post("/app/contacts.json", json={"contact": values})
    assert (read(response)["tags"], read(response)["contact_list_ids"]) == (["a", "b"], [first.id, second.id])
    for blank in ("", {}, []):
        response = acme.json().put(
            f"/app/contacts/{read(response)['id']}.json", json={"contact": {"tags": blank, "contact_list_ids": blank}}
        )
        assert (read(response)["tags"], read(response)["contact_list_ids"]) == ([], [])
    response = acme.json().post("/app/clients/bulk.json", json={"clients": {"2": {"name": "a"}, "4": {"name": "b"}}})
    assert [result["client"]["name"] for result in read(response)] == ["a", "b"]
    assert read(acme.json().post("/app/clients/bulk.json", json={"clients": ""})) == []
    response = acme.json().post("/app/contacts.json", json={"contact": {"name": "a", "tags": {"a": "b"}}})
    assert_refused(response, 422, "validation_failed", {"tags": ["must be a list of names, or one text with commas"]})


def test_other_resources(acme):
    """Settings, field definitions, the selection of a bulk change, and the choices of a merge."""
    alice = acme.json(acme.alice_token)
    for sent, stored in (({"0": "a", "2": "b"}, ["a", "b"]), (" ", [])):
        response = alice.put("/app/account.json", json={"account": {"won_reasons": sent}})
        assert read(response)["won_reasons"] == stored
    field = {"resource": "client", "label": "Size", "type": "choice", "choices": {"0": "S", "3": "M"}}
    response = alice.post("/app/field_definitions.json", json={"field_definition": field})
    assert (response.status_code, read(response)["choices"]) == (201, ["S", "M"])
    deal = make_deal(acme.alice)
    values = {"resource": "deal", "action": "add_tags", "ids": {"3": deal.id}, "tags": {"1": "a"}}
    response = alice.post("/app/bulk_changes.json", json={"bulk_change": values})
    assert (response.status_code, read(response)["total"]) == (201, 1), response.text
    kept, merged = make_contact(acme.alice), make_contact(acme.alice)
    values = {"contact_id": kept.id, "merged_contact_id": merged.id, "fields": []}
    response = alice.post(f"/app/contacts/{kept.id}/merge.json", json={"merge": values})
    assert response.status_code == 201, response.text


def test_forms(acme):
    for content, external_ids, tags in (
        ("client[external_ids]=&client[tags]=", {}, []),
        ("client[external_ids][]=&client[tags][]=", {}, []),
        ("client[external_ids]=&client[external_ids][a]=1&client[tags]=&client[tags][]=x", {"a": "1"}, ["x"]),
        ("client[external_ids][b]=1&client[external_ids]=&client[tags][]=x&client[tags]=", {"b": "1"}, ["x"]),
        ("client[external_ids][5]=1&client[tags][0]=x&client[tags][2]=y", {"5": "1"}, ["x", "y"]),
    ):
        response = acme.json().post("/app/clients.json", content=f"client[name]=Ann&{content}", headers=FORM)
        assert (read(response)["external_ids"], read(response)["tags"]) == (external_ids, tags)
    content = "clients[0][name]=Ann&clients[0][external_ids]=&clients[4][name]=Jan&clients[4][tags][1]=a"
    results = read(acme.json().post("/app/clients/bulk.json", content=content, headers=FORM))
    clients = [(result["client"]["name"], result["client"]["tags"]) for result in results]
    assert clients == [("Ann", []), ("Jan", ["a"])]
