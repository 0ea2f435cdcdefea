"""The number of statements of Account API requests with a cached host, in cases that the table of routes does not have.

Savepoints are not counted: outside of tests the outermost is the transaction itself. At most once a minute, a further
statement records the last use of the token.
"""

import pytest

from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task
from tests.support.queries import capture_queries
from tests.support.tables import table
from tests.support.tenants import unscoped_statements

TOKEN = 1  # one statement reads the token with its user and account


def statements(client, method, path, body=None) -> list[str]:
    # The first request compiles statements, and the first reader of the feed numbers the changes of the account's creation.
    client.get("/app/clients/tags.json")
    client.get("/app/changes.json")
    response, queries = capture_queries(lambda: client.request(method, path, json=body))
    assert response.status_code in (200, 201), response.text
    return queries


@pytest.fixture
def rows(acme):
    client = make_client(acme.alice, external_ids={"key": "1"}, tags=["vip"])
    return {
        "client": client.id,
        "contact": make_contact(acme.alice, client_id=client.id, tags=["vip"]).id,
        "contact_list": make_contact_list(acme.alice).id,
        "deal": make_deal(acme.alice, client_id=client.id, external_ids={"key": "1"}).id,
        "post": make_post(acme.alice).id,
        "task": make_task(acme.alice, tags=["vip"]).id,
        "acme": acme,
    }


REQUESTS = [
    # The id of the holder of the external id; its row.
    ("GET", "/app/clients.json?external_ids[key]=1", None, 2),
    # The ids of a page and their rows; the tag or the contact list; the planner setting; the estimated number of rows.
    ("GET", "/app/clients.json?tag=VIP", None, 5),
    ("GET", "/app/contacts.json?contact_list_id={contact_list}", None, 4),
    # Besides the rows: the planner setting with the folded words; the estimated and the actual matches; the same for similar words.
    ("GET", "/app/clients.json?q=client", None, 6),
    ("GET", "/app/posts.json?q=post", None, 4),
    # All of these filters, and an order.
    ("GET", "/app/clients.json?q=client&tag=vip&external_ids[key]=1&order=name", None, 9),
    # Only the row.
    ("POST", "/app/clients.json", {"client": {"name": "a"}}, 1),
    ("POST", "/app/contacts.json", {"contact": {"name": "a"}}, 1),
    # Also: its summary.
    ("POST", "/app/deals.json", {"deal": {"name": "a"}}, 2),
    # Also: the account's first status.
    ("POST", "/app/posts.json", {"post": {"title": "a", "task_kind": "task"}}, 2),
    # Also: the default forum with its first category.
    ("POST", "/app/posts.json", {"post": {"title": "a"}}, 4),
    # The holder of the id; the same row, locked; the client; its external ids; the deal; the summaries and the queue of revenue.
    ("POST", "/app/deals.json", {"deal": {"name": "a", "client": {"name": "a", "external_ids": {"key": "1"}}}}, 7),
    # The locked row; its update.
    ("PUT", "/app/clients/{client}.json", {"client": {"name": "a"}}, 2),
    ("PUT", "/app/contacts/{contact}.json", {"contact": {"name": "a"}}, 2),
    ("PUT", "/app/deals/{deal}.json", {"deal": {"name": "a"}}, 2),
    ("PUT", "/app/posts/{task}.json", {"post": {"title": "a"}}, 2),
]


@table(("method", "path", "body", "number"), REQUESTS)
def test_it_works(rows, method, path, body, number):
    queries = statements(rows["acme"].json(), method, path.format(**rows), body)
    assert len(queries) == TOKEN + number, queries


def test_rejected_requests_only_read_the_token(acme, django_assert_num_queries):
    acme.json().get("/app/tasks.json")
    # And write an entry of the audit log.
    with django_assert_num_queries(TOKEN + 1):
        assert acme.json("x").get("/app/tasks.json").status_code == 401
    with django_assert_num_queries(0):
        assert acme.json().get("/app/nothing.json").status_code == 404


def test_the_number_of_statements_is_independent_of_the_number_of_links(rows):
    acme = rows["acme"]
    for number in (1, 5):
        lists = [make_contact_list(acme.alice).id for _ in range(number)]
        ids = {f"key{number}_{n}": f"{n}" for n in range(number)}
        tags = [f"tag{n} of {number}" for n in range(number)]
        # The row; its external ids.
        queries = statements(acme.json(), "POST", "/app/clients.json", {"client": {"name": "a", "external_ids": ids}})
        assert len(queries) == TOKEN + 2, queries
        # The tags; the new tags; the new tags again; the counts; the row.
        queries = statements(acme.json(), "POST", "/app/clients.json", {"client": {"name": "a", "tags": tags}})
        assert len(queries) <= TOKEN + 6, queries
        # The locked lists; the row; its memberships; the counts.
        body = {"contact": {"name": "a", "contact_list_ids": lists}}
        queries = statements(acme.json(), "POST", "/app/contacts.json", body)
        assert len(queries) == TOKEN + 4, queries


def test_the_number_of_statements_is_independent_of_the_number_of_rows(acme):
    for n in range(30):
        make_task(acme.alice)
        make_post(acme.alice)
        make_client(acme.alice, tags=[f"tag{n}"])
    # Enough rows have the word, so there is no search for similar ones.
    expected = {"clients.json": 2, "tasks.json": 2, "posts.json": 2, "clients/tags.json": 1, "clients.json?q=client": 4}
    queries = {path: statements(acme.json(), "GET", f"/app/{path}") for path in expected}
    assert {path: len(each) - TOKEN for path, each in queries.items()} == expected, queries
    assert not any(sql.startswith("SELECT COUNT(") for each in queries.values() for sql in each)


@table(
    ("sql", "aliases"),
    [
        ("SELECT a.account_id FROM crm_client a WHERE a.id = %s", {"a"}),
        ("SELECT * FROM crm_deal d JOIN crm_client c ON (d.account_id = c.account_id) WHERE c.id = %s", {"c", "d"}),
        ("SELECT * FROM crm_deal d, crm_client c WHERE d.account_id = %s AND d.client_id = c.id", {"c"}),
        ("UPDATE crm_client SET account_id = NULL WHERE id = %s", {"crm_client"}),
        ("INSERT INTO crm_client (id) VALUES (%s)", {"crm_client"}),
    ],
)
def test_it_finds_statements_without_the_account(sql, aliases):
    assert unscoped_statements([sql]) == {sql: aliases}
