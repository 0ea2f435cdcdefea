"""The table of the suggestions of all forums, for the team."""

import pytest
from django.db import connection

from tests.support.assertions import read
from tests.support.factories import (
    make_category,
    make_field_definition,
    make_forum,
    make_post,
    make_saved_view,
    make_task,
)
from tests.support.queries import capture_queries
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
    make_post(acme.carol, "Dark", tags=["ui"]).merge_into(acme.account.posts.get(title="Dark theme"), by=acme.bob)
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


# posts.json


def test_fields_that_the_account_defines(acme, suggestions):
    effort = make_field_definition(acme.account, "effort", resource="suggestion", type="number", in_lists=True)
    for title, value in (("Dark theme", 10), ("Old idea", 9)):
        post = acme.account.posts.get(title=title, duplicate_from_id=None)
        post.write({"additional_fields": {"effort": value}}, by=acme.bob)
    for query, expected in (
        ("additional_fields[effort]__after=9", ["Dark theme"]),
        ("additional_fields[effort]=9", ["Old idea"]),
        ("additional_fields[effort]__empty=false&sort=additional_fields[effort]", ["Old idea", "Dark theme"]),
    ):
        assert read_record_list(acme.bob, "suggestion", query) == (expected, []), query
        assert titles(acme, query.replace("[", "%5B").replace("]", "%5D")) == expected, query
    page = acme.page(acme.bob).get(f"{PATH}?additional_fields[effort]=10")
    assert filter_chips(page) == ["effort is 10"]
    cells = [" ".join(cell.get_text(" ").split()) for cell in page.html.select("tbody tr td")]
    assert "10" in cells
    view = make_saved_view(acme.bob, resource="suggestion", query="columns=additional_fields%5Beffort%5D")
    page = acme.page(acme.bob).get(f"{PATH}?view={view.id}")
    assert [cell.get_text(strip=True) for cell in page.html.select("tbody tr td")].count("10") == 1
    effort.erase()
    assert row_names(acme.page(acme.bob).get(f"{PATH}?view={view.id}", status=422))


def titles(acme, query: str) -> list[str]:
    response = acme.json().get(f"/app/posts.json?{query}")
    assert "x-ignored-parameters" not in response.headers
    return [row["title"] for row in read(response)]


MORE_FILTERS = [
    ("created_at=today&votes_cache__after=1", "Dark theme"),
    ("tags__empty=true&order=-id", "Louder fan, Old idea"),
    ("kind__none=error&order=updated_at&closed=false", "Louder fan, Dark theme"),
    ("sort=-votes_cache&per_page=1", "Dark theme"),
    ("updated_since=2020-01-01T00:00:00Z&order=updated_at&title__contains=fa", "Faster search, Louder fan"),
    ("q=fan&sort=title&category_id={category}", "Louder fan"),
    ("content__contains=x", ""),
    ("tag=unknown&sort=title", ""),
]


def test_the_api_accepts_the_conditions_of_the_table(acme, suggestions):
    for query, expected in FILTERS + MORE_FILTERS:
        # The table has no duplicates.
        found = titles(acme, query.format(**suggestions) + "&duplicate_from_id__empty=true")
        assert ", ".join(found) == expected, query
    view = make_saved_view(acme.bob, resource="suggestion", query="tags=ui&sort=-title")
    assert titles(acme, f"view={view.id}&closed=false") == ["Faster search", "Dark theme"]
    # Conditions and views say nothing about duplicates.
    assert titles(acme, f"view={view.id}") == ["Faster search", "Dark theme", "Dark"]
    assert titles(acme, "title__contains=dark&duplicate_from_id__empty=false") == ["Dark"]
    # The links repeat all values of a condition.
    response = acme.json().get("/app/posts.json?tags__any=speed&tags__any=ui&per_page=1&sort=title&x=1")
    path = "acme.example.test/app/posts.json?tags__any=speed&tags__any=ui&per_page=1&sort=title"
    assert response.headers["link"] == f'<http://{path}&page=1>; rel="first", <http://{path}&page=2>; rel="next"'
    # Unknown parameters are ignored.
    response = acme.json().get("/app/posts.json?titel=x&columns=title&city=x&no_task=true&tags=speed")
    assert [row["title"] for row in read(response)] == ["Faster search"]
    assert response.headers["x-ignored-parameters"] == "titel,columns,city,no_task"


def test_the_api_rejects_wrong_conditions(acme, other, suggestions):
    gone = "was deleted, or is not shared with you"
    foreign = make_saved_view(other.mallory, resource="suggestion", shared=True)
    private = make_saved_view(acme.alice, resource="suggestion", query="tags=ui")
    of_tasks = make_saved_view(acme.bob, resource="task")
    for query, field, rule in (
        ("votes_cache__after=x", "votes_cache__after", "is not a number"),
        ("created_at=someday", "created_at", "is not a date such as 2026-01-31, or a period such as last_7_days"),
        ("sort=name", "sort", "is not a column by which the list can be ordered"),
        ("sort=id&sort=id", "sort", "is given more than once"),
        ("sort=title&order=id", "sort", "can't be given together with order, which has the same meaning"),
        *((f"view={view.id}", "view", gone) for view in (foreign, private, of_tasks)),
    ):
        response = acme.json().get(f"/app/posts.json?{query}")
        assert (response.status_code, read(response)["errors"]) == (422, {field: [rule]}), query
    response = acme.json().get("/app/posts.json?titel=x&title=x", headers={"Prefer": "handling=strict"})
    assert list(read(response)["errors"]) == ["titel"]


def test_the_api_hides_other_accounts(acme, other, suggestions):
    # The accounts have different rows with the same ids, except for this one.
    status = other.account.statuses.create(id=9999, kind="post", code="hot", name="Hot")
    make_post(other.mallory, "Foreign", tags=["ui"], status=status)
    assert titles(acme, "tags__any=ui&tags__any=foreign&sort=id") == ["Dark theme", "Faster search", "Dark"]
    for query in ("status_id__any=9999", "title=foreign", "or1.status_id=9999&or2.title__contains=foreign"):
        assert titles(acme, query) == [], query


def test_the_api_names_the_filters_that_have_an_index(acme, suggestions, monkeypatch):
    def sleep(*args: object, **kwargs: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(1)")

    monkeypatch.setattr("core.search.queries.TIME_LIMIT_MS", 1)
    for module in ("core.api.lists", "team.list_queries.queries"):
        monkeypatch.setattr(f"{module}.collect_and_sort", sleep)
    rule = "takes too long, because too many rows would have to be compared: add a search, or one of the filters "
    of_posts, of_tasks = "category_id, forum_id, status_id, ", "status_id, "
    for path, filters, name in (
        ("posts.json?title__contains=x&sort=-created_at", of_posts, "title__contains"),
        ("tasks.json?title__contains=x&sort=title", of_tasks, "title__contains"),
        ("tasks.json?closed=false&sort=title", of_tasks, "sort"),
    ):
        response = acme.json().get(f"/app/{path}")
        errors = {name: [f"{rule}{filters}responsible_id, user_id, tags"]}
        assert (response.status_code, read(response)["errors"]) == (422, errors)


def test_the_number_of_statements_of_the_api(acme, suggestions):
    view = make_saved_view(acme.bob, resource="suggestion", query="tags=ui&sort=id")
    bob = acme.json()
    bob.get("/app/posts.json")
    for path in ("posts", "tasks"):
        for query, number in (("", 3), ("sort=id", 3), ("title=x", 4), ("foo=1", 3)):
            response, queries = capture_queries(lambda path=path, query=query: bob.get(f"/app/{path}.json?{query}"))
            assert (response.status_code, len(queries)) == (200, number), (path, query, queries)
    _response, queries = capture_queries(lambda: bob.get(f"/app/posts.json?view={view.id}"))
    assert len(queries) == 7, queries
