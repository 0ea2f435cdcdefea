"""The times of the last change of rows, in a narrow table beside a wide one.

Lists are ordered by `updated_at`, and filtered by it. An index of this column would change with each update, so that no update of the
wide table could be HOT: PostgreSQL would write the entries of all of its indexes again, even if no other indexed column changed.

A model of last changes is based on `LastChange` and has the relation `row` to the other model. Every row that is not in the trash has one
entry. Triggers write the entries (`create_last_changes`).
"""

from functools import cache
from typing import Any

from django.conf import settings
from django.db import connection, migrations, models, transaction
from django.db.models import F, QuerySet

from core.db.backfill import BATCH, insert_in_batches


class LastChange(models.Model):
    """The time of the last change of the row with the same id. The triggers copy the ids, so foreign keys need not check them."""

    pk = models.CompositePrimaryKey("account_id", "id")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, db_index=False, db_constraint=False)
    id = models.BigIntegerField()
    updated_at = models.DateTimeField()

    class Meta:
        abstract = True


@cache
def _relation_of(model: type[models.Model]) -> Any:
    """Return the relation of a model to its last changes, or None."""
    relations = [each for each in model._meta.related_objects if issubclass(each.related_model, LastChange)]
    return relations[0] if relations else None


def has_last_changes(model: type[models.Model]) -> bool:
    """Return whether a model has a table of last changes."""
    return _relation_of(model) is not None


def last_changes_of(model: type[models.Model], account: models.Model) -> "QuerySet[Any]":
    """Return the entries of the account's rows of a model."""
    entries: type[models.Model] = _relation_of(model).related_model
    return entries._default_manager.filter(account=account)


def with_last_change(rows: "QuerySet[Any]") -> "QuerySet[Any]":
    """Annotate rows that are not in the trash with `last_changed_at`, which has an index. It equals `updated_at`."""
    # The condition makes the join an inner one, which PostgreSQL can begin with the entries.
    model: type[models.Model] = rows.model
    changed_at = F(f"{_relation_of(model).name}__updated_at")
    return rows.annotate(last_changed_at=changed_at).filter(last_changed_at__isnull=False)


def in_order_of_change(rows: "QuerySet[Any]") -> "QuerySet[Any]":
    """Return rows that are ordered by `updated_at` and the id in the same order, by the columns of the entries."""
    descending = [term.descending for term in rows.query.order_by]  # type: ignore[union-attr]  # expressions
    model: type[models.Model] = rows.model
    relation = _relation_of(model).name
    columns = (f"{relation}__updated_at", f"{relation}__id")
    terms = [F(column).desc() if down else F(column).asc() for column, down in zip(columns, descending, strict=True)]
    return with_last_change(rows).order_by(*terms)


def find_differing(model: type[models.Model], account_id: int) -> list[int]:
    """Return the ids of the account's rows whose entry is missing or differs, and those of entries without a row."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT id FROM (SELECT id, updated_at FROM {table} WHERE account_id = %s AND trashed_at IS NULL) AS live
            FULL JOIN (SELECT id, updated_at FROM {table}lastchange WHERE account_id = %s) AS entry USING (id)
            WHERE live.updated_at IS DISTINCT FROM entry.updated_at ORDER BY id
            """,  # noqa: S608
            [account_id, account_id],
        )
        return [id for (id,) in cursor.fetchall()]


@transaction.atomic
def repair(model: type[models.Model], account_id: int, ids: list[int]) -> None:
    """Write the entries with these ids again."""
    table = model._meta.db_table
    of_ids = "WHERE account_id = %s AND id = ANY (%s)"
    with connection.cursor() as cursor:
        # The locks make concurrent updates of these rows wait, so that their triggers find the new entries.
        cursor.execute(f"SELECT FROM {table} {of_ids} ORDER BY id FOR NO KEY UPDATE", [account_id, ids])
        cursor.execute(f"DELETE FROM {table}lastchange {of_ids}", [account_id, ids])  # noqa: S608
        insert = INSERT.format(table=table)
        cursor.execute(f"{insert} {of_ids} AND trashed_at IS NULL", [account_id, ids])


# Migrations

INSERT = "INSERT INTO {table}lastchange (account_id, id, updated_at) SELECT account_id, id, updated_at FROM {table}"


def create_last_changes(table: str) -> list[Any]:
    """Return the operations that create the triggers for the entries of a table, and the entries of its rows, in batches.

    The migration needs `atomic = False`. The table of the entries has the name of the table with `lastchange` at its end.
    """
    entries = f"{table}lastchange"
    return [
        migrations.RunSQL(
            f"""
            CREATE OR REPLACE FUNCTION {table}_insert_last_changes() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO {entries} (account_id, id, updated_at)
                SELECT account_id, id, updated_at FROM written WHERE trashed_at IS NULL;
                RETURN NULL;
            END $$;
            CREATE OR REPLACE FUNCTION {table}_set_last_change() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF TG_OP = 'UPDATE' AND NEW.trashed_at IS NULL THEN
                    INSERT INTO {entries} (account_id, id, updated_at) VALUES (NEW.account_id, NEW.id, NEW.updated_at)
                    ON CONFLICT (account_id, id) DO UPDATE SET updated_at = excluded.updated_at;
                ELSE
                    DELETE FROM {entries} WHERE account_id = OLD.account_id AND id = OLD.id;
                END IF;
                RETURN NULL;
            END $$;
            CREATE OR REPLACE TRIGGER insert_last_changes AFTER INSERT ON {table} REFERENCING NEW TABLE AS written
                FOR EACH STATEMENT EXECUTE FUNCTION {table}_insert_last_changes();
            CREATE OR REPLACE TRIGGER set_last_change AFTER UPDATE ON {table} FOR EACH ROW
                WHEN ((OLD.updated_at, OLD.trashed_at) IS DISTINCT FROM (NEW.updated_at, NEW.trashed_at))
                EXECUTE FUNCTION {table}_set_last_change();
            CREATE OR REPLACE TRIGGER delete_last_change AFTER DELETE ON {table} FOR EACH ROW WHEN (OLD.trashed_at IS NULL)
                EXECUTE FUNCTION {table}_set_last_change();
            """,  # noqa: S608
            f"""
            DROP TRIGGER insert_last_changes ON {table};
            DROP TRIGGER set_last_change ON {table};
            DROP TRIGGER delete_last_change ON {table};
            DROP FUNCTION {table}_insert_last_changes();
            DROP FUNCTION {table}_set_last_change();
            """,
        ),
        # A row lock makes a concurrent update either visible here, or wait and find the entry.
        insert_in_batches(
            table,
            f"{INSERT.format(table=table)} WHERE {BATCH} AND trashed_at IS NULL FOR SHARE ON CONFLICT DO NOTHING",
        ),
    ]
