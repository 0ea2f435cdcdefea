"""How many statements endpoints of generation B ask the database, once the host is known, in finer cases than the table of routes.

Savepoints are not counted: the outermost is the transaction itself outside of tests. One statement more, at most once a
minute, notes when the token was used.
"""

import pytest

from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task
from tests.support.queries import capture_queries

TOKEN = 1  # the token with its user and account


def statements(client, method, path, body=None) -> list[str]:
    client.get("/app/clients/tags.json")
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
    # The ids of a page, and their rows.
    ("/app/clients.json", 2),
    ("/app/contacts.json", 2),
    ("/app/contact_lists.json", 2),
    ("/app/deals.json", 2),
    ("/app/posts.json", 2),
    ("/app/tasks.json", 2),
    ("/app.json", 2),
    ("/app/users.json", 2),
    # Who holds the external id, and that.
    ("/app/clients.json?external_ids[key]=1", 2),
    # And the tag, the holders of the external ids, or the contact list; that it goes by indexes; how many there may be.
    ("/app/clients.json?tag=VIP", 5),
    ("/app/contacts.json?contact_list_id={contact_list}", 4),
    # Besides the rows: that it goes by indexes, and the words, folded; how many may have them; those that do; how many may have
    # something like them, and those that do.
    ("/app/clients.json?q=client", 6),
    ("/app/posts.json?q=post", 4),
    # All of it, and the order.
    ("/app/clients.json?q=client&tag=vip&external_ids[key]=1&order=name", 9),
    ("/app/changes.json", 2),
    ("/app/clients/tags.json", 1),
    ("/app/contacts/tags.json", 1),
    ("/app/deals/tags.json", 1),
    ("/app/posts/tags.json", 1),
]


@pytest.mark.parametrize(("path", "number"), READS)
def test_it_works(rows, path, number):
    queries = statements(rows["acme"].json(), "GET", path.format(**rows))
    assert len(queries) == TOKEN + number, queries


def test_it_rejects_with_no_more_than_the_token(acme, django_assert_num_queries):
    acme.json().get("/app/tasks.json")
    with django_assert_num_queries(TOKEN):
        assert acme.json("x").get("/app/tasks.json").status_code == 401
    with django_assert_num_queries(0):
        assert acme.json().get("/app/nothing.json").status_code == 404


WRITES = [
    # The row alone.
    ("POST", "/app/clients.json", {"client": {"name": "a"}}, 1),
    ("POST", "/app/contacts.json", {"contact": {"name": "a"}}, 1),
    ("POST", "/app/deals.json", {"deal": {"name": "a"}}, 1),
    # And whether the name is taken.
    ("POST", "/app/contact_lists.json", {"contact_list": {"name": "a"}}, 2),
    # And the account's first status.
    ("POST", "/app/posts.json", {"post": {"title": "a", "task_kind": "task"}}, 2),
    # And the default forum, with its first category.
    ("POST", "/app/posts.json", {"post": {"title": "a"}}, 4),
    # The row, locked, and its update.
    ("PUT", "/app/clients/{client}.json", {"client": {"name": "a"}}, 2),
    ("PUT", "/app/contacts/{contact}.json", {"contact": {"name": "a"}}, 2),
    ("PUT", "/app/deals/{deal}.json", {"deal": {"name": "a"}}, 2),
    ("PUT", "/app/contact_lists/{contact_list}.json", {"contact_list": {"name": "a"}}, 3),
    ("PUT", "/app/posts/{task}.json", {"post": {"title": "a"}}, 2),
]


@pytest.mark.parametrize(("method", "path", "body", "number"), WRITES)
def test_writing(rows, method, path, body, number):
    queries = statements(rows["acme"].json(), method, path.format(**rows), body)
    assert len(queries) == TOKEN + number, queries


@pytest.mark.parametrize("number", [1, 5])
def test_writing_what_has_many_parts_asks_no_more_for_more_of_them(rows, number):
    acme = rows["acme"]
    lists = [make_contact_list(acme.alice).id for _ in range(number)]
    ids = {f"key{n}": f"{n}" for n in range(number)}
    tags = [f"tag{n}" for n in range(number)]
    # The row with the new pairs.
    queries = statements(acme.json(), "POST", "/app/clients.json", {"client": {"name": "a", "external_ids": ids}})
    assert len(queries) == TOKEN + 1, queries
    # The tags, the new ones, those again, the counts, and the row.
    queries = statements(acme.json(), "POST", "/app/clients.json", {"client": {"name": "a", "tags": tags}})
    assert len(queries) <= TOKEN + 6, queries
    # The lists, held; the row; its places, and the counts.
    queries = statements(
        acme.json(), "POST", "/app/contacts.json", {"contact": {"name": "a", "contact_list_ids": lists}}
    )
    assert len(queries) == TOKEN + 4, queries


def test_a_deal_with_a_nested_client(rows):
    client = rows["acme"].json()
    # The client that holds the id, and that again, locked; the client; what it holds; the deal.
    body = {"deal": {"name": "a", "client": {"name": "a", "external_ids": {"key": "1"}}}}
    queries = statements(client, "POST", "/app/deals.json", body)
    assert len(queries) == TOKEN + 5, queries


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/app/clients/{client}.json", 9),
        ("/app/contacts/{contact}.json", 7),
        ("/app/contact_lists/{contact_list}.json", 2),
        ("/app/deals/{deal}.json", 5),
        ("/app/posts/{task}.json", 4),
    ],
)
def test_deleting(rows, path, most):
    queries = statements(rows["acme"].json(), "DELETE", path.format(**rows))
    assert len(queries) <= TOKEN + most, queries


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/app/clients.json", 2),
        ("/app/tasks.json", 2),
        ("/app/posts.json", 2),
        ("/app/clients/tags.json", 1),
        # There are enough that have the word.
        ("/app/clients.json?q=client", 4),
    ],
)
def test_lists_ask_no_more_for_more_rows(acme, path, number):
    for n in range(30):
        make_task(acme.alice)
        make_post(acme.alice)
        make_client(acme.alice, tags=[f"tag{n}"])
    queries = statements(acme.json(), "GET", path)
    assert len(queries) == TOKEN + number, queries
    assert not any(sql.startswith("SELECT COUNT(") for sql in queries)
