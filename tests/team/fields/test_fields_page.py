"""Fields in the settings: adding, changing, ordering and deleting."""

from tests.support.factories import make_client, make_field_definition, make_post, make_task
from tests.support.settings import assert_few_statements, button_of, send, texts

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


def test_fields_of_suggestions_cannot_be_required(acme):
    page = acme.page(acme.alice)
    form = page.get(f"{PATH}?resource=suggestion").forms["add"]
    assert "required" not in form.fields
    form["label"], form["type"] = "Effort", "number"
    assert names(form.submit("do").follow()) == ["Effort"]
    row = acme.account.field_definitions.get()
    assert (row.resource, row.key, row.required) == ("suggestion", "effort", False)
    make_post(acme.carol, additional_fields={"effort": "much"})
    make_task(acme.bob, "A task", additional_fields={"effort": "little"})
    form = page.get(f"{PATH}/{row.id}").forms["field"]
    assert "required" not in form.fields
    form["type"] = "date"
    assert "1 existing value does not fit. It stays until somebody changes it." in form.submit("do").follow()


def test_it_rejects_fields_of_another_account(acme, other):
    row = make_field_definition(other.account, "size", id=10**6)
    page = acme.page(acme.alice)
    page.get(f"{PATH}/{row.id}", status=404)
    assert "The list has changed in the meantime" in send(page, PATH, do="move", id=row.id, step="down").follow()
    page.get(f"{PATH}?resource=post", status=404)


def test_it_rejects_invalid_values(acme):
    make_field_definition(acme.account, "size", label="Size")
    page = acme.page(acme.alice).get(PATH)
    for values, error in (
        ({"label": ""}, "Can't be blank"),
        ({"label": "Size"}, "Is already taken"),
        ({"label": "a", "key": "email"}, "Is the name of another field"),
        ({"label": "a", "key": "[a]"}, "Is not valid"),
        ({"label": "a", "key": "", "type": "choice"}, "Can't be blank"),
        ({"label": "a", "type": "choices", "choices": "a, b"}, "Can't have commas"),
    ):
        form = page.forms["add"]
        for name, value in values.items():
            form[name] = value
        response = form.submit("do", status=422)
        assert error in response.html.get_text()
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
    page = acme.page(acme.alice)
    assert_few_statements(page, PATH)
    response = send(page, PATH, do="move", id=acme.account.field_definitions.get(key="c").id, step="up").follow()
    assert names(response) == ["a", "c", "b"]
