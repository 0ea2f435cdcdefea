"""The lists of suggestions of a forum and of its categories: orders, pages and searches."""

from urllib.parse import quote

from forum.forums.models import Forum
from tests.support.factories import make_category, make_post
from tests.support.pages import path_of_post
from tests.support.reading import (
    make_private,
    make_unapproved,
    titles,
)
from tests.support.tables import table


def test_it_works(acme):
    post = make_post(acme.carol, "A dark theme", content="# Why\nSo that *one* can **read** at night.")
    post.comment(by=acme.bob, text="Good.")
    post.vote(by=acme.bob)
    page = acme.page().get("/")
    assert page.html.title.text == "Suggestions · Acme"
    [item] = page.html.select("article.post")
    assert item.h2.a["href"] == path_of_post(post)
    assert item.select_one(".excerpt").text == "Why So that one can read at night."
    assert [badge.text.strip() for badge in item.select(".badge")] == ["New"]
    assert "Carol Member, just now" in item.text
    assert "1 comment" in item.text
    assert item.select_one(".vote button").span.text == "1"
    assert page.html.find("link", rel="canonical")["href"] == f"http://{acme.host}/app/suggestions"
    [description] = page.html.find_all("meta", {"name": "description"})
    assert description["content"].startswith("Suggestions for Acme")


def test_an_empty_forum(acme):
    assert "There are no suggestions here yet" in acme.page().get("/")
    acme.account.categories.all().delete()
    page = acme.page().get("/")
    assert "This forum has no categories yet" in page
    assert "This forum has no categories yet" in acme.page(acme.alice).get("/")


def test_pages_and_their_links(acme):
    posts = [make_post(acme.alice, f"Number {number}") for number in range(26)]
    first = acme.page().get("/")
    assert len(titles(first)) == 25
    assert first.html.find("link", rel="next")["href"] == "?page=2"
    assert first.html.find("link", rel="prev") is None
    second = first.click("Next")
    assert titles(second) == [posts[0].title]
    assert second.html.find("link", rel="prev")["href"] == "?page=1"
    assert second.html.find("link", rel="next") is None
    assert second.html.find("link", rel="canonical")["href"] == f"http://{acme.host}/app/suggestions?page=2"
    assert second.html.title.text == "Suggestions (2) · Acme"


UNKNOWN = [
    *("/nothing", "/?page=0", "/?page=abc", "/?page=2", "/?order=sideways", "/?status=nothing", "/?status=%00", "/%00"),
    *("/?kind=nothing", "/?category=0", "/?category=General", "/?category=%00", "/?q=a&page=50"),
    *("/app/roadmap?status=nothing", "/app/roadmap?status=planned&page=0", "/app/roadmap?status=planned&page=2"),
]


def test_it_rejects_unknown_paths_and_parameters(acme):
    make_post(acme.alice)
    visitor = acme.page()
    for path in UNKNOWN:
        assert "There is nothing here" in visitor.get(path, status=404), path


def test_the_list_of_a_category(acme):
    ideas = make_category(acme.account, "Ideas & more?")
    make_post(acme.alice, "General one")
    make_post(acme.alice, "An idea", category_id=ideas.id)
    assert titles(acme.page().get("/")) == ["An idea", "General one"]
    for path in ("/Ideas%20%26%20more%3F", "/iDEAS%20%26%20MORE%3F"):
        page = acme.page().get(path)
        assert titles(page) == ["An idea"]
        assert page.html.h1.text.strip() == "Ideas & more?"
        assert page.html.find("link", rel="canonical")["href"] == f"http://{acme.host}/Ideas%20%26%20more%3F"
    # The first category has a path too.
    page = acme.page().get("/general")
    assert titles(page) == ["General one"]
    assert page.html.find("link", rel="canonical")["href"] == f"http://{acme.host}/General"
    assert titles(acme.page().get("/Ideas%20%26%20more%3F?status=planned")) == []


def test_orders(acme):
    first, second, third = (make_post(acme.alice, f"Post {number}") for number in "123")
    second.vote(by=acme.bob)
    third.comment(by=acme.bob, text="Well")
    first.write({"title": first.title}, by=acme.alice)
    page = acme.page().get("/")
    assert page.html.select_one(".tabs [aria-current]").text.strip() == "Trending"
    assert titles(page) == titles(page.click("Trending")) == ["Post 2", "Post 3", "Post 1"]
    assert titles(page.click("Top")) == ["Post 2", "Post 3", "Post 1"]
    assert titles(page.click("New", index=-1)) == ["Post 3", "Post 2", "Post 1"]
    assert titles(page.click("Active")) == ["Post 1", "Post 3", "Post 2"]
    discussed = page.click("Discussed")
    assert titles(discussed) == titles(acme.page().get("/?order=discussed")) == ["Post 3", "Post 2", "Post 1"]
    assert discussed.html.select_one(".tabs [aria-current]").text.strip() == "Discussed"
    assert discussed.request.path_qs == "/app/suggestions?order=commented"
    # The list of a category keeps its order: the newest first.
    category = acme.page().get("/General")
    assert titles(category) == ["Post 3", "Post 2", "Post 1"]
    assert titles(category.click("Trending")) == ["Post 2", "Post 3", "Post 1"]


def test_search_in_all_categories(acme):
    ideas = make_category(acme.account, "Ideas")
    make_post(acme.alice, "Export to a spreadsheet")
    make_post(acme.alice, "Spreadsheets in colour", category_id=ideas.id)
    make_post(acme.alice, "A dark theme")
    form = acme.page().get("/").forms[0]
    form["q"] = "spreadsheet"
    page = form.submit()
    assert sorted(titles(page)) == ["Export to a spreadsheet", "Spreadsheets in colour"]
    assert page.html.find("meta", {"name": "robots"})["content"] == "noindex"
    assert page.forms[0]["q"].value == "spreadsheet"
    assert titles(acme.page().get("/Ideas?q=spreadshete")) == ["Spreadsheets in colour"]
    assert titles(acme.page().get("/general?q=spreadsheet")) == ["Export to a spreadsheet"]
    assert titles(acme.page().get("/?q=spreadsheet&status=rejected")) == []


def test_a_search_keeps_the_status(acme):
    ideas = make_category(acme.account, "Ideas")
    planned = acme.account.statuses.get(kind="post", code="planned")
    make_post(acme.alice, "A dark theme")
    make_post(acme.alice, "Dark colours", status=planned)
    make_post(acme.alice, "Dark pages", status=planned, category_id=ideas.id)
    page = acme.page().get("/Ideas?status=planned")
    assert titles(page) == ["Dark pages"]
    # The hidden fields of the form are part of the results, so they change with them.
    hidden_field = page.html.select_one("#results input[name=status]")
    assert (hidden_field["value"], hidden_field["form"]) == ("planned", "search")
    form = page.html.find("form", id="search")
    assert form.find("input", {"name": "q"})["hx-include"] == "closest form"
    page = acme.page().get(form["action"], {"q": "dark", "status": hidden_field["value"]})
    assert titles(page) == ["Dark pages"]
    all_categories = page.click("Search everywhere")
    assert sorted(titles(all_categories)) == ["Dark colours", "Dark pages"]
    assert titles(page.click("Clear the search")) == ["Dark pages"]
    assert all_categories.html.select_one("#results input[name=status]")["value"] == "planned"
    page = acme.page().get("/?q=theme&status=planned")
    assert "No suggestion with these filters has these words." in page
    assert titles(page.click("Search without filters")) == ["A dark theme"]
    assert acme.page().get("/").html.find("input", {"name": "status"}) is None


def test_similar_posts_are_suggested_for_a_search(acme, other):
    ideas = make_category(acme.account, "Ideas")
    make_post(acme.alice, "A dark theme", category_id=ideas.id)
    make_post(acme.alice, "Export to a spreadsheet")
    make_private(acme.carol)
    make_post(other.mallory, "A dark theme")
    page = acme.page().get("/?q=drk+theme")
    assert titles(page) == ["A dark theme"]
    assert "No suggestion has all of these words. These come close:" in page.html.select_one("#results").text
    assert page.html.select_one(".closer a")["href"] == "/app/posts/new?title=drk%20theme"
    # If posts match all words, there is no search for similar ones.
    page = acme.page().get("/?q=dark+theme")
    assert titles(page) == ["A dark theme"]
    assert "come close" not in page
    assert page.html.select_one(".closer") is None
    # Similar posts are not searched within a category or a status, in a feed, or on later pages.
    assert titles(acme.page().get("/Ideas?q=drk+theme")) == []
    assert titles(acme.page().get("/?q=drk+theme&status=new")) == []
    assert "dark" not in acme.page().get("/app/feed.atom?q=drk+theme")
    assert acme.page().get("/?q=drk+theme&page=2", expect_errors=True).status_code == 404


def test_a_search_that_finds_nothing(acme):
    page = acme.page().get("/", {"q": 'Ponies & "more"'})
    assert "Nothing like that has been suggested yet" in page
    link = page.html.select_one(".empty a")
    assert link["href"] == "/app/posts/new?title=Ponies%20%26%20%22more%22"


def test_hostile_searches_find_nothing(acme):
    make_post(acme.alice, "A dark theme")
    visitor = acme.page()
    for q in ("\x00", "\ud800".encode("utf-8", "surrogatepass"), "%", "' OR 1=1", "a" * 5000, "!!!", "ł"):
        assert titles(visitor.get("/", {"q": q})) == [], q


def test_private_and_unapproved_posts(acme):
    make_post(acme.alice, "Open")
    make_private(acme.carol)
    make_unapproved(acme.carol)
    assert titles(acme.page().get("/")) == ["Open"]
    assert titles(acme.page().get("/?q=secret")) == []
    for user in (acme.carol, acme.bob):
        page = acme.page(user).get("/")
        assert titles(page) == ["Waiting", "Secret", "Open"]
        assert "Waiting for approval" in page
        assert page.html.select("article.post")[1].select(".badge")[1].text.strip() == "Private"
        assert titles(acme.page(user).get("/?q=secret")) == ["Secret"]


def test_visitors_may_read_a_forum_of_members(acme):
    Forum.objects.update(access=Forum.Access.MEMBERS)
    make_post(acme.alice, "Open")
    page = acme.page().get("/")
    assert titles(page) == ["Open"]
    assert "Sign up" not in page


def test_readers_get_no_cookie_except_the_csrf_cookie(acme):
    post = make_post(acme.alice)
    duplicate = make_post(acme.alice)
    duplicate.merge_into(post, by=acme.alice)
    for path in ("/", "/?q=a", "/app/roadmap", f"/app/posts/{post.id}", f"/app/posts/{duplicate.id}", "/app/feed.atom"):
        visitor = acme.page()
        visitor.get(path)
        assert set(visitor.cookies) <= {"csrf"}, path


def test_hostile_titles_are_escaped(acme):
    expected = ["<script>alert(1)</script>", "\u202eright to left", "W" * 255, "🦄" * 255, "\"quoted\" & 'so'"]
    posts = [make_post(acme.alice, title, content=title) for title in expected]
    visitor = acme.page()
    for path in ("/", f"/app/posts/{posts[0].id}", "/app/feed.atom"):
        assert "<script>alert" not in visitor.get(path)
    assert titles(visitor.get("/?order=new")) == expected[::-1]


@table("name", ["What's new?", "C# & .NET", "100%", "a?q=b#c"])
def test_a_category_may_have_any_name(acme, name):
    """The search and the link back stay in the category."""
    category = make_category(acme.account, name)
    for title, post_category in (("Apples there", category), ("Apples elsewhere", acme.category)):
        make_post(acme.bob, title, category_id=post_category.id)
    visitor = acme.page()
    page = visitor.get(f"/{quote(name, safe='')}")
    assert titles(page) == ["Apples there"]
    form = page.forms[0]
    form["q"] = "apples"
    results = form.submit()
    assert titles(results) == ["Apples there"]
    assert page.html.find(id="q")["hx-get"] == form.action
    assert titles(results.click("Clear the search")) == ["Apples there"]


def test_it_rejects_too_many_searches(acme, settings):
    """Searches of visitors are limited by address, those of users by user. Lists are not limited."""
    settings.RATE_LIMIT = 3
    visitor, carol = acme.page(), acme.page(acme.carol)
    responses = [
        visitor.get(path, expect_errors=True) for path in ("/?q=a", "/app/feed.atom?q=a", "/General?q=a", "/?q=b")
    ]
    assert [response.status_code for response in responses] == [200, 200, 200, 429]
    assert responses[-1].headers["Retry-After"]
    assert visitor.get("/").status_code == 200
    assert carol.get("/?q=a").status_code == 200


@table(
    "path",
    [
        "/app/posts/new?title=prices",
        "/app/posts/{}/merge?q=prices",
        "/app/posts/{}/behalf?q=prices",
        "/app/account/users?q=a",
    ],
)
def test_it_rejects_too_many_searches_on_other_pages(acme, settings, path):
    path = path.format(make_post(acme.carol).id)
    alice = acme.page(acme.alice)
    settings.RATE_LIMIT = 2
    statuses = [alice.get(path, expect_errors=True).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert alice.get(path.partition("?")[0]).status_code == 200
