"""The contract of every route: who may call it, and that nobody reads or changes rows of another account.

The rows of two accounts are committed once. Each question to a route is a subtest, so that a failure names the route and the question,
and every other question is still asked. What a question changes is rolled back.
"""

from collections.abc import Callable
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
from django.db import connection

from accounts.account.models import Account
from forum.forums.models import Forum
from tests.support.assertions import assert_refused, read
from tests.support.client import XMLClient
from tests.support.factories import make_token
from tests.support.fill import SECRET, fill_both
from tests.support.fixtures import committed, make_cast, make_other
from tests.support.forms import form_of
from tests.support.membership import add
from tests.support.queries import capture_parameters
from tests.support.routes import TABLE, Row, caller, routes, send
from tests.support.tables import undone
from tests.support.tenants import tenant_tables, unscoped_statements

Question = Callable[[SimpleNamespace, Row], None]

QUESTIONS: list[tuple[str, Callable[[Row], object], Question]] = []


def ask(routes: Callable[[Row], object] = lambda row: True) -> Callable[[Question], Question]:
    """Ask the question of all routes for which `routes` is true."""

    def add_question(question: Question) -> Question:
        QUESTIONS.append((question.__name__, routes, question))
        return question

    return add_question


def is_guarded(row: Row) -> bool:
    return not row.public


def is_of_forum(row: Row) -> bool:
    return not row.is_json


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker):
    with committed(django_db_blocker):
        world = fill_both(make_cast(), make_other())
        for user in (world.acme.alice, world.acme.bob, world.acme.carol, world.other.mallory):
            user.token = make_token(user)
        world.before = snapshot(world.acme.account)
        world.other_before = snapshot(world.other.account)
        yield world


@pytest.fixture
def world(filled, db, settings):
    # The account of the operators can't be deleted.
    settings.OPERATOR_ACCOUNT = ""
    return filled


# The audit log has entries of failed sign-ins as well.
TENANT_TABLES = tenant_tables() - {"accounts_auditentry"}
# A digest of the rows of each table. It leaves out the last use of tokens, which every request may change.
SNAPSHOT = " UNION ALL ".join(
    f"""
    SELECT '{name}', count(*), sum(hashtextextended((to_jsonb({name}) - '{{last_used_at,last_used_from}}'::text[])::text, 0))
    FROM {name} WHERE {key} = %(account)s
    """  # noqa: S608
    for name, key in [(Account._meta.db_table, "id"), *((name, "account_id") for name in sorted(TENANT_TABLES))]
)


def snapshot(account: Account) -> dict[str, tuple]:
    """Return the number and a digest of the account's rows in each table."""
    with connection.cursor() as cursor:
        cursor.execute(SNAPSHOT, {"account": account.id})
        return {name: (number, digest) for name, number, digest in cursor.fetchall()}


def assert_unchanged(world: SimpleNamespace) -> None:
    assert snapshot(world.acme.account) == world.before


def send_as_form(row: Row, client, path: SimpleNamespace, body: SimpleNamespace):
    """Send a POST form with parameters and the method in its body, or a GET request with its parameters in a JSON body."""
    address, _mark, query = row.path(path).partition("?")
    form = dict(form_of(row.body(body) if row.body else {})) | dict(parse_qsl(query))
    if row.method == "GET":
        return client.request("GET", address, json=form, headers=row.headers)
    if row.method in ("PUT", "PATCH") and row.query:
        # External ids of an upsert are read only from the query.
        address = row.path(path)
    return client.post(address, data={**form, "_method": row.method}, headers=row.headers)


def assert_no_leak(response) -> None:
    text = f"{response.text} {response.headers}".lower()
    assert SECRET not in text
    assert "acme" not in text.replace("acme.example.test", "")


def assert_rejected(row: Row, response, status: int) -> None:
    if not row.is_json:
        assert response.status_code == status
        assert response.text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>')
    else:
        assert_refused(response, status, {401: "unauthenticated", 403: "forbidden", 404: "not_found"}[status])


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} /{row.route}")
def test_it_works(world, row, subtests):
    for name, applies, question in QUESTIONS:
        if applies(row):
            with subtests.test(name), undone({}):
                question(world, row)


def test_every_route_has_a_row_in_the_table():
    assert {(row.method, row.route) for row in TABLE} == routes()
    assert len(TABLE) == len({(row.method, row.route) for row in TABLE})


# The questions


@ask()
def the_owner_succeeds(world, row):
    """The requests of the table are valid."""
    response = send(row, caller(row, world.acme.host, world.acme.alice), world.acme_ids, world.acme_ids)
    assert response.status_code == row.team, response.text


@ask()
def agents_succeed_where_they_may(world, row):
    response = send(row, caller(row, world.acme.host, world.acme.bob), world.acme_ids, world.acme_ids)
    if row.admins_only or row.owners_only:
        assert_refused(response, 403, "forbidden", message=f"Only {row.permitted} may do this")
    else:
        assert response.status_code == (row.agent or row.team), response.text
    if response.status_code >= 400:
        assert_unchanged(world)


@ask(is_guarded)
def acts_are_in_the_audit_log(world, row):
    last = world.acme.account.audit_entries.count()
    send(row, caller(row, world.acme.host, world.acme.alice), world.acme_ids, world.acme_ids)
    actions = list(world.acme.account.audit_entries.order_by("id").values_list("action", flat=True)[last:])
    assert bool(actions) is not bool(row.unrecorded), f"{actions}: write an entry, or the reason into UNRECORDED"


@ask()
def statements_name_the_account(world, row):
    client = caller(row, world.acme.host, world.acme.alice)
    _, statements = capture_parameters(lambda: send(row, client, world.acme_ids, world.acme_ids))
    assert unscoped_statements(sql for sql, _ in statements) == {}


@ask(is_guarded)
def users_of_another_account_are_rejected(world, row):
    # Mallory's login exists only in the other account.
    response = send(row, caller(row, world.acme.host, world.other.mallory), world.acme_ids, world.acme_ids)
    assert_rejected(row, response, 401)
    assert SECRET not in response.text
    assert_unchanged(world)


@ask(is_guarded)
def requests_without_credentials_are_rejected(world, row):
    response = send(row, caller(row, world.acme.host, None), world.acme_ids, world.acme_ids)
    assert_rejected(row, response, 401)
    assert SECRET not in response.text
    assert_unchanged(world)


@ask()
def members_succeed_only_where_they_may(world, row):
    response = send(row, caller(row, world.acme.host, world.acme.carol), world.acme_ids, world.acme_ids)
    assert response.status_code == row.member, response.text
    if row.member == 403 and row.is_json:
        assert_refused(response, 403, "forbidden", message=f"Only {row.permitted} may do this")
    elif row.member == 403:
        assert response.text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>')
        assert SECRET not in response.text
    if row.member != 201:
        assert_unchanged(world)


CLOSED = [Forum.Access.PRIVATE, Forum.Access.LIST, Forum.Access.SEGMENT]


@ask(is_guarded)
def members_of_other_forums_learn_nothing(world, row):
    """The Forum API answers as to a wrong password. The Account API, which is not one of a forum, shows nothing of the forum."""
    for access in CLOSED:
        with undone({}):
            compare_with_a_wrong_password(world, row, access)


def compare_with_a_wrong_password(world: SimpleNamespace, row: Row, access: str) -> None:
    acme = world.acme
    acme.account.forums.update(access=access)
    before = snapshot(acme.account)
    response = send(row, caller(row, acme.host, acme.carol), world.acme_ids, world.acme_ids)
    assert SECRET not in response.text, access
    assert snapshot(acme.account) == before, access
    if row.is_json:
        assert response.status_code == row.member, access
        return
    wrong = send(row, XMLClient(acme.host, auth=("carol", "wrong")), world.acme_ids, world.acme_ids)
    for each in (response, wrong):
        each.headers.pop("X-Request-Id")
    assert (response.status_code, response.text, response.headers) == (401, wrong.text, wrong.headers), access


@ask(is_of_forum)
def members_of_a_closed_forum_are_as_members_of_an_open_one(world, row):
    acme = world.acme
    for access in CLOSED:
        with undone({}):
            acme.account.forums.update(access=access)
            add(acme.forum, acme.carol)
            response = send(row, caller(row, acme.host, acme.carol), world.acme_ids, world.acme_ids)
            assert response.status_code == row.member, (access, response.text)


@ask()
def ids_of_another_account_are_not_found(world, row):
    response = send(row, caller(row, world.other.host, world.other.mallory), world.acme_ids, world.other_ids)
    if row.has_parameter:
        assert_rejected(row, response, 404)
    else:
        assert response.status_code == row.team, response.text
    assert_no_leak(response)
    assert_unchanged(world)


def is_guarded_json(row: Row) -> bool:
    return row.is_json and not row.public


@ask(is_guarded_json)
def forms_are_accepted(world, row):
    response = send_as_form(row, caller(row, world.acme.host, world.acme.alice), world.acme_ids, world.acme_ids)
    assert response.status_code == row.team, response.text


@ask(is_guarded_json)
def forms_of_another_account_are_rejected(world, row):
    mallory = world.other.mallory
    response = send_as_form(row, caller(row, world.acme.host, mallory), world.acme_ids, world.acme_ids)
    assert_rejected(row, response, 401)
    response = send_as_form(row, caller(row, world.other.host, mallory), world.acme_ids, world.other_ids)
    if row.has_parameter:
        assert_rejected(row, response, 404)
    else:
        assert response.status_code == row.team, response.text
    assert_no_leak(response)
    assert_unchanged(world)


def find_value(value, name: str):
    """Return the first value with a name in a JSON body, or None."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        value = [*value.values()]
    found = (find_value(inner, name) for inner in value) if isinstance(value, list) else ()
    return next((each for each in found if each is not None), None)


@ask(lambda row: row.foreign)
def ids_of_another_account_in_the_body_are_rejected(world, row):
    response = send(row, caller(row, world.other.host, world.other.mallory), world.other_ids, world.acme_ids)
    if row.is_json:
        body, errors = row.body(world.acme_ids), {}
        for name in row.foreign:
            sent = find_value(body, name.rpartition(".")[2])
            errors[name] = [
                f"{', '.join(map(str, sent))} can't be found" if isinstance(sent, list) else "can't be found"
            ]
        assert_refused(response, 422, "validation_failed", errors)
    else:
        errors = "".join(f"  <error>{sentence}</error>\n" for sentence in row.foreign)
        assert response.status_code == 422
        assert response.text == f'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n{errors}</errors>\n'
    assert_no_leak(response)
    assert_unchanged(world)
    assert snapshot(world.other.account) == world.other_before


@ask(lambda row: row.method == "GET")
def head_has_the_status_and_headers_of_get(world, row):
    for host, user, path in (
        (world.acme.host, None, world.acme_ids),
        (world.acme.host, world.other.mallory, world.acme_ids),
        (world.acme.host, world.acme.carol, world.acme_ids),
        (world.other.host, world.other.mallory, world.acme_ids),
    ):
        client = caller(row, host, user)
        head = client.head(row.path(path))
        get = client.get(row.path(path))
        # The server drops the body of a response to HEAD.
        assert head.status_code == get.status_code
        head.headers.pop("X-Request-Id")
        get.headers.pop("X-Request-Id")
        assert head.headers == get.headers


# Other paths between accounts


def test_it_rejects_comments_on_posts_of_another_account(world):
    body = {"post": {"task_kind": "comment", "post_id": world.acme_ids.post, "content": "Mine"}}
    response = world.other.json().post("/app/posts.json", json=body)
    assert_refused(response, 422, "validation_failed", {"post_id": ["can't be found"]})
    assert_unchanged(world)


def test_external_ids_are_unique_in_each_account(world):
    mallory = world.other.json()
    response = mallory.post("/app/clients.json", json={"client": {"name": "Mine", "external_ids": {"key": SECRET}}})
    assert response.status_code == 201
    assert read(response)["external_ids"] == {"key": SECRET}
    # A nested client of a deal matches only clients of the same account.
    response = mallory.post(
        "/app/deals.json", json={"deal": {"name": "Mine", "client": {"external_ids": {"key": SECRET}}}}
    )
    assert response.status_code == 201
    assert read(response)["client_id"] == world.other.account.clients.get(name="Mine").id
    assert_unchanged(world)


def test_unique_names_may_be_used_in_another_account(world):
    response = world.other.json().post("/app/contact_lists.json", json={"contact_list": {"name": f"{SECRET} list"}})
    assert response.status_code == 201
    response = world.other.json().post("/app/clients.json", json={"client": {"name": "a", "tags": [f"{SECRET} tag"]}})
    assert response.status_code == 201
    tags = read(world.other.json().get("/app/clients/tags.json"))
    assert [tag["count"] for tag in tags] == [1, 1, 1]
    body = "<user><login>alice</login><email>alice@acme.example</email><password>a long pass phrase</password></user>"
    assert world.other.xml().send_xml("POST", "/app/users.xml", body).status_code == 201
    assert_unchanged(world)
