"""Search (`q` of the lists), on PostgreSQL alone: words by text search, fragments by trigrams; what a mistyped word was meant for
is looked for among the words that there are (`core.search.spelling`).

A searched table has three columns beside those of its model, all of them written by the database from the others, so that
no code can forget to: `search_name`, which the list goes by in the order of names; `search_text`, the short fields; and
`search_words`, the words of these (weight A) and of the long texts (weight D). All text in them is folded: no case, no
diacritics, no punctuation. The model does not know them, so that reading a row does not read them too.

One GIN index of a table finds by any of: words, parts of the text, tags, links to other rows; and by all of these at once.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from django.db import connection, migrations, transaction
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from core.db.prepared import as_array
from core.search.spelling import Word

LENGTH = 255
# So many are found at most; for words that more rows than these have, it is some of them.
MOST = 1000
# So many are ranked together, after those that were met before them: a page far down must not change the pages before it.
BLOCK = 200
# What so many are thought to have that a block of them is met among so many rows of the list is not looked up.
FRONT = 12_000
# Of what is typed for a title, so many words are looked at; and so close is a title that is shown, where 1 is all of it.
TERMS, CLOSE = 8, 0.3

# A condition on a row, and its parameters.
Condition = tuple[str, list[str]]
HAS_WORDS = "search_words @@ to_tsquery('simple', %s)"


@dataclass(frozen=True)
class Query:
    """What is looked for: `text` is folded, as what is searched is."""

    text: str
    # Whose rows are searched: a mistyped word is looked for among the words that these have.
    account_id: int | None = None

    @cached_property
    def terms(self) -> list[str]:
        return list(dict.fromkeys(self.text.split()))

    @cached_property
    def digits(self) -> str:
        """A number, however it is typed. Its last nine digits tell one telephone from another, with a prefix or without."""
        number = self.text.replace(" ", "")
        return number[-9:] if re.fullmatch("[0-9]+", number) else ""

    @property
    def subject(self) -> str:
        """What a row is to be like."""
        return self.digits or self.text

    @property
    def words(self) -> str:
        """As a tsquery: all the words, or what begins so. A single letter is a whole word: too much begins with it."""
        return " & ".join(f"'{term}'" + (":*" if len(term) > 1 else "") for term in self.terms)

    @property
    def like_words(self) -> str:
        """As a tsquery: all the words, or others in their place, where that may be: what has the same stem (endings change
        with number and case, in Polish as in English), and what has two letters swapped, which trigrams hardly tell."""
        return " & ".join(f"({self._others(term)})" if self.is_loose(term) else f"'{term}'" for term in self.terms)

    @staticmethod
    def _others(term: str) -> str:
        stem = term[: max(4, len(term) - (3 if len(term) > 7 else 2))]
        swapped = [term[:n] + term[n + 1] + term[n] + term[n + 2 :] for n in range(len(term) - 1)]
        return " | ".join([f"'{stem}':*", *(f"'{word}'" for word in swapped)])

    def like_or_beginning(self) -> Condition:
        """The condition that a row has the words, or others in their place, or what begins so, in its short text."""
        words = f"{self.words} | {self.like_words}"
        # Of weight A.
        short = re.sub(r"('\S+?')(:\*)?", lambda match: f"{match[1]}{match[2] or ':'}A", words)
        return HAS_WORDS, [short]

    @staticmethod
    def is_loose(term: str) -> bool:
        """Whether a term may be mistyped: a number is another number then, and a short word is another word."""
        return re.fullmatch("[a-z]{5,}", term) is not None

    @property
    def loose_terms(self) -> list[str]:
        return [term for term in self.terms if self.is_loose(term)]

    def whole(self) -> Condition:
        """The condition on a row that all the terms are words of its short texts."""
        return HAS_WORDS, [" & ".join(f"'{term}':A" for term in self.terms)]

    def beginnings(self) -> Condition:
        """That all are words of any of its texts, or begin one."""
        return HAS_WORDS, [self.words]

    def parts(self) -> Condition | None:
        """That all are in its short texts, anywhere; None where the index is no help to find that."""
        parts = [self.digits] if self.digits else self.terms
        if not any(map(has_trigram, parts)):
            return None
        return " AND ".join(["search_text LIKE %s"] * len(parts)), [f"%{part}%" for part in parts]

    def exact(self) -> Condition:
        """That all are its words, or begin one, or all are in its short texts."""
        return joined("OR", self.beginnings(), *filter(None, [self.parts()]))

    def alike(self, spelled: dict[str, list[str]]) -> Condition:
        """That it has all, or something like it: `spelled` are the words that a term may have been meant for."""
        return HAS_WORDS, [" & ".join(f"({self._alike(term, spelled)})" for term in self.terms)]

    def has(self, term: str) -> Condition:
        """That it has one of the terms, as a word, as the beginning of one, or as a part; for rows that are found already."""
        words, values = Query(term).beginnings()
        return f"{words} OR search_text LIKE %s", [*values, f"%{term}%"]

    def _alike(self, term: str, spelled: dict[str, list[str]]) -> str:
        if not self.is_loose(term):
            return f"'{term}'"
        return " | ".join([self._others(term), *(f"'{word}'" for word in spelled.get(term, []))])


def joined(by: str, *conditions: Condition) -> Condition:
    """One condition of several, by AND or OR."""
    return f" {by} ".join(f"({sql})" for sql, _ in conditions), [value for _, values in conditions for value in values]


def having(rows: QuerySet, condition: Condition) -> QuerySet:
    return rows.filter(RawSQL(*condition, output_field=BooleanField()))  # noqa: S611


def has_trigram(text: str) -> bool:
    """Whether an index of trigrams can find it. It can't where all is shorter, nor other scripts where the database's locale is C."""
    return re.search("[a-z0-9]{3}", text) is not None


def front(listed: QuerySet, most: int) -> tuple[str, list]:
    """For a WITH statement: in the place of the table, only the first `most` rows of what is listed, in its order.

    An index gives them whatever the database thinks of the rest of the statement, which it may well be wrong about.
    """
    table = f'"{listed.model._meta.db_table}"'
    sql, parameters = listed.values("id")[:most].query.sql_with_params()
    # All columns, also those that the model does not know. The statement reads but those that it names.
    return f"{table} AS NOT MATERIALIZED (SELECT {table}.* FROM{sql.partition('FROM')[2]})", list(parameters)


def like(rows: QuerySet, query: Query, *, listed: QuerySet, most: int, searched: bool = False) -> list[int]:
    """The ids of at most so many of `rows` whose short text is like what is looked for, still being typed; best first.

    A search wants all of the words. Here it is enough to share the rarer ones, ended otherwise or with two letters swapped, and
    rows are ranked by their whole text; where that finds too few, it is searched, unless it was `searched` in vain already.
    """
    if rows.query.is_empty() or not query.terms:
        return []
    # What is short says little, and of many words the longest are the rarer ones.
    terms = sorted((term for term in query.terms if len(term) > 2), key=len, reverse=True)[:TERMS] or query.terms[:1]
    conditions = [Query(term).like_or_beginning() for term in terms]
    every, *numbers = guessed(listed, *(having(rows, condition) for condition in conditions))
    by_number = sorted(zip(numbers, conditions, strict=True), key=lambda pair: pair[0])
    # What shares one of the rare words, or two of those that more have than can be ranked.
    room, wanted, common = MOST, [], []
    for number, condition in by_number:
        (wanted if number <= room else common).append(condition)
        room -= number if number <= room else 0
    is_common = not wanted and len(common) == 1 and by_number[0][0] > max(MOST, every * MOST / FRONT)
    if len(common) > 1 or not wanted:
        wanted.append(joined("AND", *common[:2]))
    sharing = having(rows, joined("OR", *wanted))
    found = _closest(sharing, query, most, listed=listed.order_by("id") if is_common else None)
    if len(found) < most and not searched and (ids := search(rows, query, listed=listed, enough=most, ranked=False)):
        # Of those, too, only what has it in its short text.
        found = list(dict.fromkeys([*found, *_closest(rows.filter(id__in=ids), query, most, listed=None)]))
    return found[:most]


def _closest(rows: QuerySet, query: Query, most: int, *, listed: QuerySet | None) -> list[int]:
    """The ids of `rows` that are closest to what is looked for: where one text is all in the other, in either direction."""
    sql, parameters = rows.order_by().values("id", text=RawSQL("search_text", [])).query.sql_with_params()
    beginning, before = ("", []) if listed is None else front(listed, FRONT)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH {beginning + "," if beginning else ""} found AS MATERIALIZED ({sql}), candidates AS (SELECT * FROM found LIMIT %s)
            SELECT id FROM candidates WHERE greatest(word_similarity(%s, text), word_similarity(text, %s)) > {CLOSE}
            ORDER BY greatest(word_similarity(%s, text), word_similarity(text, %s)) + similarity(%s, text) DESC, id
            LIMIT %s
            """,  # noqa: S608
            [*before, *parameters, MOST, *[query.text] * 5, most],
        )
        return [row[0] for row in cursor.fetchall()]


@contextmanager
def indexed(account_id: int, text: str = "") -> Iterator[Query]:
    """A transaction in which the database goes by indexes alone. What most of an account's rows have it would otherwise look
    for in the whole table, in the hope to meet enough of it soon: among the rows of all accounts, and from anywhere on.

    What is looked for there, if anything is, is folded on the way.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT search.fold(%s), set_config('enable_seqscan', 'off', true),"
            " set_config('max_parallel_workers_per_gather', '0', true)",
            [text],
        )
        yield Query(cursor.fetchone()[0][:LENGTH].strip(), account_id)


def guessed(*several: QuerySet) -> list[int]:
    """How many rows the database thinks there are of each, which may be very wrong: only time may depend on it."""
    sides = [rows.order_by().values_list("id").query.sql_with_params() for rows in several]
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN (FORMAT JSON) " + " UNION ALL ".join(sql for sql, _ in sides),
            [value for _, parameters in sides for value in parameters],
        )
        found = cursor.fetchone()[0]
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    plans = [plan] if len(sides) == 1 else plan.get("Plans", [])
    # A side that cannot have any is left out of the plan.
    return [side["Plan Rows"] for side in plans] if len(plans) == len(sides) else [0] * len(sides)


def search(
    rows: QuerySet,
    query: Query,
    *,
    listed: QuerySet | None = None,
    enough: int = MOST,
    ranked: bool = True,
    loosely: bool = True,
) -> list[int]:
    """The ids of those of `rows` that a search finds, best first if it is `ranked`, at most MOST.

    `rows` are some of what is `listed`. First come those that have all the terms as whole words of their short texts, then those
    that have them otherwise, then, `loosely`, those that have something like them. Each is only looked for where those before it
    are not `enough`.
    """
    if rows.query.is_empty() or not query.terms:
        return []
    finder = Finder(rows, query, listed=(rows if listed is None else listed).order_by("id"), enough=min(enough, MOST))
    finder.find(ranked=ranked, loosely=loosely)
    return finder.found[:MOST]


class Finder:
    """One search, in stages from the strictest reading of the query to the loosest.

    The stages are: whole words of the short texts, beginnings of any words, parts of the short texts, and words that are similar.
    A stage runs only if those before it have not filled the page, as a looser reading finds more rows, and takes longer.
    One EXPLAIN estimates how many rows each stage would find (`guessed`), and two decisions follow from it. Of several words, only
    the rarest is looked up in the index. A word that very many rows have is not looked up at all: the first rows of the list
    are compared with it instead (`front`). Estimates change the time of a search and which of very many rows it shows.
    """

    def __init__(self, rows: QuerySet, query: Query, *, listed: QuerySet, enough: int):
        self.rows, self.query, self.listed, self.enough = rows, query, listed, enough
        self.room = enough + -enough % BLOCK
        self.found: list[int] = []

    def find(self, *, ranked: bool, loosely: bool) -> None:
        query = self.query
        several = len(query.terms) > 1 and not query.digits
        # Of very many terms the longest are the rarer ones.
        terms = sorted(query.terms, key=len, reverse=True)[:TERMS] if several and ranked else []
        readings = [query.whole(), query.beginnings(), query.exact(), query.alike({})]
        by_term = [Query(term).beginnings() for term in terms]
        self.every, whole, beginnings, exact, alike, *numbers = guessed(
            self.listed, *(having(self.rows, condition) for condition in (*readings, *by_term))
        )
        if not ranked or (beginnings <= BLOCK and not several):
            # All of them in one block.
            self.look(query.exact(), exact)
        else:
            self.look(query.whole(), whole)
            key, also = query, []
            number, rarest = min(zip(numbers, terms, strict=True), default=(MOST, ""))
            if rarest and number <= FRONT:
                # To bring several words together, the index would read all of each.
                key, also = Query(rarest), [query.has(term) for term in query.terms if term != rarest]
                beginnings, exact = number, number
            self.look(key.beginnings(), beginnings, *also)
            # What has several words is hardly anything else.
            if several and self.found:
                return
            if key.parts() is None:
                # The rarest may be too short to be looked up as a part.
                key, also = query, []
            if (parts := key.parts()) is not None:
                self.look(parts, exact, *also)
        if loosely and query.loose_terms and not self.is_enough():
            table = self.rows.model._meta.db_table
            spelled = Word.objects.like(query.account_id, table, query.loose_terms)
            self.look(query.alike(spelled), alike)

    def is_enough(self) -> bool:
        return len(self.found) >= self.enough

    def look(self, condition: Condition, number: int, *also: Condition) -> None:
        """Find the best of those that the index has for a condition, of which there are about so many, and that meet the others."""
        if self.is_enough():
            return
        # Looking up what is common takes long, as all that have it are found before the first is read.
        if number > max(MOST, self.every * BLOCK / FRONT):
            found = self.best(condition, also, in_front=True)
            if len(found) == self.room:
                self.found += found
                return
        self.found += self.best(condition, also)

    def best(self, condition: Condition, also: Sequence[Condition], *, in_front: bool = False) -> list[int]:
        """The ids of some of the rows that are not found yet, each BLOCK of them ranked: most like what is looked for, then by the
        weight of the words. `in_front` looks for them from the beginning of the list.

        The subquery is materialized so that it is planned as if all of it were wanted. Planned for the limit, it would walk
        through the table from its beginning in the hope of finding as many soon. It still ends where the limit is reached.
        """
        # Text and words are fetched for the candidates alone.
        texts = {"search_text": RawSQL("search_text", []), "search_words": RawSQL("search_words", [])}
        sql, parameters = having(self.rows, condition).order_by().values("id", **texts).query.sql_with_params()
        beginning, before = front(self.listed, FRONT * self.room // BLOCK) if in_front else ("", [])
        which = "".join(f" AND ({words})" for words, _ in also)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                WITH {beginning + "," if beginning else ""} found AS MATERIALIZED ({sql}),
                candidates AS (
                    SELECT *, row_number() OVER () AS number FROM found WHERE id <> ALL (%s::bigint[]){which} LIMIT %s
                )
                SELECT id FROM candidates ORDER BY (number - 1) / %s, word_similarity(%s, search_text) DESC,
                    ts_rank(search_words, to_tsquery('simple', %s), 1) DESC, id
                """,  # noqa: S608
                [
                    *before,
                    *parameters,
                    as_array(self.found),
                    *(value for _, values in also for value in values),
                    self.room,
                    BLOCK,
                    self.query.subject,
                    f"{self.query.words} | {self.query.like_words}",
                ],
            )
            return [row[0] for row in cursor.fetchall()]


# Migrations

EXTENSIONS = ("unaccent", "pg_trgm", "btree_gin")

# The functions bind what they call by its identity when they are made, wherever the extensions live and whatever the
# search_path is later. They are as immutable as the rules of `unaccent` are: who changes these builds the columns anew.
CREATE_FUNCTIONS = r"""
CREATE SCHEMA search;

CREATE FUNCTION search.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(lower(unaccent('unaccent'::regdictionary, normalize($1, NFKC))), '[\t-/:-@\[-`{-~]+', ' ', 'g');

-- Numbers in one piece, however they are written: 48601234567, pl1234567890. E'\x01', which no text has, parts them.
CREATE FUNCTION search.compact(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(regexp_replace(lower($1), '[\t-/:-@\[-`{-~]+', '', 'g'), E'\x01', ' ');

-- Cut where a name is longer than an index takes.
CREATE FUNCTION search.name(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(search.fold($1), 255);

-- Cut far below what a tsvector holds, as folding may lengthen a text many times.
CREATE FUNCTION search.words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_tsvector('pg_catalog.simple', left(search.fold($1), 100000));
"""

# Nearly all text is composed already, and to see that takes a fifth of composing it.
COMPOSE_IF_NEEDED = r"""
CREATE FUNCTION search.composed(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length($1) = length($1) OR $1 IS NFKC NORMALIZED THEN $1 ELSE normalize($1, NFKC) END;

-- It gives the same as before, so the columns that are made with it stay.
CREATE OR REPLACE FUNCTION search.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(lower(unaccent('unaccent'::regdictionary, search.composed($1))), '[\t-/:-@\[-`{-~]+', ' ', 'g');
"""

COMPOSE_ALWAYS = r"""
CREATE OR REPLACE FUNCTION search.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(lower(unaccent('unaccent'::regdictionary, normalize($1, NFKC))), '[\t-/:-@\[-`{-~]+', ' ', 'g');

DROP FUNCTION search.composed(text);
"""

DROP_FUNCTIONS = "DROP SCHEMA search CASCADE;"


def add_search(
    table: str,
    *,
    name: str = "name",
    short: tuple[str, ...] = (),
    numbers: tuple[str, ...] = (),
    words: tuple[str, ...] = (),
    long: tuple[str, ...] = (),
    links: tuple[str, ...] = (),
    tagged: bool = True,
    live: str = "trashed_at IS NULL",
) -> migrations.RunSQL:
    """The columns and the index of a searched table, for its rows that are `live`.

    Fragments of the name, of the `short` columns and of the `numbers` are found, and words beginning so in these, in the
    other columns `words`, and in the `long` ones, which weigh less. `links` are columns that the list is filtered by.
    """

    def joined(*columns: str, by: str = "' '") -> str:
        return f" || {by} || ".join(f"coalesce({column}, '')" for column in columns)

    text = f"search.fold({joined(name, *short, *numbers)})"
    if numbers:
        parted = joined(*numbers, by=r"E'\x01'")
        text += f" || ' ' || search.compact({parted})"
    all_words = f"setweight(search.words({joined(name, *short, *numbers, *words)}), 'A')"
    if long:
        all_words += f" || setweight(search.words({joined(*long)}), 'D')"
    index_columns = ", ".join(
        ["account_id", *links, *(["tags"] if tagged else []), "search_words", "search_text gin_trgm_ops"]
    )
    short_name = table.partition("_")[2]
    return migrations.RunSQL(
        f"""
        ALTER TABLE {table}
            ADD COLUMN search_name text COLLATE "C" NOT NULL GENERATED ALWAYS AS (search.name({name})) STORED,
            ADD COLUMN search_text text NOT NULL GENERATED ALWAYS AS ({text}) STORED,
            ADD COLUMN search_words tsvector NOT NULL GENERATED ALWAYS AS ({all_words}) STORED;
        -- The list in the order of names.
        CREATE INDEX {short_name}_by_name ON {table} (account_id, search_name, id) WHERE {live};
        -- What the list is filtered by, alone or together, and its search. New rows wait in a list that a search reads too, until
        -- a write that makes it longer than this (in kB) puts them in their places: at the usual 4 MB that took it a second.
        CREATE INDEX {short_name}_found ON {table} USING gin ({index_columns}) WITH (gin_pending_list_limit = 256)
            WHERE {live};
        """,
        f"""
        DROP INDEX {short_name}_found;
        DROP INDEX {short_name}_by_name;
        ALTER TABLE {table} DROP COLUMN search_words, DROP COLUMN search_text, DROP COLUMN search_name;
        """,
    )
