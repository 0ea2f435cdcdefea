"""Tenancy in the database: ids, foreign keys, indexes."""

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from psycopg.errors import ForeignKeyViolation

from accounts.account.models import Account
from core.errors import Conflict
from tests.support.assertions import read
from tests.support.factories import make_category, make_client, make_task
from tests.support.fill import fill_both

TENANT_TABLES = [model for model in apps.get_models() if any(field.name == "account" for field in model._meta.fields)]


def query(sql: str, parameters=()) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def advance(account: Account, number: int) -> None:
    query("SELECT account_ids.advance(%s, %s)", [account.id, number])


def test_two_accounts_may_have_rows_with_the_same_id(acme, other):
    for account in (acme.account, other.account):
        advance(account, 5000)
    own, foreign = make_client(acme.alice, "Of acme"), make_client(other.mallory, "Of other")
    assert own.id == foreign.id == 5001
    assert read(acme.json().get("/app/clients/5001.json"))["name"] == "Of acme"
    assert read(other.json().get("/app/clients/5001.json"))["name"] == "Of other"
    assert other.json().put("/app/clients/5001.json", json={"client": {"name": "Changed"}}).status_code == 200
    assert other.json().delete("/app/clients/5001.json").status_code == 200
    assert read(acme.json().get("/app/clients/5001.json"))["name"] == "Of acme"


def test_ids_reveal_nothing_about_other_accounts(acme, other):
    """Each account has its own counter of ids."""

    def ids(client):
        return [read(client.post("/app/clients.json", json={"client": {"name": "a"}}))["id"] for _ in range(3)]

    first = ids(acme.json())
    for _ in range(5):
        make_client(other.mallory)
        make_task(other.mallory)
    assert [*first, *ids(acme.json())] == list(range(first[0], first[0] + 6))


def test_the_counter_of_an_account_is_deleted_with_it(acme):
    empty = Account.objects.create(prefix="empty")
    advance(empty, 1)

    def counters() -> set[int]:
        return {account_id for (account_id,) in query("SELECT account_id FROM account_ids.counter")}

    assert {empty.id, acme.account.id} <= counters()
    Account.objects.filter(id=empty.id).delete()
    assert empty.id not in counters()
    assert acme.account.id in counters()


# Tables


def foreign_keys() -> list[tuple[str, str, tuple[str, ...], str, tuple[str, ...]]]:
    """Return (name, table, columns, target, columns of the target) of every foreign key of a tenant table."""
    rows = query("""
        SELECT con.conname, con.conrelid::regclass::text, con.confrelid::regclass::text,
          ARRAY(SELECT attname::text FROM unnest(con.conkey) WITH ORDINALITY AS k (num, n)
            JOIN pg_attribute ON attrelid = con.conrelid AND attnum = num ORDER BY n),
          ARRAY(SELECT attname::text FROM unnest(con.confkey) WITH ORDINALITY AS k (num, n)
            JOIN pg_attribute ON attrelid = con.confrelid AND attnum = num ORDER BY n)
        FROM pg_constraint AS con WHERE con.contype = 'f' ORDER BY 1
        """)
    tables = {model._meta.db_table for model in TENANT_TABLES}
    return [
        (name, table, tuple(columns), target, tuple(target_columns))
        for name, table, target, columns, target_columns in rows
        if table in tables
    ]


def links() -> list[tuple[str, str, str]]:
    """Return (table, column, target) of every foreign key between tenant tables."""
    return [
        (table, columns[1], target) for _, table, columns, target, _ in foreign_keys() if target != "accounts_account"
    ]


@pytest.mark.parametrize("options", [{}, {"update_fields": ["name"]}])
def test_a_deleted_row_is_not_saved_again(acme, options):
    category = make_category(acme.account, "Old")
    again = acme.account.categories.get(id=category.id)
    category.delete()
    again.name = "New"
    with pytest.raises(Conflict, match="deleted in the meantime"), transaction.atomic():
        again.save(**options)
    assert not acme.account.categories.filter(name="New").exists()


def test_every_foreign_key_between_tenant_tables_includes_the_account(db):
    for name, _, columns, target, target_columns in foreign_keys():
        if target == "accounts_account":
            assert (columns, target_columns) == (("account_id",), ("id",)), name
        else:
            assert (columns[0], target_columns) == ("account_id", ("account_id", "id")), name
            assert len(columns) == 2, name


# Triggers copy these columns from other rows, where they are ids or foreign keys.
WRITTEN_BY_TRIGGERS = {
    ("forum_facetcount", "forum_id"),
    ("forum_facetcount", "category_id"),
    ("forum_facetcount", "status_id"),
    ("forum_votechange", "post_id"),
    ("forum_votechange", "user_id"),
    *(("forum_postsortkey", f"{name}_id") for name in ("forum", "category", "status", "client", "contact", "deal")),
    ("crm_dealcount", "status_id"),
    ("crm_dealcount", "responsible_id"),
    ("crm_dealstage", "deal_id"),
    ("crm_dealstage", "status_id"),
    ("crm_dealstage", "user_id"),
    ("team_clientsummary", "client_id"),
    ("team_contactsummary", "contact_id"),
    ("team_contactsummary", "client_id"),
    ("team_dealsummary", "deal_id"),
    ("team_dealsummary", "client_id"),
    ("team_dealsummary", "contact_id"),
    ("team_clientrevenue", "client_id"),
    ("team_timelineentry", "client_id"),
    ("team_timelineentry", "contact_id"),
    ("team_timelineentry", "deal_id"),
    ("team_timelineentry", "resource_id"),
    ("team_timelineentry", "user_id"),
    ("team_revenuechange", "row_id"),
}


# The table of the row depends on another column, and the row may have been erased.
LINKS_OF_SEVERAL_TABLES = {
    ("team_mergedrow", "row_id"),
    ("accounts_auditentry", "actor_id"),
    ("accounts_auditentry", "target_id"),
    ("accounts_attachment", "row_id"),
    # An import or a move from an older server.
    ("core_change", "import_id"),
    # The engine knows no users.
    ("core_change", "actor_id"),
}


def test_every_id_of_another_row_is_a_foreign_key(db):
    ids = {
        (model._meta.db_table, field.column)
        for model in TENANT_TABLES
        for field in model._meta.local_concrete_fields
        if field.column.endswith("_id") and field.column != "account_id"
    }
    known = {(table, column) for table, column, _ in links()} | WRITTEN_BY_TRIGGERS | LINKS_OF_SEVERAL_TABLES
    for table, column in ids - known:
        pytest.fail(
            f"{table}.{column} is not a foreign key: add a foreign key of (account_id, {column}) to a migration"
        )
    assert known - ids == set()


def test_the_database_rejects_links_between_accounts(acme, other):
    fill_both(acme, other)
    rejected = set()
    for table, column, target in links():
        rows = query(
            f"SELECT id FROM {target} WHERE account_id = %s AND id NOT IN (SELECT id FROM {target} WHERE account_id = %s)",  # noqa: S608
            [other.account.id, acme.account.id],
        )
        assert rows, target
        # Update one row, preferably one whose column is not null.
        row = f"SELECT ctid FROM {table} WHERE account_id = %s ORDER BY {column} IS NULL LIMIT 1"  # noqa: S608
        with pytest.raises(IntegrityError) as error, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET {column} = %s WHERE ctid = ({row})",  # noqa: S608
                [rows[0][0], acme.account.id],
            )
        assert isinstance(error.value.__cause__, ForeignKeyViolation), (table, column)
        rejected.add((table, column))
    assert len(rejected) == len(links()) > 30


# A host or a token identifies the account of a request, so they are looked up before the account is known. The id of a host is never
# returned. Workers look up rows of all accounts: due followers, notifications, reminders, answers and revenue changes, old entries of the logs of
# webhooks, bulk changes, imports and exports that are active or old, moves that are running, messages that are being sent, and expired files.
WITHOUT_ACCOUNT = {
    "host_name_unique",
    "apitoken_digest_unique",
    "accounts_host_pkey",
    "notification_due",
    "follower_due",
    "storedfile_expired",
    "delivery_at",
    "audit_by_time",
    "task_reminder_time",
    "answer_scheduled",
    "revenue_change_due",
    "message_active",
    "bulk_change_by_creation",
    "bulk_change_active",
    "import_active",
    "import_by_creation",
    "import_draft",
    "export_running",
    "export_expired",
    "move_in_running",
}


def test_every_index_and_unique_constraint_begins_with_the_account(db):
    rows = query("""
        SELECT tab.relname, ind.relname, (SELECT attname FROM pg_attribute WHERE attrelid = tab.oid AND attnum = indkey[0])
        FROM pg_index JOIN pg_class AS ind ON ind.oid = indexrelid JOIN pg_class AS tab ON tab.oid = indrelid
        JOIN pg_namespace AS space ON space.oid = tab.relnamespace WHERE space.nspname = 'public'
        """)
    tables = {model._meta.db_table for model in TENANT_TABLES}
    without_account = {index for table, index, first in rows if table in tables and first != "account_id"}
    assert {table for table, _, _ in rows} >= tables
    assert without_account == WITHOUT_ACCOUNT


def test_statistics_of_every_table_assume_large_accounts(db):
    options = query("""
        SELECT relname, attoptions FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE attname = 'account_id' AND relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'core_job'
        """)
    assert {table: values for table, values in options if values != ["n_distinct=2"]} == {}
    assert {table for table, _ in options} == {model._meta.db_table for model in TENANT_TABLES}


# Keys of rate limits contain the account, or belong to no account, and so do jobs.
GLOBAL_TABLES = {
    "accounts_account",
    "accounts_accountinvitation",
    "accounts_formerprefix",
    "accounts_plan",
    "core_ratecount",
    "core_heartbeat",
    "core_job",
    "core_periodictime",
    "django_migrations",
}


def test_every_table_belongs_to_accounts(db):
    tables = {name for (name,) in query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert tables - GLOBAL_TABLES == {model._meta.db_table for model in TENANT_TABLES}
