"""The primary keys, ids and foreign keys of the tables of tenants.

Every tenant table has the primary key `(account_id, id)`, and each account has its own counter of ids. An id thus reveals nothing
about other tenants, data can be imported from another server with its ids, and no row can be found by its id alone. Foreign keys
between tenant tables are composite (`account_id, client_id`), so that the database rejects a link from one tenant to another.
"""

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, migrations, models

from core.db.fields import PlainField

if TYPE_CHECKING:
    from accounts.account import Account


class AccountIdField(PlainField, models.BigIntegerField):
    """The id of a row within its account. If a row is inserted without an id, a trigger sets the account's next id."""

    db_returning = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        # The trigger replaces NULL with the next id.
        return None if value is None else super().get_db_prep_save(value, connection)


class FoldedField(PlainField, models.TextField):
    """The folded text of another field, for case-insensitive uniqueness and lookups.

    Python folds the text, because the result in PostgreSQL would depend on the locale of the database.
    """

    python_arguments = ("source",)

    def __init__(self, *args: Any, source: str, **kwargs: Any) -> None:
        self.source = source
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

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


def next_ids(account_id: int, number: int) -> Sequence[int]:
    """Take ids from the account's counter, for rows that refer to each other before they are inserted."""
    if not number:
        return ()
    with connection.cursor() as cursor:
        cursor.execute("SELECT account_ids.reserve(%s, %s)", [account_id, number])
        [first] = cursor.fetchone()
        return range(first, first + number)


# Migration operations

# A transaction that takes ids for an account tries to get the account's main lock. Its holder continues after the highest id. Any other
# transaction takes the beginning of a block of 64 ids above, which it locks. No transaction waits for another:
#
# - A block is entered by a transaction that holds its lock, found no committed id in it after that, and keeps the lock until its end.
# - The holder of the main lock continues in a block only after an id that is committed or its own.
# - Only the holder of the main lock updates and deletes committed rows of the counter.
#
# Each statement of the function must see what was committed before it, so the isolation level has to be READ COMMITTED.
CREATE_COUNTERS = """
CREATE TABLE account_ids.counter (
    account_id bigint NOT NULL,
    -- An id that was taken. The highest one of an account counts; the others are left over from concurrent transactions.
    last bigint NOT NULL,
    PRIMARY KEY (account_id, last)
);

-- Statistics of a moment in which an account had many rows would lead to other plans.
ALTER TABLE account_ids.counter ALTER account_id SET (n_distinct = -1);

CREATE FUNCTION account_ids.reserve(account bigint, number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    has_main_lock CONSTANT boolean := pg_try_advisory_xact_lock(hashint8extended(account, -1));
    first bigint;
    block bigint;
BEGIN
    IF has_main_lock THEN
        UPDATE account_ids.counter SET last = last + number
        WHERE account_id = account AND last = (SELECT max(last) FROM account_ids.counter WHERE account_id = account)
            AND (last + number) >> 6 = last >> 6
        RETURNING last - number + 1 INTO first;
        IF FOUND THEN
            IF first & 63 = 1 THEN
                -- The block began with a row of its own, so the rows below count no longer. The lower limit keeps the scan short while
                -- an old snapshot prevents the removal of dead rows.
                DELETE FROM account_ids.counter WHERE account_id = account AND last BETWEEN first - 4096 AND first - 1;
            END IF;
            RETURN first;
        END IF;
    END IF;
    LOOP
        -- Without the main lock, continue only after an id of this transaction, or else enter another block.
        SELECT CASE
            WHEN has_main_lock OR xmin = pg_current_xact_id_if_assigned()::xid THEN last + 1 ELSE ((last >> 6) + 1) << 6
        END INTO first FROM account_ids.counter WHERE account_id = account ORDER BY last DESC LIMIT 1;
        block := first >> 6;
        WHILE block <= (first + number - 1) >> 6 LOOP
            IF NOT pg_try_advisory_xact_lock(hashint8extended(account, block)) THEN
                first := (block + 1) << 6;
            END IF;
            block := block + 1;
        END LOOP;
        INSERT INTO account_ids.counter SELECT account, first + number - 1 WHERE NOT EXISTS (
            SELECT FROM account_ids.counter AS later WHERE later.account_id = account AND later.last >= first
        );
        EXIT WHEN FOUND;
    END LOOP;
    RETURN first;
END $$;

CREATE FUNCTION account_ids.advance(account bigint, past bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO account_ids.counter SELECT account, past WHERE NOT EXISTS (
        SELECT FROM account_ids.counter WHERE account_id = account AND last >= past
    )
$$;

CREATE OR REPLACE FUNCTION account_ids.open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO account_ids.counter VALUES (NEW.id, 0);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION account_ids.close() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM account_ids.counter WHERE account_id = OLD.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION account_ids.take() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := account_ids.reserve(NEW.account_id, 1);
    RETURN NEW;
END $$;
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
