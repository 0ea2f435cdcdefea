"""The pages of the reference: their contents, the navigation and the search index.

The pages are the same for all users, so each is rendered once for a process, language and language of the code.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.pages.example_code import CODE_LANGUAGES, CodeLanguage, code_language
from accounts.pages.examples import Example, FilledExample, document_body, sections
from accounts.pages.interfaces import INTERFACES
from accounts.pages.reference.fields import (
    FieldRows,
    ObjectTable,
    component_name,
    component_table,
    make_field,
    object_table,
    parameter_field,
    required_in,
    resolve,
)
from accounts.pages.reference.guide import Chapter, chapters
from core.openapi.document import document

JSONSchema = dict[str, Any]
# The address in cached pages. Each response has the address of its host in its place.
ADDRESS = "https://host-of-this-page.invalid"
ERRORS_SLUG = "errors"


@dataclass(frozen=True)
class OperationEntry:
    """An operation on the page of its resource."""

    example: Example
    parameters: FieldRows
    body: FieldRows
    # The names of the objects that the body and the response are, and the addresses of their tables.
    body_objects: list[tuple[str, str]]
    response_objects: list[tuple[str, str]]
    response_type: str
    # The fields of a response that is not an object of the page.
    response_fields: FieldRows
    statuses: list[str]
    errors: list[tuple[str, str]]
    code: str
    response: str


@dataclass(frozen=True)
class ReferencePage:
    """A page of the reference, as the navigation shows it."""

    slug: str
    title: str | Promise
    # True for a title that is never translated.
    is_english: bool = True

    @property
    def path(self) -> str:
        return reverse("accounts-docs-page", args=[self.slug])


@dataclass(frozen=True)
class Group:
    """A heading of the navigation with its pages."""

    title: str | Promise
    pages: list[ReferencePage]


@cache
def groups() -> list[Group]:
    """Return the navigation."""
    resources: dict[str | Promise, list[ReferencePage]] = {}
    for slug, section in sections().items():
        resources.setdefault(INTERFACES[section[0].language], []).append(ReferencePage(slug, section[0].tag))
    resources[INTERFACES[""]].append(ReferencePage(ERRORS_SLUG, gettext_lazy("Errors"), is_english=False))
    guide = [ReferencePage(chapter.slug, chapter.title) for chapter in chapters()]
    return [
        *(Group(title, pages) for title, pages in resources.items()),
        Group(gettext_lazy("Guide"), guide),
    ]


@cache
def pages() -> dict[str, ReferencePage]:
    """Return all pages by slug."""
    return {page.slug: page for group in groups() for page in group.pages}


# A resource


def success_of(operation: JSONSchema) -> JSONSchema:
    """Return the content of the first successful response."""
    statuses = [status for status in operation["responses"] if status.startswith("2")]
    contents = [operation["responses"][status].get("content", {}) for status in statuses]
    described = [content for content in contents for content in content.values() if "examples" in content]
    return described[0] if described else next(iter(contents[0].values()), {})


def body_contents(operation: JSONSchema) -> list[JSONSchema]:
    """Return the content of the body in each media type."""
    return list(operation.get("requestBody", {}).get("content", {}).values())


def item_schema(schema: JSONSchema) -> JSONSchema:
    """Return the schema of the items of an array, or the schema itself."""
    return schema.get("items", {}) if schema.get("type") == "array" else schema


def operation_of(example: Example) -> JSONSchema:
    operation: JSONSchema = document()["paths"][example.path][example.method.lower()]
    return operation


def operation_entry(example: Example, language: CodeLanguage) -> OperationEntry:
    operation = operation_of(example)
    body_schema: JSONSchema = next((content["schema"] for content in body_contents(operation)), {})
    success = success_of(operation)
    schema = success.get("schema", {})
    item = item_schema(schema)
    response = success.get("examples", {}).get("answer", {}).get("value")
    filled = FilledExample(
        example,
        ADDRESS,
        "login",
        {parameter.key: parameter.example for parameter in example.parameters},
        document_body(example),
        code_language=language,
    )
    body_objects = linked_objects(body_schema, example.slug)
    response_objects = linked_objects(item, example.slug)
    return OperationEntry(
        example=example,
        parameters=FieldRows(parameter_field(parameter) for parameter in operation["parameters"]),
        body=FieldRows() if body_objects else body_fields(body_schema),
        body_objects=body_objects,
        response_objects=response_objects,
        response_type="array" if item is not schema else "",
        response_fields=FieldRows() if response_objects else object_table("", None, item).fields,
        statuses=[
            f"{status} {response['description']}" for status, response in operation["responses"].items() if status < "4"
        ],
        errors=[
            (status, resolve(response)["description"])
            for status, response in operation["responses"].items()
            if status >= "4"
        ],
        code=filled.code,
        response=response if isinstance(response, str) else json.dumps(response, indent=2, ensure_ascii=False),
    )


def body_fields(schema: JSONSchema) -> FieldRows:
    required = required_in(schema)
    return FieldRows(
        make_field(name, definition, None, is_required=name in required)
        for name, definition in schema.get("properties", {}).items()
        if name != "api_token"
    )


# A response that may be any of more objects links to the pages of these objects.
MAX_ALTERNATIVES = 3


def references_in(schema: Any) -> Iterator[str]:
    """Yield the names of the objects that a schema refers to."""
    if isinstance(schema, list):
        for inner in schema:
            yield from references_in(inner)
    elif isinstance(schema, dict) and len(schema.get("oneOf", ())) <= MAX_ALTERNATIVES:
        if name := component_name(schema):
            yield name
        yield from references_in(list(schema.values()))


@cache
def object_names(slug: str) -> list[str]:
    """Return the names of the objects in the requests and responses of a section, and of the objects within them."""
    waiting: list[str] = []
    for example in sections()[slug]:
        operation = operation_of(example)
        contents = [success_of(operation), *body_contents(operation)]
        waiting += references_in([content.get("schema", {}) for content in contents])
    schemas = document()["components"]["schemas"]
    names: dict[str, None] = {}
    while waiting:
        name = waiting.pop(0)
        if name not in names:
            names[name] = None
            waiting += references_in([schemas.get(f"{prefix}{name}", {}) for prefix in ("", "New")])
    return list(names)


@cache
def object_paths() -> dict[str, str]:
    """Return the address of the first table of each object."""
    paths: dict[str, str] = {}
    for slug in sections():
        for name in object_names(slug):
            paths.setdefault(name, f"{pages()[slug].path}#{name}")
    return paths


def objects_of(slug: str) -> list[ObjectTable]:
    return [component_table(name) for name in object_names(slug)]


def linked_objects(schema: JSONSchema, slug: str) -> list[tuple[str, str]]:
    """Return the names of the objects that a value with the schema can be, with the addresses of their tables."""
    names = dict.fromkeys(component_name(option) for option in [schema, *schema.get("oneOf", ())])
    here = object_names(slug)
    return [(name, f"#{name}" if name in here else object_paths()[name]) for name in names if name]


def chapters_about(title: str) -> list[Chapter]:
    """Return the chapters of the guide whose titles name a resource."""
    word = title.casefold()
    return [chapter for chapter in chapters() if chapter.level == 3 and word in chapter.title.casefold()]


@dataclass(frozen=True)
class ErrorEntry:
    status: str
    description: str
    code: str
    example: str


def error_entries() -> list[ErrorEntry]:
    """Return the errors of the Account API, by status."""
    entries = []
    for name, response in document()["components"]["responses"].items():
        content = response["content"].get("application/json")
        if content is None:
            continue
        value = content["examples"]["refusal"]["value"]
        status = next(
            status
            for operations in document()["paths"].values()
            for operation in operations.values()
            for status, each in operation["responses"].items()
            if each.get("$ref", "").endswith(f"/{name}")
        )
        text = json.dumps(value, indent=2, ensure_ascii=False)
        entries.append(ErrorEntry(status, response["description"], value["code"], text))
    return sorted(entries, key=lambda entry: entry.status)


# The HTML of a page


def page_html(slug: str, language_key: str | None) -> SafeString:
    """Return the content of a page in the active language, with the code in a language."""
    return _page_html(slug, get_language() or "", code_language(language_key).key)


@lru_cache(maxsize=128)
def _page_html(slug: str, language: str, code_key: str) -> SafeString:
    chapter = next((chapter for chapter in chapters() if chapter.slug == slug), None)
    if chapter is not None:
        return render_to_string("accounts/reference/chapter.html", {"chapter": chapter})
    if slug == ERRORS_SLUG:
        context: dict[str, Any] = {"errors": error_entries()}
        return render_to_string("accounts/reference/errors.html", context)
    section = sections()[slug]
    code = CODE_LANGUAGES[code_key]
    context = {
        "page": pages()[slug],
        "interface": INTERFACES[section[0].language],
        "operations": [operation_entry(example, code) for example in section],
        "objects": objects_of(slug),
        "chapters": chapters_about(section[0].tag),
        "code_languages": CODE_LANGUAGES.values(),
        "code_language": code,
    }
    return render_to_string("accounts/reference/resource.html", context)


# The search


@dataclass(frozen=True)
class Entry:
    """A place that the search finds."""

    title: str
    page: str
    path: str
    # The text that is searched, folded.
    folded_title: str
    folded_text: str
    text: str


MAX_RESULTS = 50
MAX_QUERY_LENGTH = 200
EXCERPT_LENGTH = 160


def make_entry(title: str, page: str, path: str, text: str, *, hidden: str = "") -> Entry:
    """Return an entry. `hidden` is text that is searched and not shown, such as the English text of a translated page."""
    folded = f"{title} {page} {text} {hidden}".casefold()
    return Entry(title, page, path, title.casefold(), folded, " ".join(text.split()))


@lru_cache(maxsize=8)
def _index(language: str) -> list[Entry]:
    """Return the entries of the search in a language."""
    entries = []
    for slug, section in sections().items():
        page = pages()[slug]
        title = str(_(str(page.title)))
        entries.append(make_entry(title, "", page.path, "", hidden=str(page.title)))
        for example in section:
            text = f"{example.method} {example.path} {_(example.description)}"
            hidden, path = f"{example.summary} {example.description}", f"{page.path}#{example.id}"
            entries.append(make_entry(_(example.summary), title, path, text, hidden=hidden))
        for table in objects_of(slug):
            for each in table.fields:
                text = f"{table.name}: {each.type}. {_(each.description) if each.description else ''}"
                entries.append(
                    make_entry(each.name, f"{title}: {table.name}", f"{page.path}#{table.name}.{each.name}", text)
                )
    for error in error_entries():
        path = f"{pages()[ERRORS_SLUG].path}#{error.status}"
        entries.append(
            make_entry(f"{error.status} {error.code}", str(pages()[ERRORS_SLUG].title), path, error.description)
        )
    for chapter in chapters():
        for part in chapter.sections:
            path = f"{chapter.path}#{part.anchor}" if part.anchor else chapter.path
            entries.append(make_entry(part.title, chapter.title if part.anchor else "", path, part.text))
    return entries


@dataclass(frozen=True)
class Result:
    entry: Entry
    excerpt: str


def search(query: str) -> list[Result]:
    """Return the entries with all words of the query, those with the words in the title first."""
    words = query[:MAX_QUERY_LENGTH].casefold().split()
    if not words:
        return []
    found = [entry for entry in _index(get_language() or "") if all(word in entry.folded_text for word in words)]
    found.sort(
        key=lambda entry: (entry.folded_title != " ".join(words), -sum(word in entry.folded_title for word in words))
    )
    return [Result(entry, excerpt_around(entry.text, words[0])) for entry in found[:MAX_RESULTS]]


def excerpt_around(text: str, word: str) -> str:
    """Return the part of the text around the first occurrence of the word."""
    place = max(0, text.casefold().find(word))
    start = max(0, place - EXCERPT_LENGTH // 3)
    part = text[start : start + EXCERPT_LENGTH]
    return f"{'…' if start else ''}{part}{'…' if start + EXCERPT_LENGTH < len(text) else ''}"
