"""The declaration of the search of a model, `search = Search(…)`, and the SQL statements that create the search of its table, for migrations.

Every statement can be executed repeatedly, because a migration with `atomic = False` may fail in the middle.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from django.apps import apps
from django.contrib.postgres.indexes import GinIndex
from django.db import connection
from django.db.models import Model, Q
from django.db.models.signals import class_prepared
from django.db.models.sql import Query
from psycopg.sql import quote

from core.db.fields import AnyField
from core.rows.declared import DeclaredField

NOT_TRASHED = Q(trashed_at=None)
# The numbers of characters of the folded texts whose words are searched. A tsvector has at most 1 MB. It needs most for different words of
# one character of four bytes: 9 bytes for the account, 4 for its position, 1 for alignment, and so 9 for each character with its space.
MAX_SHORT_LENGTH, MAX_LONG_LENGTH = 35_000, 65_536
# The size of the pending list of a GIN index, in kB. The more rows are moved into the index together, the fewer pages each of them writes. A
# search reads the whole list, and one write moves all of its rows.
PENDING_LIST_LIMIT = 1024


class Search:
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

    The search consists of columns that are not fields of the model, their indexes, and the triggers that compute the columns and store the
    words of the rows (`core.search.spelling`). `makemigrations` writes the migration that creates them, and one after each change. A
    changed search replaces a function, and does not write the table. `manage.py fill_search` computes the columns of existing rows.
    """

    def __init__(
        self,
        *,
        name_field: str = "name",
        short: Sequence[str] = (),
        json_values: Sequence[str] = (),
        long: Sequence[str] = (),
        filters: Sequence[str] = (),
        condition: Q = NOT_TRASHED,
        more_indexes: Mapping[str, Q] = MappingProxyType({}),
        not_searched: Mapping[str, str] = MappingProxyType({}),
        is_ordered_by_name: bool = True,
    ) -> None:
        self.name_field, self.condition, self.more_indexes = name_field, condition, more_indexes
        self.short, self.long = short, long
        self.numbers: Sequence[str] = ()
        self.words: Sequence[str] = ()
        self.json_values, self.filters, self.not_searched = json_values, filters, not_searched
        self.is_ordered_by_name = is_ordered_by_name

    def contribute_to_class(self, model: type[Model], name: str) -> None:
        """Add the fields that the model declares as searched (`core.rows.declared`). Django calls this for an attribute of a model."""
        setattr(model, name, self)
        if not model._meta.abstract:
            class_prepared.connect(self._add_declared_fields, sender=model, weak=False)

    def _add_declared_fields(self, sender: type[Model], **_options: object) -> None:
        columns = [column for column in sender._meta.local_concrete_fields if isinstance(column, DeclaredField)]
        for kind in ("short", "numbers", "words", "long"):
            names = (column.name for column in columns if column.searched == kind)
            setattr(self, kind, tuple(dict.fromkeys((*getattr(self, kind), *names))))
        reasons = {column.name: column.not_searched for column in columns if column.not_searched is not None}
        self.not_searched = {**self.not_searched, **reasons}

    @property
    def searched(self) -> set[str]:
        """The names of all fields that are searched."""
        return {self.name_field, *self.short, *self.numbers, *self.only_words}

    @property
    def only_words(self) -> list[str]:
        """The names of the fields in which a query matches only whole words and word prefixes."""
        return [*self.words, *self.json_values, *self.long]

    def create_statements(self, model: type[Model]) -> list[str]:
        """Return the statements that create the search.

        Existing rows are not found until `manage.py fill_search` has filled their columns.
        """
        table = model._meta.db_table
        kinds = ("name_field", "short", "numbers", "words", "json_values", "long")
        columns = {kind: self._columns(model, kind) for kind in kinds}
        is_trashable = any(field.name == "trashed_at" for field in model._meta.fields)
        read = [name for names in columns.values() for name in names]
        read += ["trashed_at", "search_text"] if is_trashable else ["search_text"]
        types = {"name": 'text COLLATE "C"'} if self.is_ordered_by_name else {}
        types |= {"text": "text", "words": "tsvector"}
        added = (f"ADD COLUMN IF NOT EXISTS search_{name} {type} DEFAULT '' NOT NULL" for name, type in types.items())
        trigger = (
            f"{table}_update_search BEFORE INSERT OR DELETE OR UPDATE OF {', '.join(read)} ON {table} FOR EACH ROW"
        )
        word_trigger = f"add_words AFTER INSERT ON {table} REFERENCING NEW TABLE AS written FOR EACH STATEMENT"
        return [
            f"ALTER TABLE {table} {', '.join(added)}",
            self._create_function(table, columns, is_trashable=is_trashable),
            f"CREATE OR REPLACE TRIGGER {trigger} EXECUTE FUNCTION {table}_update_search()",
            f"CREATE OR REPLACE TRIGGER {word_trigger} EXECUTE FUNCTION search.add_words()",
            *self._create_indexes(model),
        ]

    def _create_function(self, table: str, columns: dict[str, list[str]], *, is_trashable: bool) -> str:
        """Return the statement for the function of the trigger that computes the columns, and stores the words of changed rows.

        Rows in the trash have no words if the table is trashable.
        """
        values = {kind: [f"NEW.{name}" for name in names] for kind, names in columns.items()}
        [name], short, numbers, long = (values[kind] for kind in ("name_field", "short", "numbers", "long"))
        words = [*values["words"], *map(values_of, values["json_values"])]
        text = f"search.fold({concatenate(name, *short, *numbers)})"
        if numbers:
            separated = concatenate(*numbers, separator=r"E'\x01'")
            text += f" || ' ' || search.compact({separated})"
        lexemes = "search.words(NEW.account_id, {}, {})"
        short_words = lexemes.format(concatenate(name, *short, *numbers, *words), MAX_SHORT_LENGTH)
        all_words = f"setweight({short_words}, 'A')"
        if long:
            all_words += f" || setweight({lexemes.format(concatenate(*long), MAX_LONG_LENGTH)}, 'D')"
        order = f"NEW.search_name := search.name({name});\n    " if self.is_ordered_by_name else ""
        old, new = (
            f"CASE WHEN {row}.trashed_at IS NULL THEN {row}.search_text END" if is_trashable else f"{row}.search_text"
            for row in ("OLD", "NEW")
        )
        return f"""CREATE OR REPLACE FUNCTION {table}_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, {old}, NULL);
        RETURN OLD;
    END IF;
    {order}NEW.search_text := {text};
    NEW.search_words := {all_words};
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, {old}, {new});
    END IF;
    RETURN NEW;
END $$"""

    def _create_indexes(self, model: type[Model]) -> Iterator[str]:
        """Yield the statements for the search indexes, and for the index by name if lists have that order."""
        table, condition = model._meta.db_table, as_sql(model, self.condition)
        name = table.partition("_")[2]
        if self.is_ordered_by_name:
            yield f"CREATE INDEX IF NOT EXISTS {name}_by_name ON {table} (account_id, search_name, id) WHERE {condition}"
        yield from create_index(f"{name}_found", table, [*self._columns(model, "filters"), "search_words"], condition)
        for prefix, other_condition in self.more_indexes.items():
            yield from create_index(f"{prefix}_found", table, ["search_words"], as_sql(model, other_condition))

    def add_words_statement(self, model: type[Model]) -> str:
        """Return the statement that stores the words of all rows. Execute it after creating the triggers, so that no row is missed."""
        table = model._meta.db_table
        return f"""
            INSERT INTO core_word (account_id, kind, word, recorded_by)
            SELECT DISTINCT account_id, '{table}', word, 0 FROM {table}, search.stored_words(search_text) AS word
            WHERE {self.searched_condition(model)} ON CONFLICT DO NOTHING
        """  # noqa: S608

    def searched_condition(self, model: type[Model]) -> str:
        """Return the SQL condition of the rows that are searched.

        The condition repeats the conditions of the indexes, so that PostgreSQL uses the indexes.
        """
        conditions = [as_sql(model, condition) for condition in (self.condition, *self.more_indexes.values())]
        return conditions[0] if len(conditions) == 1 else " OR ".join(f"({condition})" for condition in conditions)

    def _columns(self, model: type[Model], kind: str) -> list[str]:
        names = getattr(self, kind)
        names = [names] if isinstance(names, str) else names
        return [cast(str, cast(AnyField, model._meta.get_field(name)).column) for name in names]


def concatenate(*texts: str, separator: str = "' '") -> str:
    return f" || {separator} || ".join(f"coalesce({text}, '')" for text in texts)


def values_of(column: str) -> str:
    """Return the SQL expression for all values of a JSON object as one text."""
    return f"jsonb_path_query_array({column}, '$.*')::text"


def as_sql(model: type[Model], condition: Q) -> str:
    """Return a condition as SQL without parameters, for an index."""
    if not condition:
        return "true"
    where = Query(model, alias_cols=False).build_where(condition)
    sql, values = where.as_sql(Query(model).get_compiler(connection=connection), connection)
    return sql % tuple(map(quote, values)) if values else sql


def searches() -> Iterator[tuple[type[Model], Search]]:
    """Yield the models that declare a search, each with its declaration."""
    for model in apps.get_models():
        search = getattr(model, "search", None)
        if isinstance(search, Search):
            yield model, search


def searched_models() -> list[type[Model]]:
    return [model for model, _ in searches()]


def create_index(name: str, table: str, columns: Sequence[str], condition: str) -> list[str]:
    """Return the statements for a GIN index that supports all conditions of a search, in any combination.

    The trigrams of the short texts contain the account (`search.parts`).

    New rows are appended to the pending list of the index, which every search reads. The write that exceeds the limit of the list moves its
    rows into the index (`PENDING_LIST_LIMIT`).
    """
    columns = ["account_id", *columns, "search.parts(account_id, search_text)"]
    return [
        (
            f"CREATE INDEX IF NOT EXISTS {name} ON {table} USING gin ({', '.join(columns)})"
            f" WITH (gin_pending_list_limit = {PENDING_LIST_LIMIT}) WHERE {condition}"
        ),
        # PostgreSQL would multiply the frequencies of the trigrams, although the trigrams of a word occur together.
        f"ALTER INDEX {name} ALTER COLUMN {len(columns)} SET STATISTICS 0",
    ]


def additional_fields_index(name: str) -> GinIndex:
    """Return the index for the conditions of lists on the values of additional fields. Rows without any are not in it."""
    return GinIndex(
        fields=["account", "additional_fields"],
        name=f"{name}_by_additional_fields",
        opclasses=["int8_ops", "jsonb_path_ops"],
        gin_pending_list_limit=PENDING_LIST_LIMIT,
        condition=Q(trashed_at=None) & ~Q(additional_fields={}),
    )
