"""The pages of reports. `tests/team/reports/test_reports.py` has the figures."""

import csv
import io
from decimal import Decimal

import pytest
from django.utils import timezone

from team.goals.models import Goal
from team.reports.catalogue import REPORTS
from team.reports.tables import round_up, short_number
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_deal
from tests.support.reading import statements
from tests.support.tables import table

PATH = "/app/reports"
STATEMENTS = {
    "forecast": 10,
    "results": 11,
    "stages": 11,
    "people": 11,
    "reasons": 10,
    "activities": 8,
    "clients": 8,
    "answers": 6,
    "suggestions": 6,
}


@pytest.fixture
def deals(acme) -> None:
    status = acme.account.statuses_of_kind("deal").get(code="new")
    today = timezone.localdate()
    for price, currency in ((1234, "EUR"), (1234, "EUR"), (70, "PLN")):
        make_deal(acme.alice, price=price, currency=currency, expected_close_date=today, status_id=status.id)


def test_it_works(acme, deals):
    visitor = acme.page(acme.bob)
    page = visitor.get(f"{PATH}/forecast")
    tabs = [link.text.strip() for link in page.html.select("nav.tabs a")]
    reports = ["Forecast", "Won and lost", "Stages", "People", "Reasons", "Activities", "New clients"]
    assert tabs == ["Dashboard", *reports, "Response time", "Top suggestions"]
    row = page.html.select_one("table.figures tbody tr")
    assert [cell.text.strip() for cell in row.select("td")] == ["2", "2,468.00", "246.80"]
    assert len(page.html.select(".chart rect:not(.target)")) == 24
    bars = page.html.select_one("svg g.bars")
    assert bars["aria-label"] == bars.title.text
    assert bars.title.text.endswith(": Amount 2,468.00, Weighted 246.80")
    assert bars.select_one(".values").text == "2,468.00 / 246.80"
    assert [cell.text.strip() for cell in page.html.select("tfoot td")] == ["2", "2,468.00", "246.80"]
    listed = visitor.get(row.select_one("a")["href"])
    assert len(listed.html.select("table.records tbody tr")) == 2
    page = visitor.get(f"{PATH}/forecast?currency=PLN")
    assert page.html.select_one("table.figures td").text.strip() == "1"


def test_deals_that_nobody_is_responsible_for(acme):
    status = acme.account.statuses_of_kind("deal").get(code="new")
    make_deal(acme.alice, price=5, status_id=status.id, responsible_id=None)
    page = acme.page(acme.bob).get(f"{PATH}/people")
    assert page.html.select_one("table.figures tbody th").text == "Nobody"
    assert page.html.select_one("svg text:not(.scale)").text == "Nobody"
    assert page.html.select_one("svg g.bars title").text.startswith("Nobody: ")


def test_every_report_has_a_page_and_a_csv_file(acme, deals):
    visitor, found = acme.page(acme.bob), {}
    for name, report in REPORTS.items():
        found[name] = len(statements(visitor, f"{PATH}/{name}"))
        tab = visitor.get(f"{PATH}/{name}").html.select_one("nav.tabs [aria-current]")
        assert tab.text.strip() == str(report.label)
        response = visitor.get(f"{PATH}/{name}?format=csv")
        assert response.headers["Content-Disposition"] == f'attachment; filename="{name}.csv"'
        rows = list(csv.DictReader(io.StringIO(response.text)))
        # No client is behind a suggestion.
        assert bool(rows) == (name not in ("suggestions", "reasons", "activities"))
        objects = acme.json().get(f"/app/reports/{name}.json").json()["rows"]
        expected = [
            {key: "" if value is None else value for key, value in row.items() if key != "id"} for row in objects
        ]
        assert expected == [{key: number(value) for key, value in row.items()} for row in rows]
    assert found == STATEMENTS


def number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def test_names_are_no_formulas(acme):
    acme.account.statuses_of_kind("deal").filter(code="new").update(name="=1+1")
    response = acme.page(acme.bob).get(f"{PATH}/stages?format=csv")
    assert "'=1+1," in response.text


def test_invalid_parameters_are_named(acme):
    page = acme.page(acme.bob).get(f"{PATH}/results?from=x", status=422)
    assert page.html.select_one(".notice.error").text.strip() == "First month is not a month such as 2026-01"
    assert page.html.select_one("table.figures")
    assert acme.page(acme.bob).get(f"{PATH}/other", status=404)


@table(
    ("value", "top", "label"),
    [
        (0, 4, "4"),
        (3, 4, "4"),
        (101, 200, "200"),
        (5000, 8000, "8\N{NO-BREAK SPACE}k"),
        (9_000_000, 10_000_000, "10\N{NO-BREAK SPACE}M"),
    ],
)
def test_the_scale(value, top, label):
    assert round_up(Decimal(value)) == top
    assert short_number(Decimal(top)) == label


def test_the_dashboard_shows_chosen_reports(acme, deals):
    bob = acme.page(acme.bob)
    page = bob.get(PATH)
    tiles = [tile["hx-get"] for tile in page.html.select(".tiles [hx-get]")]
    assert tiles == [f"{PATH}/{name}" for name in ("results", "forecast", "activities", "reasons")]
    tile = bob.get(f"{PATH}/forecast", headers={"HX-Request": "true", "HX-Target": "tile-forecast"})
    assert len(tile.html.select("svg .bars")) == 12
    assert not tile.html.select("nav")
    form = next(form for form in page.forms.values() if "report" in form.fields)
    token = form["csrfmiddlewaretoken"].value
    bob.post(PATH, {"csrfmiddlewaretoken": token, "report": "people"}, status=303)
    assert [tile["hx-get"] for tile in bob.get(PATH).html.select(".tiles [hx-get]")] == [f"{PATH}/people"]
    path, client = f"{PATH}/dashboard.json", acme.json()
    assert read(client.get(path)) == {"reports": ["people"]}
    chosen = client.put(path, json={"dashboard": {"reports": ["reasons", "results", "results"]}})
    assert read(chosen) == {"reports": ["results", "reasons"]}
    refused = client.put(path, json={"dashboard": {"reports": ["weather"]}})
    assert_refused(refused, 422, "validation_failed", {"reports": ["has weather, which is not a report"]})
    refused = client.put(path, json={"dashboard": {"reports": "results"}})
    assert_refused(refused, 422, "validation_failed", {"reports": ["must be a list of reports"]})


def test_a_goal_is_a_line_of_the_chart(acme, statuses):
    make_deal(acme.bob, price=50, status_id=statuses["won"])
    Goal(account=acme.account).write({"target": 400, "measure": "amount"})
    page = acme.page(acme.bob).get(f"{PATH}/results")
    assert page.html.select_one("line.goal title").text == "Goal: 400"
    assert not acme.page(acme.bob).get(f"{PATH}/results?step=week").html.select("line.goal")
