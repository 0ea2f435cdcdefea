import pytest

from tests.support.factories import make_account, make_client, make_contact, make_deal, make_post, make_task
from tests.support.queries import capture_queries
from tests.support.team import main_text

# The session with the forum, the numbers of new suggestions and of due tasks, both clients, the definitions of fields, the moved rows.
STATEMENTS = 5


@pytest.fixture
def kept(acme):
    return make_client(acme.bob, "Northwind", email="office@northwind.example", city="Gdynia", tags=["vip"])


@pytest.fixture
def other(acme):
    return make_client(
        acme.bob, "Northwind Ltd", phone="+48 123 456", city="Gdańsk", tags=["new"], external_ids={"shop": "7"}
    )


def compare(acme, kept, other, *, user=None):
    return acme.page(user or acme.bob).get(f"/app/clients/{kept.id}/merge?with={other.id}")


def checked(page) -> dict[str, str]:
    return {field["name"]: field["value"] for field in page.html.select("input[type=radio][checked]")}


def merge_form(page):
    return next(form for form in page.forms.values() if "with" in form.fields)


def undo_form(page):
    return next(form for form in page.forms.values() if form.action.endswith("/undo"))


def test_it_works(acme, kept, other):
    make_deal(acme.bob, client_id=other.id)
    make_task(acme.bob, client_id=other.id)
    make_post(acme.carol).cast_proxy_vote(by=acme.bob, client_id=other.id)
    visitor = acme.page(acme.bob)
    path = f"/app/clients/{kept.id}/merge?with={other.id}"
    visitor.get(path)
    page, queries = capture_queries(lambda: visitor.get(path))
    assert len(queries) == STATEMENTS, queries
    # The value of the record that was changed last is preselected, and the only value.
    assert checked(page) == {
        "use:name": "merged",
        "use:email": "kept",
        "use:phone": "merged",
        "use:city": "merged",
        "use:tags": "both",
    }
    for text in ("Northwind Ltd", "Deals: 1", "Tasks: 1", "Votes: 1", "shop 7", "Keep both"):
        assert text in main_text(page)
    form = merge_form(page)
    form["use:name"] = "kept"
    merged = form.submit(status=303).follow()
    assert "Northwind Ltd is merged into this record." in main_text(merged)
    assert "Merged with Northwind Ltd" in main_text(merged)
    kept.refresh_from_db()
    assert (kept.name, kept.city, kept.phone, kept.tags) == ("Northwind", "Gdańsk", "+48 123 456", ["vip", "new"])
    undone = undo_form(merged).submit(status=303).follow()
    assert "The merge is undone. Both records are back." in main_text(undone)
    assert "Merged with" not in main_text(undone)
    kept.refresh_from_db()
    other.refresh_from_db()
    assert (kept.city, kept.phone, other.trashed_at) == ("Gdynia", None, None)


def test_contacts(acme, kept):
    acme.account.users.filter(id=acme.bob.id).update(language="pl")
    first = make_contact(acme.bob, "Nora", client_id=kept.id)
    second = make_contact(acme.bob, "Nora North", email="nora@example.com")
    make_deal(acme.bob, contact_id=second.id)
    page = acme.page(acme.bob).get(f"/app/contacts/{first.id}/merge?with={second.id}")
    assert checked(page) == {"use:name": "merged", "use:email": "merged", "use:client_id": "kept"}
    assert "Szanse sprzedaży: 1" in main_text(page)
    merge_form(page).submit(status=303)
    first.refresh_from_db()
    assert (first.name, first.client_id) == ("Nora North", kept.id)


def test_finding_the_other_record(acme, kept, other):
    visitor = acme.page(acme.bob)
    page = visitor.get(f"/app/clients/{kept.id}/merge")
    assert "Northwind Ltd similar name" in main_text(page)
    for q in ("ltd", f"#{other.id}"):
        found = visitor.get(f"/app/clients/{kept.id}/merge", {"q": q})
        assert f"Northwind Ltd #{other.id}" in main_text(found)
        assert found.html.find("a", href=f"?with={other.id}")
    assert "Nothing was found." in main_text(visitor.get(f"/app/clients/{kept.id}/merge?q=qqqq"))
    for id in (kept.id, 0, "x", 10**17, make_client(make_account()[1]).id):
        missing = visitor.get(f"/app/clients/{kept.id}/merge?with={id}")
        assert "There is no such client to merge." in main_text(missing)


def test_the_menu_of_a_record_links_to_it(acme, kept):
    visitor = acme.page(acme.bob)
    for row, merges in ((kept, True), (make_contact(acme.bob), True), (make_deal(acme.bob), False)):
        path = f"/app/{row._meta.model_name}s/{row.id}"
        assert bool(visitor.get(path).html.find("a", href=f"{path}/merge")) == merges


def test_a_change_meanwhile_is_shown_first(acme, kept, other):
    page = compare(acme, kept, other)
    kept.write({"city": "Sopot"}, by=acme.alice)
    form = merge_form(page)
    form["use:name"] = "kept"
    again = form.submit(status=422)
    assert "One of the two was changed meanwhile." in main_text(again)
    assert "Sopot" in main_text(again)
    assert checked(again)["use:name"] == "kept"
    assert acme.account.merges.count() == 0
    merge_form(again).submit(status=303)
    assert acme.account.merges.count() == 1


def test_a_second_click_merges_once(acme, kept, other):
    third = make_client(acme.bob, "Third")
    form, opposite = merge_form(compare(acme, kept, other)), merge_form(compare(acme, other, kept))
    later = merge_form(compare(acme, third, other))
    for _ in range(2):
        assert "is merged into this record" in main_text(form.submit(status=303).follow())
    # Other merges of the same record are rejected.
    for late in (opposite, later):
        assert f"is already merged into client {kept.id}" in main_text(late.submit(status=303).follow())
    assert acme.account.merges.count() == 1
    # The pages of the merged record lead to the merge.
    page = acme.page(acme.bob).get(f"/app/clients/{other.id}/merge", status=303).follow()
    assert "It was merged into Northwind" in main_text(page)
    assert "Both records are back" in main_text(undo_form(page).submit(status=303).follow())


def test_fields_that_were_changed_since_are_named(acme, kept, other):
    page = merge_form(compare(acme, kept, other)).submit(status=303).follow()
    kept.refresh_from_db()
    kept.write({"city": "Sopot"}, by=acme.alice)
    form = undo_form(page)
    assert "These fields were changed after the merge, and keep their values: City." in main_text(
        form.submit().follow()
    )
    assert "Merge is already undone" in main_text(form.submit().follow())


def test_it_rejects_bad_requests(acme, kept, other):
    form = merge_form(compare(acme, kept, other))
    token = form["csrfmiddlewaretoken"].value
    visitor = form.response.test_app
    path = f"/app/clients/{kept.id}/merge"
    visitor.post(path, {"csrfmiddlewaretoken": token}, status=400)
    shown = form["shown"].value
    unknown = {"csrfmiddlewaretoken": token, "with": other.id, "shown": shown, "use:colour": "kept"}
    assert "is not a field that can be chosen" in main_text(visitor.post(path, unknown, status=422))
    visitor.post("/app/merges/99/undo", {"csrfmiddlewaretoken": token}, status=404)
    visitor.get("/app/clients/99999/merge", status=404)


def test_a_limited_agent_does_not_see_other_records(acme, kept, other):
    acme.account.change(agents_see="own")
    own = make_client(acme.alice, "Northwind own", responsible_id=acme.bob.id)
    visitor = acme.page(acme.bob)
    visitor.get(f"/app/clients/{kept.id}/merge", status=404)
    page = visitor.get(f"/app/clients/{own.id}/merge?q=northwind")
    assert "Northwind Ltd" not in main_text(page)
    assert "There is no such client" in main_text(visitor.get(f"/app/clients/{own.id}/merge?with={kept.id}"))
    acme.account.merges.merge(acme.account, "client", own.id, kept.id, {}, by=acme.alice)
    # A merge with the record of another user is not shown.
    assert "Merged with" not in main_text(visitor.get(f"/app/clients/{own.id}"))
