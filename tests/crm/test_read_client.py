from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import client_body
from tests.support.factories import make_client
from tests.support.tables import table


def test_it_works(acme):
    client = make_client(acme.bob, "Ann", email="ann@example.net", external_ids={"key": "1"}, tags=["vip"])
    assert_answered(
        acme.json().get(f"/app/clients/{client.id}.json"),
        200,
        client_body(client, acme.bob, name="Ann", email="ann@example.net", external_ids={"key": "1"}, tags=["vip"]),
    )


# A number of more than 18 digits is an invalid id.
@table("id", ["0", "999999999999999999", "9999999999999999999", "1e3", "-1", "x", "٣", "%00", "1%2F2"])
def test_it_rejects_unknown_and_invalid_ids(acme, id):
    make_client(acme.bob)
    assert_refused(acme.json().get(f"/app/clients/{id}.json"), 404, "not_found")


def test_it_rejects_a_trashed_client(acme):
    client = make_client(acme.bob)
    client.trash(by=acme.bob)
    assert_refused(acme.json().get(f"/app/clients/{client.id}.json"), 404, "not_found")


def test_it_rejects_the_id_of_a_row_of_another_kind(acme):
    assert_refused(acme.json().get(f"/app/clients/{acme.bob.id}.json"), 404, "not_found")


def test_head_is_get_without_the_body(acme):
    client = make_client(acme.bob)
    head, get = (acme.json().request(method, f"/app/clients/{client.id}.json") for method in ("HEAD", "GET"))
    assert head.status_code == get.status_code == 200
    assert head.headers["Content-Length"] == get.headers["Content-Length"]


def test_it_rejects_other_methods(acme):
    client = make_client(acme.bob)
    response = acme.json().post(f"/app/clients/{client.id}.json", json={"client": {"name": "a"}})
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, PUT, PATCH, DELETE")
