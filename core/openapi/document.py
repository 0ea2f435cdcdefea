"""The OpenAPI document of both APIs: built once for a process, from the routes and the code that serves them."""

import hashlib
from functools import cache
from typing import Any

import orjson
from django.utils.module_loading import autodiscover_modules
from drf_spectacular.generators import SchemaGenerator


@cache
def document() -> dict[str, Any]:
    """Return the document."""
    # The module `openapi` of each app registers the descriptions and examples of its operations.
    autodiscover_modules("openapi")
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return schema


@cache
def serialized() -> tuple[bytes, str]:
    """Return the document as JSON, and its ETag."""
    content = orjson.dumps(document())
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
