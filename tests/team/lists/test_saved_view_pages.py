"""Saved views on the pages of the lists: save, open, change, share, order and delete them."""

import pytest

from tests.support.factories import make_client, make_contact, make_field_definition, make_saved_view, make_user
from tests.support.reading import statements
from tests.support.team import row_names

PATH = "/app/clients"


@pytest.fixture(autouse=True)
def clients(acme):
    make_client(acme.bob, "Adler", city="Gdynia", responsible_id=acme.bob.id)
    make_client(acme.bob, "Brandt", city="Gdańsk", responsible_id=acme.alice.id)
    make_client(acme.bob, "Corvus")


def tabs(page) -> list[str]:
    return [link.get_text(strip=True) for link in page.html.select("nav.tabs[aria-label=Views] a")]


def current_tab(page) -> str:
    return page.html.select_one("nav.tabs[aria-label=Views] [aria-current]").get_text(strip=True)


def text_of(page, selector: str) -> str:
    return " ".join(page.html.select_one(selector).get_text(" ").split())


def form_with(page, button: str):
    return next(form for form in page.forms.values() if button in form.text)


def test_it_works(acme):
    bob = acme.page(acme.bob)
    form = form_with(bob.get(f"{PATH}?city__contains=gd&sort=name&columns=city"), "Share with the team")
    form["name"], form["shared"] = "By the sea", True
    page = form.submit().follow()
    view = acme.account.saved_views.get()
    assert page.request.path_qs == f"{PATH}?view={view.id}"
    assert "The view By the sea is saved." in page
    assert (row_names(page), current_tab(page)) == (["Adler", "Brandt"], "By the sea")
    assert [cell.get_text(strip=True) for cell in page.html.select("thead th:not(.pick)")] == ["Name", "City"]
    assert "Save as a view" not in page

    # Another member of the team opens the view, and removes its filter.
    page = acme.page(acme.alice).get(PATH).click("By the sea").click("Remove the filter City contains gd")
    assert (row_names(page), current_tab(page)) == (["Adler", "Brandt", "Corvus"], "By the sea")
    assert "This list differs from the view “By the sea”." in text_of(page, ".view-tools")
    page = form_with(page, "Save changes").submit(name="do", value="update").follow()
    view.refresh_from_db()
    assert (view.query, row_names(page)) == ("columns=city&sort=name", ["Adler", "Brandt", "Corvus"])


def test_the_filters_of_a_view_are_changed(acme):
    view, bob = make_saved_view(acme.bob, query="city__contains=gd"), acme.page(acme.bob)
    path = f"{PATH}?view={view.id}"
    form = bob.get(f"{path}&add=responsible_id").forms["filter"]
    form.set("value", True, index=0)
    page = form.submit().follow()
    assert row_names(page) == ["Adler"]
    assert row_names(page.click("Discard changes")) == ["Brandt", "Adler"]
    for link in ("Remove the filter City contains gd", "Clear the filters"):
        page = bob.get(path).click(link)
        assert (row_names(page), current_tab(page)) == (["Corvus", "Brandt", "Adler"], view.name)
        assert "Save changes" in page
    # Parameters of the page keep the view.
    for end in ("&page=1", "&add=city"):
        assert row_names(bob.get(f"{path}{end}")) == ["Brandt", "Adler"]


def test_a_changed_view_is_saved_as_a_new_one(acme):
    view = make_saved_view(acme.alice, "Of Alice", query="city__contains=gd", shared=True)
    page = acme.page(acme.bob).get(f"{PATH}?view={view.id}&city__contains=gdy")
    assert "Save changes" not in page
    form = form_with(page, "Share with the team")
    form["name"] = "Gdynia"
    page = form.submit().follow()
    assert (row_names(page), current_tab(page)) == (["Adler"], "Gdynia")
    assert acme.account.saved_views.get(name="Gdynia").owner_id == acme.bob.id


def test_what_is_gone_is_left_out_with_a_message(acme):
    status = acme.account.statuses.create(kind="client", code="hot", name="Hot")
    user = make_user(acme.account, "gone")
    definition = make_field_definition(acme.account, "seats", label="Seats", type="number")
    contact = make_contact(acme.bob, "Nora")
    query = (
        f"status_id={status.id}&responsible_id__not={user.id}&additional_fields[seats]__after=3&contact_id={contact.id}"
    )
    view = make_saved_view(acme.bob, query=f"{query}&city__contains=gd&columns=city,additional_fields[seats]")
    acme.account.statuses.filter(id=status.id).delete()
    acme.account.users.filter(id=user.id).delete()
    definition.erase()
    contact.trash(by=acme.bob)
    page = acme.page(acme.bob).get(f"{PATH}?view={view.id}", status=422)
    errors = sorted(" ".join(item.get_text().split()) for item in page.html.select(".notice.error li"))
    assert errors == [
        "additional_fields[seats]__after is not a filter of this list",
        "columns has a column that this list does not have",
        "contact_id names a contact that was deleted, or that you may not see",
        "responsible_id__not names a user who no longer exists",
        "status_id names a status that was deleted",
    ]
    assert row_names(page) == ["Brandt", "Adler"]
    page = form_with(page, "Save changes").submit(name="do", value="update").follow()
    view.refresh_from_db()
    assert view.query == "city__contains=gd&columns=city"
    assert not page.html.select(".notice.error")


def test_a_view_that_is_gone(acme):
    bob = acme.page(acme.bob)
    for id in ("1", "x", "99999999999999999999"):
        page = bob.get(f"{PATH}?view={id}", status=422)
        assert text_of(page, ".notice.error li") == "view was deleted, or is not shared with you"
        assert len(row_names(page)) == 3
    for path in ("?resource=post", "/new", "/new?resource=post", "/7"):
        bob.get(f"/app/views{path}", status=404)


def test_views_of_other_lists_and_private_ones_of_others_are_not_opened(acme):
    of_deals, private = make_saved_view(acme.bob, resource="deal"), make_saved_view(acme.alice, "Private")
    bob = acme.page(acme.bob)
    for view in (of_deals, private):
        page = bob.get(f"{PATH}?view={view.id}", status=422)
        assert view.name not in page
    bob.get(f"/app/views/{private.id}", status=404)
    assert private.name not in bob.get("/app/views?resource=client")


def test_the_form_shows_errors(acme):
    make_saved_view(acme.bob, "Leads")
    form = form_with(acme.page(acme.bob).get(f"{PATH}?city__contains=gd"), "Share with the team")
    form["name"] = "Leads"
    page = form.submit(status=422)
    assert "Is the name of another view" in page
    form = page.forms["view"]
    form["name"] = "Others"
    page = form.submit(name="do", value="save").follow()
    assert row_names(page) == ["Brandt", "Adler"]


def test_a_view_is_renamed_and_deleted(acme):
    view = make_saved_view(acme.bob, "Leads", query="city__contains=gd", shared=True)
    bob = acme.page(acme.bob)
    form = bob.get(f"{PATH}?view={view.id}").click("Edit the view").forms["view"]
    form["name"] = "By the sea"
    page = form.submit(name="do", value="save").follow()
    assert current_tab(page) == "By the sea"
    # An admin makes the view private, and does not see it any more.
    form = acme.page(acme.alice).get(f"/app/views/{view.id}").forms["view"]
    form["shared"] = False
    page = form.submit(name="do", value="save").follow()
    assert (page.request.path, page.html.select("li[data-id]")) == ("/app/views", [])
    page = form_with(bob.get(f"/app/views/{view.id}"), "Yes, do it").submit().follow()
    assert "The view By the sea is deleted." in page
    assert not acme.account.saved_views.exists()


def test_only_the_owner_and_admins_change_a_shared_view(acme):
    view = make_saved_view(acme.alice, "Shared", shared=True)
    bob = acme.page(acme.bob)
    assert "Edit the view" not in bob.get(f"{PATH}?view={view.id}")
    bob.get(f"/app/views/{view.id}", status=403)
    token = bob.get("/app/views/new?resource=client").forms["view"]["csrfmiddlewaretoken"].value
    for path, do in ((f"/app/views/{view.id}", "delete"), ("/app/views?resource=client", "move")):
        bob.post(path, {"csrfmiddlewaretoken": token, "do": do, "id": view.id, "step": "up"}, status=403)
    assert acme.account.saved_views.get().name == "Shared"


def test_views_are_moved(acme):
    for name in ("A", "B", "C"):
        make_saved_view(acme.bob, name)
    make_saved_view(acme.alice, "Shared", shared=True)
    bob = acme.page(acme.bob)
    page = bob.get(PATH).click("Manage views")
    form = page.forms[f"row-{acme.account.saved_views.get(name='C').id}"]
    page = form.submit(name="step", value="up").follow()
    moved = ["Shared", "A", "C", "B"]
    assert [row["data-name"] for row in page.html.select("li[data-id]")] == moved
    standard = ["All", "Mine", "Recently changed", "No task planned"]
    assert tabs(bob.get(PATH)) == [*standard, *moved, "Manage views"]


def test_the_list_shows_the_first_views_and_the_current_one(acme):
    views = [make_saved_view(acme.bob, f"View {n}", query=f"city=c{n}") for n in range(9)]
    page = acme.page(acme.bob).get(f"{PATH}?view={views[8].id}")
    assert tabs(page)[4:] == [*(f"View {n}" for n in range(6)), "View 8", "All views"]


def test_the_number_of_statements_does_not_depend_on_the_number_of_views(acme):
    view = make_saved_view(acme.bob, query=f"responsible_id={acme.alice.id}&sort=name")
    bob = acme.page(acme.bob)
    assert len(statements(bob, f"{PATH}?view={view.id}")) <= 12
    before = len(statements(bob, PATH))
    for n in range(10):
        make_saved_view(acme.alice, f"Shared {n}", query="status_id=1", shared=True)
    assert len(statements(bob, PATH)) == before
    assert len(statements(bob, "/app/views?resource=client")) <= 6
