"""The file with everything about a person."""

import json
import random
from io import BytesIO
from zipfile import ZipFile

from accounts.attachments.uploading import upload
from accounts.erasure.person_file import zip_chunks
from core.files.models import StoredFile
from tests.support.factories import make_attachment, make_client, make_note, make_post, make_task, make_token


def opened(response) -> ZipFile:
    archive = ZipFile(BytesIO(response.body))
    assert archive.testzip() is None
    return archive


def person(response) -> dict:
    return json.loads(opened(response).read("person.json"))


def attachments(response) -> dict[str, bytes]:
    """Return the contents of the attachments in the file by name."""
    archive = opened(response)
    return {name: archive.read(name) for name in archive.namelist() if name != "person.json"}


def test_it_works(acme):
    carol = acme.carol
    post = make_post(carol, "Dark mode", content="At night.")
    make_token(carol)
    response = acme.page(carol).get(f"/app/users/{carol.id}/data")
    assert response.headers["Content-Disposition"] == f'attachment; filename="user-{carol.id}.zip"'
    data = person(response)
    assert {name: data["user"][name] for name in ("id", "login", "email", "role")} == {
        "id": carol.id,
        "login": "carol",
        "email": carol.email,
        "role": "member",
    }
    # What only the team may read of a suggestion is not in the file of a member.
    assert not {"client_id", "vote_weight", "additional_fields", "responsible_id", "priority"} & {*data["posts"][0]}
    assert not {"user_links", "notes", "proxy_votes"} & {*data}
    assert not {"password", "digest", "login_key", "login_skeleton"} & {*data["user"], *data["tokens"][0]}
    assert [(row["id"], row["content"]) for row in data["posts"]] == [(post.id, "At night.")]
    assert acme.account.audit_entries.filter(action="export.started", actor_id=carol.id).exists()

    client = make_client(acme.bob, name="Oak Ltd", email="ann@oak.example")
    make_note(acme.bob, "They called", client_id=client.id)
    data = person(acme.page(acme.alice).get(f"/app/clients/{client.id}/data"))
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


def test_a_former_agent_does_not_get_what_the_team_reads(acme):
    bob = acme.bob
    post = make_post(bob, "Dark mode")
    post.comment(by=bob, text="For all")
    post.comment(by=bob, text="For the team", internal=True)
    task = make_task(bob, "Call them")
    task.comment(by=bob, text="On the task")
    make_note(bob, "They called", client_id=make_client(bob).id)
    bob.change(role="member")
    data = person(acme.page(bob).get(f"/app/users/{bob.id}/data"))
    assert [row["title"] for row in data["posts"]] == ["Dark mode"]
    assert [row["comment"] for row in data["comments"]] == ["For all"]
    assert "notes" not in data
    data = person(acme.page(acme.alice).get(f"/app/users/{bob.id}/data"))
    assert [row["title"] for row in data["posts"]] == ["Dark mode", "Call them"]
    assert [row["comment"] for row in data["comments"]] == ["For all", "For the team", "On the task"]


def test_it_has_the_attachments(acme, other):
    bob, client = acme.bob, make_client(acme.bob)
    post, note = make_post(acme.carol, "Dark mode"), make_note(bob, "They called", client_id=client.id)
    of_post, of_note = make_attachment(bob, "post", post), make_attachment(bob, "note", note)
    of_client = make_attachment(acme.alice, "client", client, name="Ąę.txt")
    make_attachment(other.mallory, "client", make_client(other.mallory))
    draft = upload(acme.account, BytesIO(b"a draft"), "draft.txt", by=bob)
    names = {each: f"attachments/{each.id}-{each.file.name}" for each in (of_post, of_note, of_client, draft)}
    assert attachments(acme.page(acme.alice).get(f"/app/clients/{client.id}/data")) == {
        names[of_client]: b"a text",
        names[of_note]: b"a text",
    }
    assert attachments(acme.page(bob).get(f"/app/users/{bob.id}/data")) == {
        names[draft]: b"a draft",
        names[of_post]: b"a text",
        names[of_note]: b"a text",
    }
    # A former agent gets what members see.
    bob.change(role="member")
    assert attachments(acme.page(bob).get(f"/app/users/{bob.id}/data")) == {names[of_post]: b"a text"}


def test_it_is_streamed(acme, monkeypatch):
    generator = random.Random(0)
    chunks = (generator.randbytes(10_000) for _ in range(200))
    client = make_client(acme.bob)
    attachment = make_attachment(acme.bob, "client", client)
    monkeypatch.setattr(StoredFile, "read", lambda file: chunks)
    sizes = [len(chunk) for chunk in zip_chunks(BytesIO(b"{}"), [attachment])]
    assert sum(sizes) > 2_000_000
    assert max(sizes) < 50_000
