from tests.support.assertions import assert_answered, assert_refused
from tests.support.factories import make_client


def test_it_works(acme):
    client = make_client(acme.alice)
    response = acme.json().delete(f"/app/clients/{client.id}.json")
    assert_answered(response, 200, "ok")
    assert response.content == b'"ok"'
    client.refresh_from_db()
    assert client.trashed_by_id == acme.bob.id
    assert_refused(acme.json().get(f"/app/clients/{client.id}.json"), 404, "not_found")


def test_it_rejects_unknown_and_trashed_clients(acme):
    client = make_client(acme.alice)
    assert acme.json().delete(f"/app/clients/{client.id}.json").status_code == 200
    for id in (client.id, 10**15):
        assert_refused(acme.json().delete(f"/app/clients/{id}.json"), 404, "not_found")


def test_other_clients_are_kept(acme):
    client, other = make_client(acme.alice), make_client(acme.alice)
    acme.json().delete(f"/app/clients/{client.id}.json")
    assert list(acme.account.clients.live()) == [other]
