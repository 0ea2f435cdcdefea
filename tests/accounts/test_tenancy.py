"""Nobody sees or changes anything of another account: every route, every method, every caller; then the tables themselves."""

from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from psycopg.errors import ForeignKeyViolation

from accounts.models import Account
from tests.support.assertions import assert_refused, read
from tests.support.factories import (
    make_client,
    make_post,
    make_task,
    make_user,
)
from tests.support.fill import SECRET, fill
from tests.support.forms import form_of
from tests.support.routes import TABLE, Row, caller, routes, send

every_row = pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} /{row.route}")
every_guarded_row = pytest.mark.parametrize(
    "row", [row for row in TABLE if not row.public], ids=lambda row: f"{row.method} /{row.route}"
)
every_row_with_ids = pytest.mark.parametrize(
    "row", [row for row in TABLE if row.foreign], ids=lambda row: f"{row.method} /{row.route}"
)


def query(sql: str, parameters=()) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def count_from(number: int, account: Account) -> None:
    query("SELECT setval(%s, %s)", [f"account_ids.a{account.id}", number])


@pytest.fixture
def world(acme, other):
    """Both accounts full; acme's ids are far from the ones that mallory's account has."""
    count_from(500_000, other.account)
    count_from(1_000_000, acme.account)
    carols = make_post(acme.carol, f"{SECRET} of carol")
    world = SimpleNamespace(
        acme=acme,
        other=other,
        hers=fill(other.account, make_user(other.account, "mallory-own-mike", role="agent"), "mallory-own"),
        theirs=fill(acme.account, make_user(acme.account, f"{SECRET}-dora", role="agent"), SECRET),
        carols_post=carols.id,
    )
    # What is left to the commit: the changes are noted.
    connection.check_constraints()
    return world


TENANT_TABLES = [model for model in apps.get_models() if any(field.name == "account" for field in model._meta.fields)]


def snapshot(account: Account) -> dict[str, list]:
    """Every row of an account, but for when its tokens were last used."""
    rows = {
        model.__name__: list(model.objects.filter(account_id=account.id).order_by("pk").values())
        for model in TENANT_TABLES
    }
    for token in rows["APIToken"]:
        del token["last_used_at"]
    rows["Account"] = list(Account.objects.filter(id=account.id).values())
    return rows


def send_otherwise(row: Row, client, path: SimpleNamespace, body: SimpleNamespace):
    """The same request as a client sends it that knows GET and POST, and forms: parameters and methods are in the body."""
    form = dict(form_of(row.body(body) if row.body else {})) | dict(parse_qsl(row.query.removeprefix("?")))
    address = row.path(path).partition("?")[0]
    if row.method == "GET":
        return client.request("GET", address, json=form, headers=row.headers)
    if row.method in ("PUT", "PATCH") and row.query:
        # By external id, which is in the address.
        address = row.path(path)
    return client.post(address, data={**form, "_method": row.method}, headers=row.headers)


def assert_nothing_told(response) -> None:
    told = f"{response.text} {response.headers}".lower()
    assert SECRET not in told
    assert "acme" not in told.replace("acme.example.test", "")


def assert_turned_away(row: Row, response, status: int) -> None:
    if not row.is_json:
        assert response.status_code == status
        assert response.text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>')
    else:
        assert_refused(response, status, {401: "unauthenticated", 403: "forbidden", 404: "not_found"}[status])


@every_row
def test_it_works(world, row):
    """What the table sends is well-formed: the account's own team succeeds with it."""
    response = send(row, caller(row, world.acme.host, world.acme.alice), world.theirs, world.theirs)
    assert response.status_code == row.team, response.text


def test_it_rejects_a_route_without_a_row():
    assert {(row.method, row.route) for row in TABLE} == routes()
    assert len(TABLE) == len({(row.method, row.route) for row in TABLE})


@every_guarded_row
def test_it_rejects_another_tenant_at_this_host(world, row):
    before = snapshot(world.acme.account)
    # Mallory has the same login and password in both accounts, were it not for this one.
    response = send(row, caller(row, world.acme.host, world.other.mallory), world.theirs, world.theirs)
    assert_turned_away(row, response, 401)
    assert SECRET not in response.text
    assert snapshot(world.acme.account) == before


@every_guarded_row
def test_it_rejects_nobody(world, row):
    before = snapshot(world.acme.account)
    response = send(row, caller(row, world.acme.host, None), world.theirs, world.theirs)
    assert_turned_away(row, response, 401)
    assert SECRET not in response.text
    assert snapshot(world.acme.account) == before


@every_row
def test_a_member(world, row):
    before = snapshot(world.acme.account)
    response = send(row, caller(row, world.acme.host, world.acme.carol), world.theirs, world.theirs)
    assert response.status_code == row.member, response.text
    if row.member == 403 and row.is_json:
        who = "an admin or the owner" if row.admins_only else "the team"
        assert_refused(response, 403, "forbidden", message=f"Only {who} may do this")
    elif row.member == 403:
        assert response.text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>')
        assert SECRET not in response.text
    if row.member != 201:
        after = snapshot(world.acme.account)
        # The token that this call made.
        before.pop("APIToken")
        after.pop("APIToken")
        assert after == before


@every_row
def test_another_tenant_at_her_own_host(world, row):
    before = snapshot(world.acme.account)
    response = send(row, caller(row, world.other.host, world.other.mallory), world.theirs, world.hers)
    if row.names_a_thing:
        assert_turned_away(row, response, 404)
    else:
        assert response.status_code == row.team, response.text
    assert_nothing_told(response)
    assert snapshot(world.acme.account) == before


every_json_row = pytest.mark.parametrize(
    "row", [row for row in TABLE if row.is_json and not row.public], ids=lambda row: f"{row.method} /{row.route}"
)


@every_json_row
def test_it_works_as_a_form(world, row):
    response = send_otherwise(row, caller(row, world.acme.host, world.acme.alice), world.theirs, world.theirs)
    assert response.status_code == row.team, response.text


@every_json_row
def test_another_tenant_who_sends_forms(world, row):
    before = snapshot(world.acme.account)
    mallory = world.other.mallory
    response = send_otherwise(row, caller(row, world.acme.host, mallory), world.theirs, world.theirs)
    assert_turned_away(row, response, 401)
    response = send_otherwise(row, caller(row, world.other.host, mallory), world.theirs, world.hers)
    if row.names_a_thing:
        assert_turned_away(row, response, 404)
    else:
        assert response.status_code == row.team, response.text
    assert_nothing_told(response)
    assert snapshot(world.acme.account) == before


@every_row_with_ids
def test_another_tenant_with_these_ids_in_her_body(world, row):
    before, hers = snapshot(world.acme.account), snapshot(world.other.account)
    response = send(row, caller(row, world.other.host, world.other.mallory), world.hers, world.theirs)
    if row.is_json:
        ids = str(world.theirs.contact_list)
        assert_refused(
            response,
            422,
            "validation_failed",
            {
                name: [f"{ids} can't be found" if name.endswith("contact_list_ids") else "can't be found"]
                for name in row.foreign
            },
        )
    else:
        errors = "".join(f"  <error>{sentence}</error>\n" for sentence in row.foreign)
        assert response.status_code == 422
        assert response.text == f'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n{errors}</errors>\n'
    assert_nothing_told(response)
    assert snapshot(world.acme.account) == before
    hers.pop("APIToken")
    after = snapshot(world.other.account)
    after.pop("APIToken")
    assert after == hers


@pytest.mark.parametrize("row", [row for row in TABLE if row.method == "GET"], ids=lambda row: f"/{row.route}")
def test_head_tells_no_more_than_get(world, row):
    for host, user, path in (
        (world.acme.host, None, world.theirs),
        (world.acme.host, world.other.mallory, world.theirs),
        (world.acme.host, world.acme.carol, world.theirs),
        (world.other.host, world.other.mallory, world.theirs),
    ):
        client = caller(row, host, user)
        head = client.head(row.path(path))
        get = client.get(row.path(path))
        # What an answer to HEAD has for a body, the server leaves out.
        assert head.status_code == get.status_code
        head.headers.pop("X-Request-Id")
        get.headers.pop("X-Request-Id")
        assert head.headers == get.headers


def test_another_tenant_comments_on_no_post_of_this_one(world):
    before = snapshot(world.acme.account)
    body = {"post": {"task_kind": "comment", "post_id": world.theirs.post, "content": "Mine"}}
    response = world.other.json().post("/app/posts.json", json=body)
    assert_refused(response, 422, "validation_failed", {"post_id": ["can't be found"]})
    assert snapshot(world.acme.account) == before


def test_external_ids_are_an_accounts_own(world):
    before = snapshot(world.acme.account)
    mallory = world.other.json()
    response = mallory.post("/app/clients.json", json={"client": {"name": "Mine", "external_ids": {"key": SECRET}}})
    assert response.status_code == 201
    assert read(response)["external_ids"] == {"key": SECRET}
    # The client that a deal's nested one means is of the same account too.
    response = mallory.post(
        "/app/deals.json", json={"deal": {"name": "Mine", "client": {"external_ids": {"key": SECRET}}}}
    )
    assert response.status_code == 201
    assert read(response)["client_id"] == world.other.account.clients.get(name="Mine").id
    assert snapshot(world.acme.account) == before


def test_names_that_are_unique_in_an_account_are_free_in_another(world):
    before = snapshot(world.acme.account)
    response = world.other.json().post("/app/contact_lists.json", json={"contact_list": {"name": f"{SECRET} list"}})
    assert response.status_code == 201
    response = world.other.json().post("/app/clients.json", json={"client": {"name": "a", "tags": [f"{SECRET} tag"]}})
    assert response.status_code == 201
    tags = read(world.other.json().get("/app/clients/tags.json"))
    assert [tag["count"] for tag in tags] == [1, 1]
    body = "<user><login>alice</login><email>alice@acme.example</email><password>a long pass phrase</password></user>"
    assert world.other.xml().send_xml("POST", "/app/users.xml", body).status_code == 201
    assert snapshot(world.acme.account) == before


def test_the_same_id_is_two_things_in_two_accounts(acme, other):
    for account in (acme.account, other.account):
        count_from(5000, account)
    ours, hers = make_client(acme.alice, "Ours"), make_client(other.mallory, "Hers")
    assert ours.id == hers.id == 5001
    assert read(acme.json().get("/app/clients/5001.json"))["name"] == "Ours"
    assert read(other.json().get("/app/clients/5001.json"))["name"] == "Hers"
    assert other.json().put("/app/clients/5001.json", json={"client": {"name": "Hers still"}}).status_code == 200
    assert other.json().delete("/app/clients/5001.json").status_code == 200
    assert read(acme.json().get("/app/clients/5001.json"))["name"] == "Ours"


def test_ids_tell_nothing_of_other_accounts(acme, other):
    """They count what the account itself made, whatever the others make meanwhile."""

    def ids(client):
        return [read(client.post("/app/clients.json", json={"client": {"name": "a"}}))["id"] for _ in range(3)]

    first = ids(acme.json())
    for _ in range(5):
        make_client(other.mallory)
        make_task(other.mallory)
    assert [*first, *ids(acme.json())] == list(range(first[0], first[0] + 6))


def test_an_accounts_sequence_goes_with_it(acme):
    bare = Account.objects.create(prefix="bare")

    def sequences() -> set[str]:
        return {name for (name,) in query("SELECT sequencename FROM pg_sequences WHERE schemaname = 'account_ids'")}

    gone, kept = f"a{bare.id}", f"a{acme.account.id}"
    assert {gone, kept} <= sequences()
    Account.objects.filter(id=bare.id).delete()
    assert gone not in sequences()
    assert kept in sequences()


# The tables themselves


def foreign_keys() -> list[tuple[str, str, tuple[str, ...], str, tuple[str, ...]]]:
    """(name, table, its columns, target, the target's columns) of every foreign key of a tenant table."""
    rows = query("""
        SELECT con.conname, con.conrelid::regclass::text, con.confrelid::regclass::text,
          ARRAY(SELECT attname::text FROM unnest(con.conkey) WITH ORDINALITY AS k (num, n)
            JOIN pg_attribute ON attrelid = con.conrelid AND attnum = num ORDER BY n),
          ARRAY(SELECT attname::text FROM unnest(con.confkey) WITH ORDINALITY AS k (num, n)
            JOIN pg_attribute ON attrelid = con.confrelid AND attnum = num ORDER BY n)
        FROM pg_constraint AS con WHERE con.contype = 'f' ORDER BY 1
        """)
    tables = {model._meta.db_table for model in TENANT_TABLES}
    return [(name, table, tuple(of), to, tuple(ends)) for name, table, to, of, ends in rows if table in tables]


def links() -> list[tuple[str, str, str]]:
    """(table, column, target) of every foreign key between tenant tables."""
    return [(table, of[1], to) for _, table, of, to, _ in foreign_keys() if to != "accounts_account"]


def test_every_foreign_key_between_tenant_tables_has_the_account(db):
    for name, _, columns, target, ends in foreign_keys():
        if target == "accounts_account":
            assert (columns, ends) == (("account_id",), ("id",)), name
        else:
            assert (columns[0], ends) == ("account_id", ("account_id", "id")), name
            assert len(columns) == 2, name


# The database itself writes them, from the rows of posts, whose own ids are checked.
COPIED = {("forum_postcount", "category_id"), ("forum_postcount", "status_id")}


def test_every_id_of_another_row_is_a_foreign_key(db):
    ids = {
        (model._meta.db_table, field.column)
        for model in TENANT_TABLES
        for field in model._meta.local_concrete_fields
        if field.column.endswith("_id") and field.column != "account_id"
    }
    assert ids == {(table, column) for table, column, _ in links()} | COPIED


def test_the_database_refuses_every_link_between_tenants(world):
    refused = set()
    for table, column, target in links():
        rows = query(
            f"SELECT id FROM {target} WHERE account_id = %s AND id NOT IN (SELECT id FROM {target} WHERE account_id = %s)",  # noqa: S608
            [world.other.account.id, world.acme.account.id],
        )
        assert rows, target
        # One row, which has such a link already if there is one.
        one = f"SELECT ctid FROM {table} WHERE account_id = %s ORDER BY {column} IS NULL LIMIT 1"  # noqa: S608
        with pytest.raises(IntegrityError) as refusal, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET {column} = %s WHERE ctid = ({one})",  # noqa: S608
                [rows[0][0], world.acme.account.id],
            )
        assert isinstance(refusal.value.__cause__, ForeignKeyViolation), (table, column)
        refused.add((table, column))
    assert len(refused) == len(links()) > 30


# The first two find the account, so they come before it is known: a request brings a host, or a token. A host's own id is
# told to nobody.
EXCEPTIONS = {"host_name_unique", "apitoken_digest_unique", "accounts_host_pkey"}


def test_every_index_and_unique_constraint_begins_with_the_account(db):
    rows = query("""
        SELECT tab.relname, ind.relname, (SELECT attname FROM pg_attribute WHERE attrelid = tab.oid AND attnum = indkey[0])
        FROM pg_index JOIN pg_class AS ind ON ind.oid = indexrelid JOIN pg_class AS tab ON tab.oid = indrelid
        JOIN pg_namespace AS space ON space.oid = tab.relnamespace WHERE space.nspname = 'public'
        """)
    tables = {model._meta.db_table for model in TENANT_TABLES}
    others = {index for table, index, first in rows if table in tables and first != "account_id"}
    assert {table for table, _, _ in rows} >= tables
    assert others == EXCEPTIONS


def test_every_table_is_planned_for_large_accounts(db):
    options = query("""
        SELECT relname, attoptions FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE attname = 'account_id' AND relkind = 'r'
        """)
    assert {table: chosen for table, chosen in options if chosen != ["n_distinct=2"]} == {}
    assert {table for table, _ in options} == {model._meta.db_table for model in TENANT_TABLES}


# How much of a limit is used, by keys that have the account in them or are nobody's.
OF_NO_TENANT = {"accounts_account", "accounts_ratecount", "django_migrations"}


def test_every_table_is_a_tenants(db):
    tables = {name for (name,) in query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert tables - OF_NO_TENANT == {model._meta.db_table for model in TENANT_TABLES}
