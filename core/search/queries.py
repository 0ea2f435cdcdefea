"""Search (the parameter `q` of lists) in PostgreSQL: words by full text search, parts of words by trigrams.

A searched table has more columns, which a trigger computes (`core.search.declaration`): `search_text` with the short fields, `search_words` with their words
(weight A) and those of the long texts (weight D), and `search_name` if a list has the order by name. Their text is folded, which removes
case, diacritics and punctuation. The columns are not fields of the model, so an ordinary query does not read them.

One GIN index finds rows by words, parts of the text, tags, and links to other rows, in any combination. A mistyped word is corrected by
the words of the account's rows (`core.search.spelling`).
"""

import json
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from psycopg.errors import QueryCanceled

from core.db.prepared import array_literal
from core.db.time_limit import TooSlow
from core.search.spelling import Word
from core.search.terms import (
    ALL,
    Condition,
    ConditionalRows,
    Query,
    combine,
    is_correctable,
    matching,
    prefix_similarity,
)

MAX_QUERY_LENGTH = 255
# The maximum number of rows that a search finds. If more rows match, it finds some of them.
MAX_RESULTS = 1000
# The number of results that are ranked together. Each batch follows those before it, so that a later page does not change earlier pages.
RANKED_BATCH = 200
# If a scan of `SCAN_ROWS` rows is likely to find a full batch of rows that meet a condition, the condition is not looked up in the index.
SCAN_ROWS = 12_000
# The milliseconds that a statement of a limited transaction may take. No index may serve a filter, and the table may have millions of rows.
TIME_LIMIT_MS = 1000
# A statement of a search and its parameters. The search is continued with the rows of the statement.
Step = tuple[str, list[Any]]
Steps = Generator[Step, list[Any], Any]
# For `find_similar`: the maximum number of terms of the text that is being typed, and the minimum similarity from 0 to 1.
MAX_TERMS, MIN_SIMILARITY = 8, 0.3


@contextmanager
def search_transaction(account_id: int, text: str = "", *, is_limited: bool = False) -> Iterator[Query]:
    """Open a transaction without sequential scans, and yield the folded `text` as a query.

    If most rows of an account meet a condition, PostgreSQL would otherwise scan the table, because it expects to find enough rows soon.
    But the table has the rows of all accounts.

    If `is_limited`, each statement may take `TIME_LIMIT_MS`. Raise `core.db.time_limit.TooSlow` if one is cancelled.
    """
    limit = f", set_config('statement_timeout', '{TIME_LIMIT_MS}', true)" if is_limited else ""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT search.fold(%s), set_config('enable_seqscan', 'off', true),"
                f" set_config('max_parallel_workers_per_gather', '0', true){limit}",
                [text],
            )
            yield Query(cursor.fetchone()[0][:MAX_QUERY_LENGTH].strip(), account_id)
    except OperationalError as error:
        if is_limited and isinstance(error.__cause__, QueryCanceled):
            raise TooSlow from error
        raise


def estimate_counts(*querysets: QuerySet[Any]) -> list[int]:
    """Return PostgreSQL's estimates of the numbers of rows. They may be far off, so use them only to decide between methods."""
    return estimate_rows([rows.order_by().values_list("id").query.sql_with_params() for rows in querysets])


def estimate_rows(sides: Sequence[tuple[str, Sequence[Any]]]) -> list[int]:
    """Return the estimates of `estimate_counts` for statements with the same columns, each with its parameters."""
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN (FORMAT JSON) " + " UNION ALL ".join(sql for sql, _ in sides),
            [value for _, parameters in sides for value in parameters],
        )
        explained = cursor.fetchone()[0]
    plan = (json.loads(explained) if isinstance(explained, str) else explained)[0]["Plan"]
    plans = [plan] if len(sides) == 1 else plan.get("Plans", [])
    # PostgreSQL omits from the plan a query that cannot have any rows.
    return [side["Plan Rows"] for side in plans] if len(plans) == len(sides) else [0] * len(sides)


def first_rows_cte(list_rows: QuerySet[Any], limit: int) -> tuple[str, list[Any]]:
    """Return a common table expression that hides the table behind the first rows of `list_rows`, and the parameters of the expression.

    PostgreSQL reads these rows from an index, whatever it estimates for the rest of the statement.
    """
    table = f'"{list_rows.model._meta.db_table}"'
    # Django would order by the position of a selected column, which is another column in `.*`.
    sql, parameters = list_rows.values(selected=RawSQL("1", ()))[:limit].query.sql_with_params()
    # `.*` includes the search columns, which are not fields of the model. PostgreSQL reads only the columns that the statement uses.
    return f"{table} AS NOT MATERIALIZED (SELECT {table}.* FROM{sql.partition('FROM')[2]})", list(parameters)


def search(
    rows: QuerySet[Any],
    query: Query,
    *,
    list_rows: QuerySet[Any] | None = None,
    enough: int = MAX_RESULTS,
    ranked: bool = True,
    fuzzy: bool = True,
    is_fuzzy_fallback: bool = False,
) -> list[int]:
    """Return the ids of matching `rows`, at most `MAX_RESULTS`. If `ranked`, the best matches come first.

    `list_rows` are the rows of the whole list, of which `rows` are a subset. The stages find rows with all terms as whole words of their
    short texts, rows with the terms elsewhere and, if `fuzzy`, rows with similar terms. A stage runs only if the stages before it found
    fewer than `enough` rows; with `is_fuzzy_fallback`, the last one only if they found none.
    """
    if rows.query.is_empty() or not query.terms:
        return []
    staged = StagedSearch(rows, query, list_rows=list_rows, enough=enough)
    counts = estimate_rows(staged.estimated(ranked))
    steps = staged.steps(counts, ranked=ranked, fuzzy=fuzzy, is_fuzzy_fallback=is_fuzzy_fallback)
    with connection.cursor() as cursor:
        answer: list[Any] | None = None
        while (step := next_step(steps, answer)) is not None:
            cursor.execute(*step)
            answer = cursor.fetchall()
    return staged.found[:MAX_RESULTS]


def search_several(
    groups: Mapping[str, QuerySet[Any]], query: Query, *, enough: int, fuzzy: bool = True
) -> dict[str, list[int]]:
    """Return the ids that `search` finds in each group of rows, at most `enough` of each, the best matches first.

    The searches of all groups run side by side: each statement contains the next step of every group. So the number of statements does
    not depend on the number of groups.
    """
    if not query.terms:
        return {name: [] for name in groups}
    searches = {
        name: StagedSearch(rows, query, enough=enough) for name, rows in groups.items() if not rows.query.is_empty()
    }
    estimated = {name: staged.estimated(ranked=True) for name, staged in searches.items()}
    counts = iter(estimate_rows([step for steps in estimated.values() for step in steps]) if searches else [])
    running = {
        name: staged.steps([next(counts) for _ in estimated[name]], ranked=True, fuzzy=fuzzy)
        for name, staged in searches.items()
    }
    answers: list[list[Any] | None] = [None] * len(running)
    while running:
        pending = {
            name: (steps, step)
            for (name, steps), answer in zip(running.items(), answers, strict=True)
            if (step := next_step(steps, answer)) is not None
        }
        running = {name: steps for name, (steps, _step) in pending.items()}
        answers = list(fetch_together([step for _steps, step in pending.values()]))
    return {name: searches[name].found[:enough] if name in searches else [] for name in groups}


def next_step(steps: Steps, answer: list[Any] | None) -> Step | None:
    """Continue a search with the rows of its last step, None at its beginning. Return the next step, or None at the end of the search."""
    try:
        return next(steps) if answer is None else steps.send(answer)
    except StopIteration:
        return None


def fetch_together(steps: Sequence[Step]) -> Iterator[list[Any]]:
    """Execute the steps in one statement, and yield the rows of each step."""
    if not steps:
        return
    parts = [f"(SELECT coalesce(json_agg(step), '[]') FROM ({sql}) AS step)" for sql, _ in steps]  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", [value for _, values in steps for value in values])
        for answer in cursor.fetchone():
            # `json_agg` keeps the order of the rows and of the columns.
            yield [tuple(row.values()) for row in (json.loads(answer) if isinstance(answer, str) else answer)]


class StagedSearch:
    """A search, in stages from the strictest interpretation of the query to the loosest.

    The stages are: whole words of the short texts, beginnings of any words, parts of the short texts, and similar words. A stage runs
    only if those before it have not filled the page, because a looser interpretation matches more rows and takes longer.

    One EXPLAIN estimates the number of rows of each stage (`estimate_rows`). Two decisions depend on the estimates. Of several words,
    only the rarest is looked up in the index. If a word is in very many rows, it is not looked up at all. Instead, the first rows of the
    list are compared with it (`first_rows_cte`). So the estimates affect only the time of a search and, if very many rows match, which
    of them it finds.
    """

    def __init__(
        self, rows: QuerySet[Any], query: Query, *, list_rows: QuerySet[Any] | None = None, enough: int
    ) -> None:
        self.query, self.list_rows = query, (rows if list_rows is None else list_rows).order_by("id")
        self.rows = ConditionalRows(rows)
        self.all_rows = self.rows if list_rows is None else ConditionalRows(list_rows)
        self.table = rows.model._meta.db_table
        self.enough = enough = min(enough, MAX_RESULTS)
        # The limit is a multiple of a batch, so that the ranking does not depend on the page.
        self.stage_limit = enough + -enough % RANKED_BATCH
        self.found: list[int] = []

    def estimated(self, ranked: bool) -> list[Step]:
        """Return the statements whose numbers of rows `steps` needs."""
        query = self.query
        conditions = [
            query.whole_words(),
            query.prefixes(),
            query.prefixes_or_substrings(estimated=True),
            query.stems(),
        ]
        conditions += [query.narrow_to(term).prefixes() for term in self.rarest_candidates(ranked)]
        if joined := query.joined():
            conditions.append(joined)
        return [self.all_rows.matching(ALL), *map(self.rows.matching, conditions)]

    def rarest_candidates(self, ranked: bool) -> list[str]:
        # Longer terms are usually rarer.
        return sorted(self.query.terms, key=len, reverse=True)[:MAX_TERMS] if self.has_several_terms and ranked else []

    @property
    def has_several_terms(self) -> bool:
        return len(self.query.terms) > 1 and not self.query.digits

    def steps(self, estimates: Sequence[int], *, ranked: bool, fuzzy: bool, is_fuzzy_fallback: bool = False) -> Steps:
        """Search, with the estimated numbers of rows of `estimated`. Yield each statement, and continue with its rows."""
        query, has_several_terms, terms = self.query, self.has_several_terms, self.rarest_candidates(ranked)
        self.total, whole_words, prefixes, substrings, similar, *counts = estimates
        counts = counts[: len(terms)]
        if not ranked or (prefixes <= RANKED_BATCH and not has_several_terms):
            # All matches fit into one batch.
            yield from self.run_stage(query.prefixes_or_substrings(), substrings)
        else:
            yield from self.run_stage(query.whole_words(), whole_words)
            # The terms of this query are looked up in the index. The rows found must also meet the `others`.
            index_query: Query = query
            others: list[Condition] = []
            if rarest := self.rarest(counts, terms):
                count, term = rarest
                index_query, others = (
                    query.narrow_to(term),
                    [query.has_term(other) for other in query.terms if other != term],
                )
                prefixes, substrings = count, count
            yield from self.run_stage(index_query.prefixes(), prefixes, *others)
            if rarest and (joined := query.joined()):
                yield from self.run_stage(joined, estimates[-1])
            # If rows with all words were found, looser matches are rarely useful.
            if has_several_terms and self.found:
                return
            if index_query.substrings() is None:
                # The rarest term is too short for a trigram index.
                index_query, others = query, []
            if (condition := index_query.substrings()) is not None:
                yield from self.run_stage(condition, substrings, *others)
        if is_fuzzy_fallback and self.found:
            return
        if fuzzy and query.correctable_terms and not self.is_enough():
            corrections = dict((yield Word.objects.similar_step(query.account_id, self.table, query.correctable_terms)))
            condition = query.similar(corrections)
            if rarest := self.rarest(counts, terms, [term for term in terms if not is_correctable(term)]):
                # No other word replaces this term.
                count, term = rarest
                yield from self.run_stage(query.narrow_to(term).similar({}), count, condition)
            else:
                # A word that replaces the only term is the reason for the similarity of a row.
                words = corrections.get(query.text, [])
                if len(words) > 1 and self.total > SCAN_ROWS:
                    # Many rows may have each of the words, and the index would collect them all. The most similar word is often enough.
                    first = words[:1]
                    yield from self.run_stage(query.similar({query.text: first}), similar, similar_words=first)
                yield from self.run_stage(condition, similar, similar_words=words)

    @staticmethod
    def rarest(
        counts: Sequence[int], terms: Sequence[str], selected: Collection[str] | None = None
    ) -> tuple[int, str] | None:
        """Return the rarest of the terms, or of those `selected`, and its estimated number of rows. Return None if all are frequent.

        To combine several words, a GIN index reads all entries of each word. So only the rarest one is looked up.
        """
        pairs = [pair for pair in zip(counts, terms, strict=True) if selected is None or pair[1] in selected]
        count, term = min(pairs, default=(MAX_RESULTS, ""))
        return (count, term) if term and count <= SCAN_ROWS else None

    def is_enough(self) -> bool:
        return len(self.found) >= self.enough

    def run_stage(
        self, condition: Condition, estimate: int, *others: Condition, similar_words: Sequence[str] = ()
    ) -> Steps:
        """Add the best rows that meet `condition` and `others`, unless enough rows were found already.

        `estimate` is the estimated number of rows that meet `condition`. `similar_words` are those of `rank`.
        """
        if self.is_enough():
            return
        # The lookup of a common term is slow, because the index collects all rows of the term before the first row is read.
        if estimate > max(MAX_RESULTS, self.total * RANKED_BATCH / SCAN_ROWS):
            ids = [row[0] for row in (yield self.rank(condition, others, similar_words, scan=True))]
            if len(ids) == self.stage_limit:
                self.found += ids
                return
        self.found += [row[0] for row in (yield self.rank(condition, others, similar_words))]

    def rank(
        self, condition: Condition, others: Sequence[Condition], similar_words: Sequence[str], *, scan: bool = False
    ) -> Step:
        """Return the step for the ids of matching rows that were not found before. Each batch is ordered by similarity, then by the weight of the words.

        `word_similarity` takes 20 µs, so it is not computed for texts that contain the query as whole words or as their beginning, nor for
        texts that contain one of the `similar_words` (the most similar first): PostgreSQL computes the similarity of such a word once.

        With `scan`, only the first rows of the list are considered. MATERIALIZED makes PostgreSQL plan the subquery for all of its rows,
        because a plan for the limit would scan the table. The subquery still ends at the limit.
        """
        text = self.query.ranking_text
        sql, parameters = self.rows.matching(condition)
        scan_limit = SCAN_ROWS * self.stage_limit // RANKED_BATCH
        first_rows, first_parameters = first_rows_cte(self.list_rows, scan_limit) if scan else ("", list[Any]())
        and_others = "".join(f" AND ({other})" for other, _ in others)
        when_similar = "WHEN ' ' || search_text || ' ' LIKE %s THEN word_similarity(%s, %s) " * len(similar_words)
        return (
            f"""
            WITH {first_rows + "," if first_rows else ""} found AS MATERIALIZED ({sql}),
            candidates AS (
                SELECT *, row_number() OVER () AS number FROM found WHERE id <> ALL (%s::bigint[]){and_others} LIMIT %s
            )
            SELECT id FROM candidates ORDER BY (number - 1) / %s,
                CASE WHEN ' ' || search_text || ' ' LIKE %s THEN 1 WHEN ' ' || search_text LIKE %s THEN %s::float4
                    {when_similar} ELSE word_similarity(%s, search_text) END DESC,
                ts_rank(search_words, search.query(%s, %s), 1) DESC, id
            """,  # noqa: S608
            [
                *first_parameters,
                *parameters,
                array_literal(self.found),
                *(value for _, values in others for value in values),
                self.stage_limit,
                RANKED_BATCH,
                f"% {text} %",
                f"% {text}%",
                prefix_similarity(text),
                *(value for word in similar_words for value in (f"% {word} %", text, word)),
                text,
                self.query.account_id,
                f"{self.query.prefix_tsquery} | {self.query.variant_tsquery}",
            ],
        )


def find_similar(
    rows: QuerySet[Any], query: Query, *, list_rows: QuerySet[Any], limit: int, already_searched: bool = False
) -> list[int]:
    """Return the ids of at most `limit` rows whose short text is similar to a text that is being typed, the best first.

    A search requires all terms. Here, the rarer terms or their variants are enough, and rows are ranked by their whole text. If too few
    rows are found, the text is searched too, unless the caller has `already_searched` without a result.
    """
    if rows.query.is_empty() or not query.terms:
        return []
    # Short terms are not specific, and longer terms are usually rarer.
    terms = sorted((term for term in query.terms if len(term) > 2), key=len, reverse=True)[:MAX_TERMS]
    conditions = [query.narrow_to(term).prefixes_or_variants() for term in terms or query.terms[:1]]
    total, *counts = estimate_counts(list_rows, *(matching(rows, condition) for condition in conditions))
    by_count = sorted(zip(counts, conditions, strict=True), key=lambda pair: pair[0])
    # Find rows with any of the rare terms, or with both of the two rarest common terms. Common terms match more rows than can be ranked.
    room = MAX_RESULTS
    rare: list[Condition] = []
    common: list[Condition] = []
    for count, condition in by_count:
        (rare if count <= room else common).append(condition)
        room -= count if count <= room else 0
    is_common = not rare and len(common) == 1 and by_count[0][0] > max(MAX_RESULTS, total * MAX_RESULTS / SCAN_ROWS)
    if len(common) > 1 or not rare:
        rare.append(combine("AND", *common[:2]))
    candidates = matching(rows, combine("OR", *rare))
    similar = _most_similar(candidates, query, limit, scanned=list_rows.order_by("id") if is_common else None)
    needs_search = len(similar) < limit and not already_searched
    if needs_search and (ids := search(rows, query, list_rows=list_rows, enough=limit, ranked=False)):
        # Of the results, too, keep only rows with a similar short text.
        similar = list(dict.fromkeys([*similar, *_most_similar(rows.filter(id__in=ids), query, limit, scanned=None)]))
    return similar[:limit]


def _most_similar(rows: QuerySet[Any], query: Query, limit: int, *, scanned: QuerySet[Any] | None) -> list[int]:
    """Return the ids of the most similar rows. Either text may contain the other.

    With `scanned`, only its first `SCAN_ROWS` rows are considered.
    """
    sql, parameters = rows.order_by().values("id", text=RawSQL("search_text", [])).query.sql_with_params()
    first_rows, first_parameters = ("", list[Any]()) if scanned is None else first_rows_cte(scanned, SCAN_ROWS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH {first_rows + "," if first_rows else ""} found AS MATERIALIZED ({sql}),
            candidates AS (SELECT * FROM found LIMIT %s)
            SELECT id FROM candidates
            WHERE greatest(word_similarity(%s, text), word_similarity(text, %s)) > {MIN_SIMILARITY}
            ORDER BY greatest(word_similarity(%s, text), word_similarity(text, %s)) + similarity(%s, text) DESC, id
            LIMIT %s
            """,  # noqa: S608
            [*first_parameters, *parameters, MAX_RESULTS, *[query.text] * 5, limit],
        )
        return [row[0] for row in cursor.fetchall()]
