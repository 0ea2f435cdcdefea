"""Goals in the Account API (JSON), and their settings page."""

from datetime import UTC, datetime, timedelta

import pytest

from team.goals.models import Goal, progress_of, won_since
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_deal

PATH, PAGE = "/app/goals.json", "/app/account/goals"


def test_it_works(acme):
    json = acme.json(acme.alice_token)
    created = json.post(PATH, json={"goal": {"user_id": acme.bob.id, "measure": "amount", "target": "25000"}})
    assert created.status_code == 201
    goal = read(created)
    assert {name: goal[name] for name in ("user_id", "period", "measure", "target")} == {
        "user_id": acme.bob.id,
        "period": "month",
        "measure": "amount",
        "target": 25000,
    }
    assert read(json.put(f"/app/goals/{goal['id']}.json", json={"goal": {"target": 30000}}))["target"] == 30000
    assert read(json.get(f"/app/goals/{goal['id']}.json"))["target"] == 30000
    assert [row["id"] for row in read(json.get(PATH))] == [goal["id"]]
    assert json.delete(f"/app/goals/{goal['id']}.json").status_code == 200
    assert read(json.get(PATH)) == []


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ({}, {"target"}),
        ({"target": 0}, {"target"}),
        ({"target": 1, "measure": "calls", "period": "day"}, {"measure", "period"}),
        ({"target": 1, "user_id": 99}, {"user_id"}),
        ({"target": 1.5}, {"target"}),
    ],
)
def test_it_rejects_goals(acme, values, errors):
    refused = acme.json(acme.alice_token).post(PATH, json={"goal": values})
    assert refused.status_code == 422
    assert set(refused.json()["errors"]) == errors


def test_there_is_one_goal_for_a_user_a_period_and_a_measure(acme):
    json, same = acme.json(acme.alice_token), {"period": "quarter", "measure": "deals"}
    goal = read(json.post(PATH, json={"goal": {"target": 3, **same}}))
    updated = json.post(PATH, json={"goal": {"target": 5, **same}})
    assert (updated.status_code, read(updated)["id"], read(updated)["target"]) == (200, goal["id"], 5)
    other = read(json.post(PATH, json={"goal": {"target": 3}}))
    assert json.put(f"/app/goals/{other['id']}.json", json={"goal": same}).status_code == 409


def test_the_page_adds_changes_and_deletes_goals(acme):
    page = acme.page(acme.alice)
    for target in ("20", "30"):
        form = page.get(PAGE).forms["goal"]
        form["measure"], form["period"], form["target"] = "deals", "quarter", target
        form.submit("do", value="save", status=303)
    (goal,) = acme.account.goals.all()
    assert (goal.user_id, goal.measure, goal.period, goal.target) == (None, "deals", "quarter", 30)
    shown = page.get(PAGE)
    assert "The team's Number of won deals Each quarter 30" in " ".join(
        shown.html.select_one("main .list").get_text(" ").split()
    )
    form = shown.forms["goal"]
    form["target"] = "many"
    assert form.submit("do", value="save", status=422).html.select_one("#error_target, .errors, .error")
    next(form for form in shown.forms.values() if "id" in form.fields).submit("do", value="delete", status=303)
    assert not acme.account.goals.exists()


def test_progress_counts_the_month_and_the_quarter_in_the_currency_of_the_account(acme, statuses):
    account = acme.account
    account.change(exchange_rates={"PLN": "0.25"})
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    deals = [(acme.bob, "EUR", 100, 0), (acme.bob, "PLN", 400, 0), (acme.alice, "EUR", 7, 0), (acme.bob, "EUR", 50, 40)]
    for user, currency, price, days in deals:
        deal = make_deal(user, price=price, currency=currency, responsible_id=user.id, status_id=statuses["won"])
        account.deals.filter(id=deal.id).update(closed_at=now - timedelta(days=days))
    goals = [
        Goal(account=account, target=400, user_id=acme.bob.id),
        Goal(account=account, target=4, measure="deals", period="quarter"),
    ]
    rows = won_since(account, acme.alice, now.date().replace(month=10, day=1), account.deal_statuses())
    found = progress_of(account, goals, rows, now.date())
    assert [(progress.done, progress.share, progress.is_reached) for progress in found] == [
        (200, 50, False),
        (4, 100, True),
    ]


def test_it_rejects_more_goals_than_the_limit(acme, monkeypatch):
    monkeypatch.setattr("team.goals.models.MAX_GOALS", 1)
    Goal(account=acme.account).write({"target": 3})
    refused = acme.json(acme.alice_token).post(PATH, json={"goal": {"target": 3, "measure": "deals"}})
    assert refused.json()["errors"] == {"goal": ["is one too many (maximum is 1)"]}


def test_members_have_no_goals(acme):
    refused = acme.json(acme.alice_token).post(PATH, json={"goal": {"user_id": acme.carol.id, "target": 1}})
    assert_refused(refused, 422, "validation_failed", {"user_id": ["can't be found"]})
