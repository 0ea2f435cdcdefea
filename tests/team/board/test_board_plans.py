"""Query plans of the board of a large account: every statement uses indexes, and none reads the rows of a whole column."""

from collections.abc import Iterator

import pytest

from crm.deals.models import COUNTER, DealCount
from tests.support.database import without_triggers
from tests.support.fixtures import Cast, committed, make_cast
from tests.support.queries import capture_parameters, explained
from tests.support.tables import table

pytestmark = pytest.mark.django_db

ROWS = 28_000
# Every fourth deal has no status.
DEALS = """
INSERT INTO crm_deal (account_id, id, creator_id, updater_id, created_at, updated_at, name, price, currency, tags, external_ids,
    additional_fields, status_id, responsible_id, stage_entered_at, board_position)
SELECT %(acme)s, 100000 + i, %(alice)s, %(alice)s, now(), now(), 'Deal ' || i, i %% 1000, 'EUR', '{}', '{}', '{}', (%(statuses)s::bigint[])[1 + i %% 4],
    CASE WHEN i %% 100 = 0 THEN %(bob)s ELSE %(alice)s END, now(), i
FROM generate_series(1, %(rows)s) AS i
"""
# The most rows that a node of a plan may read.
MAX_READ = 6000


@pytest.fixture(scope="module")
def large(django_db_setup, django_db_blocker) -> Iterator[Cast]:
    with committed(django_db_blocker):
        acme = make_cast()
        make_deals(acme)
        yield acme


def make_deals(acme: Cast) -> None:
    statuses = [status.id for status in acme.account.statuses_of_kind("deal")][:3]
    values = {"acme": acme.account.id, "alice": acme.alice.id, "bob": acme.bob.id, "statuses": statuses, "rows": ROWS}
    with without_triggers("crm_deal") as cursor:
        cursor.execute(DEALS, values)
        DealCount.objects.all().delete()
        cursor.execute(COUNTER.count_all)
        cursor.execute("ANALYZE crm_dealcount, accounts_status, forum_post")


def reads(acme, query: str) -> list[dict]:
    """Return the nodes of the plans that read deals for a board."""
    client = acme.json()
    response, statements = capture_parameters(lambda: client.get(f"/app/deals/board.json?{query}"))
    assert response.status_code == 200, response.text
    settings = [(sql, values) for sql, values in statements if "set_config" in sql]
    found = []
    for sql, values in statements:
        if '"crm_deal"' in sql and not sql.startswith(("SAVEPOINT", "RELEASE", "EXPLAIN")):
            found += [node for node in explained(sql, values, settings) if node.get("Relation Name") == "crm_deal"]
    assert found
    return found


@table(
    "query",
    ["", "mine=true", "price__after=1", "price=7", "column={status}&after=10000_110000", "column=0&after=10000_110000"],
)
@table("agents_see", ["all", "own"])
def test_no_statement_reads_a_whole_column(large, query, agents_see):
    large.account.change(agents_see=agents_see)
    status = large.account.statuses_of_kind("deal").first()
    for node in reads(large, query.format(status=status.id)):
        assert node["Node Type"] != "Seq Scan", node
        # Without an index for the prices, the deals are compared one after another, within a limit of time.
        if "price" not in query:
            read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            assert read <= MAX_READ, node


def test_very_many_matches_are_not_counted(large, monkeypatch):
    """The first cards come from the indexes of the columns. A bitmap of all matches would take longer."""
    monkeypatch.setattr("team.board.columns.MAX_ESTIMATED", 10_000)
    for query in ("currency=eur", "currency=EUR&price__after=1"):
        nodes = reads(large, query)
        assert "Bitmap Heap Scan" not in {node["Node Type"] for node in nodes}
        assert max(node["Actual Rows"] * node["Actual Loops"] for node in nodes) < 400
    columns = {
        query: large.json().get(f"/app/deals/board.json?{query}").json()["columns"]
        for query in ("currency=EUR", "price=7")
    }
    assert {column["count"] for column in columns["currency=EUR"]} == {None}
    # Fewer matches are counted.
    assert sum(column["count"] for column in columns["price=7"]) == ROWS / 1000
