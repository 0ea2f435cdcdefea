"""The file with everything about a person."""

from tests.support.factories import make_client, make_note, make_post, make_token


def test_it_works(acme):
    carol = acme.carol
    post = make_post(carol, "Dark mode", content="At night.")
    make_token(carol)
    response = acme.page(carol).get(f"/app/users/{carol.id}/data")
    assert response.headers["Content-Disposition"] == f'attachment; filename="user-{carol.id}.json"'
    data = response.json
    assert {name: data["user"][name] for name in ("id", "login", "email", "role")} == {
        "id": carol.id,
        "login": "carol",
        "email": carol.email,
        "role": "member",
    }
    assert not {"password", "digest", "login_key", "login_skeleton"} & {*data["user"], *data["tokens"][0]}
    assert [(row["id"], row["content"]) for row in data["posts"]] == [(post.id, "At night.")]
    assert acme.account.audit_entries.filter(action="export.started", actor_id=carol.id).exists()

    client = make_client(acme.bob, name="Oak Ltd", email="ann@oak.example")
    make_note(acme.bob, "They called", client_id=client.id)
    data = acme.page(acme.alice).get(f"/app/clients/{client.id}/data").json
    assert (data["client"]["name"], data["client"]["email"]) == ("Oak Ltd", "ann@oak.example")
    assert [row["content"] for row in data["notes"]] == ["They called"]


def test_it_rejects_other_readers_and_unknown_people(acme):
    client = make_client(acme.bob)
    for reader, path, status in (
        (acme.carol, f"users/{acme.bob.id}", 403),
        (acme.bob, f"users/{acme.carol.id}", 403),
        (acme.bob, f"clients/{client.id}", 403),
        (acme.carol, f"clients/{client.id}", 403),
        (acme.alice, "clients/999999", 404),
        (acme.alice, "users/999999", 404),
    ):
        acme.page(reader).get(f"/app/{path}/data", status=status)
