"""The primary keys, ids and foreign keys of the tables of tenants.

Every tenant table has the primary key `(account_id, id)`, and each account has its own sequence of ids. An id thus reveals nothing
about other tenants, data can be imported from another server with its ids, and no row can be found by its id alone. Foreign keys
between tenant tables are composite (`account_id, client_id`), so that the database rejects a link from one tenant to another.
"""

import unicodedata
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, migrations, models

if TYPE_CHECKING:
    from accounts.account import Account


class AccountIdField(models.BigIntegerField):
    """The id of a row within its account. If a row is inserted without an id, a trigger sets the next id of the account's sequence."""

    db_returning = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        # The trigger replaces NULL with the next id.
        return None if value is None else super().get_db_prep_save(value, connection)


class FoldedField(models.TextField):
    """The folded text of another field, for case-insensitive uniqueness and lookups.

    Python folds the text, because the result in PostgreSQL would depend on the locale of the database.
    """

    def __init__(self, *args: Any, source: str, **kwargs: Any) -> None:
        self.source = source
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["editable"]
        return name, path, args, {**kwargs, "source": self.source}

    @staticmethod
    def derive(text: str) -> str:
        """Return the value for the text of the source field. A subclass may override this method."""
        return fold(text)

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        text = getattr(model_instance, self.source)
        value = None if text is None else self.derive(text)
        setattr(model_instance, self.attname, value)
        return value


def fold(text: str) -> str:
    """Return the text in NFC and without differences of case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def account_of(account_id: int) -> "Account":
    """Return an unsaved account instance that has only an id, to build querysets of the account's rows without reading the account."""
    account: Account = apps.get_model(settings.ACCOUNT_MODEL)(id=account_id)
    return account


def rows_of(account: models.Model, model: type[models.Model]) -> "models.QuerySet[Any]":
    """Return the account's rows of a model, which has to set `default_related_name`."""
    name = model._meta.default_related_name
    if name is None:
        raise ImproperlyConfigured(f"{model.__name__} has no default_related_name.")
    rows: models.QuerySet[Any] = getattr(account, name).all()
    return rows


class TenantModel(models.Model):
    """A row of one tenant. Query it through the account: `account.clients.get(id=12)`."""

    pk = models.CompositePrimaryKey("account_id", "id")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, db_index=False)
    id = AccountIdField()

    class Meta:
        abstract = True


def foreign_object(
    to: type[models.Model] | str,
    column: str,
    *,
    on_delete: Any = models.DO_NOTHING,
    related_name: str = "+",
    null: bool = False,
) -> "models.ForeignObject[Any, Any]":
    """Return the field for the row of the same account whose id is in `column`.

    The foreign key in the database, which `composite_foreign_key` creates, decides what happens when that row is deleted. With
    `on_delete`, Django does that first.
    """
    return models.ForeignObject(
        to,
        on_delete,
        from_fields=["account_id", column],
        to_fields=["account_id", "id"],
        related_name=related_name,
        null=null,
    )


def next_ids(account_id: int, number: int) -> list[int]:
    """Take ids from the sequence of the account, for rows that refer to each other before they are inserted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(%s::regclass) FROM generate_series(1, %s)", [f"account_ids.a{account_id}", number]
        )
        return [row[0] for row in cursor.fetchall()]


# Migration operations

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
    """Return operations that create the triggers that set the ids of new rows."""
    return [
        migrations.RunSQL(
            f"CREATE TRIGGER take_id BEFORE INSERT ON {table} FOR EACH ROW WHEN (NEW.id IS NULL)"
            " EXECUTE FUNCTION account_ids.take();",
            f"DROP TRIGGER take_id ON {table};",
        )
        for table in tables
    ]


def composite_foreign_key(table: str, column: str, target: str, *, on_delete: str = "NO ACTION") -> migrations.RunSQL:
    """Return the operation that adds a foreign key from `table (account_id, column)` to `target (account_id, id)`.

    `on_delete` is SQL. SET NULL sets only `column`.
    """
    return _foreign_key(table, column, target, on_delete)


def online_foreign_key(
    table: str, column: str, target: str, *, on_delete: str = "NO ACTION"
) -> list[migrations.RunSQL]:
    """Return operations that add a composite foreign key to a large table without blocking writes while its rows are checked.

    The migration needs `atomic = False`.
    """
    return [
        _foreign_key(table, column, target, on_delete, options=" NOT VALID"),
        migrations.RunSQL(f"ALTER TABLE {table} VALIDATE CONSTRAINT {table}_{column}_fk;", migrations.RunSQL.noop),
    ]


def _foreign_key(table: str, column: str, target: str, on_delete: str, *, options: str = "") -> migrations.RunSQL:
    name = f"{table}_{column}_fk"
    action = f"SET NULL ({column})" if on_delete == "SET NULL" else on_delete
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (account_id, {column})"
        f" REFERENCES {target} (account_id, id) ON DELETE {action}{options};",
        f"ALTER TABLE {table} DROP CONSTRAINT {name};",
    )


def plan_for_large_accounts(*tables: str) -> list[migrations.RunSQL]:
    """Return operations that make PostgreSQL assume that each table has the rows of two accounts.

    PostgreSQL plans a prepared statement once for all accounts, and assumes an account of average size. In a table of a thousand
    small accounts, the average account has so few rows that reading and sorting all of them seems as fast as reading an index. For a
    large account, the index is much faster. With two accounts in the statistics, PostgreSQL plans for an account that has half of
    the rows. That plan is also fast for small accounts.
    """
    return [
        migrations.RunSQL(
            [f"ALTER TABLE {table} ALTER account_id SET (n_distinct = 2)", f"ANALYZE {table}"],
            f"ALTER TABLE {table} ALTER account_id RESET (n_distinct)",
        )
        for table in tables
    ]
