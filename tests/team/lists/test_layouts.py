"""The layout of a list that its pages remember for a user: the columns, their widths and the number of rows; the links of pages."""

from core.api.paging import ListPage
from core.pages.paging import page_numbers
from team.list_queries.layouts import move_column
from tests.support.factories import make_client, make_field_definition, make_saved_view
from tests.support.record_lists import select_columns
from tests.support.settings import send
from tests.support.team import row_names

PATH, LAYOUT = "/app/clients", "/app/lists/client/layout"


def headings(page) -> list[str]:
    return [" ".join(cell.get_text(" ").split()) for cell in page.html.select("thead th:not(.pick)")]


def test_it_works(acme):
    make_field_definition(acme.account, "size", label="Size")
    bob = acme.page(acme.bob)
    for name in ("Adler", "Brandt"):
        make_client(acme.bob, name)
    page = select_columns(bob.get(f"{PATH}?sort=name"), "city", "additional_fields[size]", "email").submit().follow()
    assert (page.request.path_qs, headings(page)) == (f"{PATH}?sort=name", ["Name", "E-mail", "City", "Size"])
    # The columns are moved, and remembered for the user.
    form = select_columns(page, "email", "city", "additional_fields[size]")
    page = form.submit("right", value="email").follow()
    assert headings(page) == ["Name", "City", "E-mail", "Size"]
    page = select_columns(page, "email", "city", "additional_fields[size]").submit(
        "left", value="additional_fields[size]"
    )
    assert headings(page.follow()) == ["Name", "City", "Size", "E-mail"]
    assert headings(bob.get(PATH)) == ["Name", "City", "Size", "E-mail"]
    assert "Size" not in headings(acme.page(acme.alice).get(PATH))
    # A column of a deleted field is left out.
    acme.account.field_definitions.get().erase()
    assert headings(bob.get(PATH)) == ["Name", "City", "E-mail"]


def test_the_columns_of_a_view_belong_to_the_view(acme):
    make_client(acme.bob, "Adler")
    view, bob = make_saved_view(acme.bob, query="columns=name,city,email"), acme.page(acme.bob)
    form = select_columns(bob.get(f"{PATH}?view={view.id}"), "city", "email")
    page = form.submit("left", value="email").follow()
    assert headings(page) == ["Name", "E-mail", "City"]
    assert "This list differs from the view" in page
    assert headings(bob.get(f"{PATH}?view={view.id}")) == ["Name", "City", "E-mail"]
    assert headings(bob.get(PATH)) == headings(acme.page(acme.alice).get(PATH))


def test_widths_and_rows(acme):
    for number in range(60):
        make_client(acme.bob, f"Client {number:02}")
    bob = acme.page(acme.bob)
    send(bob, LAYOUT, status=204, do="widths", **{"width-name": "301", "width-city": "9", "width-else": "100"})
    page = bob.get(f"{PATH}?sort=name")
    widths = {cell["data-column"]: cell.get("data-width") for cell in page.html.select("thead [data-column]")}
    assert (widths["name"], widths["email"]) == ("301", None)
    [form] = [form for form in page.forms.values() if "rows" in form.fields]
    page = form.submit("rows", value="50").follow()
    assert (page.request.path_qs, len(row_names(page))) == (f"{PATH}?sort=name", 50)
    numbers = [link.get_text() for link in page.html.select(".numbers a")]
    assert numbers == ["1", "2"]
    assert row_names(page.click("2", href="page=2", index=0))[0] == "Client 50"
    assert len(row_names(bob.get(f"{PATH}?per_page=10"))) == 10


def test_it_rejects_other_values(acme):
    bob = acme.page(acme.bob)
    send(bob, LAYOUT, status=303, rows="26")
    send(bob, LAYOUT, status=303, columns="unknown", left="name", query="?city=x&foo=1")
    send(bob, LAYOUT, status=204, do="widths", **{"width-name": "x", "width-city": "-1", "width-email": "99999"})
    stored = acme.account.users.get(id=acme.bob.id).preferences["list.client"]
    assert stored == {"columns": [], "widths": {}, "page_size": 25}
    send(bob, "/app/lists/unknown/layout", status=404)
    send(acme.page(acme.carol), LAYOUT, status=403)


def test_the_numbers_of_pages():
    for number, total, more, expected in (
        (1, 10, False, [1]),
        (1, 26, True, [1, 2]),
        (5, 1000, True, [1, None, 3, 4, 5, 6, 7, None, 40]),
        (40, 1000, False, [1, None, 38, 39, 40]),
        (3, None, True, [1, 2, 3, 4]),
        (9, None, False, [1, None, 7, 8, 9]),
    ):
        assert page_numbers(ListPage(number, 25), total, more=more) == expected


def test_a_column_is_moved():
    for name, step, expected in (("a", -1, "abc"), ("a", 1, "bac"), ("c", 1, "abc"), ("c", -1, "acb"), ("x", 1, "abc")):
        assert move_column(list("abc"), name, step) == list(expected)
