"""The words that the rows of an account have. A word that is mistyped is corrected by them, not by a look at all of the rows.

A million names have a few thousand words. A trigram index finds those that are similar to a word in a millisecond, and the search index
then finds the rows. Triggers keep the words: every way of writing a row of a searched table stores its new words, and the words that it
no longer has as stale. Housekeeping removes a stale word once no row has it.
"""

from collections.abc import Sequence

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models, transaction

from core.search.declaration import searched_models

# A mistyped word is taken for so many words at most.
MAX_CORRECTIONS = 10
STALE_WORDS_BATCH = 200


class WordQuerySet(models.QuerySet):
    def similar(self, account_id: int, table: str, terms: Sequence[str]) -> dict[str, list[str]]:
        """Return for each term the similar words in the account's rows of the table, the most similar first.

        The setting pg_trgm.similarity_threshold of the connection decides which words are similar.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT term, ARRAY(
                    SELECT word FROM accounts_word WHERE account_id = %s AND kind = %s AND word %% term
                    GROUP BY word ORDER BY similarity(word, term) DESC, word LIMIT %s
                ) FROM unnest(%s::text[]) AS term
                """,
                [account_id, table, MAX_CORRECTIONS, list(terms)],
            )
            return dict(cursor.fetchall())


class Word(models.Model):
    """A word of five letters or more that some row has, or had, in its short text; `kind` is the table.

    `noted_by` is a database connection, so that no connection waits for another that stores the same word. A new word may therefore be
    stored more than once.
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
    def clean_up(self) -> None:
        """Remove the words that no row has any more.

        A word that a row is given at the same moment may go missing. The row is still found by the word when it is typed correctly.
        """
        found = {model._meta.db_table: f"({model.search.is_found(model)})" for model in searched_models()}
        while self._remove_batch(found):
            pass

    @transaction.atomic
    def _remove_batch(self, found: dict[str, str]) -> int:
        """Take some stale words off the list, and remove those that no row has. `found` are conditions of rows, by table."""
        with connection.cursor() as cursor:
            cursor.execute(
                """
                DELETE FROM accounts_staleword WHERE ctid = ANY(ARRAY(
                    SELECT ctid FROM accounts_staleword LIMIT %s FOR UPDATE SKIP LOCKED
                )) RETURNING account_id, kind, word
                """,
                [STALE_WORDS_BATCH],
            )
            stale = cursor.fetchall()
            # The search index has the words, but PostgreSQL may prefer to scan the table.
            cursor.execute("SET LOCAL enable_seqscan = off")
            for account_id, table, word in set(stale):
                if table not in found:
                    # Its search was removed meanwhile, and its words with it.
                    continue
                cursor.execute(
                    f"""
                    DELETE FROM accounts_word WHERE account_id = %s AND kind = %s AND word = %s AND NOT EXISTS (
                        SELECT FROM {connection.ops.quote_name(table)}
                        WHERE account_id = %s AND {found[table]} AND search_words @@ to_tsquery('simple', %s)
                    )
                    """,  # noqa: S608
                    [account_id, table, word, account_id, f"'{word}'"],
                )
        return len(stale)


class StaleWord(models.Model):
    """A word that a row no longer has, and perhaps no row. It may be stored while its account is deleted."""

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
