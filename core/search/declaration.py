"""The declaration of the search of a model: `search = Search(…)`."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self, cast

from django.apps import apps
from django.db import connection, migrations
from django.db.migrations.state import ProjectState
from django.db.models import BaseConstraint, Field, Model, Q
from django.db.models.sql import Query

from core.search import operations

NOT_TRASHED = Q(trashed_at=None)


class Search(BaseConstraint):
    """The fields of a model that are searched, and how a query matches each field.

    - `name_field`: the name. A query matches any part of it.
    - `is_ordered_by_name`: True if a list can be ordered by the name, which takes a column and an index.
    - `short`: further short fields. A query matches any part of them.
    - `numbers`: numbers, such as telephone numbers. A query matches any part of them, regardless of spaces and punctuation.
    - `words`, `json_values`: short fields, and JSON objects of short values. A query matches whole words and word prefixes.
    - `long`: long texts. A query matches whole words and word prefixes, ranked below the short fields.
    - `filters`: columns by which the list is filtered. The search index contains them too.
    - `condition`: the condition of the rows that are searched.
    - `more_indexes`: the conditions of further rows that are searched. Each has a separate index, whose name begins with the key.
    - `not_searched`: every other text field, with the reason why it is not searched.
    - `by_account`: False only in migrations that are older than lexemes and trigrams with the account (`search.account`, `search.parts`).

    The declaration is a constraint of the model, because migrations detect, create, change and remove constraints. The constraint owns
    generated columns that are not fields of the model, their indexes, and the triggers that store the words of the rows
    (`core.search.spelling`). For a large table, set `atomic = False` in the migration. Each statement is then a separate transaction
    and locks the table only briefly.
    """

    def __init__(
        self,
        *,
        name: str = "",
        name_field: str = "name",
        short: Sequence[str] = (),
        numbers: Sequence[str] = (),
        words: Sequence[str] = (),
        json_values: Sequence[str] = (),
        long: Sequence[str] = (),
        filters: Sequence[str] = (),
        condition: Q = NOT_TRASHED,
        more_indexes: Mapping[str, Q] = MappingProxyType({}),
        not_searched: Mapping[str, str] = MappingProxyType({}),
        is_ordered_by_name: bool = True,
        by_account: bool = True,
    ) -> None:
        super().__init__(name=name)
        self.name_field, self.condition, self.more_indexes = name_field, condition, more_indexes
        self.short, self.numbers, self.words, self.long = short, numbers, words, long
        self.json_values, self.filters, self.not_searched = json_values, filters, not_searched
        self.is_ordered_by_name, self.by_account = is_ordered_by_name, by_account

    def contribute_to_class(self, model: type[Model], name: str) -> None:
        """Add the declaration to the constraints of the model, as if its Meta listed it."""
        setattr(model, name, self)
        self.name = f"{model._meta.model_name}_search"
        model._meta.constraints = [*model._meta.constraints, self]
        # The state of a migration contains only the options that Meta names.
        model._meta.original_attrs["constraints"] = model._meta.constraints

    def deconstruct(self) -> Any:
        """Return the arguments for migrations, without `not_searched`, which does not affect the database."""
        path, args, kwargs = super().deconstruct()
        fields = ("short", "numbers", "words", "json_values", "long", "filters")
        arguments: dict[str, Any] = {name: tuple(values) for name in fields if (values := getattr(self, name))}
        if self.more_indexes:
            arguments["more_indexes"] = dict(self.more_indexes)
        for option in ("is_ordered_by_name", "by_account"):
            if not getattr(self, option):
                arguments[option] = False
        return path, args, {**kwargs, "name_field": self.name_field, **arguments, "condition": self.condition}

    def clone(self) -> Self:
        clone = super().clone()
        clone.not_searched = self.not_searched
        return clone

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Search) and self.deconstruct() == other.deconstruct()

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def searched(self) -> set[str]:
        """The names of all fields that are searched."""
        return {self.name_field, *self.short, *self.numbers, *self.only_words}

    @property
    def only_words(self) -> list[str]:
        """The names of the fields in which a query matches only whole words and word prefixes."""
        return [*self.words, *self.json_values, *self.long]

    # The interface of Django's constraints

    def validate(self, *args: Any, **kwargs: Any) -> None:
        """Accept every row."""

    def constraint_sql(self, model: type[Model], schema_editor: Any) -> None:  # type: ignore[override]  # returns None
        """Create the search after the table. CREATE TABLE itself contains no clause for it, so return None."""
        schema_editor.deferred_sql.extend(self.create_statements(model))

    def create_sql(self, model: type[Model], schema_editor: Any) -> None:  # type: ignore[override]  # executes it
        self._execute(self.create_statements(model), schema_editor)

    def remove_sql(self, model: type[Model], schema_editor: Any) -> None:  # type: ignore[override]  # executes it
        self._execute(self.remove_statements(model), schema_editor)

    @staticmethod
    def _execute(statements: Sequence[str], schema_editor: Any) -> None:
        """Execute the statements separately. In a single string, they would be one transaction even if `atomic = False`."""
        for statement in statements:
            schema_editor.execute(statement, params=None)

    # Statements

    def create_statements(self, model: type[Model]) -> list[str]:
        """Return the statements that create the search."""
        table = model._meta.db_table
        columns = {name: self._columns(model, name) for name in ("short", "numbers", "long")}
        words = [*self._columns(model, "words"), *map(values_of, self._columns(model, "json_values"))]
        [name] = self._columns(model, "name_field")
        return [
            *operations.drop_triggers(table),
            operations.add_columns(
                table,
                name=name,
                words=words,
                by_account=self.by_account,
                is_ordered_by_name=self.is_ordered_by_name,
                **columns,
            ),
            *operations.create_indexes(
                table, is_ordered_by_name=self.is_ordered_by_name, **self._index_arguments(model)
            ),
            *operations.create_triggers(
                table,
                old_condition=self.searched_condition(model, record="OLD"),
                new_condition=self.searched_condition(model, record="NEW"),
            ),
            self.learn_statement(model),
        ]

    def _index_arguments(self, model: type[Model]) -> dict[str, Any]:
        return {
            "filters": self._columns(model, "filters"),
            "condition": as_sql(model, self.condition),
            "more": {name: as_sql(model, condition) for name, condition in self.more_indexes.items()},
            "by_account": self.by_account,
        }

    def replace_index_statements(self, model: type[Model]) -> list[str]:
        """Return the statements that create the search indexes again. None of them may be in a transaction."""
        indexes = operations.search_indexes(model._meta.db_table, **self._index_arguments(model))
        return [statement for index in indexes for statement in index.replace()]

    def remove_statements(self, model: type[Model]) -> list[str]:
        """Return the statements that remove the search."""
        table = model._meta.db_table
        return [*operations.drop_triggers(table), operations.drop_columns(table), *operations.forget_words(table)]

    def learn_statement(self, model: type[Model]) -> str:
        """Return the statement that stores the words of all rows."""
        return operations.learn_words(model._meta.db_table, condition=self.searched_condition(model))

    def searched_condition(self, model: type[Model], *, record: str = "") -> str:
        """Return the SQL condition of the rows that are searched. `record` is the record of a trigger, OLD or NEW.

        The condition repeats the conditions of the indexes, so that PostgreSQL uses the indexes.
        """
        conditions = [
            as_sql(model, condition, record=record) for condition in (self.condition, *self.more_indexes.values())
        ]
        return conditions[0] if len(conditions) == 1 else " OR ".join(f"({condition})" for condition in conditions)

    def _columns(self, model: type[Model], kind: str) -> list[str]:
        names = getattr(self, kind)
        return [
            cast(str, cast(Field, model._meta.get_field(name)).column)
            for name in ([names] if isinstance(names, str) else names)
        ]


class ReplaceSearch(migrations.AddConstraint):
    """The migration operation that replaces the search of a model in one statement, so that the search columns are never missing.

    `makemigrations` writes `RemoveConstraint` and `AddConstraint` instead. If this operation is reversed, it creates the former search.
    """

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.remove_constraint(app_label, self.model_name_lower, self.constraint.name)
        super().state_forwards(app_label, state)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        [search] = [each for each in model._meta.constraints if each.name == self.constraint.name]
        schema_editor.add_constraint(model, search)
        # A search depends on estimates, and a new column has no statistics.
        schema_editor.execute(f"ANALYZE {model._meta.db_table}")

    # The state after an operation that is reversed has the former search.
    database_backwards = database_forwards

    def describe(self) -> str:
        return f"Replace the search of {self.model_name}"


class ReplaceSearchIndexes(migrations.operations.base.Operation):
    """The migration operation that creates the search indexes of an app again, beside the work of the service.

    The migration needs `atomic = False`. The operation changes nothing if it is reversed.
    """

    reversible = True

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the state as it is."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for model in to_state.apps.get_app_config(app_label).get_models():
            for search in model._meta.constraints:
                if isinstance(search, Search):
                    search._execute(search.replace_index_statements(model), schema_editor)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Keep the indexes."""

    def describe(self) -> str:
        return "Create the search indexes again"


def values_of(column: str) -> str:
    """Return the SQL expression for all values of a JSON object as one text."""
    return f"jsonb_path_query_array({column}, '$.*')::text"


def as_sql(model: type[Model], condition: Q, *, record: str = "") -> str:
    """Return a condition as SQL without parameters, for an index, or for a record of a trigger (OLD or NEW)."""
    if not condition:
        return "true"
    where = Query(model, alias_cols=bool(record)).build_where(condition)
    sql, values = where.as_sql(Query(model).get_compiler(connection=connection), connection)
    if values:
        sql = connection.ops.compose_sql(sql, values)  # type: ignore[attr-defined]  # of the PostgreSQL backend
    return sql.replace(f'"{model._meta.db_table}".', f"{record}.")


def searches() -> Iterator[tuple[type[Model], Search]]:
    """Yield the models that declare a search, each with its declaration."""
    for model in apps.get_models():
        search = getattr(model, "search", None)
        if isinstance(search, Search):
            yield model, search


def searched_models() -> list[type[Model]]:
    """Return the models that declare a search."""
    return [model for model, _ in searches()]
