"""The autodetector of `makemigrations`, which also writes the SQL of new tables and of changed searches."""

import re
from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.db.migrations import Migration, RunSQL
from django.db.migrations.autodetector import MigrationAutodetector, OperationDependency
from django.db.migrations.graph import MigrationGraph
from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.serializer import BaseSerializer
from django.db.migrations.writer import MigrationWriter

from core.db.tenancy import TenantModel
from core.registry import registry
from core.rows.declared import RowId, declared_in
from core.rows.trash import Trashable
from core.search.declaration import Search

# The beginning of a statement that creates a part of a search. It names the part, and no other statement begins with it.
DEFINED_OBJECT = re.compile(
    r"CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON \w+|CREATE OR REPLACE \w+ \w+|CREATE INDEX \w+|ALTER INDEX \w+"
    r"|ALTER TABLE \w+ ADD COLUMN search\w+"
)


class SQLText:
    """A statement, which a migration shows on as many lines as it has. Each is a literal, because Django indents the lines of a literal."""

    def __init__(self, text: str) -> None:
        self.text = text


class SQLTextSerializer(BaseSerializer):
    def serialize(self) -> tuple[str, set[str]]:
        lines = "\n".join(map(repr, self.value.text.splitlines(keepends=True)))
        return f"({lines})" if "\n" in lines else lines, set()


MigrationWriter.register_serializer(SQLText, SQLTextSerializer)


class Autodetector(MigrationAutodetector):
    """The autodetector of Django, with operations for what a model declares and Django does not create.

    These are the SQL of the table of a new model (`create_statements`), and of a search that is new or has changed. The migrations hold the SQL
    of the searches so far.
    """

    # Attributes of the base that its stubs leave out.
    generated_operations: dict[str, list[Operation]]

    def changes(
        self,
        graph: MigrationGraph,
        trim_to_apps: set[str] | None = None,
        convert_apps: set[str] | None = None,
        migration_name: str | None = None,
    ) -> dict[str, list[Migration]]:
        self.graph = graph
        return super().changes(graph, trim_to_apps, convert_apps, migration_name)

    def generate_altered_db_table(self) -> None:
        """Add the operations with SQL. Of the operations that Django detects, this method adds the last ones."""
        super().generate_altered_db_table()
        for app_label in self.from_state.apps.all_models.keys() | self.generated_operations.keys():
            for model in self.tenant_models(app_label):
                self.add_sql(model)

    def tenant_models(self, app_label: str) -> Iterator[type[TenantModel]]:
        """Yield the models of the code, if the state to which the changes lead has them."""
        for name in sorted(name for label, name in self.to_state.models if label == app_label):
            model = apps.all_models[app_label].get(name)
            if model is not None and issubclass(model, TenantModel):
                yield model

    def add_sql(self, model: type[TenantModel]) -> None:
        """Add an operation if the table is new, or if the migrations so far create another search."""
        app_label, table = model._meta.app_label, model._meta.db_table
        operations = self.generated_operations.get(app_label, [])
        search = getattr(model, "search", None)
        statements = search.create_statements(model) if isinstance(search, Search) else []
        if any(isinstance(operation, CreateModel) and operation.name == model.__name__ for operation in operations):
            key = next((resource.key for resource in registry if resource.model is model), None)
            sql = [*create_statements(model, key), *statements]
            reverse = [f"DROP FUNCTION {table}_update_search() CASCADE"] if statements else []
        else:
            found = {statement: self.last_definition(app_label, normalize(statement)) for statement in statements}
            sql = [statement for statement, definition in found.items() if definition != normalize(statement)]
            reverse = [definition for statement in sql if (definition := found[statement])]
        if sql:
            operation = RunSQL(*([SQLText(text) for text in texts] for texts in (sql, reverse)))  # type: ignore[arg-type]  # only written
            created = OperationDependency(app_label, model.__name__, None, OperationDependency.Type.CREATE)
            self.add_operation(app_label, operation, dependencies=[created])  # type: ignore[list-item]  # the stubs are older

    def last_definition(self, app_label: str, statement: str) -> str:
        """Return the last statement of the migrations that creates what this statement creates, or "" if there is none."""
        text = " ; ".join(
            normalize(part if isinstance(part, str) else part[0])
            for (label, _), migration in sorted(self.graph.nodes.items(), key=lambda node: node[0])
            if label == app_label and migration is not None
            for operation in migration.operations
            if isinstance(operation, RunSQL)
            for part in ([operation.sql] if isinstance(operation.sql, str) else operation.sql)
        )
        beginning = DEFINED_OBJECT.match(statement)
        if beginning is None:
            raise ImproperlyConfigured(f"The object that this statement creates is unknown: {statement}")
        end = r".*?\$\$.*?\$\$" if "$$" in statement else "[^;]*"
        found = re.findall(re.escape(beginning[0]) + r"\b" + end, text)
        return found[-1].strip() if found else ""


def normalize(sql: str) -> str:
    """Return SQL without differences of white space, schema and locks."""
    return re.sub(
        r"\s+", " ", sql.replace("public.", "").replace(" IF NOT EXISTS", "").replace(" CONCURRENTLY", "")
    ).strip()


# The SQL of the tables of tenants, beyond what Django creates


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
