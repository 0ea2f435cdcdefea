"""Saved replies: JSON and the settings pages."""

from tests.support.team import went_to

PATH, PAGE = "/app/saved_replies.json", "/app/account/saved_replies"


def test_it_works(acme):
    json = acme.json(acme.alice_token)
    created = json.post(PATH, json={"saved_reply": {"name": " Thanks ", "text": "Thank you, {name}."}})
    assert created.status_code == 201
    reply = created.json()
    assert (reply["name"], reply["text"]) == ("Thanks", "Thank you, {name}.")
    path = f"/app/saved_replies/{reply['id']}.json"
    changed = json.put(path, json={"saved_reply": {"name": "Thank you"}}).json()
    assert acme.json().get(path).json() == changed
    assert acme.json().get(PATH).json() == [changed]
    assert json.delete(path).status_code == 200
    assert acme.json().get(PATH).json() == []


def test_admins_write_them_on_pages(acme):
    alice = acme.page(acme.alice)
    form = alice.get(PAGE).forms["add"]
    form["name"], form["text"] = "Thanks", "Thank you."
    assert went_to(form.submit("do"), PAGE) == ["Thanks is added."]
    page = alice.get(PAGE).click("Edit")
    page.forms["reply"]["text"] = "Thanks!"
    assert went_to(page.forms["reply"].submit("do"), PAGE) == ["Thanks is saved."]
    assert acme.account.saved_replies.get().text == "Thanks!"
    assert went_to(page.forms["delete"].submit("do"), PAGE) == ["Thanks is deleted."]
    assert not acme.account.saved_replies.exists()


def test_it_rejects_a_second_reply_of_the_same_name(acme):
    acme.account.saved_replies.create(name="Thanks", text="x")
    refused = acme.json(acme.alice_token).post(PATH, json={"saved_reply": {"name": "THANKS", "text": "y"}})
    assert refused.json()["errors"] == {"name": ["is already taken"]}
