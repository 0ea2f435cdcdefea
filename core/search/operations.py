"""The SQL statements that create and remove the search of a table, for migrations.

Every statement can be executed repeatedly, because a migration with `atomic = False` may fail in the middle.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

TRIGGERS = ("update_words", "add_words")
COLUMNS = ("search_words", "search_text", "search_name")
# The numbers of characters of the folded texts whose words are searched. A tsvector has at most 1 MB. It needs most for different words of
# one character of four bytes: 9 bytes for the account, 4 for its position, 1 for alignment, and so 9 for each character with its space.
MAX_SHORT_LENGTH, MAX_LONG_LENGTH = 35_000, 65_536
# The size of the pending list of a GIN index, in kB. The more rows are moved into the index together, the fewer pages each of them writes. A
# search reads the whole list, and one write moves all of its rows.
PENDING_LIST_LIMIT = 1024


def concatenate(*texts: str, separator: str = "' '") -> str:
    return f" || {separator} || ".join(f"coalesce({text}, '')" for text in texts)


def add_columns(
    table: str,
    *,
    name: str,
    short: Sequence[str] = (),
    numbers: Sequence[str] = (),
    words: Sequence[str] = (),
    long: Sequence[str] = (),
    is_ordered_by_name: bool,
) -> str:
    """Return the statement that replaces the generated columns. The arguments are SQL expressions. It rewrites the table once.

    Call `create_indexes` afterwards, because dropping a column also drops its indexes.
    """
    text = f"search.fold({concatenate(name, *short, *numbers)})"
    if numbers:
        separated = concatenate(*numbers, separator=r"E'\x01'")
        text += f" || ' ' || search.compact({separated})"
    lexemes = "search.words(account_id, {}, {})"
    short_words = lexemes.format(concatenate(name, *short, *numbers, *words), MAX_SHORT_LENGTH)
    all_words = f"setweight({short_words}, 'A')"
    if long:
        all_words += f" || setweight({lexemes.format(concatenate(*long), MAX_LONG_LENGTH)}, 'D')"
    return f"""
        ALTER TABLE {table}
            {", ".join(f"DROP COLUMN IF EXISTS {column}" for column in COLUMNS)},
            {add_name_column(name) + "," if is_ordered_by_name else ""}
            ADD COLUMN search_text text NOT NULL GENERATED ALWAYS AS ({text}) STORED,
            ADD COLUMN search_words tsvector NOT NULL GENERATED ALWAYS AS ({all_words}) STORED
    """


def add_name_column(name: str) -> str:
    """Return the clause of ALTER TABLE that adds the generated column by which lists are ordered by name."""
    return f'ADD COLUMN search_name text COLLATE "C" NOT NULL GENERATED ALWAYS AS (search.name({name})) STORED'


def create_indexes(
    table: str,
    *,
    filters: Sequence[str],
    condition: str,
    more: Mapping[str, str],
    is_ordered_by_name: bool,
) -> list[str]:
    """Return the statements for the search indexes, and for the index by name if lists have that order.

    The other arguments are those of `search_indexes`.
    """
    indexes = search_indexes(table, filters=filters, condition=condition, more=more)
    return [
        *([name_index(table, condition)] if is_ordered_by_name else []),
        *(statement for index in indexes for statement in index.create()),
    ]


def search_indexes(
    table: str, *, filters: Sequence[str], condition: str, more: Mapping[str, str]
) -> "list[SearchIndex]":
    """Return the search indexes of a table: one for the rows of `condition`, and one for each of the conditions in `more`.

    `more` maps the first part of the name of an index to its condition.
    """
    name = table.partition("_")[2]
    return [
        SearchIndex(f"{name}_found", table, [*filters, "search_words"], condition),
        *(
            SearchIndex(f"{prefix}_found", table, ["search_words"], other_condition)
            for prefix, other_condition in more.items()
        ),
    ]


def name_index(table: str, condition: str) -> str:
    """Return the statement for the index of the order by name."""
    name = table.partition("_")[2]
    return f"CREATE INDEX IF NOT EXISTS {name}_by_name ON {table} (account_id, search_name, id) WHERE {condition}"


class SearchIndex(NamedTuple):
    """A GIN index that supports all conditions of a search, in any combination.

    The trigrams of the short texts contain the account (`search.parts`).

    New rows are appended to the pending list of the index, which every search reads. The write that exceeds the limit of the list moves its
    rows into the index (`PENDING_LIST_LIMIT`).
    """

    name: str
    table: str
    columns: Sequence[str]
    condition: str

    def create(self) -> list[str]:
        """Return the statements that create the index."""
        columns = ["account_id", *self.columns, "search.parts(account_id, search_text)"]
        return [
            (
                f"CREATE INDEX IF NOT EXISTS {self.name} ON {self.table} USING gin ({', '.join(columns)})"
                f" WITH (gin_pending_list_limit = {PENDING_LIST_LIMIT}) WHERE {self.condition}"
            ),
            # PostgreSQL would multiply the frequencies of the trigrams, although the trigrams of a word occur together.
            f"ALTER INDEX {self.name} ALTER COLUMN {len(columns)} SET STATISTICS 0",
        ]


def create_triggers(table: str, *, is_trashable: bool) -> list[str]:
    """Return the statements for the triggers that store the words of the table. Rows in the trash have none if the table is trashable."""
    argument = "'trashable'" if is_trashable else ""
    return [
        (
            f"CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON {table} REFERENCING NEW TABLE AS written"
            " FOR EACH STATEMENT EXECUTE FUNCTION search.add_words()"
        ),
        (
            f"CREATE OR REPLACE TRIGGER update_words AFTER UPDATE OR DELETE ON {table} FOR EACH ROW"
            f" EXECUTE FUNCTION search.update_words({argument})"
        ),
    ]


def drop_triggers(table: str) -> list[str]:
    return [f"DROP TRIGGER IF EXISTS {name} ON {table}" for name in TRIGGERS]


def add_words(table: str, *, condition: str) -> str:
    """Return the statement that stores the words of all rows. Execute it after creating the triggers, so that no row is missed."""
    return f"""
        INSERT INTO core_word (account_id, kind, word, recorded_by)
        SELECT DISTINCT account_id, '{table}', word, 0 FROM {table}, search.stored_words(search_text) AS word
        WHERE {condition}
        ON CONFLICT DO NOTHING
    """  # noqa: S608


def remove_words(table: str) -> list[str]:
    """Return the statements that remove the words of the table."""
    return [f"DELETE FROM {words} WHERE kind = '{table}'" for words in ("core_word", "core_staleword")]  # noqa: S608
