"""What makes a table a tenant's: its primary key, its ids, and its foreign keys.

Every tenant table has the primary key `(account_id, id)`, and ids are taken from a sequence that each account has of its
own. So an id says nothing about other tenants (how many rows they have, how fast they grow), data moves in from another
server with its ids kept, and a row found by id alone does not exist. Foreign keys between tenant tables are composite
(`account_id, client_id`): the database itself refuses a link from one tenant to another.
"""

import unicodedata
from typing import TYPE_CHECKING

from django.apps import apps
from django.conf import settings
from django.db import connection, migrations, models

if TYPE_CHECKING:
    from accounts.account import Account


class AccountIdField(models.BigIntegerField):
    """An id that the database takes from the account's own sequence when the row is inserted without one."""

    db_returning = True

    def __init__(self, *args, **kwargs):
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def get_db_prep_save(self, value, connection):
        # NULL is what the trigger fills in.
        return None if value is None else super().get_db_prep_save(value, connection)


class FoldedField(models.TextField):
    """The text of another field, folded (NFC, case removed): what uniqueness and look-up without regard to case go by.

    Folding is done here and not by the database, whose idea of case depends on the locale that it was created with.
    """

    def __init__(self, *args, source: str, **kwargs):
        self.source = source
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def deconstruct(self):
        name, path, args, kwargs = super().deconstruct()
        del kwargs["editable"]
        return name, path, args, {**kwargs, "source": self.source}

    @staticmethod
    def derive(text: str) -> str:
        return fold(text)

    def pre_save(self, model_instance, add):
        text = getattr(model_instance, self.source)
        value = None if text is None else self.derive(text)
        setattr(model_instance, self.attname, value)
        return value


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def account_of(account_id: int) -> "Account":
    """Return an account with this id that is not read from the database: querysets can start from it."""
    return apps.get_model(settings.ACCOUNT_MODEL)(id=account_id)


class TenantModel(models.Model):
    """A row of one tenant. Reach it through the account: `account.clients.get(id=12)`."""

    pk = models.CompositePrimaryKey("account_id", "id")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, db_index=False)
    id = AccountIdField()

    class Meta:
        abstract = True


def next_ids(account_id: int, number: int) -> list[int]:
    """The next ids of the account, for rows that have to name each other before they are inserted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(%s::regclass) FROM generate_series(1, %s)", [f"account_ids.a{account_id}", number]
        )
        return [row[0] for row in cursor.fetchall()]


# Migrations: what Django's operations cannot say.

CREATE_IDS = """
CREATE SCHEMA account_ids;

CREATE FUNCTION account_ids.open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE SEQUENCE account_ids.%I', 'a' || NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION account_ids.close() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('DROP SEQUENCE IF EXISTS account_ids.%I', 'a' || OLD.id);
    RETURN NULL;
END $$;

CREATE FUNCTION account_ids.take() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := nextval('account_ids.a' || NEW.account_id);
    RETURN NEW;
END $$;

CREATE TRIGGER open_ids AFTER INSERT ON accounts_account FOR EACH ROW EXECUTE FUNCTION account_ids.open();
CREATE TRIGGER close_ids AFTER DELETE ON accounts_account FOR EACH ROW EXECUTE FUNCTION account_ids.close();
"""

DROP_IDS = """
DROP TRIGGER close_ids ON accounts_account;
DROP TRIGGER open_ids ON accounts_account;
DROP SCHEMA account_ids CASCADE;
"""


def id_triggers(*tables: str) -> list[migrations.RunSQL]:
    """Rows of these tables take their ids from their account's sequence."""
    return [
        migrations.RunSQL(
            f"CREATE TRIGGER take_id BEFORE INSERT ON {table} FOR EACH ROW WHEN (NEW.id IS NULL)"
            " EXECUTE FUNCTION account_ids.take();",
            f"DROP TRIGGER take_id ON {table};",
        )
        for table in tables
    ]


def composite_foreign_key(table: str, column: str, target: str, *, on_delete: str = "NO ACTION") -> migrations.RunSQL:
    """`table (account_id, column)` points at `target (account_id, id)`; `on_delete` is SQL, and SET NULL spares account_id."""
    return _foreign_key(table, column, target, on_delete, "")


def online_foreign_key(
    table: str, column: str, target: str, *, on_delete: str = "NO ACTION"
) -> list[migrations.RunSQL]:
    """As `composite_foreign_key`, for a large table: the rows that it has are looked at while others write.

    That is so where a migration is not one transaction (`atomic = False`).
    """
    return [
        _foreign_key(table, column, target, on_delete, " NOT VALID"),
        migrations.RunSQL(f"ALTER TABLE {table} VALIDATE CONSTRAINT {table}_{column}_fk;", migrations.RunSQL.noop),
    ]


def _foreign_key(table: str, column: str, target: str, on_delete: str, valid: str) -> migrations.RunSQL:
    name = f"{table}_{column}_fk"
    action = f"SET NULL ({column})" if on_delete == "SET NULL" else on_delete
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (account_id, {column})"
        f" REFERENCES {target} (account_id, id) ON DELETE {action}{valid};",
        f"ALTER TABLE {table} DROP CONSTRAINT {name};",
    )


def plan_for_large_accounts(*tables: str) -> list[migrations.RunSQL]:
    """Return operations that set the statistics of `account_id` to two accounts in each table.

    A prepared statement is planned once, for any account, and PostgreSQL assumes an account of average size. Among a thousand small
    accounts that is so few rows that collecting and sorting all of them seems as fast as an index. For a large account it is not.
    With two accounts in the statistics, PostgreSQL plans for an account that has half of the table. Such a plan suits small
    accounts as well.
    """
    return [
        migrations.RunSQL(
            [f"ALTER TABLE {table} ALTER account_id SET (n_distinct = 2)", f"ANALYZE {table}"],
            f"ALTER TABLE {table} ALTER account_id RESET (n_distinct)",
        )
        for table in tables
    ]
