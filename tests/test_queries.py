"""The number of statements of Account API requests with a cached host, in more cases than the table of routes has.

Savepoints are not counted: outside of tests the outermost is the transaction itself. At most once a minute, a further
statement records the last use of the token.
"""

import pytest

from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task
from tests.support.queries import capture_queries
from tests.support.tables import table

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


READS = [
    ("/app/clients/{client}.json", 1),
    ("/app/contacts/{contact}.json", 1),
    ("/app/contact_lists/{contact_list}.json", 1),
    ("/app/deals/{deal}.json", 1),
    ("/app/posts/{post}.json", 1),
    # The ids of a page; their rows.
    ("/app/clients.json", 2),
    ("/app/contacts.json", 2),
    ("/app/contact_lists.json", 2),
    ("/app/deals.json", 2),
    ("/app/posts.json", 2),
    ("/app/tasks.json", 2),
    ("/app.json", 2),
    ("/app/users.json", 2),
    # The id of the holder of the external id; its row.
    ("/app/clients.json?external_ids[key]=1", 2),
    # Also: the tag or the contact list; the planner setting; the estimated number of rows.
    ("/app/clients.json?tag=VIP", 5),
    ("/app/contacts.json?contact_list_id={contact_list}", 4),
    # Besides the rows: the planner setting with the folded words; the estimated and the actual matches; the same for similar words.
    ("/app/clients.json?q=client", 6),
    ("/app/posts.json?q=post", 4),
    # All of these filters, and an order.
    ("/app/clients.json?q=client&tag=vip&external_ids[key]=1&order=name", 9),
    ("/app/changes.json", 2),
    ("/app/clients/tags.json", 1),
    ("/app/contacts/tags.json", 1),
    ("/app/deals/tags.json", 1),
    ("/app/posts/tags.json", 1),
]


@table(("path", "number"), READS)
def test_it_works(rows, path, number):
    queries = statements(rows["acme"].json(), "GET", path.format(**rows))
    assert len(queries) == TOKEN + number, queries


def test_rejected_requests_only_read_the_token(acme, django_assert_num_queries):
    acme.json().get("/app/tasks.json")
    with django_assert_num_queries(TOKEN):
        assert acme.json("x").get("/app/tasks.json").status_code == 401
    with django_assert_num_queries(0):
        assert acme.json().get("/app/nothing.json").status_code == 404


WRITES = [
    # Only the row.
    ("POST", "/app/clients.json", {"client": {"name": "a"}}, 1),
    ("POST", "/app/contacts.json", {"contact": {"name": "a"}}, 1),
    # Also: its summary.
    ("POST", "/app/deals.json", {"deal": {"name": "a"}}, 2),
    # Also: whether the name is taken.
    ("POST", "/app/contact_lists.json", {"contact_list": {"name": "a"}}, 2),
    # Also: the account's first status.
    ("POST", "/app/posts.json", {"post": {"title": "a", "task_kind": "task"}}, 2),
    # Also: the default forum with its first category.
    ("POST", "/app/posts.json", {"post": {"title": "a"}}, 4),
    # The locked row; its update.
    ("PUT", "/app/clients/{client}.json", {"client": {"name": "a"}}, 2),
    ("PUT", "/app/contacts/{contact}.json", {"contact": {"name": "a"}}, 2),
    ("PUT", "/app/deals/{deal}.json", {"deal": {"name": "a"}}, 2),
    ("PUT", "/app/contact_lists/{contact_list}.json", {"contact_list": {"name": "a"}}, 3),
    ("PUT", "/app/posts/{task}.json", {"post": {"title": "a"}}, 2),
]


@table(("method", "path", "body", "number"), WRITES)
def test_numbers_of_statements_of_writes(rows, method, path, body, number):
    queries = statements(rows["acme"].json(), method, path.format(**rows), body)
    assert len(queries) == TOKEN + number, queries


@pytest.mark.parametrize("number", [1, 5])
def test_the_number_of_statements_is_independent_of_the_number_of_links(rows, number):
    acme = rows["acme"]
    lists = [make_contact_list(acme.alice).id for _ in range(number)]
    ids = {f"key{n}": f"{n}" for n in range(number)}
    tags = [f"tag{n}" for n in range(number)]
    # The row; its external ids.
    queries = statements(acme.json(), "POST", "/app/clients.json", {"client": {"name": "a", "external_ids": ids}})
    assert len(queries) == TOKEN + 2, queries
    # The tags; the new tags; the new tags again; the counts; the row.
    queries = statements(acme.json(), "POST", "/app/clients.json", {"client": {"name": "a", "tags": tags}})
    assert len(queries) <= TOKEN + 6, queries
    # The locked lists; the row; its memberships; the counts.
    queries = statements(
        acme.json(), "POST", "/app/contacts.json", {"contact": {"name": "a", "contact_list_ids": lists}}
    )
    assert len(queries) == TOKEN + 4, queries


def test_a_deal_with_a_nested_client(rows):
    client = rows["acme"].json()
    # The holder of the id; the same row, locked; the client; its external ids; the deal; the summaries and the queue of revenue.
    body = {"deal": {"name": "a", "client": {"name": "a", "external_ids": {"key": "1"}}}}
    queries = statements(client, "POST", "/app/deals.json", body)
    assert len(queries) == TOKEN + 7, queries


@table(
    ("path", "max_statements"),
    [
        ("/app/clients/{client}.json", 21),
        ("/app/contacts/{contact}.json", 17),
        ("/app/contact_lists/{contact_list}.json", 2),
        ("/app/deals/{deal}.json", 9),
        ("/app/posts/{task}.json", 4),
    ],
)
def test_numbers_of_statements_of_deletions(rows, path, max_statements):
    queries = statements(rows["acme"].json(), "DELETE", path.format(**rows))
    assert len(queries) <= TOKEN + max_statements, queries


@table(
    ("path", "number"),
    [
        ("/app/clients.json", 2),
        ("/app/tasks.json", 2),
        ("/app/posts.json", 2),
        ("/app/clients/tags.json", 1),
        # Enough rows have the word, so there is no search for similar ones.
        ("/app/clients.json?q=client", 4),
    ],
)
def test_the_number_of_statements_is_independent_of_the_number_of_rows(acme, path, number):
    for n in range(30):
        make_task(acme.alice)
        make_post(acme.alice)
        make_client(acme.alice, tags=[f"tag{n}"])
    queries = statements(acme.json(), "GET", path)
    assert len(queries) == TOKEN + number, queries
    assert not any(sql.startswith("SELECT COUNT(") for sql in queries)
