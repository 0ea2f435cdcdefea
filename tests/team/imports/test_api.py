"""Imports in the Account API (JSON)."""

import base64
from json import dumps

from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client
from tests.support.jobs import run_jobs

PATH = "/app/imports.json"
COLUMNS = "must be a list of objects with field, format and values"
TEXTS = ["must be an object of texts"]


def test_it_works(acme):
    json = acme.json()
    make_client(acme.alice, "Elm", email="elm@example.com", city="Sopot")
    content = "Name,E-mail,City\nOak,oak@example.com,Hel\nElm,elm@example.com,Hel\n,,Hel\n"
    response = json.post(PATH, json={"import": {"content": content, "kinds": ["client"], "name": "a.csv"}})
    assert response.status_code == 201, response.text
    row = read(response)
    path = f"/app/imports/{row['id']}.json"
    assert response.headers["Location"].endswith(path)
    assert {name: row[name] for name in ("name", "state", "header", "match", "total")} == {
        "name": "a.csv",
        "state": "draft",
        "header": ["Name", "E-mail", "City"],
        "match": {"client": "email"},
        "total": 3,
    }
    act = path.replace(".json", "/{}.json").format
    changed = read(json.put(path, json={"import": {"tags": ["fair"], "defaults": {"client.country": "Poland"}}}))
    assert (changed["tags"], changed["columns"]) == (["fair"], row["columns"])
    assert read(json.post(act("cancel")))["message"] == "It is not started yet."
    preview = read(json.post(act("preview")))
    assert {name: preview[name] for name in ("created", "changed", "faults")} == {
        "created": 1,
        "changed": 1,
        "faults": 1,
    }
    assert read(json.post(act("check")))["check"]["position"] == 0
    run_jobs()
    assert read(json.get(path))["check"]["is_done"]
    started = read(json.post(act("start")))
    assert {name: started[name] for name in ("state", "processed", "created", "changed", "faults")} == {
        "state": "done",
        "processed": 3,
        "created": 1,
        "changed": 2,
        "faults": 1,
    }
    fault = {"column": "Name", "field": "name", "code": "null", "message": "Name: can't be blank"}
    assert read(json.get(act("faults"))) == [{"number": 4, "faults": [fault]}]
    assert json.post(act("start")).status_code == json.post(act("cancel")).status_code == 409
    undone = read(json.post(act("undo")))
    assert (undone["state"], undone["restored"], undone["left_alone"]) == ("undone", 2, [])
    assert [listed["id"] for listed in read(json.get(PATH))] == [row["id"]]


def test_a_file_of_a_form_and_in_base64(acme):
    json = acme.json()
    data = "Name;City\nŻabka;Łódź\n".encode("windows-1250")
    sent = json.post(PATH, files={"import[content]": ("a.csv", data)}, data={"import[kinds][]": "client"})
    assert sent.status_code == 201, sent.text
    encoded = json.post(PATH, json={"import": {"content": "base64:" + base64.b64encode(data).decode()}})
    for row, name in ((read(sent), "a.csv"), (read(encoded), "import.csv")):
        assert (row["name"], row["header"]) == (name, ["Name", "City"])
        assert (row["reading"]["encoding"], row["reading"]["separator"]) == ("cp1250", ";")
    again = read(json.post(f"/app/imports/{row['id']}/read.json", json={"reading": {"separator": ","}}))
    assert again["header"] == ["Name;City"]
    assert json.delete(f"/app/imports/{row['id']}.json").status_code == 200
    assert json.get(f"/app/imports/{row['id']}.json").status_code == 404


def test_the_same_key_imports_and_reads_once(acme):
    json, headers = acme.json(), {"Idempotency-Key": "one"}
    first, second = (json.post(PATH, json={"import": {"content": "Name\nA\n"}}, headers=headers) for _ in range(2))
    assert first.content == second.content
    assert json.post(PATH, json={"import": {"content": "Name\n"}}, headers=headers).status_code == 422
    path = f"/app/imports/{read(first)['id']}"
    assert [row["id"] for row in read(json.get(PATH))] == [read(first)["id"]]
    # The file is read in a job, because the request is one transaction.
    again = json.post(f"{path}/read.json", json={"reading": {"has_header": False}}, headers={"Idempotency-Key": "two"})
    assert read(again)["header"] == []
    run_jobs()
    assert read(json.get(f"{path}.json"))["header"] == ["Column A"]


def test_it_rejects_what_is_no_import(acme):
    json = acme.json()
    row = read(json.post(PATH, json={"import": {"content": "Name\nA\n"}}))
    path = f"/app/imports/{row['id']}.json"
    for values, errors in (
        ({"kinds": ["client"]}, {"content": ["can't be blank"]}),
        ({"content": 1}, {"content": ["is neither a file of a form nor a text"]}),
        ({"content": "base64:?"}, {"content": ["is not Base64"]}),
        ({"content": "Name\n\udc9d"}, {"content": ["is neither a file of a form nor a text"]}),
        ({"content": "a", "kinds": ["user"]}, {"kinds": ["are not among client, contact, deal, task, suggestion"]}),
    ):
        body, headers = dumps({"import": values}), {"Content-Type": "application/json"}
        assert_refused(json.post(PATH, content=body, headers=headers), 422, "validation_failed", errors)
    for values, errors in (
        ({"columns": [{"fields": "x"}]}, {"columns": [COLUMNS]}),
        ({"columns": [{"field": "x"}], "match": {}}, {"columns": ["Name: there is no field x"]}),
        ({"mode": "x"}, {"mode": ["is not one of both, create, update"]}),
        ({"match": {"user": "id"}}, {"match": ["are not among client, contact, deal, task, suggestion"]}),
        # PostgreSQL stores neither of these characters in JSON.
        ({"match": {"client": "\0"}, "defaults": {"\udc9d": ""}}, dict.fromkeys(("match", "defaults"), TEXTS)),
        ({"columns": [{"field": "", "values": {"\0": ""}}]}, {"columns": [COLUMNS]}),
    ):
        body = dumps({"import": values})
        assert_refused(json.put(path, content=body, headers=headers), 422, "validation_failed", errors)
    for separator in ('"', ";;"):
        refused = json.post(path.replace(".json", "/read.json"), json={"reading": {"separator": separator}})
        assert (refused.status_code, set(refused.json()["errors"])) == (422, {"separator"})
    content = "base64:" + base64.b64encode(b"PK\x03\x04no").decode()
    broken = read(json.post(PATH, json={"import": {"content": content}}))
    assert (broken["header"], broken["error"]["code"]) == ([], "broken")
    for act in ("start", "check", "preview"):
        refused = json.post(f"/app/imports/{broken['id']}/{act}.json")
        assert_refused(refused, 422, "validation_failed", {"file": ["is not read yet, or can't be read"]})


def test_agents_see_their_own_imports(acme):
    row = read(acme.json(acme.alice_token).post(PATH, json={"import": {"content": "Name\nA\n"}}))
    bob = acme.json()
    assert bob.get(f"/app/imports/{row['id']}.json").status_code == 404
    assert read(bob.get(PATH)) == []
