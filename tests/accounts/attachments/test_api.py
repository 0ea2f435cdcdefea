"""Attachments in the Account API (JSON)."""

import base64
from urllib.parse import urlsplit

from core.http import formats
from tests.support.client import Client
from tests.support.factories import make_client, make_post
from tests.support.pictures import picture
from tests.support.tables import table


def content(text: bytes = b"Offer") -> str:
    return base64.b64encode(text).decode()


def test_it_works(acme):
    client = make_client(acme.bob)
    json = acme.json()
    values = {"resource": "client", "resource_id": client.id, "name": "offer.txt", "content": content()}
    created = json.post("/app/attachments.json", json={"attachment": values})
    attachment = created.json()
    path = f"/app/attachments/{attachment['id']}"
    assert created.status_code == 201
    assert created.headers["Location"] == f"http://acme.example.test{path}.json"
    url = urlsplit(attachment.pop("url"))
    created_at = attachment.pop("created_at")
    assert attachment == {
        "id": attachment["id"],
        "resource": "client",
        "resource_id": client.id,
        "part": "",
        "name": "offer.txt",
        "content_type": "text/plain",
        "size": 5,
        "width": None,
        "height": None,
        "markdown": f"[offer.txt]({path}/offer.txt)",
        "user_id": acme.bob.id,
    }
    # The address admits everybody for an hour.
    assert (url.path, url.query[:6]) == (f"{path}/offer.txt", "token=")
    visitor = Client(acme.host)
    assert visitor.get(f"{url.path}?{url.query}").content == b"Offer"
    for query in ("", "?token=", "?token=x", f"?{url.query}x"):
        assert visitor.get(url.path + query).status_code == 404
    shown = json.get(f"{path}.json").json()
    assert {name: shown[name] for name in attachment} == attachment
    assert shown["created_at"] == created_at
    query = {"resource": "client", "resource_id": client.id}
    assert [row["id"] for row in json.get("/app/attachments.json", params=query).json()] == [attachment["id"]]
    assert json.get("/app/attachments.json").json() == []
    assert json.delete(f"{path}.json").status_code == 200
    assert json.get(f"{path}.json").status_code == 404
    assert json.get("/app/attachments.json", params=query).json() == []


def test_a_form_with_a_file(acme):
    """The file may be longer than other bodies. The same key does not create it twice."""
    json, post = acme.json(), make_post(acme.carol)
    text = b"x" * (2 * 1024 * 1024)

    def send(content: bytes):
        data = {"attachment[resource]": "post", "attachment[resource_id]": str(post.id), "attachment[part]": "response"}
        headers = {"Idempotency-Key": "one"}
        files = {"attachment[content]": ("long.txt", content)}
        return json.post("/app/attachments.json", data=data, files=files, headers=headers)

    created = send(text)
    assert (created.status_code, created.json()["size"], created.json()["part"]) == (201, len(text), "response")
    assert send(text).json() == created.json()
    assert send(text + b"y").status_code == 422
    assert acme.account.attachments.filter(resource="post").count() == 1


def test_a_draft_is_named_in_a_text(acme):
    json = acme.json()
    sent = {"attachment": {"name": "a.png", "content": content(picture())}}
    draft = json.post("/app/attachments.json", json=sent).json()
    assert (draft["resource"], draft["resource_id"]) == (None, None)
    assert [row["id"] for row in json.get("/app/attachments.json").json()] == [draft["id"]]
    note = {"client_id": make_client(acme.bob).id, "content": draft["markdown"]}
    note_id = json.post("/app/notes.json", json={"note": note}).json()["id"]
    shown = json.get(f"/app/attachments/{draft['id']}.json").json()
    assert (shown["resource"], shown["resource_id"]) == ("note", note_id)


ERRORS = {
    "no content": ({}, {"content": ["can't be blank"]}),
    "not base64": ({"content": "%"}, {"content": ["is neither a file of a form nor Base64"]}),
    "damaged picture": (
        {"content": content(picture()[:-40])},
        {"content": ["is damaged: it can't be read as a picture"]},
    ),
    "no row": ({"content": content(), "resource": "client"}, {"resource_id": ["can't be found"]}),
    "unknown part": ({"content": content(), "part": "x"}, {"part": ["is not one of response"]}),
    "part of another resource": (
        {"content": content(), "resource": "client", "part": "response"},
        {"part": ["is not a text of the resource"]},
    ),
}


@table("name", ERRORS)
def test_it_rejects_a_wrong_attachment(acme, name):
    values, errors = ERRORS[name]
    if name == "part of another resource":
        values = values | {"resource_id": make_client(acme.bob).id}
    response = acme.json().post("/app/attachments.json", json={"attachment": values})
    assert (response.status_code, response.json()["errors"]) == (422, errors)


def test_it_rejects_a_list_of_a_wrong_row(acme):
    for query, errors in (
        ({"resource_id": "x", "page": "0"}, {"resource_id", "page"}),
        ({"resource": "user", "resource_id": "1"}, {"resource"}),
        ({"resource": "client"}, {"resource_id"}),
    ):
        response = acme.json().get("/app/attachments.json", params=query)
        assert (response.status_code, set(response.json()["errors"])) == (422, errors)


def test_it_rejects_too_long_bodies(acme, settings):
    """JSON ends at 1 MiB, and forms with files at the limit of a file and of the other fields."""
    json = acme.json()
    long = {"attachment": {"content": "x" * settings.MAX_BODY_BYTES}}
    assert json.post("/app/attachments.json", json=long).status_code == 413
    form = {"Content-Type": "multipart/form-data; boundary=b", "Content-Length": str(27 * 1024 * 1024)}
    refused = json.post("/app/attachments.json", content=b"", headers=form)
    message = "The form with its files is too large (maximum is 26 MiB)"
    assert (refused.status_code, refused.json()["message"]) == (413, message)
    files = {"client[name]": ("a.txt", b"x" * (2 * 1024 * 1024))}
    assert json.post("/app/clients.json", files=files).status_code == 413
    assert formats.MULTIPART == "multipart/form-data"


def test_members_do_not_use_it(acme, other):
    attachment = acme.json().post("/app/attachments.json", json={"attachment": {"content": content()}}).json()
    path = f"/app/attachments/{attachment['id']}.json"
    for json in (acme.json(acme.alice_token), other.json()):
        # The draft of another user.
        assert json.get(path).status_code == 404
        assert json.delete(path).status_code == 404
