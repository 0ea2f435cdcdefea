"""The times of the last change of rows, in a narrow table beside a wide one.

Lists are ordered by `updated_at`, and filtered by it. An index of this column would change with each update, so that no update of the
wide table could be HOT: PostgreSQL would write the entries of all of its indexes again, even if no other indexed column changed.

A model of last changes is based on `LastChange` and has the relation `row` to the other model. Every row that is not in the trash has one
entry. Triggers write the entries.
"""

from functools import cache
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, QuerySet


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
    relations = [relation for relation in model._meta.related_objects if issubclass(relation.related_model, LastChange)]
    return relations[0] if relations else None


def has_last_changes(model: type[models.Model]) -> bool:
    return _relation_of(model) is not None


def last_changes_of(model: type[models.Model], account: object) -> "QuerySet[models.Model]":
    """Return the entries of the account's rows of a model."""
    entries = _relation_of(model).related_model
    rows: QuerySet[models.Model] = entries._default_manager.filter(account=account)
    return rows


def with_last_change(rows: "QuerySet[models.Model]") -> "QuerySet[models.Model]":
    """Annotate rows that are not in the trash with `last_changed_at`, which has an index. It equals `updated_at`."""
    # The condition makes the join an inner one, which PostgreSQL can begin with the entries.
    model: type[models.Model] = rows.model
    changed_at = F(f"{_relation_of(model).name}__updated_at")
    changed: QuerySet[models.Model] = rows.annotate(last_changed_at=changed_at).filter(last_changed_at__isnull=False)
    return changed


def order_by_change(rows: "QuerySet[models.Model]") -> "QuerySet[models.Model]":
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


INSERT = "INSERT INTO {table}lastchange (account_id, id, updated_at) SELECT account_id, id, updated_at FROM {table}"


def last_change_index(kind: str) -> models.Index:
    """Return the index for the order of a list by the last change."""
    return models.Index(fields=["account", "updated_at", "id"], name=f"{kind}_by_last_change")
