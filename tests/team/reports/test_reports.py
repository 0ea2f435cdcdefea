"""The reports, as JSON and as queries. `tests/team/reports/test_report_pages.py` has their pages."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.statuses.models import Status
from crm.deals.models import Deal
from crm.deals.stage_history import StageFilter
from team.reports.api import TOO_LARGE, TOO_SLOW
from team.reports.catalogue import REPORTS
from team.reports.periods import Period, next_month
from tests.support.assertions import assert_refused, read
from tests.support.factories import (
    make_client,
    make_deal,
    make_note,
    make_post,
    make_saved_view,
    make_task,
    make_user,
)
from tests.support.post_revenue import store_revenue
from tests.support.tables import table

# The statements for the token and the session of a request of the Account API, and for the time limit.
MAX_STATEMENTS = 12


def report(acme, name: str, query: str = "", token: str | None = None) -> dict:
    return read(acme.json(token).get(f"/app/reports/{name}.json{query}"))


def rows_of(found: dict, key: str) -> dict:
    return {row[key]: row for row in found["rows"]}


def close(deal: Deal, status_id: int, at: datetime) -> None:
    """Move a deal to a status at a time."""
    deal.refresh_from_db()
    deal.assign({"status_id": status_id}, by=deal.account.users.get(id=deal.updater_id))
    deal.updated_at = at
    Deal.flush([deal])


def midday(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=timezone.get_default_timezone())


THIS_MONTH = timezone.now().date().replace(day=1)


def test_forecast(acme, statuses):
    following = next_month(THIS_MONTH)
    deals = (
        (following, 100, "EUR", "new"),
        (following, 50, "EUR", "proposal"),
        (following, 70, "PLN", "new"),
        (following, 900, "EUR", "won"),
        (THIS_MONTH - timedelta(days=1), 30, "EUR", "qualified"),
        (next_month(THIS_MONTH, 12), 20, "EUR", "new"),
        (None, 10, "EUR", "new"),
        (following, None, "EUR", "new"),
        (following, 1000, "EUR", None),
    )
    for day, price, currency, code in deals:
        fields = {"status_id": statuses[code] if code else None, "price": price, "currency": currency}
        make_deal(acme.alice, expected_close_date=day, **fields)
    found = report(acme, "forecast")
    assert (found["from"], found["to"]) == (f"{THIS_MONTH:%Y-%m}", f"{next_month(THIS_MONTH, 11):%Y-%m}")
    shown = [tuple(row.values()) for row in found["rows"] if row["deals"]]
    assert shown == [
        ("earlier", "EUR", 1, 30, 9),
        (f"{following:%Y-%m}", "EUR", 4, 1150, 40),
        ("later", "EUR", 1, 20, 2),
        ("no_date", "EUR", 1, 10, 1),
        (f"{following:%Y-%m}", "PLN", 1, 70, 7),
    ]


def test_results_and_people(acme, statuses):
    last_month = midday(next_month(THIS_MONTH, -1) + timedelta(days=9))
    for price, code, user in (
        (100, "won", acme.bob),
        (40, "won", acme.alice),
        (60, "lost", acme.bob),
        (5, "new", acme.bob),
    ):
        deal = make_deal(acme.alice, price=price, status_id=statuses["new"], responsible_id=user.id)
        if code != "new":
            close(deal, statuses[code], last_month)
    found = rows_of(report(acme, "results"), "month")
    assert len(found) == 12
    assert found[f"{last_month:%Y-%m}"] == {
        "month": f"{last_month:%Y-%m}",
        "currency": "EUR",
        "won": 2,
        "won_total": 140,
        "lost": 1,
        "lost_total": 60,
        "win_rate": Decimal("0.6667"),
    }
    assert found[f"{THIS_MONTH:%Y-%m}"]["won"] == 0
    people = rows_of(report(acme, "people"), "id")
    bob = people[acme.bob.id]
    assert (bob["name"], bob["open"], bob["open_total"], bob["weighted"]) == ("Bob Nowak", 1, 5, 0.5)
    assert (bob["won_total"], bob["lost"], bob["win_rate"]) == (100, 1, 0.5)
    assert people[acme.alice.id]["won_total"] == 40
    # A deal without a status is open, and belongs to the first pipeline.
    make_deal(acme.alice, price=20, responsible_id=acme.bob.id)
    later = acme.account.pipelines.create(name="Later", position=2)
    for query, expected in (("", (2, 25, 0.5)), ("?pipeline_id=1", (2, 25, 0.5)), (f"?pipeline_id={later.id}", None)):
        bob = rows_of(report(acme, "people", query), "id").get(acme.bob.id)
        assert (bob and (bob["open"], bob["open_total"], bob["weighted"])) == expected
    only_alice = report(acme, "results", f"?responsible_id={acme.alice.id}")
    assert rows_of(only_alice, "month")[f"{last_month:%Y-%m}"]["won_total"] == 40


def test_stages(acme, statuses):
    begin = timezone.now() - timedelta(days=20)
    codes = (("qualified", "proposal", "won"), ("qualified", "lost"), ("qualified", "new"), ("qualified",))
    for path in codes:
        deal = make_deal(acme.alice, status_id=statuses["new"], created_at=begin, updated_at=begin)
        for number, code in enumerate(path, start=1):
            close(deal, statuses[code], begin + timedelta(days=2 * number))
    found = rows_of(report(acme, "stages", f"?from={begin:%Y-%m}"), "id")
    assert {id: row["name"] for id, row in found.items()} == {
        statuses["new"]: "New",
        statuses["qualified"]: "Qualified",
        statuses["proposal"]: "Proposal",
    }
    qualified = found[statuses["qualified"]]
    names = ("entered", "moved_on", "moved_back", "lost", "here", "conversion", "median_days")
    assert [qualified[name] for name in names] == [4, 1, 1, 1, 1, 0.25, 2]
    assert [found[statuses["new"]][name] for name in names[:5]] == [5, 4, 0, 0, 1]
    # The list of deals has a filter for each number.
    visitor = acme.page(acme.bob)
    for result in names[:5]:
        chosen = StageFilter(statuses["qualified"], result, begin.date().replace(day=1), next_month(THIS_MONTH))
        page = visitor.get(f"/app/deals?stage_history={chosen}")
        assert len(page.html.select("table.records tbody tr")) == qualified[result], result


def test_a_deleted_status_is_no_progress(acme, statuses):
    extra = Status(account=acme.account, kind="deal", code="extra", name="Extra")
    extra.write({})
    deal = make_deal(acme.alice, status_id=statuses["new"])
    close(deal, extra.id, timezone.now())
    close(deal, statuses["new"], timezone.now())
    extra.delete()
    row = rows_of(report(acme, "stages"), "id")[statuses["new"]]
    assert (row["entered"], row["moved_on"], row["moved_back"], row["here"]) == (2, 0, 1, 1)


def test_reasons(acme, statuses):
    for price, code, reasons in (
        (100, "lost", {"lost_reason": "Price"}),
        (40, "lost", {"lost_reason": "Price"}),
        (7, "lost", {}),
        (9, "won", {"won_reason": "Features"}),
    ):
        make_deal(acme.bob, price=price, status_id=statuses[code], **reasons)
    found = report(acme, "reasons")
    rows = [
        (row["outcome"], row["reason"], row["deals"], row["total"], round(float(row["part"]), 4))
        for row in found["rows"]
    ]
    assert rows == [
        ("Lost", "Price", 2, 140, 0.6667),
        ("Lost", "Without a reason", 1, 7, 0.3333),
        ("Won", "Features", 1, 9, 1),
    ]
    assert found["totals"] == {
        "by_currency": [{"currency": "EUR", "deals": 4, "total": 156}],
        "converted": {"total": 156},
        "currency": "EUR",
    }


def test_activities(acme):
    client = make_client(acme.bob)
    for user, kind in ((acme.bob, "call"), (acme.bob, "call"), (acme.alice, "email"), (acme.alice, "note")):
        make_note(user, kind=kind, client_id=client.id)
    make_note(acme.bob, client_id=client.id, noted_at=timezone.now() - timedelta(days=900))
    make_task(acme.alice, responsible_id=acme.bob.id).write({"closed": True}, by=acme.bob)
    rows = rows_of(report(acme, "activities"), "name")
    figures = {
        name: [row[key] for key in ("calls", "emails", "meetings", "notes", "tasks")] for name, row in rows.items()
    }
    assert figures == {"alice": [0, 1, 0, 1, 0], "Bob Nowak": [2, 0, 0, 0, 1]}
    assert list(rows_of(report(acme, "activities", f"?responsible_id={acme.bob.id}"), "name")) == ["Bob Nowak"]


def test_steps_and_views(acme, statuses):
    for name, price, day in (("Roof", 100, date(2026, 2, 3)), ("Gate", 7, date(2026, 5, 20))):
        deal = make_deal(acme.bob, name, price=price, currency="EUR", status_id=statuses["new"])
        close(deal, statuses["won"], midday(day))
    period = "?from=2026-02&to=2026-05"
    won = {
        step: {
            row["month"]: row["won_total"]
            for row in report(acme, "results", f"{period}&step={step}")["rows"]
            if row["won"]
        }
        for step in ("week", "month", "quarter")
    }
    assert won == {
        "week": {"2026-02-02": 100, "2026-05-18": 7},
        "month": {"2026-02": 100, "2026-05": 7},
        "quarter": {"2026-Q1": 100, "2026-Q2": 7},
    }
    view = make_saved_view(acme.bob, "Roofs", resource="deal", query="name__contains=roof")
    rows = report(acme, "results", f"{period}&view={view.id}")["rows"]
    assert sum(row["won_total"] for row in rows) == 100
    for query, field in (("?step=day", "step"), ("?view=999", "view")):
        refused = acme.json().get(f"/app/reports/results.json{query}")
        assert (refused.status_code, set(refused.json()["errors"])) == (422, {field})


def test_new_clients(acme, statuses):
    client = make_client(acme.alice)
    make_client(acme.alice)
    for _number in range(2):
        make_deal(acme.alice, client_id=client.id, status_id=statuses["won"])
    row = rows_of(report(acme, "clients"), "month")[f"{THIS_MONTH:%Y-%m}"]
    assert row == {"month": f"{THIS_MONTH:%Y-%m}", "clients": 2, "customers": 1}


def test_response_times(acme):
    answered, _open = (make_post(acme.carol) for _number in range(2))
    type(answered).objects.filter(account_id=acme.account.id, id=answered.id).update(
        answered_at=answered.created_at + timedelta(hours=3)
    )
    row = rows_of(report(acme, "answers"), "month")[f"{THIS_MONTH:%Y-%m}"]
    assert row == {"month": f"{THIS_MONTH:%Y-%m}", "suggestions": 2, "answered": 1, "part": 0.5, "median_hours": 3}


@pytest.fixture
def suggestions(acme, statuses) -> dict[str, int]:
    """Return the ids of suggestions of two clients, for which Bob and Alice are responsible."""
    posts = {name: make_post(acme.alice, name) for name in ("Of Bob", "Of both", "Of nobody", "Merged")}
    of_bob, of_alice = (make_client(acme.alice, responsible_id=user.id) for user in (acme.bob, acme.alice))
    for client, name in ((of_bob, "Of Bob"), (of_bob, "Of both"), (of_alice, "Of both"), (of_alice, "Merged")):
        posts[name].cast_proxy_vote(by=acme.alice, client_id=client.id)
    for client, price, code, currency in (
        (of_bob, 100, "won", "EUR"),
        (of_bob, 40, None, "EUR"),
        (of_bob, 900, "lost", "EUR"),
        (of_alice, 7, "new", "EUR"),
        (of_alice, 5, "new", "PLN"),
    ):
        fields = {"responsible_id": client.responsible_id, "status_id": statuses[code] if code else None}
        make_deal(acme.alice, client_id=client.id, price=price, currency=currency, **fields)
    store_revenue(acme.account)
    posts["Merged"].merge_into(posts["Of both"], by=acme.alice)
    return {name: post.id for name, post in posts.items()}


def test_top_suggestions(acme, suggestions):
    found = report(acme, "suggestions")
    names = ("title", "currency", "clients", "open", "open_total", "won", "won_total", "id")
    assert found.keys() == {"report", "rows"}
    assert found["rows"][0] == dict(
        zip(names, ("Of both", "EUR", 2, 2, 47, 1, 100, suggestions["Of both"]), strict=True)
    )
    of_bob = ("Of Bob", "EUR", 1, 1, 40, 1, 100, suggestions["Of Bob"])
    assert [tuple(row.values()) for row in found["rows"][1:]] == [
        of_bob,
        ("Of both", "PLN", 2, 1, 5, 0, 0, suggestions["Of both"]),
    ]
    with CaptureQueriesContext(connection) as queries:
        report(acme, "suggestions")
    assert len(queries) <= MAX_STATEMENTS
    acme.account.change(agents_see="own")
    rows = report(acme, "suggestions")["rows"]
    assert [tuple(row.values()) for row in rows] == [("Of both", *of_bob[1:-1], suggestions["Of both"]), of_bob]


@table("access", ["all", "own"])
def test_every_number_of_a_suggestion_links_to_its_rows(acme, suggestions, access):
    acme.account.change(agents_see=access)
    visitor = acme.page(acme.bob)
    for currency in ("EUR", "PLN"):
        page = visitor.get(f"/app/reports/suggestions?currency={currency}")
        for row in page.html.select("table.figures tbody tr"):
            clients, open_deals, open_total, won, won_total = row.select("td")
            assert row.th.a["href"].startswith("/app/posts/")
            for cell in (clients, open_deals, won):
                if (number := int(cell.get_text())) > 0:
                    listed = visitor.get(cell.a["href"]).html
                    assert len(listed.select("table.records tbody tr")) == number, cell.a["href"]
                    assert row.th.get_text(strip=True) in listed.select_one(".chips").get_text()
            assert [cell.a and cell.a["href"] for cell in (open_deals, won)] == [
                cell.a and cell.a["href"] for cell in (open_total, won_total)
            ]


@table("access", ["all", "own"])
def test_there_is_a_limit_for_each_currency(acme, suggestions, monkeypatch, access):
    monkeypatch.setattr("team.reports.queries.MAX_SUGGESTIONS", 1)
    acme.account.change(agents_see=access)
    rows = report(acme, "suggestions", token=acme.bob_token if access == "own" else acme.alice_token)["rows"]
    assert len(rows) == len({row["currency"] for row in rows})


def test_other_accounts_and_limited_agents(acme, other):
    """A report counts no row of another account, and none that an agent can't access. All of the team see the suggestions."""
    for user in (acme.alice, other.mallory):
        ids = {status.code: status.id for status in user.account.statuses_of_kind("deal")}
        fields = {"responsible_id": user.id, "client_id": make_client(user, responsible_id=user.id).id}
        for code in ("new", "won"):
            make_deal(user, status_id=ids[code], price=10, expected_close_date=THIS_MONTH, **fields)
        make_note(user, client_id=fields["client_id"])
        make_post(user).cast_proxy_vote(by=user, client_id=fields["client_id"])
        store_revenue(user.account)
    acme.account.change(agents_see="own")
    labels = ("month", "currency", "name", "id", "suggestions", "title", "reason", "outcome")
    for name in REPORTS:
        for row in report(acme, name)["rows"]:
            assert not any(value for key, value in row.items() if key not in labels), name
        everything = report(acme, name, token=acme.alice_token)
        figures = [value for row in everything["rows"] for value in row.values() if isinstance(value, int | Decimal)]
        assert any(figures), name
        assert name == "suggestions" or max(figures) < 50, name


def test_the_number_of_statements_does_not_depend_on_the_rows(acme, statuses):
    def statements() -> dict[str, int]:
        found = {}
        for name in REPORTS:
            with CaptureQueriesContext(connection) as queries:
                report(acme, name)
            found[name] = len(queries)
        return found

    make_deal(acme.alice, status_id=statuses["new"], responsible_id=acme.alice.id)
    statements()
    few = statements()
    for user in (acme.bob, make_user(acme.account, "dora", role="agent")):
        for code in ("new", "qualified", "won"):
            make_deal(acme.alice, status_id=statuses[code], responsible_id=user.id, currency="PLN")
    assert statements() == few
    assert max(few.values()) <= MAX_STATEMENTS


def test_it_rejects_invalid_parameters(acme):
    no_month = "is not a month such as 2026-01"
    for query, errors in (
        ("from=2026-13", {"from": no_month}),
        ("from=x&to=y", {"from": no_month, "to": no_month}),
        ("from=2026-05&to=2026-04", {"to": "is before the first month"}),
        ("from=2020-01&to=2023-01", {"to": "is more than 36 months after the first month"}),
        ("pipeline_id=x", {"pipeline_id": "is not an id"}),
        ("responsible_id=-1", {"responsible_id": "is not an id"}),
    ):
        response = acme.json().get(f"/app/reports/results.json?{query}")
        assert_refused(response, 422, "validation_failed", {name: [rule] for name, rule in errors.items()})
    assert_refused(acme.json().get("/app/reports/other.json"), 404, "not_found")


@table(
    ("name", "function", "errors"),
    [
        ("results", "sums_by", {"from": [TOO_SLOW]}),
        ("suggestions", "top_revenue", {"report": [TOO_LARGE]}),
    ],
)
def test_a_report_that_takes_too_long(acme, monkeypatch, name, function, errors):
    def sleep(*arguments: object) -> list:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(2)")
        return []

    monkeypatch.setattr("team.reports.catalogue.REPORT_TIME_LIMIT_MS", 50)
    monkeypatch.setattr(f"team.reports.queries.{function}", sleep)
    assert_refused(acme.json().get(f"/app/reports/{name}.json"), 422, "validation_failed", errors)
    page = acme.page(acme.bob).get(f"/app/reports/{name}")
    assert page.html.select_one(".notice.error[role=alert]")


def test_periods(acme):
    def period(first: str, last: str, **options) -> tuple[str, str]:
        found = Period.read(first, last, account=acme.account, today=date(2026, 11, 23), **options)
        return f"{found.first:%Y-%m}", f"{found.last:%Y-%m}"

    assert period("", "") == ("2025-12", "2026-11")
    assert period("", "", ahead=True) == ("2026-11", "2027-10")
    assert period("2026-05", "") == ("2026-05", "2026-11")
    assert period("2026-05", "", ahead=True) == ("2026-05", "2027-04")
    assert period("", "2026-03") == ("2025-04", "2026-03")
    assert period("2024-01", "2026-12") == ("2024-01", "2026-12")
