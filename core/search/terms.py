"""The terms of a query, and the conditions on rows that they make."""

import re
from dataclasses import dataclass
from functools import cached_property

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

# A condition on a row, as SQL, and its parameters.
Condition = tuple[str, list[str]]
HAS_WORDS = "search_words @@ to_tsquery('simple', %s)"


def is_correctable(term: str) -> bool:
    """Return whether a term may be mistyped. A number with another digit is another number, a short word another word."""
    return re.fullmatch("[a-z]{5,}", term) is not None


def has_trigram(text: str) -> bool:
    """Return whether a trigram index can find a part of a text.

    It cannot if every word is shorter than that, nor for scripts other than Latin if the locale of the database is C.
    """
    return re.search("[a-z0-9]{3}", text) is not None


@dataclass(frozen=True)
class Query:
    """A search text. `text` is folded, as the columns of the search are."""

    text: str
    # The account whose words may stand for a mistyped one.
    account_id: int | None = None

    @cached_property
    def terms(self) -> list[str]:
        return list(dict.fromkeys(self.text.split()))

    @cached_property
    def digits(self) -> str:
        """The last nine digits of a number, however it is typed; they identify a telephone with or without a prefix."""
        number = self.text.replace(" ", "")
        return number[-9:] if re.fullmatch("[0-9]+", number) else ""

    @property
    def subject(self) -> str:
        """The text that rows are compared with for the ranking."""
        return self.digits or self.text

    @property
    def correctable_terms(self) -> list[str]:
        return [term for term in self.terms if is_correctable(term)]

    # As a tsquery

    @property
    def prefix_tsquery(self) -> str:
        """All terms, each a word or the beginning of one. A single letter is a whole word: too many words begin with it."""
        return " & ".join(f"'{term}'" + (":*" if len(term) > 1 else "") for term in self.terms)

    @property
    def variant_tsquery(self) -> str:
        """All terms; a correctable one also with another ending, or with two letters swapped.

        Endings change with number and case, in Polish as in English. Trigrams hardly recognize swapped letters.
        """
        return " & ".join(f"({variants(term)})" if is_correctable(term) else f"'{term}'" for term in self.terms)

    # Conditions on a row

    def whole_words(self) -> Condition:
        """All terms are words of its short texts."""
        return HAS_WORDS, [" & ".join(f"'{term}':A" for term in self.terms)]

    def prefixes(self) -> Condition:
        """All terms are words of any of its texts, or begin one."""
        return HAS_WORDS, [self.prefix_tsquery]

    def substrings(self) -> Condition | None:
        """All terms are anywhere in its short texts. None if an index does not help to find that."""
        parts = [self.digits] if self.digits else self.terms
        if not any(map(has_trigram, parts)):
            return None
        return " AND ".join(["search_text LIKE %s"] * len(parts)), [f"%{part}%" for part in parts]

    def prefixes_or_substrings(self) -> Condition:
        return combine("OR", self.prefixes(), *filter(None, [self.substrings()]))

    def similar(self, corrections: dict[str, list[str]]) -> Condition:
        """All terms, or variants of them, or the words that a term may have been meant for (`corrections`)."""
        return HAS_WORDS, [" & ".join(f"({self._alternatives(term, corrections)})" for term in self.terms)]

    def has_term(self, term: str) -> Condition:
        """One of the terms is a word, the beginning of one, or a part of its short texts. For rows that an index has found."""
        words, values = Query(term).prefixes()
        return f"{words} OR search_text LIKE %s", [*values, f"%{term}%"]

    def prefixes_or_variants(self) -> Condition:
        """All terms, or variants of them, are words of its short texts, or begin one."""
        words = f"{self.prefix_tsquery} | {self.variant_tsquery}"
        # The short texts have weight A.
        short = re.sub(r"('\S+?')(:\*)?", lambda match: f"{match[1]}{match[2] or ':'}A", words)
        return HAS_WORDS, [short]

    @staticmethod
    def _alternatives(term: str, corrections: dict[str, list[str]]) -> str:
        if not is_correctable(term):
            return f"'{term}'"
        return " | ".join([variants(term), *(f"'{word}'" for word in corrections.get(term, []))])


def variants(term: str) -> str:
    """Return, as a tsquery, the words with the same stem, and the term with any two neighbouring letters swapped."""
    stem = term[: max(4, len(term) - (3 if len(term) > 7 else 2))]
    swapped = [term[:n] + term[n + 1] + term[n] + term[n + 2 :] for n in range(len(term) - 1)]
    return " | ".join([f"'{stem}':*", *(f"'{word}'" for word in swapped)])


def combine(operator: str, *conditions: Condition) -> Condition:
    """Return one condition of several, joined by AND or OR."""
    sql = f" {operator} ".join(f"({sql})" for sql, _ in conditions)
    return sql, [value for _, values in conditions for value in values]


def matching(rows: QuerySet, condition: Condition) -> QuerySet:
    return rows.filter(RawSQL(*condition, output_field=BooleanField()))  # noqa: S611
