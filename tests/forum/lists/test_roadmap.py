"""The roadmap: planned, started and completed posts."""

from forum.lists import queries as lists
from forum.lists.pages import home
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_category, make_post, make_task
from tests.support.reading import make_private, titles
from tests.support.writing import sender


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


def test_suggestions_with_a_target_come_first_by_their_day(acme):
    ideas = make_category(acme.account, "Ideas")
    for title, day, is_quarter, category in (
        ("Later", "2027-04-02", False, None),
        ("Quarter", "2027-02-03", True, ideas.id),
        ("Day", "2027-03-30", False, ideas.id),
        ("None", None, True, ideas.id),
    ):
        post = make_with_status(acme, title, "planned", **({} if category is None else {"category_id": category}))
        answer = acme.json().put(
            f"/app/posts/{post.id}.json", json={"post": {"target_on": day, "target_is_quarter": is_quarter}}
        )
        assert answer.status_code == 200
    body = read(acme.json().get("/app/posts.json"))
    assert {row["title"]: (row["target_on"], row["target_is_quarter"]) for row in body} == {
        "Later": ("2027-04-02", False),
        "Quarter": ("2027-03-31", True),
        "Day": ("2027-03-30", False),
        "None": (None, False),
    }
    post.vote(by=acme.carol)
    page = acme.page().get("/app/roadmap")
    assert columns(page)["Planned 4"] == ["Day", "Quarter", "Later", "None"]
    targets = [" ".join(meta.get_text().split()) for meta in page.html.select(".board .meta")]
    assert targets == ["Planned for: March 30, 2027", "Planned for: Q1 2027", "Planned for: April 2, 2027"]
    assert columns(page.click("Ideas"))["Planned 3"] == ["Day", "Quarter", "None"]
    for category in ("0", "x"):
        acme.page().get(f"/app/roadmap?category={category}", status=404)


def test_others_see_the_target_while_the_status_is_on_the_roadmap(acme):
    post = make_with_status(acme, "One", "planned")
    form = next(
        form
        for form in acme.page(acme.bob).get(f"/app/posts/{post.id}/team").forms.values()
        if "target_on" in form.fields
    )
    form["target_on"], form["target_is_quarter"] = "2027-05-05", True
    form.submit("do", value="place", status=303)
    path = f"/app/posts/{post.id}"
    for user in (None, acme.carol, acme.bob):
        assert "Q2 2027" in acme.page(user).get(path)
    acme.account.statuses.filter(code="planned").update(on_roadmap=False)
    seen = [user for user in (None, acme.carol, acme.bob) if "Q2 2027" in acme.page(user).get(path)]
    assert seen == [acme.bob]
    assert "2027" not in acme.xml().get(f"{path}.xml").text


def test_it_rejects_targets_that_are_no_days_or_of_tasks(acme):
    post, task = make_post(acme.alice), make_task(acme.alice)
    for row, errors in (
        (post, {"target_on": ["is not a date (ISO 8601, such as 2009-01-26)"]}),
        (task, {"target_on": ["can't be given for a task"]}),
    ):
        day = "2027-13-01" if row is post else "2027-01-01"
        refused = acme.json().put(f"/app/posts/{row.id}.json", json={"post": {"target_on": day}})
        assert_refused(refused, 422, "validation_failed", errors)


def test_the_team_moves_suggestions(acme):
    post = make_with_status(acme, "One", "planned")
    ids = {status.code: status.id for status in acme.account.statuses_of_kind("post")}
    page = acme.page(acme.bob).get("/app/roadmap")
    assert page.click("Move…").headers["Location"] == f"/app/posts/{post.id}/team?tool=status"
    move, path = sender(acme.page(acme.bob)), f"/app/posts/{post.id}/move"
    seen = {"seen_status_id": ids["planned"]}
    assert move(path, {"status_id": ids["started"], **seen}, status=303).headers["Location"] == "/app/roadmap"
    post.refresh_from_db()
    assert post.status_id == ids["started"]
    assert acme.account.status_changes.filter(post_id=post.id).count() == 1
    # A move from a status that the suggestion no longer has, and into one that does not exist.
    for values, error in (
        ({"status_id": ids["completed"], **seen}, "Somebody else has changed the status"),
        ({"status_id": 10**9, "seen_status_id": ids["started"]}, "be found"),
    ):
        assert error in move(path, values, status=303).follow()
    sender(acme.page(acme.carol))(path, {"status_id": ids["completed"]}, status=403)
    assert "data-grab" not in acme.page(acme.carol).get("/app/roadmap")
    post.refresh_from_db()
    assert post.status_id == ids["started"]


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
