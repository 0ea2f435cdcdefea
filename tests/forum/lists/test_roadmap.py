"""The roadmap: planned, started and completed posts."""

from forum.lists import queries as lists
from forum.lists.pages import home
from tests.support.factories import make_category, make_post
from tests.support.reading import make_private, titles


def make_with_status(acme, title: str, code: str, **fields):
    return make_post(acme.alice, title, status=acme.account.statuses.get(kind="post", code=code), **fields)


def columns(page) -> dict[str, list[str]]:
    return {
        " ".join(section.h2.text.split()): [heading.text.strip() for heading in section.select("h3")]
        for section in page.html.select(".board section")
    }


def test_it_works(acme):
    make_with_status(acme, "One", "planned")
    top_post = make_with_status(acme, "Two", "planned", category_id=make_category(acme.account).id)
    top_post.vote(by=acme.bob)
    make_with_status(acme, "Three", "started")
    make_with_status(acme, "Four", "rejected")
    make_private(acme.alice)
    for user in (None, acme.carol, acme.bob):
        page = acme.page(user).get("/app/roadmap")
        assert columns(page) == {"Planned 2": ["Two", "One"], "Started 1": ["Three"], "Done 0": []}
    assert page.html.find("link", rel="canonical")["href"] == f"http://{acme.host}/app/roadmap"
    assert page.html.select_one(".vote button")["aria-pressed"] == "true"


def test_the_whole_column_is_listed_on_its_own_page(acme, monkeypatch):
    monkeypatch.setattr(home, "MAX_COLUMN_POSTS", 20)
    for number in range(26):
        make_with_status(acme, f"Number {number}", "planned")
    page = acme.page().get("/app/roadmap")
    assert len(columns(page)["Planned 20+"]) == 20
    page = page.click("See all: Planned")
    assert len(titles(page)) == 25
    assert titles(page)[0] == "Number 25"
    assert titles(page.click("Next")) == ["Number 0"]
    assert "No suggestion has this status" in acme.page().get("/app/roadmap?status=rejected")


def test_columns_are_in_the_order_of_the_statuses(acme):
    started = acme.account.statuses.get(kind="post", code="started")
    started.move(before=acme.account.statuses_of_kind("post").first().id)
    assert list(columns(acme.page().get("/app/roadmap"))) == ["Started 0", "Planned 0", "Done 0"]


def test_the_settings_select_the_statuses(acme):
    statuses = acme.account.statuses_of_kind("post")
    statuses.filter(code="started").update(on_roadmap=False)
    statuses.filter(code="accepted").update(on_roadmap=True)
    make_with_status(acme, "One", "accepted")
    make_with_status(acme, "Two", "started")
    assert columns(acme.page().get("/app/roadmap")) == {"Accepted 1": ["One"], "Planned 0": [], "Done 0": []}


def test_the_limits_of_the_roadmap(acme, monkeypatch):
    """With many statuses on the roadmap, only the first ones are shown, each with fewer posts."""
    monkeypatch.setattr(lists, "MAX_ROADMAP_STATUSES", 2)
    monkeypatch.setattr(lists, "MAX_ROADMAP_POSTS", 4)
    for number in range(3):
        make_with_status(acme, f"Number {number}", "planned")
        make_with_status(acme, f"Number {number}", "completed")
    page = acme.page().get("/app/roadmap")
    assert columns(page) == {"Planned 2+": ["Number 2", "Number 1"], "Started 0": []}


def test_an_account_without_roadmap_statuses_has_no_roadmap(acme):
    acme.account.statuses.update(on_roadmap=False)
    assert "There is no roadmap here" in acme.page().get("/app/roadmap")
