"""The pages of the reference, and their search. They are public, and served at every host of the service."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.examples.operations import CODE_LANGUAGES, INTERFACES, CodeLanguage, code_language, examples, sections
from accounts.reference.content import ERRORS_SLUG, error_entries, example_code, groups, object_names, page_html, pages
from accounts.reference.fields import component_table
from accounts.reference.guide import ADDRESS, chapters
from core.pages.base import Page, base_url

MAX_RESULTS = 50
MAX_QUERY_LENGTH = 200
# The number of words of a text that a result shows, and of those before the first word of the query.
EXCERPT_LENGTH, WORDS_BEFORE = 25, 8


@dataclass(frozen=True)
class SearchEntry:
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


class ReferenceView(Page):
    needs_site = False

    @property
    def code_language(self) -> CodeLanguage:
        return code_language(self.request.GET.get("lang"))

    @property
    def has_examples(self) -> bool:
        """True if the user may open the examples in the settings."""
        return self.request.user is not None and self.request.user.is_team

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        context = {"groups": groups(), "has_examples": self.has_examples} | context
        return super().render(template, http_status=http_status, **context)


class Overview(ReferenceView):
    """The first page, and the results of the search."""

    template_name = "accounts/reference/overview.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        query = " ".join(request.GET.get("q", "")[:MAX_QUERY_LENGTH].split())
        address = base_url(request)
        return self.render(
            query=query,
            results=search(query),
            address=address,
            interfaces=INTERFACES,
            code=example_code(examples()["read_account"], self.code_language).replace(ADDRESS, address),
            code_languages=CODE_LANGUAGES.values(),
            code_language=self.code_language,
        )


class Reference(ReferenceView):
    """A resource, the errors, or a chapter of the guide."""

    template_name = "accounts/reference/page.html"

    def get(self, request: HttpRequest, slug: str) -> HttpResponse:
        if slug not in pages():
            raise Http404
        html = page_html(slug, self.code_language, has_examples=self.has_examples)
        # `base_url` contains a checked host name.
        content = mark_safe(html.replace(ADDRESS, base_url(request)))  # noqa: S308
        return self.render(slug=slug, page=pages()[slug], content=content)
