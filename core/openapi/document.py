"""The OpenAPI document of both APIs: built once for a process, from the routes and the code that serves them."""

import hashlib
from functools import cache
from typing import Any

import orjson
from django.conf import settings
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import override
from drf_spectacular.generators import SchemaGenerator

from core.openapi.components import SECURITY

JSONSchema = dict[str, Any]


@cache
def document() -> dict[str, Any]:
    """Return the document, in English whatever the active language is."""
    # The module `openapi` of each app registers the descriptions and examples of its operations.
    autodiscover_modules("openapi")
    with override(settings.LANGUAGE_CODE):
        schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
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


def order_for_readers(schema: dict[str, Any]) -> None:
    """Put the Account API before the Forum API, and the recommended credentials first. drf-spectacular sorts by name."""
    schemes = schema["components"]["securitySchemes"]
    schema["components"]["securitySchemes"] = {name: schemes[name] for name in SECURITY if name in schemes}
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    # A public operation has no scheme, and comes last.
    ranks = {name: rank for rank, name in enumerate(SECURITY)}
    operations.sort(
        key=lambda operation: min((ranks[name] for each in operation["security"] for name in each), default=len(ranks))
    )
    schema["tags"] = [{"name": name} for name in dict.fromkeys(operation["tags"][0] for operation in operations)]


@cache
def serialized() -> tuple[bytes, str]:
    """Return the document as JSON, and its ETag."""
    content = orjson.dumps(document())
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
