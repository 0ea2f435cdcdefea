"""The SQL of the tables of tenants, beyond what Django creates. `makemigrations` writes it into the migration of a new table."""

from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.db import models

from core.rows.declared import RowId, declared_in
from core.rows.trash import Trashable


def create_statements(model: type[models.Model], resource: str | None) -> list[str]:
    """Return the statements for the ids, the statistics and the foreign keys of a table.

    If the rows are a `resource`, by its key, further statements record the changes of rows in the change feed.
    """
    table = model._meta.db_table
    statements = [
        # Each query is planned for an account with half of the rows, because a sample of the rows shows few of many accounts.
        f"ALTER TABLE {table} ALTER COLUMN account_id SET (n_distinct=2)",
        f"CREATE TRIGGER take_id BEFORE INSERT ON {table} FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
        *foreign_keys(model).values(),
    ]
    if resource is not None:
        arguments = f"'{resource}'" + (", 'trashable'" if issubclass(model, Trashable) else "")
        statements.append(
            f"CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON {table} DEFERRABLE INITIALLY DEFERRED"
            f" FOR EACH ROW EXECUTE FUNCTION core_record_change({arguments})"
        )
    return statements


def foreign_keys(model: type[models.Model]) -> dict[str, str]:
    """Return the statements for the foreign keys of the declared links of a model, by the names of the constraints.

    A row that can be erased sets the links to it to null. Any other row cannot be deleted as long as a link to it exists.
    """
    return {
        f"{model._meta.db_table}_{column}_fk": (
            f"ALTER TABLE {model._meta.db_table} ADD CONSTRAINT {model._meta.db_table}_{column}_fk"
            f" FOREIGN KEY (account_id, {column}) REFERENCES {target._meta.db_table} (account_id, id)"
            + (f" ON DELETE SET NULL ({column})" if issubclass(target, Trashable) else "")
        )
        for column, target in links(model)
    }


def links(model: type[models.Model]) -> Iterator[tuple[str, type[models.Model]]]:
    """Yield the columns with ids of rows, each with the model of these rows."""
    for field in declared_in(model):
        if isinstance(field, RowId) and field.relation:
            target = related_model(field.relation)
            yield field.attname, target
            if hasattr(model, f"trashed_{field.attname}"):
                yield f"trashed_{field.attname}", target
    if issubclass(model, Trashable):
        yield "trashed_by_id", apps.get_model(settings.AUTH_USER_MODEL)


def related_model(relation: str) -> type[models.Model]:
    """Return the model of the rows of an account with this related name."""
    model: type[models.Model] = apps.get_model(settings.ACCOUNT_MODEL)._meta.get_field(relation).related_model
    return model
