"""The table of the suggestions of all forums, for the team."""

import pytest

from tests.support.factories import make_category, make_forum, make_post, make_saved_view, make_task
from tests.support.reading import statements
from tests.support.record_lists import filter_chips, read_record_list
from tests.support.team import row_names

PATH = "/app/suggestions/list"


@pytest.fixture
def suggestions(acme):
    """Suggestions of two forums, of which one is closed, and a task, which is in another list."""
    status = acme.account.statuses.get(kind="post", code="planned")
    second = make_forum(acme.account, "Second")
    other = make_category(acme.account, "Hardware", forum_id=second.id, position=1)
    make_post(acme.carol, "Dark theme", tags=["ui"], votes_cache=7, status=status)
    make_post(acme.bob, "Faster search", tags=["speed", "ui"], responsible_id=acme.bob.id, kind="error")
    make_post(acme.carol, "Old idea", closed=True)
    make_post(acme.carol, "Louder fan", forum_id=second.id, additional_fields={"size": "XL"})
    make_task(acme.bob, "A task")
    return {"status": status.id, "category": other.id, "second": second.id, "carol": acme.carol.id}


FILTERS = [
    ("sort=id", "Dark theme, Faster search, Old idea, Louder fan"),
    ("closed=false&sort=id", "Dark theme, Faster search, Louder fan"),
    ("tags__any=ui&tags__any=speed&sort=id", "Dark theme, Faster search"),
    ("tags__none=ui&closed=false", "Louder fan"),
    ("category_id={category}", "Louder fan"),
    ("forum_id__not={second}&closed=false&sort=id", "Dark theme, Faster search"),
    ("kind=error", "Faster search"),
    ("status_id={status}", "Dark theme"),
    ("user_id={carol}&closed=false&sort=id", "Dark theme, Louder fan"),
    ("mine=true", "Faster search"),
    ("additional_fields[size]=XL", "Louder fan"),
    ("or1.tags=speed&or2.category_id={category}&sort=title", "Faster search, Louder fan"),
    ("closed=false&sort=category_id", "Dark theme, Faster search, Louder fan"),
    ("title__contains=DARK", "Dark theme"),
    ("q=fan", "Louder fan"),
    ("sort=-updated_at&closed=true", "Old idea"),
]


def test_it_works(acme, suggestions):
    for query, expected in FILTERS:
        names, errors = read_record_list(acme.bob, "suggestion", query.format(**suggestions))
        assert (names, errors) == (expected.split(", "), []), query
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}?category_id={suggestions['category']}&columns=kind,category_id,forum_id,user_id")
    cells = [" ".join(cell.get_text(" ").split()) for cell in page.html.select("tbody tr th, tbody tr td")]
    assert cells == ["Louder fan", "Suggestion", "Hardware", "Second", "CM Carol Member"]
    assert filter_chips(page) == ["Category is Hardware"]
    assert row_names(page.click("Open", href="closed=false", index=0)) == ["Louder fan", "Faster search", "Dark theme"]
    assert len(statements(bob, f"{PATH}?closed=false&tags=ui&columns=category_id,user_id,status_id")) <= 12


def test_a_view_of_suggestions(acme, suggestions):
    view = make_saved_view(acme.bob, resource="suggestion", query="category_id={category}".format(**suggestions))
    page = acme.page(acme.bob).get(f"{PATH}?view={view.id}")
    assert row_names(page) == ["Louder fan"]
    acme.account.posts.filter(category_id=suggestions["category"]).delete()
    acme.account.categories.filter(id=suggestions["category"]).delete()
    page = acme.page(acme.bob).get(f"{PATH}?view={view.id}", status=422)
    assert "names a category that was deleted" in page.html.select_one(".notice.error").get_text()


def test_the_table_is_for_the_team(acme, suggestions):
    acme.page(acme.carol).get(PATH, status=403)
    assert "/app/suggestions/list?" in acme.page(acme.bob).get("/app/suggestions").text
    assert "/app/suggestions/list?" not in acme.page(acme.carol).get("/app/suggestions").text
