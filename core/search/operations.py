"""The SQL statements that create the search of a table, for migrations.

Every statement can be executed repeatedly, because a migration with `atomic = False` may fail in the middle.
"""

from collections.abc import Mapping, Sequence

# The numbers of characters of the folded texts whose words are searched. A tsvector has at most 1 MB. It needs most for different words of
# one character of four bytes: 9 bytes for the account, 4 for its position, 1 for alignment, and so 9 for each character with its space.
MAX_SHORT_LENGTH, MAX_LONG_LENGTH = 35_000, 65_536
# The size of the pending list of a GIN index, in kB. The more rows are moved into the index together, the fewer pages each of them writes. A
# search reads the whole list, and one write moves all of its rows.
PENDING_LIST_LIMIT = 1024


def concatenate(*texts: str, separator: str = "' '") -> str:
    return f" || {separator} || ".join(f"coalesce({text}, '')" for text in texts)


def add_columns(table: str, *, is_ordered_by_name: bool) -> str:
    """Return the statement that adds the columns. Existing rows are not found until `manage.py fill_search` has filled their columns."""
    name = "ADD COLUMN IF NOT EXISTS search_name text COLLATE \"C\" DEFAULT '' NOT NULL, " if is_ordered_by_name else ""
    return (
        f"ALTER TABLE {table} {name}ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL,"
        " ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL"
    )


def create_function(
    table: str,
    *,
    name: str,
    short: Sequence[str] = (),
    numbers: Sequence[str] = (),
    words: Sequence[str] = (),
    long: Sequence[str] = (),
    is_ordered_by_name: bool,
    is_trashable: bool,
) -> str:
    """Return the statement for the function of the trigger that computes the columns, and stores the words of changed rows.

    The arguments are SQL expressions in which the new row is `NEW`. Rows in the trash have no words if the table is trashable.
    """
    text = f"search.fold({concatenate(name, *short, *numbers)})"
    if numbers:
        separated = concatenate(*numbers, separator=r"E'\x01'")
        text += f" || ' ' || search.compact({separated})"
    lexemes = "search.words(NEW.account_id, {}, {})"
    short_words = lexemes.format(concatenate(name, *short, *numbers, *words), MAX_SHORT_LENGTH)
    all_words = f"setweight({short_words}, 'A')"
    if long:
        all_words += f" || setweight({lexemes.format(concatenate(*long), MAX_LONG_LENGTH)}, 'D')"
    order = f"NEW.search_name := search.name({name});\n    " if is_ordered_by_name else ""
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


def create_triggers(table: str, columns: Sequence[str]) -> list[str]:
    """Return the statements for the triggers. An update of one of the columns computes the search of the row."""
    return [
        (
            f"CREATE OR REPLACE TRIGGER {table}_update_search BEFORE INSERT OR DELETE OR UPDATE OF {', '.join(columns)} ON {table}"
            f" FOR EACH ROW EXECUTE FUNCTION {table}_update_search()"
        ),
        (
            f"CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON {table} REFERENCING NEW TABLE AS written"
            " FOR EACH STATEMENT EXECUTE FUNCTION search.add_words()"
        ),
    ]


def create_indexes(
    table: str, *, filters: Sequence[str], condition: str, more: Mapping[str, str], is_ordered_by_name: bool
) -> list[str]:
    """Return the statements for the search indexes, and for the index by name if lists have that order.

    There is a search index for the rows of `condition`, and one for each of the conditions in `more`, which are mapped by the first part of the
    name of their index.
    """
    name = table.partition("_")[2]
    by_name = f"CREATE INDEX IF NOT EXISTS {name}_by_name ON {table} (account_id, search_name, id) WHERE {condition}"
    statements = [by_name] if is_ordered_by_name else []
    statements += create_search_index(f"{name}_found", table, [*filters, "search_words"], condition)
    for prefix, other_condition in more.items():
        statements += create_search_index(f"{prefix}_found", table, ["search_words"], other_condition)
    return statements


def create_search_index(name: str, table: str, columns: Sequence[str], condition: str) -> list[str]:
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
