"""The main menu of the team, and the page at which the team starts."""

from tests.support.factories import PASSWORD, make_task
from tests.support.pages import Visitor
from tests.support.team import assert_for_the_team_alone

TEAM_SECTIONS = ("/app/clients", "/app/contacts", "/app/deals", "/app/tasks", "/app/reports")


def sections(page) -> list[str]:
    return [link["href"] for link in page.html.select("header nav a")]


def start_of(acme, login: str) -> str:
    form = Visitor(acme.host).get("/app/sign-in?password=1").forms["sign-in"]
    form["login"], form["password"] = login, PASSWORD
    return form.submit(status=303).headers["Location"]


def test_it_works(acme):
    page = acme.page(acme.bob).get("/app/roadmap")
    forum = ["/app/suggestions", "/app/roadmap", "/app/inbox"]
    assert sections(page) == ["/app/home", *forum, *TEAM_SECTIONS]
    assert len(page.html.select("header nav .between")) == 1
    assert sections(acme.page(acme.carol).get("/app/roadmap")) == forum[:2]
    assert sections(acme.page().get("/app/roadmap")) == forum[:2]


def test_pages_of_the_team_are_for_the_team_alone(acme, other):
    """`tests/test_page_access.py` asks this of the pages of clients, contacts, deals and notes."""
    task = make_task(acme.bob)
    tasks = ("new", "list", "calendar", task.id, f"{task.id}/edit")
    assert_for_the_team_alone(acme, other, "/app/tasks")
    for path in ("/app/reports", "/app/bulk_changes", *(f"/app/tasks/{end}" for end in tasks)):
        acme.page(acme.carol).get(path, status=403)
        assert acme.page().get(path).headers["Location"].startswith("/app/sign-in?next=")


def test_the_team_starts_at_home_and_members_at_the_forum(acme):
    assert start_of(acme, "bob") == "/app/home"
    assert acme.page(acme.bob).get("/app/clients").html.select_one(".brand")["href"] == "/app/home"
    assert start_of(acme, "carol") == "/"
    assert acme.page(acme.carol).get("/").html.select_one(".brand")["href"] == "/"
    assert acme.page().get("/").html.select_one(".brand")["href"] == "/"
    form = Visitor(acme.host).get("/app/sign-in?next=/app/roadmap&password=1").forms["sign-in"]
    form["login"], form["password"] = "bob", PASSWORD
    assert form.submit(status=303).headers["Location"] == "/app/roadmap"
