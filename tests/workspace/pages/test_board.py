"""The deal board as a page: columns, totals, cards, filters and moves."""

from datetime import timedelta

import pytest
from django.utils import timezone

from crm.models import Deal
from tests.support.factories import make_client, make_deal, make_task
from tests.support.queries import capture_queries

PATH = "/app/deals/board"
# The session, the forum, the numbers of new suggestions and of due tasks, the definitions of fields, the pipelines, the statuses, the
# totals, the ids of the first cards, and the cards.
STATEMENTS = 10


@pytest.fixture
def statuses(acme) -> dict[str, int]:
    return {status.code: status.id for status in acme.account.statuses_of_kind("deal")}


def texts(element) -> str:
    return " ".join(element.get_text(" ").split())


def columns(page) -> dict[str, list[str]]:
    """Return the names of the cards of each column."""
    return {
        texts(column.find("h2")): [texts(card.find("h3")) for card in column.select("[data-deal]")]
        for column in page.html.select("[data-column]")
    }


def test_it_works(acme, statuses):
    client = make_client(acme.bob, "Northwind")
    yesterday = timezone.localdate() - timedelta(days=1)
    make_deal(
        acme.bob,
        "Roof",
        client_id=client.id,
        price="12000.5",
        currency="EUR",
        status_id=statuses["proposal"],
        responsible_id=acme.bob.id,
        expected_close_date=yesterday,
    )
    make_deal(acme.bob, "Barn", price="100", currency="PLN", status_id=statuses["proposal"])
    make_deal(acme.bob, "House", status_id=statuses["won"])
    visitor = acme.page(acme.bob)
    visitor.get(PATH)
    page, queries = capture_queries(lambda: visitor.get(PATH))
    assert len(queries) == STATEMENTS, queries
    assert columns(page) == {"New": [], "Qualified": [], "Proposal": ["Barn", "Roof"], "Won": ["House"], "Lost": []}
    [proposal] = [each for each in page.html.select("[data-column]") if "Proposal" in texts(each.find("h2"))]
    header = texts(proposal.find("header"))
    for text in ("2 deals", "12,000.50 EUR", "7,200.30", "100 PLN", "60"):
        assert text in header
    card = texts(proposal.select("[data-deal]")[1])
    for text in ("Northwind", "12,000.50 EUR", "Overdue since", "Responsible: bob"):
        assert text in card
