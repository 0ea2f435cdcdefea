"""Home: the page at which the team starts, and the same in the Account API (JSON)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from core.db.time_limit import TooSlow
from team.goals.models import Goal
from tests.support.assertions import read
from tests.support.factories import make_client, make_deal, make_post, make_task
from tests.support.followers import run_followers
from tests.support.queries import capture_queries
from tests.support.team import main_text

PATH = "/app/home"
MAX_STATEMENTS, MAX_BYTES = 12, 60_000


@pytest.fixture
def rows(acme, statuses):
    """Create rows of each box, of bob and of others."""
    account, bob, now = acme.account, acme.bob, timezone.now()
    acme.account.statuses.filter(id=statuses["proposal"]).update(rot_days=5)
    client = make_client(bob, "Northwind")
    mine = {"responsible_id": bob.id, "client_id": client.id}
    make_task(bob, "Call them", scheduled_at=now - timedelta(days=1), **mine)
    make_task(bob, "Later", scheduled_at=now + timedelta(days=3), **mine)
    make_task(acme.alice, "Not mine", scheduled_at=now, responsible_id=acme.alice.id)
    today = now.astimezone(account.zone).date()
    make_deal(bob, "Roof", price=1200, expected_close_date=today + timedelta(days=3), **mine)
    make_deal(bob, "Floor", expected_close_date=today - timedelta(days=3), **mine)
    make_deal(bob, "Some day", expected_close_date=today + timedelta(days=60), **mine)
    rotting = make_deal(bob, "Forgotten", status_id=statuses["proposal"], **mine)
    account.deals.filter(id=rotting.id).update(stage_entered_at=now - timedelta(days=9))
    won = make_deal(bob, "Door", price=300, status_id=statuses["won"], **mine)
    make_deal(acme.alice, "Gate", price=50, status_id=statuses["won"], responsible_id=acme.alice.id)
    Goal(account=account).write({"target": 700, "measure": "amount"})
    Goal(account=account).write({"target": 4, "measure": "deals", "user_id": bob.id, "period": "quarter"})
    post = make_post(acme.carol, "Dark theme")
    post.comment(by=acme.carol, text="What do you think, @bob?", agent="test")
    run_followers()
    return {"post": post, "won": won}


def texts(page, name: str) -> list[str]:
    return [
        " ".join(item.get_text(" ").split()) for item in page.html.select(f".home-{name} li :is(h3, a, button.link)")
    ]


def test_it_works(acme, rows):
    bob = acme.page(acme.bob)
    bob.get(PATH)
    page, queries = capture_queries(lambda: bob.get(PATH))
    assert texts(page, "tasks")[:1] == ["Call them"]
    assert [item.a.get_text() for item in page.html.select(".home-deals li")] == ["Floor", "Roof", "Forgotten"]
    assert texts(page, "mentions") == ["Dark theme"]
    assert texts(page, "suggestions") == ["Dark theme"]
    month = " ".join(page.html.select_one(".home-month").get_text(" ").split())
    assert "Mine 300.00 EUR 1 deal Of the team 350.00 EUR 2 deals" in month
    assert "The team's goal for the month 50%" in month
    assert "My goal for the quarter 25%" in month
    assert len(queries) <= MAX_STATEMENTS, queries
    assert len(page.body) <= MAX_BYTES


def test_the_same_in_json(acme, rows):
    found = read(acme.json().get("/app/home.json"))
    assert found["month"]["team"] == {"deals": 2, "amount": 350, "missing": []}
    assert [row["title"] for row in found["suggestions"]] == ["Dark theme"]


def test_empty_boxes_lead_to_the_next_step(acme):
    page = acme.page(acme.alice).get(PATH)
    links = {link["href"] for link in page.html.select(".home p.soft a")}
    assert links == {"/app/tasks/new", "/app/deals/new", "/app/account/goals", "/app/suggestions"}


def test_a_task_is_done_and_reopened(acme, rows):
    bob = acme.page(acme.bob)
    form = next(form for form in bob.get(PATH).forms.values() if 'value="complete"' in form.text)
    done = form.submit("do", value="complete", status=303).follow()
    assert done.request.path == PATH
    assert texts(done, "tasks") == []
    form = next(form for form in done.forms.values() if 'value="reopen"' in form.text)
    assert texts(form.submit("do", value="reopen", status=303).follow(), "tasks")[:1] == ["Call them"]


@pytest.mark.parametrize(
    ("start_page", "path"),
    [
        ("home", "/app/home"),
        ("suggestions", "/"),
        ("inbox", "/app/inbox"),
        ("clients", "/app/clients"),
        ("contacts", "/app/contacts"),
        ("deals", "/app/deals"),
        ("board", "/app/deals/board"),
        ("tasks", "/app/tasks"),
    ],
)
def test_accounts_choose_where_the_team_starts(acme, start_page, path):
    assert (
        read(acme.json(acme.alice_token).put("/app/account.json", json={"account": {"start_page": start_page}}))[
            "start_page"
        ]
        == start_page
    )
    assert acme.page(acme.bob).get("/app/roadmap").html.select_one(".brand")["href"] == path
    assert acme.page(acme.carol).get("/app/roadmap").html.select_one(".brand")["href"] == "/"


def test_it_rejects_an_unknown_start_page(acme):
    refused = acme.json(acme.alice_token).put("/app/account.json", json={"account": {"start_page": "nowhere"}})
    assert set(refused.json()["errors"]) == {"start_page"}


def test_too_many_deals(acme, monkeypatch):
    """The other boxes are shown, and the box of deals links to the list."""

    def give_up(*_arguments):
        raise TooSlow

    monkeypatch.setattr("team.home.queries.urgent_deals", give_up)
    page = acme.page(acme.bob).get("/app/home")
    assert "There are too many deals to look through." in main_text(page)
    assert "Won this month" in main_text(page)
    answer = acme.json().get("/app/home.json").json()
    assert (answer["deals"], answer["month"]["mine"]["deals"]) == (None, 0)
    monkeypatch.setattr("team.home.queries.won_since", give_up)
    assert main_text(acme.page(acme.bob).get("/app/home")).count("There are too many deals to look through.") == 2
    assert acme.json().get("/app/home.json").json()["month"] is None
