"""The contents of the pages of the reference.

They are the same for all users, so each is rendered once per process, language of the user, and language of the code.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import get_language

from accounts.pages.example_code import CODE_LANGUAGES, CodeLanguage
from accounts.pages.examples import examples, sections
from accounts.pages.interfaces import INTERFACES
from accounts.pages.reference.guide import Chapter, chapters
from accounts.pages.reference.navigation import ERRORS_SLUG
from accounts.pages.reference.operations import example_code, object_tables, operation_entry
from core.openapi.document import document
from core.pages.templates import render_part

# The operation that the first page shows.
FIRST_OPERATION = "read_account"


def page_html(slug: str, code_language: CodeLanguage, *, has_examples: bool) -> SafeString:
    """Return the content of a page in the active language. With `has_examples`, it has links to examples that users can run."""
    return _page_html(slug, get_language() or "", code_language.key, has_examples)


@lru_cache(maxsize=128)
def _page_html(slug: str, _language: str, code_key: str, has_examples: bool) -> SafeString:
    if slug in sections():
        return render_part(
            "accounts/reference/resource.html", resource_context(slug, CODE_LANGUAGES[code_key], has_examples)
        )
    if slug == ERRORS_SLUG:
        return render_part("accounts/reference/errors.html", {"errors": error_entries()})
    chapter = next(chapter for chapter in chapters() if chapter.slug == slug)
    return render_part("accounts/reference/chapter.html", {"chapter": chapter})


def resource_context(slug: str, code_language: CodeLanguage, has_examples: bool) -> dict[str, Any]:
    section = sections()[slug]
    return {
        "slug": slug,
        "interface": INTERFACES[section[0].language],
        "chapters": chapters_about(section[0].tag),
        "objects": object_tables(slug),
        "operations": [operation_entry(example, code_language) for example in section],
        "code_languages": CODE_LANGUAGES.values(),
        "code_language": code_language,
        "has_examples": has_examples,
    }


def chapters_about(title: str) -> list[Chapter]:
    """Return the chapters of the guide whose titles name a resource."""
    word = title.casefold()
    return [chapter for chapter in chapters() if chapter.level == 3 and word in chapter.title.casefold()]


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
    statuses = {
        response["$ref"].rpartition("/")[2]: status
        for operations in document()["paths"].values()
        for operation in operations.values()
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
