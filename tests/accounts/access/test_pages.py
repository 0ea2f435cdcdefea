"""The settings page that limits the rows of agents, and the page of a group."""

from tests.support.settings import button_of, send, texts
from tests.support.tables import table

PATH = "/app/account/access"


def test_it_works(acme):
    page = acme.page(acme.alice)
    form = page.get(PATH).forms["access"]
    assert form["agents_see"].value == "all"
    form["agents_see"] = "own"
    assert "What agents see is saved." in form.submit("do", value="save").follow()
    acme.account.refresh_from_db()
    assert acme.account.agents_see == "own"

    form = page.get(PATH).forms["add"]
    form["name"] = "Sales"
    response = form.submit("do", value="add").follow()
    assert "The group Sales is added." in response
    group = acme.account.user_groups.get()
    assert texts(response, ".list .row .meta") == ["Nobody yet"]
    acme.account.users.filter(id__in=[acme.alice.id, acme.bob.id]).update(group_id=group.id)
    assert texts(page.get(PATH), ".list .row .meta span") == ["Bob Nowak", "alice"]

    form = page.get(f"/app/account/groups/{group.id}").forms["group"]
    form["name"] = "Field sales"
    assert texts(form.submit("do", value="save").follow(), ".list .row strong") == ["Field sales"]
    response = button_of(page.get(f"/app/account/groups/{group.id}"), "delete").submit().follow()
    assert "The group Field sales is deleted." in response
    assert not acme.account.users.exclude(group_id=None).exists()


@table(
    ("name", "error"),
    [("", "Can't be blank"), ("Sales", "Is already taken"), ("a" * 256, "Ensure this value has at most 255")],
)
def test_it_rejects_invalid_names(acme, name, error):
    acme.account.user_groups.create(name="Sales")
    row = acme.account.user_groups.create(name="Support")
    page = acme.page(acme.alice)
    for path, button in ((PATH, "add"), (f"/app/account/groups/{row.id}", "save")):
        [shown] = texts(send(page, path, status=422, do=button, name=name), ".field-error")
        assert shown.startswith(error)
    assert acme.account.user_groups.count() == 2


def test_a_group_that_was_deleted_in_another_tab(acme, other):
    row = acme.account.user_groups.create(name="Sales")
    page = acme.page(acme.alice)
    response = page.get(f"/app/account/groups/{row.id}")
    row.delete()
    response.forms["group"].submit("do", value="save", status=404)
    button_of(response, "delete").submit(status=404)
    foreign = other.account.user_groups.create(name="Theirs")
    page.get(f"/app/account/groups/{foreign.id}", status=404)
