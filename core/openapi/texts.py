"""The texts of the OpenAPI document. The document is in English; pages show these texts in the language of the reader."""

from collections.abc import Iterator
from typing import Any

from core.openapi.document import document


def document_texts() -> list[str]:
    """Return the summaries, descriptions and tags that pages show, without duplicates."""
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


def _descriptions(definition: Any) -> Iterator[str]:
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
