"""Query plans of the lists in the orders of the stored values: PostgreSQL reads an index, and neither scans nor sorts the table."""

import pytest
from django.db import connection

from forum.posts.sort_keys import ADD_MISSING
from team.summaries.recount import recount_summaries
from tests.support.database import without_triggers
from tests.support.fixtures import committed, make_cast
from tests.support.queries import capture_parameters, explained

ROWS = 20_000
CLIENTS = """
INSERT INTO crm_client (account_id, id, creator_id, updater_id, created_at, updated_at, name, tags, external_ids, additional_fields)
SELECT %(account)s, 100000 + i, %(user)s, %(user)s, now() - i * interval '1 minute', now() - (i * 7919 %% %(rows)s) * interval '1 hour',
    'Client ' || i, '{}', '{}', '{}'
FROM generate_series(1, %(rows)s) AS i
"""
TASKS = """
INSERT INTO forum_post (account_id, id, task_kind, kind, title, content, agent, user_id, status_id, client_id, private, approved, closed,
    priority, votes_cache, comments_cache, created_at, updated_at, tags, scheduled_at)
SELECT %(account)s, 200000 + i, 'task', 'suggestion', 'Task', '', '', %(user)s, %(status)s, 100000 + i, false, true, false, 0, 0, 0,
    now() - interval '1 year', now() - interval '1 year', '{}', now() + i * interval '1 hour'
FROM generate_series(1, %(rows)s) AS i WHERE i > 20
"""
TABLES = ("crm_client", "forum_post", "forum_postsortkey", "team_clientsummary", "team_clientrevenue")


@pytest.fixture(scope="module")
def long_lists(django_db_setup, django_db_blocker):
    with committed(django_db_blocker):
        acme = make_cast()
        values = {"account": acme.account.id, "user": acme.alice.id, "rows": ROWS}
        values["status"] = acme.account.default_status("post").id
        with without_triggers("crm_client", "forum_post") as cursor:
            for statement in (CLIENTS, TASKS, ADD_MISSING):
                cursor.execute(statement, values)
        recount_summaries(acme.account.id, repair=True)
        with connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"VACUUM ANALYZE {table}")
        yield acme


PATHS = (
    *(
        f"?sort={sign}{order}"
        for order in ("last_activity_at", "next_task_at", "open_sum", "won_sum")
        for sign in ("", "-")
    ),
    "?no_task=true",
    "?inactive_days=100&sort=-last_activity_at",
    "?inactive_days=830",
    "?open_sum__after=5",
)
# A list is counted up to 1,000 rows, of which a filter leaves out some more.
MAX_ROWS = 1500


def test_it_works(long_lists):
    problems = []
    for path in PATHS:
        response, queries = capture_parameters(
            lambda path=path: long_lists.page(long_lists.alice).get(f"/app/clients{path}")
        )
        assert response.status_code == 200
        settings = [query for query in queries if "set_config" in query[0]]
        for sql, parameters in queries:
            if not sql.lstrip().startswith(("SELECT", "WITH")):
                continue
            for node in explained(sql, parameters, settings):
                rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                if node.get("Relation Name") in TABLES and (node["Node Type"] == "Seq Scan" or rows > MAX_ROWS):
                    problems.append((path, node["Node Type"], node["Relation Name"], rows))
    assert not problems, "\n".join(map(str, problems))
