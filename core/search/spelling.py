"""The words of the rows of each account, which correct mistyped words of a query.

Even a million names contain only a few thousand distinct words. A trigram index finds the words that are similar to a term in a
millisecond, and the search index then finds the rows. Triggers on the searched tables store the words of new and changed rows, and
record the former words of changed and deleted rows as stale. Housekeeping removes a stale word if no row has it.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models, transaction

from core.search.declaration import searches

# The maximum number of words that replace a mistyped word.
MAX_CORRECTIONS = 10
STALE_WORDS_BATCH = 200


class WordQuerySet(models.QuerySet["Word"]):
    def similar_step(self, account_id: int, table: str, terms: Sequence[str]) -> tuple[str, list[Any]]:
        """Return the statement for each term and the similar words in the account's rows of the table, the most similar first.

        The setting pg_trgm.similarity_threshold of the connection determines which words are similar.
        """
        return (
            """
            SELECT term, ARRAY(
                SELECT word FROM core_word WHERE account_id = %s AND kind = %s AND word %% term
                GROUP BY word ORDER BY similarity(word, term) DESC, word LIMIT %s
            ) AS words FROM unnest(%s::text[]) AS term
            """,
            [account_id, table, MAX_CORRECTIONS, list(terms)],
        )


class Word(models.Model):
    """A word of at least five letters that the short text of some row has or had. `kind` is the table.

    `recorded_by` is the process id of the connection that stored the word. As a part of the key, it keeps connections that store the same word
    from waiting for each other. A word may therefore be stored more than once.
    """

    pk = models.CompositePrimaryKey("account_id", "kind", "word", "recorded_by")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=255)
    word = models.CharField(max_length=255, db_collation="C")
    recorded_by = models.IntegerField()

    objects = WordQuerySet.as_manager()

    class Meta:
        db_table = "core_word"
        indexes = [
            GinIndex(
                fields=["account", "kind", "word"],
                opclasses=["int8_ops", "text_ops", "gin_trgm_ops"],
                name="word_spelling",
            )
        ]


class StaleWordQuerySet(models.QuerySet["StaleWord"]):
    def clean_up(self) -> None:
        """Delete the words that no row has any more.

        A word that a row gets during the deletion may be deleted too. It is then never suggested as a correction, but a search for it
        still finds the row.
        """
        conditions = {model._meta.db_table: f"({search.searched_condition(model)})" for model, search in searches()}
        while self._remove_batch(conditions):
            pass

    @transaction.atomic
    def _remove_batch(self, conditions: dict[str, str]) -> int:
        """Process a batch of stale words. Return their number. `conditions` are the conditions of the searched rows, by table."""
        with connection.cursor() as cursor:
            cursor.execute(
                """
                DELETE FROM core_staleword WHERE ctid = ANY(ARRAY(
                    SELECT ctid FROM core_staleword LIMIT %s FOR UPDATE SKIP LOCKED
                )) RETURNING account_id, kind, word
                """,
                [STALE_WORDS_BATCH],
            )
            stale = cursor.fetchall()
            # Otherwise PostgreSQL may scan the table instead of the search index.
            cursor.execute("SET LOCAL enable_seqscan = off")
            for account_id, table, word in set(stale):
                if table not in conditions:
                    # The search of the table, with its words, was removed meanwhile.
                    continue
                cursor.execute(
                    f"""
                    DELETE FROM core_word WHERE account_id = %s AND kind = %s AND word = %s AND NOT EXISTS (
                        SELECT FROM {connection.ops.quote_name(table)}
                        WHERE account_id = %s AND {conditions[table]} AND search_words @@ search.query(%s, %s)
                    )
                    """,  # noqa: S608
                    [account_id, table, word, account_id, account_id, f"'{word}'"],
                )
        return len(stale)


class StaleWord(models.Model):
    """A word that a row no longer has. It may still be a word of other rows."""

    pk = models.CompositePrimaryKey("account_id", "kind", "word", "recorded_by")
    # Without a constraint, because a trigger may insert a stale word while the account is being deleted.
    account = models.ForeignKey(
        settings.ACCOUNT_MODEL, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    kind = models.CharField(max_length=255)
    word = models.CharField(max_length=255)
    recorded_by = models.IntegerField()

    objects = StaleWordQuerySet.as_manager()

    class Meta:
        db_table = "core_staleword"
