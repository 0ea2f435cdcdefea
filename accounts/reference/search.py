"""The search of the reference: pages, operations, fields, errors and the headings of the guide."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.examples.operations import sections
from accounts.reference.content import ERRORS_SLUG, error_entries, object_names, pages
from accounts.reference.fields import component_table
from accounts.reference.guide import chapters

MAX_RESULTS = 50
MAX_QUERY_LENGTH = 200
# The number of words of a text that a result shows, and of those before the first word of the query.
EXCERPT_LENGTH, WORDS_BEFORE = 25, 8


@dataclass(frozen=True)
class SearchEntry:
    """A place that the search finds."""

    path: str
    title: str
    # The title of the page that contains the place, or "" for a page itself.
    page: str = ""
    text: str = ""
    # Text that is searched but not shown, such as the English text of a translated page.
    hidden: str = ""
    # True for a text that is never translated.
    is_english: bool = False

    @property
    def searched_text(self) -> str:
        return f"{self.title} {self.page} {self.text} {self.hidden}".casefold()


@dataclass(frozen=True)
class SearchResult:
    entry: SearchEntry
    excerpt: str


def search(query: str) -> list[SearchResult]:
    """Return the entries that contain all words of the query. Entries whose title is the query come first, then those with most words in
    their title.
    """
    words = query[:MAX_QUERY_LENGTH].casefold().split()
    if not words:
        return []
    found = [entry for text, entry in _index(get_language() or "") if all(word in text for word in words)]

    def rank(entry: SearchEntry) -> tuple[bool, int]:
        title = entry.title.casefold()
        return title != " ".join(words), -sum(word in title for word in words)

    found.sort(key=rank)
    return [SearchResult(entry, excerpt_around(entry.text, words[0])) for entry in found[:MAX_RESULTS]]


@lru_cache(maxsize=8)
def _index(_language: str) -> list[tuple[str, SearchEntry]]:
    """Return all entries, each with its searched text, in the active language."""
    entries = [*resource_entries(), *error_page_entries(), *guide_entries()]
    return [(entry.searched_text, entry) for entry in entries]


def resource_entries() -> Iterator[SearchEntry]:
    for slug, section in sections().items():
        path, title = pages()[slug].path, str(pages()[slug].title)
        yield SearchEntry(path, title, hidden=section[0].tag)
        for example in section:
            yield SearchEntry(
                f"{path}#{example.id}",
                _(example.summary),
                title,
                f"{example.method} {example.path} {_(example.description)}",
                hidden=f"{example.summary} {example.description}",
            )
        for name in object_names(slug):
            for row in component_table(name).rows:
                description = _(row.description) if row.description else ""
                yield SearchEntry(
                    f"{path}#{name}.{row.name}",
                    row.name,
                    f"{title}: {name}",
                    f"{row.type}. {description}".rstrip(),
                    hidden=row.description,
                )


def error_page_entries() -> Iterator[SearchEntry]:
    page = pages()[ERRORS_SLUG]
    for error in error_entries():
        title = f"{error.status} {error.code}"
        yield SearchEntry(
            f"{page.path}#{error.status}", title, str(page.title), _(error.description), error.description
        )


def guide_entries() -> Iterator[SearchEntry]:
    for chapter in chapters():
        for section in chapter.sections:
            # The first section has no anchor: it is the beginning of the page.
            path, page = (f"{chapter.path}#{section.anchor}", chapter.title) if section.anchor else (chapter.path, "")
            yield SearchEntry(path, section.title, page, section.text, is_english=True)


def excerpt_around(text: str, word: str) -> str:
    """Return the part of the text around the first occurrence of the word."""
    words = text.split()
    position = next((number for number, text_word in enumerate(words) if word in text_word.casefold()), 0)
    start = max(0, position - WORDS_BEFORE)
    end = start + EXCERPT_LENGTH
    return f"{'… ' if start else ''}{' '.join(words[start:end])}{' …' if end < len(words) else ''}"
