"""The pages of the reference: the groups in which the navigation lists them, and their contents.

The contents are the same for all users, so each is rendered once per process, language of the user, and language of the code.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy

from accounts.examples.code import CODE_LANGUAGES, CodeLanguage
from accounts.examples.examples import INTERFACES, examples, sections
from accounts.reference.guide import Chapter, chapters
from accounts.reference.operations import example_code, object_tables, operation_entry
from core.openapi.document import document
from core.pages.templates import render_part

# The operation that the first page shows.
FIRST_OPERATION = "read_account"
ERRORS_SLUG = "errors"


@dataclass(frozen=True)
class ReferencePage:
    """A page of the reference."""

    slug: str
    title: str | Promise
    # The name of the template of the content, and a function for its context, which gets the language of the code.
    template: str
    context: Callable[[CodeLanguage], dict[str, Any]]
    # True for a chapter of the guide, which is in English only.
    is_english: bool = False

    @property
    def path(self) -> str:
        return reverse("accounts-docs-page", args=[self.slug])


@cache
def groups() -> dict[str | Promise, list[ReferencePage]]:
    """Return the headings of the navigation with their pages, in their order."""
    groups: dict[str | Promise, list[ReferencePage]] = {}
    for slug, section in sections().items():
        # The catalogue has the tags of the OpenAPI document.
        page = ReferencePage(slug, gettext_lazy(section[0].tag), "resource", partial(resource_context, slug))
        groups.setdefault(INTERFACES[section[0].language], []).append(page)
    errors = ReferencePage(ERRORS_SLUG, gettext_lazy("Errors"), "errors", errors_context)
    groups[INTERFACES[""]].append(errors)
    groups[gettext_lazy("Guide")] = [
        ReferencePage(chapter.slug, chapter.title, "chapter", partial(chapter_context, chapter), is_english=True)
        for chapter in chapters()
    ]
    return groups


@cache
def pages() -> dict[str, ReferencePage]:
    """Return all pages by slug."""
    return {page.slug: page for group in groups().values() for page in group}


def page_html(slug: str, code_language: CodeLanguage, *, has_examples: bool) -> SafeString:
    """Return the content of a page in the active language. With `has_examples`, it has links to examples that users can run."""
    return _page_html(slug, get_language() or "", code_language.key, has_examples)


@lru_cache(maxsize=128)
def _page_html(slug: str, _language: str, code_key: str, has_examples: bool) -> SafeString:
    page = pages()[slug]
    context = {"has_examples": has_examples, **page.context(CODE_LANGUAGES[code_key])}
    return render_part(f"accounts/reference/{page.template}.html", context)


def resource_context(slug: str, code_language: CodeLanguage) -> dict[str, Any]:
    section = sections()[slug]
    word = section[0].tag.casefold()
    return {
        "slug": slug,
        "interface": INTERFACES[section[0].language],
        # The chapters of the guide whose titles name the resource.
        "chapters": [chapter for chapter in chapters() if chapter.level == 3 and word in chapter.title.casefold()],
        "objects": object_tables(slug),
        "operations": [operation_entry(example, code_language) for example in section],
        "code_languages": CODE_LANGUAGES.values(),
        "code_language": code_language,
    }


def chapter_context(chapter: Chapter, _code_language: CodeLanguage) -> dict[str, Any]:
    return {"chapter": chapter}


def errors_context(_code_language: CodeLanguage) -> dict[str, Any]:
    return {"errors": error_entries()}


def first_code(code_language: CodeLanguage) -> str:
    """Return the code that the first page shows."""
    return example_code(examples()[FIRST_OPERATION], code_language)


@dataclass(frozen=True)
class ErrorEntry:
    status: str
    description: str
    code: str
    example: str


def error_entries() -> list[ErrorEntry]:
    """Return the errors of the Account API, by status."""
    operations = [operation for methods in document()["paths"].values() for operation in methods.values()]
    statuses = {
        response["$ref"].rpartition("/")[2]: status
        for operation in operations
        for status, response in operation["responses"].items()
        if "$ref" in response
    }
    entries = []
    for name, response in document()["components"]["responses"].items():
        if content := response["content"].get("application/json"):
            value = content["examples"]["refusal"]["value"]
            example = json.dumps(value, indent=2, ensure_ascii=False)
            entries.append(ErrorEntry(statuses[name], response["description"], value["code"], example))
    return sorted(entries, key=lambda entry: entry.status)
