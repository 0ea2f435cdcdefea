"""Convert XML in the format of Rails, with `type` and `nil` attributes, to and from plain values."""

import re
from typing import Any
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from defusedxml import ElementTree

# Generated values may contain any character. These are replaced in names of elements, and removed from texts.
INVALID_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")
UNCARRIABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def name_of(text: str) -> str:
    name = INVALID_IN_NAMES.sub("_", text)
    return name if name[:1].isalpha() else f"x{name}"


def write(name: str, value: Any) -> str:
    if value is None:
        return f'<{name} nil="true"/>'
    if isinstance(value, dict):
        children = {name_of(key): inner for key, inner in value.items()}
        return f"<{name}>{''.join(write(key, inner) for key, inner in children.items())}</{name}>"
    if isinstance(value, list):
        return f'<{name} type="array">{"".join(write("item", item) for item in value)}</{name}>'
    if isinstance(value, bool):
        return f'<{name} type="boolean">{str(value).lower()}</{name}>'
    if isinstance(value, int):
        return f'<{name} type="integer">{value}</{name}>'
    # XML parsers convert a carriage return to a line feed.
    text = escape(UNCARRIABLE.sub("", str(value)), {"\r": "&#13;"})
    return f"<{name}>{text}</{name}>"


def read(content: bytes | str) -> tuple[str, Any]:
    """Return the name of the root element and its value."""
    root = ElementTree.fromstring(content)
    return root.tag, value_of(root)


def value_of(element: Element) -> Any:
    kind = element.get("type")
    if element.get("nil") == "true":
        return None
    if kind == "array":
        return [value_of(child) for child in element]
    if element.tag == "errors":
        return {"error": [value_of(child) for child in element]}
    if len(element):
        return {child.tag: value_of(child) for child in element}
    text = element.text or ""
    if kind == "integer":
        return int(text)
    return text == "true" if kind == "boolean" else text
