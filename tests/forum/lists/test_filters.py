"""The filters of the list: their combinations, counts and links."""

import itertools

import pytest

from forum.lists import whole_forum
from forum.lists.facets import FacetSelection
from forum.lists.pages.base import KIND_NAMES
from forum.lists.whole_forum import ForumList
from forum.posts.models import Post
from tests.support.factories import make_category, make_post
from tests.support.reading import make_private, selection_of, titles


@pytest.fixture
def posts(acme):
    ideas = make_category(acme.account, "Ideas & more")
    planned = acme.account.statuses.get(kind="post", code="planned")
    make_post(acme.alice, "Plain")
    make_post(acme.alice, "Bug", kind="error", tags=["web"])
    make_post(acme.alice, "Idea", category_id=ideas.id, tags=["web", "a & b"])
    make_post(acme.alice, "Planned idea", category_id=ideas.id, status=planned, tags=["web"])
    return ideas


def options(page, key: str) -> dict[str, str]:
    """Return the numbers of a filter by the names of its options."""
    links = page.html.select(f"nav[aria-labelledby=filter-{key}] a")
    return {link.select_one(".grow").text: link.select_one(".number").text for link in links if link.select(".number")}


def chips(page) -> list[str]:
    return [" ".join(chip.text.split()).removeprefix("Remove the filter ") for chip in page.html.select(".chips .chip")]


def test_it_works(acme, posts):
    page = acme.page().get("/app/suggestions", headers={"Accept": "application/xml"})
    assert titles(page) == ["Planned idea", "Idea", "Bug", "Plain"]
    assert options(page, "category") == {"General": "2", "Ideas & more": "2"}
    assert options(page, "status") == {"New": "3", "Planned": "1"}
    assert options(page, "kind") == {"Suggestion": "3", KIND_NAMES["error"]: "1"}
    assert options(page, "tag") == {"web": "3", "a & b": "1"}
    page = page.click("Ideas &amp; more")
    assert page.request.path_qs == f"/app/suggestions?category={posts.id}"
    assert titles(page) == ["Planned idea", "Idea"]
    assert options(page, "status") == {"New": "1", "Planned": "1"}
    page = page.click("a &amp; b", index=-1)
    assert page.request.path_qs == f"/app/suggestions?category={posts.id}&tag=a+%26+b"
    assert titles(page) == ["Idea"]
    assert chips(page) == ["Ideas & more", "a & b"]
    assert page.html.title.text == "Suggestions: Ideas & more, a & b · Acme"
    # A search stays within the filters.
    hidden = {field["name"]: field["value"] for field in page.html.select("#results input[form=search]")}
    assert hidden == {"category": str(posts.id), "tag": "a & b"}
    # Search engines do not index combinations of filters.
    assert page.html.find("meta", {"name": "robots"})["content"] == "noindex"
    # A chip removes its filter, and one link removes all.
    assert titles(page.click("Ideas &amp; more <svg", index=0)) == ["Idea"]
    assert len(titles(page.click("Clear filters"))) == 4


def test_filters_combine(acme, posts, monkeypatch):
    """Each combination finds the same posts in each order, from an index or by a scan of the list."""
    statuses = {status.code: status.id for status in acme.account.statuses.filter(kind="post")}
    values = {
        "category_id": [None, posts.id],
        "status_id": [None, statuses["planned"], statuses["rejected"]],
        "kind": [None, "error", "suggestion"],
        "tag": [None, "web", "a & b", "none"],
    }
    for combination in itertools.product(*values.values()):
        selected = {name: value for name, value in zip(values, combination, strict=True) if value}
        conditions = {name: value for name, value in selected.items() if name != "tag"}
        if "tag" in selected:
            conditions["tags__contains"] = [selected["tag"]]
        expected = set(Post.objects.filter(**conditions).values_list("title"))
        found_by = ForumList(acme.account, acme.forum.id, None, ("title",), 0, 10, selection_of(**selected))
        for order in ("trending", "commented"):
            found = []
            for max_collected in (1000, 0):
                monkeypatch.setattr(whole_forum, "MAX_COLLECTED", max_collected)
                found.append(found_by.page(order))
            assert found[0] == found[1], (selected, order)
            assert set(found[0]) == expected, (selected, order)


def test_an_empty_result_offers_to_clear_the_filters(acme, posts):
    page = acme.page().get("/app/suggestions?kind=praise")
    assert "No suggestion matches these filters" in page
    assert len(titles(page.click("Clear filters"))) == 4
    # The selected value is shown although it has no posts.
    assert list(options(page, "kind").values()) == ["3", "1", "0"]


def test_private_posts_are_counted_for_the_team_only(acme, posts):
    make_private(acme.carol, "Secret")
    assert options(acme.page().get("/"), "category")["General"] == "2"
    assert options(acme.page(acme.carol).get("/"), "category")["General"] == "2"
    assert options(acme.page(acme.bob).get("/"), "category")["General"] == "3"
    for user in (acme.carol, acme.bob):
        assert titles(acme.page(user).get(f"/app/suggestions?category={acme.category.id}")) == [
            "Secret",
            "Bug",
            "Plain",
        ]
        assert titles(acme.page(user).get("/app/suggestions?kind=suggestion"))[0] == "Secret"
    assert "Secret" not in titles(acme.page().get("/app/suggestions?kind=suggestion"))


def test_the_list_of_a_category_links_to_filters(acme, posts):
    page = acme.page().get("/General")
    assert chips(page) == []
    assert titles(page.click("web", index=-1)) == ["Bug"]
    page = acme.page().get("/General?kind=error")
    assert titles(page) == ["Bug"]
    assert len(chips(page)) == 1


def test_it_rejects_unknown_values(acme, other):
    category = other.account.categories.create(id=9_000_001, forum_id=other.account.forums.get().id, name="Of other")
    visitor = acme.page()
    unknown = "kind=nothing kind=%00 status=%00 category=1e3 category=-1 category=² order=sideways"
    for query in (*unknown.split(), f"category={category.id}"):
        assert "There is nothing here" in visitor.get(f"/app/suggestions?{query}", status=404)
    # An unknown tag finds nothing.
    make_post(acme.alice)
    for tag in ("%00", "a" * 500, "%F0%9F%A6%84", "'", "%25", "{}", "%EF%BF%BF"):
        assert titles(visitor.get(f"/app/suggestions?tag={tag}")) == []


def test_a_filter_has_several_values(acme, posts):
    page = acme.page().get("/app/suggestions").click("Planned", href="status=planned$")
    page = page.click("New", href="status=planned%2Cnew")
    assert page.request.path_qs == "/app/suggestions?status=planned%2Cnew"
    assert len(titles(page)) == 4
    page = page.click("Bug", href="kind=error")
    assert titles(page) == ["Bug"]
    # Each number is that of the list with this value alone.
    assert options(page, "status") == {"New": "1", "Planned": "0"}
    page = page.click("Suggestion", href="kind=error%2Csuggestion")
    assert chips(page) == ["Planned", "New", KIND_NAMES["error"], "Suggestion"]
    assert len(titles(page)) == 4
    # A selected value is removed by a click, as by its chip.
    assert titles(page.click("New", href="status=planned&", index=0)) == ["Planned idea"]
    assert titles(page.click("Ideas &amp; more")) == ["Planned idea", "Idea"]
    for path in ("status=planned,odd", "kind=error,odd", f"category={posts.id},x", f"category={'1,' * 60}1"):
        acme.page().get(f"/app/suggestions?{path}", status=404)


def test_a_code_with_a_comma(acme, posts):
    odd = acme.account.statuses.create(kind="post", code="soon, perhaps", name="Soon", position=9)
    make_post(acme.alice, "Later", status=odd)
    page = acme.page().get("/app/suggestions").click("Soon")
    assert titles(page) == ["Later"]
    assert titles(page.click("Planned", href="status=")) == ["Later", "Planned idea"]
    assert titles(acme.page().get("/app/suggestions?status=soon, perhaps")) == ["Later"]


def test_closed_suggestions_are_behind_one_click(acme, posts):
    rejected = acme.account.statuses.get(kind="post", code="rejected")
    make_post(acme.alice, "Rejected", status=rejected, category_id=posts.id)
    page = acme.page().get("/app/suggestions")
    assert "Rejected" not in titles(page)
    assert options(page, "category") == {"General": "2", "Ideas & more": "2"}
    assert options(page, "status")["Rejected"] == "1"
    page = page.click("Any status")
    assert page.request.path_qs == "/app/suggestions?status=%2A"
    assert titles(page)[0] == "Rejected"
    assert options(page, "category") == {"General": "2", "Ideas & more": "3"}
    assert chips(page) == ["Any status"]
    assert "Rejected" not in titles(page.click("Open"))
    # A search and a feed have all.
    assert titles(acme.page().get("/app/suggestions?q=rejected")) == ["Rejected"]
    assert "Rejected" in acme.page().get("/app/feed.atom").text
    # A list without open suggestions leads to the closed ones.
    Post.objects.exclude(title="Rejected").delete()
    page = acme.page().get("/Ideas & more")
    assert titles(page) == []
    assert titles(page.click("Show closed ones too")) == ["Rejected"]


def test_the_list_of_open_ones_is_the_same_in_both_ways(acme, posts, monkeypatch):
    """First all suggestions are open, then few of them."""
    rejected = acme.account.statuses.get(kind="post", code="rejected")
    opened = tuple(acme.account.statuses.filter(kind="post", closed=False).values_list("id", flat=True))
    for _ in range(2):
        found_by = ForumList(acme.account, acme.forum.id, None, ("title",), 0, 10, FacetSelection(status_ids=opened))
        for order in ("trending", "top", "new", "active", "commented"):
            found = [found_by.page(order)]
            monkeypatch.setattr(whole_forum, "MAX_COLLECTED", 0)
            found.append(found_by.page(order))
            monkeypatch.undo()
            assert found[0] == found[1]
            assert {title for (title,) in found[0]} == {"Plain", "Bug", "Idea", "Planned idea"}
        for number in range(40):
            make_post(acme.alice, f"No {number}", status=rejected)
