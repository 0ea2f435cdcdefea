"""Query plans of the lists by revenue in a large forum: a page reads the index of its order, and no whole table."""

from collections.abc import Iterator

import pytest

from forum.lists.pages.base import COLUMNS
from forum.lists.team_filters import team_orders
from forum.lists.whole_forum import ForumList
from forum.posts.sort_keys import ADD_MISSING
from tests.support.database import without_triggers
from tests.support.factories import make_saved_view
from tests.support.fixtures import Cast, committed, make_cast
from tests.support.queries import capture_parameters, explained
from tests.support.tables import table

pytestmark = pytest.mark.django_db

ROWS = 20_000
POSTS = """
INSERT INTO forum_post (account_id, id, forum_id, category_id, task_kind, kind, title, content, agent, user_id, status_id,
    private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at, tags)
SELECT %(acme)s, 200000 + i, %(forum)s, %(category)s, 'feedback', 'suggestion', 'Title', '', '', %(alice)s, %(status)s,
    false, true, false, 0, 0, 0, now(), now(), '{}'
FROM generate_series(1, %(rows)s) AS i
"""
REVENUE = """
INSERT INTO team_postrevenue (account_id, post_id, currency, forum_id, clients, open_deals, open_sum, won_deals, won_sum)
SELECT account_id, id, currency, forum_id, id %% 97, 1, id * 7919 %% 100003, 0, 0
FROM forum_post CROSS JOIN unnest(ARRAY['EUR', 'PLN']) AS currency WHERE account_id = %(acme)s
"""
CLIENTS = """
INSERT INTO crm_client (account_id, id, creator_id, updater_id, created_at, updated_at, name, city, responsible_id, tags, external_ids,
    additional_fields)
SELECT %(acme)s, 400000 + i, %(alice)s, %(alice)s, now(), now(), 'Client ' || i, 'City ' || i %% 1000, %(alice)s,
    CASE WHEN i %% 2000 = 0 THEN '{vip}'::text[] ELSE '{}' END, '{}', '{}'
FROM generate_series(1, %(rows)s) AS i
"""
BACKERS = """
INSERT INTO team_postbacker (account_id, post_id, client_id)
SELECT %(acme)s, 200000 + i, 400001 + (i * 7919 + n * 104729) %% %(rows)s
FROM generate_series(1, %(rows)s) AS i CROSS JOIN generate_series(1, 2) AS n
"""
# Tables whose triggers stay.
OTHER_TABLES = (
    "forum_postsortkey",
    "team_postrevenue",
    "team_postbacker",
    "accounts_status",
    "accounts_user",
)
# The most rows that a node of a plan may read.
MAX_READ = 100


@pytest.fixture(scope="module")
def large(django_db_setup, django_db_blocker) -> Iterator[Cast]:
    with committed(django_db_blocker):
        acme = make_cast()
        make_rows(acme)
        yield acme


def make_rows(acme: Cast) -> None:
    values = {
        "acme": acme.account.id,
        "alice": acme.alice.id,
        "forum": acme.forum.id,
        "category": acme.category.id,
        "status": acme.account.default_status("post").id,
        "rows": ROWS,
    }
    with without_triggers("forum_post", "crm_client") as cursor:
        for statement in (POSTS, REVENUE, CLIENTS, BACKERS, ADD_MISSING):
            cursor.execute(statement, values)
        cursor.execute(f"ANALYZE {', '.join(OTHER_TABLES)}")


@table("name", ["revenue", "clients"])
def test_a_page_reads_the_index_of_its_order(large, name):
    order, account = team_orders(large.alice)[name], large.account

    def read() -> list[tuple]:
        return ForumList(account, large.forum.id, large.alice, COLUMNS, start=25, size=26).page(order)

    rows, statements = capture_parameters(read)
    assert len(rows) == 26
    [(sql, values)] = [each for each in statements if "team_postrevenue" in each[0]]
    nodes = explained(sql, values, [])
    assert f"post_by_{name}" in {node.get("Index Name") for node in nodes}
    for node in nodes:
        if "Relation Name" in node:
            read_rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            assert read_rows <= MAX_READ, node


# The query of the saved view of the segment, if there is one, and the other parameters.
FILTERED = (
    ("tags=vip", "order=revenue"),
    ("tags=vip", ""),
    ("city__contains=City 77", "order=revenue"),
    ("city__contains=City 77", "order=new"),
    ("responsible_id=me", "order=revenue"),
    ("responsible_id=me", "order=top"),
    ("", ""),
    # More clients make PostgreSQL read all rows of the revenue, if no dead rows make the index larger.
    ("q=client 777", "order=clients"),
    (None, "min_revenue=99000&order=revenue"),
    (None, "min_revenue=99000"),
    (None, "min_clients=96&order=revenue"),
    (None, "min_clients=1"),
)
# The most rows that a node of the plan of a filtered list may read. The segment of a rare value has some hundred suggestions.
MAX_FILTERED = 2500


def test_filtered_lists_read_no_whole_table(large):
    alice, problems = large.page(large.alice), []
    for query, parameters in FILTERED:
        path = f"/app/suggestions?{parameters}"
        if query is not None:
            path += f"&segment={make_saved_view(large.alice, query=query).id}"
        page, statements = capture_parameters(lambda path=path: alice.get(path))
        assert page.html.select(".list h2")
        settings = [each for each in statements if "set_config" in each[0]]
        for sql, values in statements:
            if sql.startswith("SELECT") and ("team_postbacker" in sql or "team_postrevenue" in sql):
                for node in explained(sql, values, settings):
                    rows = node["Actual Rows"] * node["Actual Loops"] + node.get("Rows Removed by Filter", 0)
                    if "Relation Name" in node and (node["Node Type"] == "Seq Scan" or rows > MAX_FILTERED):
                        problems.append((query, parameters, node["Node Type"], node["Relation Name"], rows))
    assert not problems, "\n".join(map(str, problems))
