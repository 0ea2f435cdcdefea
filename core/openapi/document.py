"""The OpenAPI document of both APIs: built once for a process, from the routes and the code that serves them."""

import hashlib
from functools import cache
from typing import Any

import orjson
from django.utils.module_loading import autodiscover_modules
from drf_spectacular.generators import SchemaGenerator


@cache
def document() -> dict[str, Any]:
    # Each room says what its operations are called, with examples: this one here, the others in their modules `openapi`.
    autodiscover_modules("openapi")
    return SchemaGenerator().get_schema(request=None, public=True)


@cache
def serialized() -> tuple[bytes, str]:
    """The document as it is sent, and its ETag."""
    content = orjson.dumps(document())
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
