"""The pages of the reference: the groups in which the navigation lists them, and their contents.

The contents are the same for all users, so each is rendered once per process, language of the user, and language of the code.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import cast

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy

from accounts.examples.operations import (
    CODE_LANGUAGES,
    INTERFACES,
    CodeLanguage,
    Example,
    FilledExample,
    document_body,
    sections,
)
from accounts.reference.fields import FieldTable, component_name, component_table, field_table, parameter_table
from accounts.reference.guide import ADDRESS, Chapter, chapters
from core.openapi.document import document, resolve
from core.openapi.values import JSONSchema
from core.pages.templates import render_part

ERRORS_SLUG = "errors"
# With more alternatives than this, a page links to the tables of the objects on other pages, and does not repeat them.
MAX_ALTERNATIVES = 3
# The names of objects with the addresses of their tables.
Links = list[tuple[str, str]]


@dataclass(frozen=True)
class ReferencePage:
    slug: str
    title: str | Promise
    # The name of the template of the content, and a function for its context, which gets the language of the code.
    template: str
    context: Callable[[CodeLanguage], dict[str, object]]
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
    errors = ReferencePage(ERRORS_SLUG, gettext_lazy("Errors"), "errors", lambda _language: {"errors": error_entries()})
    groups[INTERFACES[""]].append(errors)
    groups[gettext_lazy("Guide")] = [
        ReferencePage(chapter.slug, chapter.title, "chapter", partial(chapter_context, chapter), is_english=True)
        for chapter in chapters()
    ]
    return groups


@cache
def pages() -> dict[str, ReferencePage]:
    return {page.slug: page for group in groups().values() for page in group}


def page_html(slug: str, code_language: CodeLanguage, *, has_examples: bool) -> SafeString:
    """Return the content of a page in the active language. With `has_examples`, it has links to examples that users can run."""
    return _page_html(slug, get_language() or "", code_language.key, has_examples)


@lru_cache(maxsize=128)
def _page_html(slug: str, _language: str, code_key: str, has_examples: bool) -> SafeString:
    page = pages()[slug]
    context = {"has_examples": has_examples, **page.context(CODE_LANGUAGES[code_key])}
    return render_part(f"accounts/reference/{page.template}.html", context)


def resource_context(slug: str, code_language: CodeLanguage) -> dict[str, object]:
    section = sections()[slug]
    word = section[0].tag.casefold()
    return {
        "slug": slug,
        "interface": INTERFACES[section[0].language],
        # The chapters of the guide whose titles name the resource.
        "chapters": [chapter for chapter in chapters() if chapter.level == 3 and word in chapter.title.casefold()],
        "objects": [component_table(name) for name in object_names(slug)],
        "operations": [operation_entry(example, code_language) for example in section],
        "code_languages": CODE_LANGUAGES.values(),
        "code_language": code_language,
    }


def chapter_context(chapter: Chapter, _code_language: CodeLanguage) -> dict[str, object]:
    return {"chapter": chapter}


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


# The operations on the page of a resource


@dataclass(frozen=True)
class Content:
    """The body of a request or of a response: links to the objects that it can be. Without such objects, the table of its fields."""

    # True if it is an array of them.
    is_list: bool
    objects: Links
    fields: FieldTable


def operation_entry(example: Example, language: CodeLanguage) -> dict[str, object]:
    """Return what the page of a resource shows of an operation, with the request in the language of the page."""
    operation = operation_of(example)
    responses = operation["responses"].items()
    return {
        "example": example,
        "code": example_code(example, language),
        "example_response": example_response(operation),
        "parameters": parameter_table(operation["parameters"]),
        "body": content_of(remove_token(body_schema(operation)), example.slug, lambda schema: field_table(schema, {})),
        "response": content_of(response_schema(operation), example.slug, lambda schema: field_table({}, schema)),
        "statuses": [f"{status} {response['description']}" for status, response in responses if status < "4"],
        "errors": [(status, resolve(response)["description"]) for status, response in responses if status >= "4"],
    }


def content_of(schema: JSONSchema, slug: str, make_table: Callable[[JSONSchema], FieldTable]) -> Content:
    is_list = schema.get("type") == "array"
    item = schema.get("items", {}) if is_list else schema
    objects = links_of(item, slug)
    return Content(is_list, objects, FieldTable() if objects else make_table(item))


def operation_of(example: Example) -> JSONSchema:
    operation: JSONSchema = document()["paths"][example.path][example.method.lower()]
    return operation


def body_schema(operation: JSONSchema) -> JSONSchema:
    """Return the schema of the body of a request, in the first media type."""
    contents = operation.get("requestBody", {}).get("content", {}).values()
    return next((content["schema"] for content in contents), {})


def remove_token(body: JSONSchema) -> JSONSchema:
    """Return the schema of a body without the token, which every JSON body may have."""
    properties = body.get("properties", {}).items()
    return {**body, "properties": {name: inner for name, inner in properties if name != "api_token"}}


def success_content(operation: JSONSchema) -> tuple[str, JSONSchema]:
    """Return the media type and the content of the first response, which has the example."""
    ((media_type, content),) = next(iter(operation["responses"].values()))["content"].items()
    return media_type, content


def response_schema(operation: JSONSchema) -> JSONSchema:
    _media_type, content = success_content(operation)
    return cast(JSONSchema, content["schema"])


def example_code(example: Example, language: CodeLanguage) -> str:
    """Return the request of the document in a language."""
    values = {parameter.key: parameter.example for parameter in example.parameters}
    filled = FilledExample(example, ADDRESS, "login", values, document_body(example), code_language=language)
    return filled.code


def example_response(operation: JSONSchema) -> str:
    media_type, content = success_content(operation)
    value = content["examples"]["answer"]["value"]
    return json.dumps(value, indent=2, ensure_ascii=False) if media_type == "application/json" else value


# The objects on the page of a resource


@cache
def object_names(slug: str) -> list[str]:
    """Return the names of the objects in the requests and responses of a page, and of the objects within them."""
    waiting: list[str] = []
    for example in sections()[slug]:
        operation = operation_of(example)
        waiting += references_in([response_schema(operation), body_schema(operation)])
    schemas = document()["components"]["schemas"]
    # A dictionary keeps the order.
    names: dict[str, None] = {}
    while waiting:
        name = waiting.pop(0)
        if name not in names:
            names[name] = None
            waiting += references_in([schemas.get(f"{prefix}{name}", {}) for prefix in ("", "New")])
    return list(names)


def references_in(schema: object) -> Iterator[str]:
    """Yield the names of the objects that a schema refers to."""
    if isinstance(schema, list):
        for inner in schema:
            yield from references_in(inner)
    elif isinstance(schema, dict) and len(schema.get("oneOf", ())) <= MAX_ALTERNATIVES:
        if name := component_name(schema):
            yield name
        yield from references_in(list(schema.values()))


@cache
def object_paths() -> dict[str, str]:
    """Return the address of the first table of each object."""
    paths: dict[str, str] = {}
    for slug in sections():
        for name in object_names(slug):
            paths.setdefault(name, f"{reverse('accounts-docs-page', args=[slug])}#{name}")
    return paths


def links_of(schema: JSONSchema, slug: str) -> Links:
    """Return links to the tables of the objects that a value with the schema can be, on the page itself if it has them."""
    names = dict.fromkeys(component_name(option) for option in [schema, *schema.get("oneOf", ())])
    return [(name, f"#{name}" if name in object_names(slug) else object_paths()[name]) for name in names if name]
