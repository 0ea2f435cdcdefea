def test_it_works(acme, django_assert_num_queries):
    client = acme.json()
    response = client.post("/app/clients.json", json={"client": {"name": "client 1 from API", "email": "c1@example.net"}})
    assert response.status_code == 201
    row = acme.account.clients.get()
    assert response.headers["Location"] == f"http://acme.example.test/app/clients/{row.id}.json"
    assert response.json()["name"] == "client 1 from API"
