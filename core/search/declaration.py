"""The declaration of the search on a model: `search = Search(…)`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

from django.apps import apps
from django.db import connection
from django.db.models import BaseConstraint, Model, Q
from django.db.models.sql import Query

from core.search import operations

NOT_TRASHED = Q(trashed_at=None)


class Search(BaseConstraint):
    """The fields of a model that a search finds, and how.

    - `name_field`: the name, by which a list can be ordered. A search finds any part of it.
    - `short`: further short fields. A search finds any part of them.
    - `numbers`: numbers, such as telephone numbers. A search finds any part of them, however they are spaced.
    - `words`, `json_values`: short fields, and JSON objects of short values. A search finds their words and the beginnings of these.
    - `long`: long texts. A search finds their words and the beginnings of these, ranked below the short fields.
    - `filters`: columns that the list is filtered by. The search index holds them too.
    - `condition`: a search finds only the rows that meet it.
    - `more_indexes`: conditions of other rows that a search finds by an index of their own; the keys begin its name.
    - `not_searched`: every other text field, with the reason.

    For Django it is a constraint of the model, since migrations detect, create, change and remove these. It owns three generated
    columns that the model does not know, the indexes over them, the triggers that keep the words of the rows
    (`core.search.spelling`), and these words. Where a table is large, set `atomic = False` in the migration: each statement is then a
    transaction of its own, and the table is locked for the shortest time.
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
    ):
        super().__init__(name=name)
        self.name_field, self.condition, self.more_indexes = name_field, condition, more_indexes
        self.short, self.numbers, self.words, self.long = short, numbers, words, long
        self.json_values, self.filters, self.not_searched = json_values, filters, not_searched

    def contribute_to_class(self, model: type[Model], name: str) -> None:
        """Add the declaration to the constraints of the model, as if they had been written in its Meta."""
        setattr(model, name, self)
        self.name = f"{model._meta.model_name}_search"
        model._meta.constraints = [*model._meta.constraints, self]
        # The state of a migration has only the options that Meta names.
        model._meta.original_attrs["constraints"] = model._meta.constraints

    def deconstruct(self) -> tuple[str, tuple, dict[str, Any]]:
        """Return what a migration stores: `not_searched` changes nothing in the database, so it is left out."""
        path, args, kwargs = super().deconstruct()
        fields = ("short", "numbers", "words", "json_values", "long", "filters")
        given = {name: tuple(values) for name in fields if (values := getattr(self, name))}
        if self.more_indexes:
            given["more_indexes"] = dict(self.more_indexes)
        return path, args, {**kwargs, "name_field": self.name_field, **given, "condition": self.condition}

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
        """The names of the fields in which whole words and their beginnings are found, but no other parts."""
        return [*self.words, *self.json_values, *self.long]

    # What Django asks of a constraint

    def validate(self, *args, **kwargs) -> None:
        """Accept every row."""

    def constraint_sql(self, model: type[Model], schema_editor) -> None:
        """Create the search after the table, not as a clause of its statement."""
        schema_editor.deferred_sql.extend(self.creation(model))

    def create_sql(self, model: type[Model], schema_editor) -> None:
        self._execute(self.creation(model), schema_editor)

    def remove_sql(self, model: type[Model], schema_editor) -> None:
        self._execute(self.removal(model), schema_editor)

    @staticmethod
    def _execute(statements: Sequence[str], schema_editor) -> None:
        """Execute the statements one by one. As one text they would be one transaction, even in a migration that is not."""
        for statement in statements:
            schema_editor.execute(statement, params=None)

    # Statements

    def creation(self, model: type[Model]) -> list[str]:
        table = model._meta.db_table
        columns = {name: self._columns(model, name) for name in ("short", "numbers", "long")}
        words = [*self._columns(model, "words"), *map(values_of, self._columns(model, "json_values"))]
        [name] = self._columns(model, "name_field")
        return [
            *operations.drop_triggers(table),
            operations.add_columns(table, name=name, words=words, **columns),
            *operations.create_indexes(
                table,
                filters=self._columns(model, "filters"),
                condition=as_sql(model, self.condition),
                more={name: as_sql(model, condition) for name, condition in self.more_indexes.items()},
            ),
            *operations.create_triggers(
                table, before=self.is_found(model, row="OLD"), after=self.is_found(model, row="NEW")
            ),
            self.learning(model),
        ]

    def removal(self, model: type[Model]) -> list[str]:
        table = model._meta.db_table
        return [*operations.drop_triggers(table), operations.drop_columns(table), *operations.forget_words(table)]

    def learning(self, model: type[Model]) -> str:
        return operations.learn_words(model._meta.db_table, condition=self.is_found(model))

    def is_found(self, model: type[Model], *, row: str = "") -> str:
        """Return the condition, as SQL, that a row is found. It names the conditions of the indexes, so that these are used."""
        conditions = [as_sql(model, condition, row=row) for condition in (self.condition, *self.more_indexes.values())]
        return conditions[0] if len(conditions) == 1 else " OR ".join(f"({condition})" for condition in conditions)

    def _columns(self, model: type[Model], kind: str) -> list[str]:
        names = getattr(self, kind)
        return [model._meta.get_field(name).column for name in ([names] if isinstance(names, str) else names)]


def values_of(column: str) -> str:
    """Return the SQL of the values of a JSON object as one text."""
    return f"jsonb_path_query_array({column}, '$.*')::text"


def as_sql(model: type[Model], condition: Q, *, row: str = "") -> str:
    """Return a condition as SQL with its values in it, for an index, or for the record `row` of a trigger."""
    if not condition:
        return "true"
    where = Query(model, alias_cols=bool(row)).build_where(condition)
    sql, values = where.as_sql(Query(model).get_compiler(connection=connection), connection)
    sql = connection.ops.compose_sql(sql, values) if values else sql
    return sql.replace(f'"{model._meta.db_table}".', f"{row}.")


def searched_models() -> list[type[Model]]:
    """Return the models that declare a search."""
    return [model for model in apps.get_models() if isinstance(getattr(model, "search", None), Search)]
