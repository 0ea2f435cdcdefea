"""The terms of a query, and the SQL conditions that consist of them."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

# The SQL of a condition on a row, and the parameters of the SQL. `{column}` stands for the account of the row.
Condition = tuple[str, list[Any]]
# The parameters are the account and a tsquery.
HAS_WORDS = "search_words @@ search.query(%s, %s)"
# The condition that all rows meet.
ALL: Condition = ("true", [])


# A longer query is not searched for words that are written together.
MAX_JOINED_TERMS = 6


def is_correctable(term: str) -> bool:
    """Return whether similar words may replace a term. They may not replace numbers and short words."""
    return re.fullmatch("[a-z]{5,}", term) is not None


# A part of a term: characters of Chinese, Japanese and Korean, or others. The SQL function `search.bigrams` has the same characters.
IDEOGRAPHIC = "\u1100-\u11ff\u2e80-\u2fff\u3005-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
TERM_PARTS = re.compile(f"[{IDEOGRAPHIC}]+|[^{IDEOGRAPHIC}]+")
# The letter before two words that the SQL function `search.words` has joined. No folded text contains it.
JOINED = "þ"


def lexemes(term: str, *, is_beginning: bool = False, weight: str = "") -> str:
    """Return a tsquery for a term, or for the words that begin with it. `weight` limits it to texts of this weight.

    An ideographic term matches any part of a word: each of its characters and the next one are a lexeme (`search.bigrams`). A term of
    letters also matches two neighbouring words of the short texts, which are a lexeme too.
    """
    found: list[str] = []
    for part in TERM_PARTS.findall(term):
        if not re.match(f"[{IDEOGRAPHIC}]", part):
            # A single letter has to be a word, because too many words begin with it.
            found.append(lexeme(part, is_beginning=is_beginning and len(part) > 1, weight=weight))
        elif len(part) == 1:
            found.append(lexeme(part, is_beginning=True, weight=weight))
        else:
            found += [lexeme(part[n : n + 2], weight=weight) for n in range(len(part) - 1)]
    if is_joinable(term):
        return f"({found[0]} | {lexeme(JOINED + term, weight=weight)})"
    return found[0] if len(found) == 1 else f"({' & '.join(found)})"


def lexeme(word: str, *, is_beginning: bool = False, weight: str = "") -> str:
    flags = ("*" if is_beginning else "") + weight
    return f"'{word}':{flags}" if flags else f"'{word}'"


def is_joinable(term: str) -> bool:
    """Return whether a term may be two words of a text, or a part of one word, by the rule of `search.words`."""
    return re.fullmatch("[a-z]{2,40}", term) is not None


def has_trigram(text: str) -> bool:
    """Return whether a trigram index can find a part of a text.

    The text must have a word of three characters. With the locale C, PostgreSQL has no trigrams of scripts other than Latin.
    """
    return re.search("[a-z0-9]{3}", text) is not None


def has_part(part: str = "%s") -> str:
    """Return the condition that the index finds for a part of the short texts. It is looser than LIKE.

    `{column}` stands for the account of the row. The parameters are the account, and those of `part`, the SQL of the part.
    """
    return f"search.parts({{column}}, search_text) @> search.parts(%s, {part})"


@dataclass(frozen=True)
class Query:
    """A search text. `text` is folded, as are the search columns. The lexemes of its conditions are those of the account."""

    text: str
    account_id: int

    @cached_property
    def terms(self) -> list[str]:
        return list(dict.fromkeys(self.text.split()))

    @cached_property
    def digits(self) -> str:
        """The last nine digits of a numeric text, which identify a telephone with or without a prefix. Empty for any other text."""
        number = self.text.replace(" ", "")
        return number[-9:] if re.fullmatch("[0-9]+", number) else ""

    @property
    def ranking_text(self) -> str:
        """The text with which the ranking compares rows."""
        return self.digits or self.text

    @property
    def correctable_terms(self) -> list[str]:
        return [term for term in self.terms if is_correctable(term)]

    def narrow_to(self, term: str) -> "Query":
        """Return the query for one of the terms."""
        return Query(term, self.account_id)

    # Expressions of type tsquery, to which `search.query` adds the account

    @property
    def prefix_tsquery(self) -> str:
        """All terms, each as a word or the beginning of a word."""
        return " & ".join(lexemes(term, is_beginning=True) for term in self.terms)

    @property
    def variant_tsquery(self) -> str:
        """All terms. A correctable term also matches with another ending, or with two letters swapped.

        Endings change with number and case. Trigrams hardly recognize swapped letters.
        """
        return " & ".join(f"({variants(term)})" if is_correctable(term) else lexemes(term) for term in self.terms)

    # Conditions on rows

    def whole_words(self) -> Condition:
        """Return the condition that all terms are words of the short texts. Two of them may be one word."""
        return self._has_words(
            " | ".join([" & ".join(lexemes(term, weight="A") for term in self.terms), *self._joined("A")])
        )

    def prefixes(self) -> Condition:
        """Return the condition that all terms are words of any text, or beginnings of words. Two of them may be one word."""
        return self._has_words(" | ".join([self.prefix_tsquery, *self._joined()]))

    def joined(self) -> Condition | None:
        """Return the condition that two neighbouring terms are one word of any text, or None if no terms can be."""
        return self._has_words(" | ".join(joined)) if (joined := self._joined()) else None

    def _joined(self, weight: str = "") -> list[str]:
        """Return tsqueries with two neighbouring terms as one word: log in, login. With a weight, it is the whole word."""
        words = self.text.split()
        pairs = [n for n, pair in enumerate(pairwise(words)) if all(re.fullmatch("[a-z]{1,20}", word) for word in pair)]
        if len(words) > MAX_JOINED_TERMS:
            return []
        joined = ([*words[:n], words[n] + words[n + 1], *words[n + 2 :]] for n in pairs)
        return [" & ".join(lexemes(word, is_beginning=not weight, weight=weight) for word in words) for words in joined]

    def substrings(self, *, estimated: bool = False) -> Condition | None:
        """Return the condition that all terms are parts of the short texts, or None if no index supports it.

        If the rows are `estimated`, the condition consists of LIKE only, for which PostgreSQL has statistics.
        """
        parts = [self.digits] if self.digits else self.terms
        if not any(map(has_trigram, parts)):
            return None
        like = " AND ".join(["search_text LIKE %s"] * len(parts)), [f"%{part}%" for part in parts]
        return like if estimated else combine("AND", (has_part(), [self.account_id, " ".join(parts)]), like)

    def prefixes_or_substrings(self, *, estimated: bool = False) -> Condition:
        """Return the condition that one of `prefixes` and `substrings` is met."""
        return combine("OR", self.prefixes(), *filter(None, [self.substrings(estimated=estimated)]))

    def similar(self, corrections: dict[str, list[str]]) -> Condition:
        """Return the condition that all terms, their variants or their `corrections` are words of any text."""
        return self._has_words(" & ".join(f"({self._alternatives(term, corrections)})" for term in self.terms))

    def stems(self) -> Condition:
        """Return the condition for the estimate of `similar`, without the swapped letters.

        PostgreSQL adds up the estimates of the alternatives, although hardly any swapped term is a word.
        """
        words = (f"'{stem(term)}':*" if is_correctable(term) else lexemes(term) for term in self.terms)
        return self._has_words(" & ".join(words))

    def has_term(self, term: str) -> Condition:
        """Return the condition that a term is a word, the beginning of a word, or a part of the short texts.

        No index supports this condition. Use it only for rows that another condition has found.
        """
        words, values = self.narrow_to(term).prefixes()
        return f"{words} OR search_text LIKE %s", [*values, f"%{term}%"]

    def prefixes_or_variants(self) -> Condition:
        """Return the condition that all terms or their variants are words of the short texts, or beginnings of words."""
        words = f"{self.prefix_tsquery} | {self.variant_tsquery}"
        # The short texts have weight A.
        short = re.sub(r"('\S+?')(:\*)?", lambda match: f"{match[1]}{match[2] or ':'}A", words)
        return self._has_words(short)

    def _has_words(self, tsquery: str) -> Condition:
        return HAS_WORDS, [self.account_id, tsquery]

    @staticmethod
    def _alternatives(term: str, corrections: dict[str, list[str]]) -> str:
        if not is_correctable(term):
            return lexemes(term)
        return " | ".join([variants(term), *(f"'{word}'" for word in corrections.get(term, []))])


def variants(term: str) -> str:
    """Return a tsquery for the words with the same stem, and for the term with any two neighbouring letters swapped."""
    swapped = [term[:n] + term[n + 1] + term[n] + term[n + 2 :] for n in range(len(term) - 1)]
    return " | ".join([f"'{stem(term)}':*", *(f"'{word}'" for word in swapped)])


def stem(term: str) -> str:
    """Return a term without its last letters, which change with number and case."""
    return term[: max(4, len(term) - (3 if len(term) > 7 else 2))]


def prefix_similarity(text: str) -> float:
    """Return the `word_similarity` of a text to a longer one that contains it and goes on within the last word.

    Of the trigrams of the text, only the last one, which marks the end of the word, is missing.
    """
    trigrams = {f"  {term} "[start : start + 3] for term in text.split() for start in range(len(term) + 1)}
    return (len(trigrams) - 1) / len(trigrams)


def combine(operator: str, *conditions: Condition) -> Condition:
    sql = f" {operator} ".join(f"({sql})" for sql, _ in conditions)
    return sql, [value for _, values in conditions for value in values]


class ConditionalRows:
    """The SQL of a queryset's ids and search columns, to which conditions are added.

    The ORM compiles the queryset once. This takes half a millisecond, and a search has up to ten conditions.
    """

    PLACEHOLDER = "search_condition(%s)"

    def __init__(self, rows: QuerySet[Any]) -> None:
        marker: Any = object()
        texts = {"search_text": RawSQL("search_text", []), "search_words": RawSQL("search_words", [])}
        self._table = rows.model._meta.db_table
        rows = matching(rows, (self.PLACEHOLDER, [marker])).order_by().values("id", **texts)
        sql, parameters = rows.query.sql_with_params()
        self._sql = sql.partition(self.PLACEHOLDER)
        # PostgreSQL never looks up IS NOT DISTINCT FROM in an index, and estimates as many rows as for an equality.
        account = f'"{self._table}"."account_id" {{}} %s'
        sql = sql.replace(account.format("="), account.format("IS NOT DISTINCT FROM"))
        self._sql_by_texts = sql.partition(self.PLACEHOLDER)
        index = parameters.index(marker)
        self._parameters_before, self._parameters_after = parameters[:index], parameters[index + 1 :]

    def matching(self, condition: Condition) -> tuple[str, list[Any]]:
        """Return the statement for the rows that meet a condition, and its parameters.

        The index entries for the words and parts of a row contain its account. So if there is a condition, the index is not read for the
        account as well: it has an entry for each row of the account. The account is checked in the rows that are found.
        """
        sql, values = condition
        before, _, after = self._sql if condition == ALL else self._sql_by_texts
        text = f"{before}{qualify(sql, self._table)}{after}"
        return text, [*self._parameters_before, *values, *self._parameters_after]


def matching(rows: QuerySet[Any], condition: Condition) -> QuerySet[Any]:
    sql, values = condition
    return rows.filter(RawSQL(qualify(sql, rows.model._meta.db_table), values, output_field=BooleanField()))  # noqa: S611


def qualify(sql: str, table: str) -> str:
    """Return the SQL of a condition on the rows of a table, in a statement that does not rename it."""
    return sql.replace("{column}", f'"{table}"."account_id"')
