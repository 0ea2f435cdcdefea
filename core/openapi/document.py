"""The OpenAPI document of both APIs: built once for a process, from the routes and the code that serves them."""

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
from django.conf import settings
from django.utils.translation import override
from drf_spectacular.generators import SchemaGenerator

from core.openapi.components import COMPONENTS
from core.openapi.values import JSONSchema
from core.rooms import import_modules


@cache
def document() -> JSONSchema:
    """Return the document, in English whatever the active language is."""
    with override(settings.LANGUAGE_CODE):
        # The module `openapi` of each subject registers schemas, and texts that are translated on pages.
        list(import_modules("openapi"))
        schema: JSONSchema = SchemaGenerator().get_schema(request=None, public=True)
    order_for_readers(schema)
    return schema


def resolve(definition: JSONSchema) -> JSONSchema:
    """Return the definition that a reference (`$ref`) points to. Return a definition without a reference unchanged."""
    while "$ref" in definition:
        node: Any = document()
        for part in definition["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        definition = node
    return definition


def order_for_readers(schema: JSONSchema) -> None:
    """Put the Account API before the Forum API, and the recommended credentials first. drf-spectacular sorts by name."""
    schemes = list(COMPONENTS["securitySchemes"])
    schema["components"]["securitySchemes"] = COMPONENTS["securitySchemes"]
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    # A public operation has no scheme, and comes last.
    operations.sort(
        key=lambda operation: min((schemes.index(*scheme) for scheme in operation["security"]), default=len(schemes))
    )
    schema["tags"] = [{"name": name} for name in dict.fromkeys(operation["tags"][0] for operation in operations)]


@cache
def serialized() -> tuple[bytes, str]:
    """Return the document as JSON, and its ETag."""
    content = orjson.dumps(document())
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def document_texts() -> list[str]:
    """Return the summaries, descriptions and tags that pages show in the language of the reader, without duplicates."""
    schema = document()
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    texts = [tag["name"] for tag in schema["tags"]]
    texts += [operation["summary"] for operation in operations]
    parts = ("parameters", "requestBody", "responses", "description")
    texts += _descriptions([{part: operation.get(part) for part in parts} for operation in operations])
    components = schema["components"]
    texts += _descriptions([components[kind] for kind in ("parameters", "schemas")])
    texts += [response["description"] for response in components["responses"].values()]
    return list(dict.fromkeys(text for text in texts if text))


def _descriptions(definition: object) -> Iterator[str]:
    """Yield the descriptions in a part of the document, except those of headers and of successful responses."""
    if isinstance(definition, list):
        for inner in definition:
            yield from _descriptions(inner)
    elif isinstance(definition, dict):
        for name, inner in definition.items():
            if name == "description" and isinstance(inner, str):
                yield inner
            elif name not in ("headers", "examples", "example"):
                yield from _descriptions(inner)
