"""The words that an account's rows have, so that one which is mistyped is looked for among them, and not in all of the rows.

There are a few thousand words in a million names. What is like a word by its trigrams is found among them in a millisecond, and
then the rows that have it by the index of the search. The database keeps them: whatever writes a row of a searched table
writes its new words. Words that may have no row any more are noted, and removed by housekeeping once they have none.
"""

from collections.abc import Sequence

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, migrations, models, transaction

# Which rows of a searched table are found, where it is not those outside the trash, in the words of the indexes that they are
# found by. `{0}` stands before each column.
LIVE = {
    "accounts_user": "({0}role IN ('owner', 'admin', 'agent') OR {0}role = 'member')",
    "accounts_status": "true",
}
# How many words a mistyped one is taken for at most.
MOST = 10
AT_ONCE = 200


def live(table: str, row: str = "") -> str:
    return LIVE.get(table, "{0}trashed_at IS NULL").format(row and f"{row}.")


class WordQuerySet(models.QuerySet):
    def like(self, account_id: int, table: str, terms: Sequence[str]) -> dict[str, list[str]]:
        """For each of the terms the words in the account's rows of the table that are like it, the closest first.

        How alike is set with the connection: pg_trgm.similarity_threshold.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT term, ARRAY(
                    SELECT word FROM accounts_word WHERE account_id = %s AND kind = %s AND word %% term
                    GROUP BY word ORDER BY similarity(word, term) DESC, word LIMIT %s
                ) FROM unnest(%s::text[]) AS term
                """,
                [account_id, table, MOST, list(terms)],
            )
            return dict(cursor.fetchall())


class Word(models.Model):
    """A word of five letters or more that some row has, or had, in its short text; `kind` is the table.

    `noted_by` is a connection, so that none waits for another that notes the same: a new word may be there more than once.
    """

    pk = models.CompositePrimaryKey("account_id", "kind", "word", "noted_by")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=255)
    word = models.CharField(max_length=255, db_collation="C")
    noted_by = models.IntegerField()

    objects = WordQuerySet.as_manager()

    class Meta:
        db_table = "accounts_word"
        indexes = [
            GinIndex(
                fields=["account", "kind", "word"],
                opclasses=["int8_ops", "text_ops", "gin_trgm_ops"],
                name="word_spelling",
            )
        ]


class StaleWordQuerySet(models.QuerySet):
    def keep_house(self) -> None:
        """Remove the words that were noted, if no row has them.

        A word that comes back while it is removed may be missing: rows are found by it nevertheless, if it is typed right.
        """
        while self._remove_some():
            pass

    @transaction.atomic
    def _remove_some(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                """
                DELETE FROM accounts_staleword WHERE ctid = ANY(ARRAY(
                    SELECT ctid FROM accounts_staleword LIMIT %s FOR UPDATE SKIP LOCKED
                )) RETURNING account_id, kind, word
                """,
                [AT_ONCE],
            )
            noted = cursor.fetchall()
            # The index of the search has the words, though the database may not think of it first.
            cursor.execute("SET LOCAL enable_seqscan = off")
            for account_id, table, word in set(noted):
                cursor.execute(
                    f"""
                    DELETE FROM accounts_word WHERE account_id = %s AND kind = %s AND word = %s AND NOT EXISTS (
                        SELECT FROM {connection.ops.quote_name(table)}
                        WHERE account_id = %s AND {live(table)} AND search_words @@ to_tsquery('simple', %s)
                    )
                    """,  # noqa: S608
                    [account_id, table, word, account_id, f"'{word}'"],
                )
        return len(noted)


class StaleWord(models.Model):
    """A word that a row had, and perhaps none has any more. It may be noted while its account goes."""

    pk = models.CompositePrimaryKey("account_id", "kind", "word", "noted_by")
    account = models.ForeignKey(
        settings.ACCOUNT_MODEL, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    kind = models.CharField(max_length=255)
    word = models.CharField(max_length=255)
    noted_by = models.IntegerField()

    objects = StaleWordQuerySet.as_manager()

    class Meta:
        db_table = "accounts_staleword"


# Migrations

CREATE_FUNCTIONS = r"""
-- The words of a text that may be mistyped, as `Query.is_loose` says.
CREATE FUNCTION search.spelled(text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 8
AS $$ SELECT DISTINCT word FROM string_to_table($1, ' ') AS word WHERE word ~ '^[a-z]{5,64}$' ORDER BY 1 $$;

-- Those that an account's rows of a table had not before.
CREATE FUNCTION search.unknown(account_id bigint, kind text, text text) RETURNS SETOF text LANGUAGE sql STABLE ROWS 8
AS $$
    SELECT word FROM search.spelled($3) AS spelled (word) WHERE NOT EXISTS (
        SELECT FROM accounts_word AS known WHERE known.account_id = $1 AND known.kind = $2 AND known.word = spelled.word
    )
$$;

CREATE FUNCTION search.learn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO accounts_word (account_id, kind, word, noted_by)
    SELECT DISTINCT account_id, TG_TABLE_NAME, word, pg_backend_pid()
    FROM written, search.unknown(account_id, TG_TABLE_NAME, search_text) AS word
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION search.relearn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO accounts_word (account_id, kind, word, noted_by)
        SELECT NEW.account_id, TG_TABLE_NAME, word, pg_backend_pid()
        FROM search.unknown(NEW.account_id, TG_TABLE_NAME, NEW.search_text) AS word
        ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO accounts_staleword (account_id, kind, word, noted_by)
    SELECT OLD.account_id, TG_TABLE_NAME, word, pg_backend_pid() FROM search.spelled(OLD.search_text) AS word
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
"""

DROP_FUNCTIONS = """
DROP FUNCTION search.relearn();
DROP FUNCTION search.learn();
DROP FUNCTION search.unknown(bigint, text, text);
DROP FUNCTION search.spelled(text);
"""


def fill(table: str) -> str:
    """The statement that learns the words of all rows there are."""
    return f"""
        INSERT INTO accounts_word (account_id, kind, word, noted_by)
        SELECT DISTINCT account_id, '{table}', word, 0 FROM {table}, search.spelled(search_text) AS word WHERE {live(table)}
        ON CONFLICT DO NOTHING;
    """  # noqa: S608


def add_words(table: str) -> migrations.RunSQL:
    """Keep the words of a searched table, and learn those of its rows.

    For a migration that is not one transaction (`atomic = False`): to learn a large table's words takes a while, in which
    others write. It may be done again.
    """
    before, after = live(table, "OLD"), live(table, "NEW")
    return migrations.RunSQL(
        [
            (
                f"CREATE OR REPLACE TRIGGER learn AFTER INSERT ON {table} REFERENCING NEW TABLE AS written"
                " FOR EACH STATEMENT EXECUTE FUNCTION search.learn()"
            ),
            (
                f"CREATE OR REPLACE TRIGGER relearn AFTER UPDATE ON {table} FOR EACH ROW"
                f" WHEN (OLD.search_text <> NEW.search_text OR ({before}) <> ({after})) EXECUTE FUNCTION search.relearn()"
            ),
            (
                f"CREATE OR REPLACE TRIGGER unlearn AFTER DELETE ON {table} FOR EACH ROW WHEN ({before})"
                " EXECUTE FUNCTION search.relearn()"
            ),
            fill(table),
        ],
        [f"DROP TRIGGER IF EXISTS {name} ON {table}" for name in ("unlearn", "relearn", "learn")],
    )
