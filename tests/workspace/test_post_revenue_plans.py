"""Query plans of the lists by revenue in a large forum: a page reads the index of its order, and no whole table."""

import pytest
from django.db import connection

from forum.facets import NO_SELECTION
from forum.pages.reading import COLUMNS
from forum.team_orders import team_orders
from forum.whole_forum import page_of_team
from tests.support.queries import capture_parameters, explained

ROWS = 20_000
POSTS = """
INSERT INTO forum_post (account_id, id, forum_id, category_id, task_kind, kind, title, content, agent, user_id, status_id,
    private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at, tags)
SELECT %(acme)s, 200000 + i, %(forum)s, %(category)s, 'feedback', 'suggestion', 'Title', '', '', %(alice)s, %(status)s,
    false, true, false, 0, 0, 0, now(), now(), '{}'
FROM generate_series(1, %(rows)s) AS i
"""
REVENUE = """
INSERT INTO workspace_postrevenue (account_id, post_id, currency, forum_id, clients, open_deals, open_sum, won_deals, won_sum)
SELECT account_id, id, currency, forum_id, id %% 97, 1, id * 7919 %% 100003, 0, 0
FROM forum_post CROSS JOIN unnest(ARRAY['EUR', 'PLN']) AS currency WHERE account_id = %(acme)s
"""
# The most rows that a node of a plan may read.
MAX_READ = 100


@pytest.fixture
def large(acme):
    values = {
        "acme": acme.account.id,
        "alice": acme.alice.id,
        "forum": acme.forum.id,
        "category": acme.category.id,
        "status": acme.account.default_status("post").id,
        "rows": ROWS,
    }
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE forum_post DISABLE TRIGGER USER")
        cursor.execute(POSTS, values)
        cursor.execute(REVENUE, values)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE forum_post ENABLE TRIGGER USER")
        cursor.execute("ANALYZE forum_post, workspace_postrevenue, accounts_status, accounts_user")
    return acme


@pytest.mark.parametrize("name", ["revenue", "clients"])
def test_a_page_reads_the_index_of_its_order(large, name):
    order, account = team_orders(large.alice)[name], large.account

    def read() -> list[tuple]:
        forum = {"account": account, "forum_id": large.forum.id, "selection": NO_SELECTION}
        return page_of_team(large.alice, COLUMNS, **forum, sort=order.sort, start=25, size=26)

    rows, statements = capture_parameters(read)
    assert len(rows) == 26
    [(sql, values)] = [each for each in statements if "workspace_postrevenue" in each[0]]
    nodes = explained(sql, values, [])
    assert f"post_by_{name}" in {node.get("Index Name") for node in nodes}
    for node in nodes:
        if "Relation Name" in node:
            read_rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            assert read_rows <= MAX_READ, node
