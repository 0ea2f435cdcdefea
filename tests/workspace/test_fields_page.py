"""Fields in the settings: adding, changing, ordering and deleting."""

from tests.support.factories import make_client, make_field_definition
from tests.support.settings import assert_few_statements, assert_for_admins_alone, button_of, send, texts
from tests.support.tables import table

PATH = "/app/account/fields"


def names(response) -> list[str]:
    return texts(response, ".ordered strong")


def test_it_works(acme):
    page = acme.page(acme.alice)
    form = page.get(f"{PATH}?resource=deal").forms["add"]
    form["label"], form["type"], form["choices"], form["required"] = "Size", "choice", "S\n M \n\nL", True
    response = form.submit("do").follow()
    assert "The field Size is added." in response
    assert names(response) == ["Size"]
    row = acme.account.field_definitions.get()
    values = (row.resource, row.key, row.label, row.type, row.choices, row.required, row.in_lists)
    assert values == ("deal", "size", "Size", "choice", ["S", "M", "L"], True, False)

    form = page.get(f"{PATH}/{row.id}").forms["field"]
    form["label"], form["type"], form["in_lists"], form["required"] = "Length", "text", True, False
    response = form.submit("do").follow()
    assert "The field Length is saved." in response
    row.refresh_from_db()
    assert (row.label, row.type, row.choices, row.required, row.in_lists) == ("Length", "text", [], False, True)

    response = button_of(page.get(f"{PATH}/{row.id}"), "delete").submit().follow()
    assert "The field Length is deleted. Its values stay." in response
    assert not acme.account.field_definitions.exists()


def test_it_rejects_users_who_are_not_admins(acme, other):
    row = make_field_definition(acme.account, "size")
    assert_for_admins_alone(acme, other, PATH, do="add", label="Mine", type="text")
    assert_for_admins_alone(acme, other, f"{PATH}/{row.id}", do="save", label="Mine", type="text")
    assert not acme.account.field_definitions.filter(label="Mine").exists()


def test_it_rejects_fields_of_another_account(acme, other):
    row = make_field_definition(other.account, "size", id=10**6)
    page = acme.page(acme.alice)
    page.get(f"{PATH}/{row.id}", status=404)
    send(page, f"{PATH}/{row.id}", status=404, do="delete")
    assert "The list has changed in the meantime" in send(page, PATH, do="move", id=row.id, step="down").follow()
    page.get(f"{PATH}?resource=post", status=404)


@table(
    ("values", "error"),
    [
        ({"label": ""}, "Can't be blank"),
        ({"label": "Size"}, "Is already taken"),
        ({"label": "a", "key": "email"}, "Is the name of another field"),
        ({"label": "a", "key": "[a]"}, "Is not valid"),
        ({"label": "a", "type": "choice"}, "Can&#x27;t be blank"),
        ({"label": "a", "type": "choices", "choices": "a, b"}, "Can&#x27;t have commas"),
    ],
)
def test_it_rejects_invalid_values(acme, values, error):
    make_field_definition(acme.account, "size", label="Size")
    form = acme.page(acme.alice).get(PATH).forms["add"]
    for name, value in values.items():
        form[name] = value
    response = form.submit("do", status=422)
    assert error.replace("&#x27;", "'") in response.html.get_text()
    assert response.forms["add"]["label"].value == values["label"]
    assert acme.account.field_definitions.count() == 1


def test_a_change_of_the_type_tells_how_many_values_do_not_fit(acme):
    row = make_field_definition(acme.account, "size")
    for value in ("big", "small", 5):
        make_client(acme.alice, additional_fields={"size": value})
    form = acme.page(acme.alice).get(f"{PATH}/{row.id}").forms["field"]
    form["type"] = "number"
    response = form.submit("do").follow()
    assert "2 existing values do not fit. They stay until somebody changes them." in response


def test_order(acme):
    for key in ("a", "b", "c"):
        make_field_definition(acme.account, key)
    row = acme.account.field_definitions.get(key="c")
    response = send(acme.page(acme.alice), PATH, do="move", id=row.id, step="up").follow()
    assert names(response) == ["a", "c", "b"]


def test_few_statements(acme):
    for key in ("a", "b", "c"):
        make_field_definition(acme.account, key)
    assert_few_statements(acme.page(acme.alice), PATH)
