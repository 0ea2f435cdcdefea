import pytest

from tests.support.assertions import read
from tests.support.factories import make_client


def test_it_works(acme):
    kept = make_client(acme.bob, "Ann", email="ann@example.com", external_ids={"shop": "1"})
    merged = make_client(acme.bob, "Anna", email="anna@example.com", phone="123", external_ids={"shop": "2", "crm": "9"})
    response = acme.json().post(f"/app/clients/{kept.id}/merge.json", json={"merge": {"merged_client_id": merged.id, "fields": {"email": "merged"}}})
    assert response.status_code == 201, response.text
    print(response.text)
    print(read(acme.json().get("/app/clients.json?external_ids[shop]=2")))
    r = acme.json().post(f"/app/merges/{read(response)['id']}/undo.json")
    print(r.text)
    assert r.status_code == 200
    print(read(acme.json().get(f"/app/clients/{merged.id}.json")))
    print(read(acme.json().get(f"/app/clients/{kept.id}.json")))
